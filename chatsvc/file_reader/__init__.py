"""Reading of knowledge files in a child process: the process itself, and the file formats that need a library."""
