"""Configuration: reads YAML into frozen dataclasses, and reports every fault with file, line and column."""

from chatsvc.config.document import ConfigError
from chatsvc.config.load import ConfigDocument, build, load, locate, read
from chatsvc.config.model import Config

__all__ = ["Config", "ConfigDocument", "ConfigError", "build", "load", "locate", "read"]
