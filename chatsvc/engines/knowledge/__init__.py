"""Engine without a model: it answers from the bot's knowledge, offers choices, admits what it does not know, and fills in forms.

It does no I/O, and needs about a millisecond for a turn.
"""

import asyncio
from collections.abc import Callable

from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.fair_share import FairShare


class KnowledgeEngine:
    """Implementation of `engines.Engine`."""

    def __init__(self) -> None:
        self._share = FairShare()
        self._reply: Callable[[Turn], Reply] | None = None

    async def start(self) -> None:
        """Do nothing. Words and rules are loaded at the first message, so that an idle service needs no memory for them."""

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn. Raises EngineError("no_answer") if the knowledge has no answer, or EngineError("timeout")."""
        try:
            async with asyncio.timeout(turn.timeout_s):
                if self._reply is None:
                    self._reply = await asyncio.to_thread(_loaded)
                return await self._share.run(self._reply, turn)
        except TimeoutError:
            raise EngineError("timeout", "others were asked first for too long") from None

    async def close(self) -> None:
        """Do nothing; there are no connections."""


def _loaded() -> Callable[[Turn], Reply]:
    from chatsvc.engines.knowledge import dialogue
    from chatsvc.language import values

    values.load()
    return dialogue.reply
