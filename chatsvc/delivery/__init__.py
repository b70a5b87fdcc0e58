"""Queues that send pending deliveries from the store: events to webhooks, and replies to messaging platforms."""
