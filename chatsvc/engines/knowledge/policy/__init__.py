"""Policy of the dialogue: the state of a conversation, the table of rules, and the actions that they name."""
