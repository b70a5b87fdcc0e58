"""Engine that answers from the bot's own knowledge, without a model and without network."""

from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex

__all__ = ["KnowledgeEngine", "KnowledgeIndex"]
