"""The queue that sends what waits in the store: events to webhooks, replies to messaging platforms, mails."""
