"""JSON of the command line: results of administrative operations."""

from chatsvc.control.rendering import conversations, delivery, installation, knowledge
from chatsvc.control.rendering.registry import RENDERERS, rendered

__all__ = ["RENDERERS", "conversations", "delivery", "installation", "knowledge", "rendered"]
