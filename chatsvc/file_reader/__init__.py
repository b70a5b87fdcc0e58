"""Reading of knowledge files in a process of its own. The child process, and the formats that need a library."""
