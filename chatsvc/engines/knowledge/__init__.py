"""The embedded engine: a bot that answers from its own knowledge, with no model and no network."""

from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex

__all__ = ["KnowledgeEngine", "KnowledgeIndex"]
