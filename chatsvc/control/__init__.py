"""How the command line reaches the one process that owns the database.

While `serve` runs, a command is sent to it over a Unix socket in the data folder and takes effect there at once; otherwise the
command takes the folder's lock and does the same work itself. Either way it is the same use-case, and one process writes.
"""
