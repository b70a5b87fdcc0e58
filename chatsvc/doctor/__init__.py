"""What is wrong with an installation, each fault with its remedy; nothing is changed."""
