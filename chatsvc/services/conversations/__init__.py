"""Conversations as the team sees them: lists, hand-off, requests, appointments, notices, erasure."""
