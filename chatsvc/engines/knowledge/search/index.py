"""A bot's knowledge as the engines use it: the index of its entries, and the answers from their facts."""

from functools import cached_property

from chatsvc.engines import SearchResult
from chatsvc.engines.knowledge.search.answering import FactIndex
from chatsvc.engines.knowledge.search.candidates import EntryIndex


class KnowledgeIndex(EntryIndex):
    """Implementation of `engines.Knowledge`."""

    @cached_property
    def facts(self) -> FactIndex:
        """The answers to questions, from the facts of the entries."""
        return FactIndex(self)

    def search(
        self,
        text: str,
        language: str | None = None,
        limit: int = 5,
        *,
        spoken: str | None = None,
        subject: str | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Implement `Knowledge.search` for any text."""
        return self.facts.search(text, language, limit, spoken=spoken, subject=subject, explain=explain)
