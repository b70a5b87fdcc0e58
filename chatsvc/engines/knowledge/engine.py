"""Knowledge engine: replies by small talk, form, answer or question back; raises EngineError("no_answer") otherwise."""

from __future__ import annotations

from chatsvc.engines import Reply, Turn, threads
from chatsvc.engines.knowledge.policy import table
from chatsvc.language import values


class KnowledgeEngine:
    """Implementation of `engines.Engine`; no I/O, a few milliseconds a turn."""

    async def start(self) -> None:
        """Load the language models before the first message."""
        values.load()

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn; raises EngineError("no_answer") if the knowledge has no answer."""
        return await threads.off_loop_if_long(table.reply, turn)

    async def close(self) -> None:
        """Do nothing; there are no connections."""
