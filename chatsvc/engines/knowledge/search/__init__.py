"""Ranked search over a bot's entries: index, query, ranking and confidence."""
