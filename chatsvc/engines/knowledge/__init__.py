"""Engine that answers from the bot's own knowledge, without a model and without network."""
