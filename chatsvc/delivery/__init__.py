"""The queue that sends what waits in the store: events to webhooks, and replies to messaging platforms."""
