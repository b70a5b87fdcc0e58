"""Knowledge engine: replies by small talk, form, answer or question back; raises EngineError("no_answer") otherwise."""

from __future__ import annotations

from chatsvc.engines import EngineError, Reply, Turn, language, threads
from chatsvc.engines.knowledge.dialogue import answers, ask_back, fallbacks, flow, lookup, smalltalk


class KnowledgeEngine:
    """Implementation of `engines.Engine`; no I/O, a few milliseconds a turn."""

    async def start(self) -> None:
        """Load the language models before the first message."""
        language.load()

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn; raises EngineError("no_answer") if the knowledge has no answer."""
        return await threads.off_loop_if_long(_reply, turn)

    async def close(self) -> None:
        """Do nothing; there are no connections."""


def _reply(turn: Turn) -> Reply:
    draft = flow.opened(turn)
    if draft is not None:
        return flow.proceed(turn, draft)
    chosen = ask_back.answered(turn)
    if chosen is not None:
        return chosen
    small = smalltalk.answer(turn)
    if small is not None:
        own = lookup.search(turn, turn.message) if smalltalk.asks_who(turn) else None
        return Reply(own.hits[0].entry.answer if own and own.decision == "answer" else small)
    if fallbacks.is_foreign(turn):
        raise EngineError("no_answer", "a language that the bot does not have", fallback=fallbacks.sentence(turn))
    wish = flow.wish_of(turn)
    if wish is not None and wish.clear:
        return flow.begin(turn, wish)
    finding = lookup.find(turn)
    sure = answers.answer(turn, finding)
    if sure is not None:
        return sure
    if wish is not None:
        return flow.begin(turn, wish)
    unsure = answers.unsure(turn, finding)
    if unsure is not None:
        return unsure
    raise EngineError("no_answer", f"decision {finding.decision}, confidence {finding.confidence:.2f}", fallback=fallbacks.sentence(turn))
