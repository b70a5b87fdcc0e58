"""Generated websites, in the shapes that the usual programs write, and a server that serves them on loopback."""
