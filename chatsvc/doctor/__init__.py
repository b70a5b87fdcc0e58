"""Checks of an installation, each fault with its remedy; nothing is changed."""
