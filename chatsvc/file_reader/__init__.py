"""Reading of knowledge files in a process of its own: the child process, and the formats that need a library."""
