"""Telegram: asks for messages by long polling, so that it works behind any firewall."""
