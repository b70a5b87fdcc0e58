"""Control channel: administrative operations of the command line.

While the service runs, a command sends its operation over a Unix socket in the data folder. Otherwise it takes the folder's lock
and performs the operation itself, with the same services over the same store. Either way one process writes.
"""
