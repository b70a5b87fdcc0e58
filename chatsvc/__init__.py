"""chatsvc: a chatbot messaging service that a small team runs itself."""

__version__ = "0.1.0"
