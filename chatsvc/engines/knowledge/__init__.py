"""Engine that answers from the bot's own knowledge, without a model and without network.

Nothing is imported here: commands use the sentences of the dialogue without loading the engine.
"""
