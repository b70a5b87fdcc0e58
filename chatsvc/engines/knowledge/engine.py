"""Knowledge engine: replies by small talk, form, answer or question back; raises EngineError("no_answer") otherwise."""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines import EngineError, Evidence, Reply, Turn, language, threads
from chatsvc.engines.knowledge.dialogue import ask_back, flow, lookup, smalltalk

_NO_API_ASKING = "api"  # its callers get an error they can act on instead (SPEC.md 1.8)


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
    wish = flow.wish_of(turn)
    if wish is not None and wish.clear:
        return flow.begin(turn, wish)
    several = lookup.several(turn)
    if len(several) > 1:
        return Reply("\n\n".join(entry.answer for entry in several))
    finding = lookup.find(turn)
    if finding.decision == "answer":
        return Reply(finding.hits[0].entry.answer, evidence=Evidence.of(finding))
    if wish is not None:
        return flow.begin(turn, wish)
    if finding.decision == "ask" and _may_ask(turn):
        return replace(ask_back.ask(turn, finding), evidence=Evidence.of(finding))
    raise EngineError("no_answer", f"decision {finding.decision}, confidence {finding.confidence:.2f}")


def _may_ask(turn: Turn) -> bool:
    return turn.channel != _NO_API_ASKING if turn.bot.ask_back is None else turn.bot.ask_back
