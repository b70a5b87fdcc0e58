"""Channels by which visitors reach a bot besides the interface."""
