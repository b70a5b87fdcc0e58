"""Replies in place of one that was given just before."""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines import Reply
from chatsvc.engines.knowledge.dialogue import flow, matter, texts
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.language.folding import words

_UPSET = frozenset({"complaint", "refund", "insult"})
# Small talk that is answered otherwise where the same reply was given just before.
_AGAIN = {"greeting": "smalltalk.opening", "thanks": "kind", "noted": "noted", "goodbye": "smalltalk.goodbye.again"}


def varied(message: VisitorMessage, said: Reply) -> Reply:
    """Return another reply than the same one twice in a row: other small talk, or the offer to pass the matter on."""
    say, small = texts.of(message.turn.bot, message.tongue), _AGAIN.get(message.small_talk or "")
    if small is not None:
        return replace(said, text=say(small))
    draft = flow.opened(message.turn)
    if not message.turn.may_capture or (draft is not None and not flow.is_offered(draft)):
        return said
    upset = bool(message.intents & _UPSET)
    asked = next((past.content for past in reversed(message.turn.history) if past.role == "user"), "")
    if not upset and words(asked) != message.said:  # the same answer may well be right for another question
        return said
    text, key = ("", "offer.upset") if upset else (said.text, "offer.again")
    offered = flow.offer(message, "support" if upset else matter.request_type(message.turn), text, key)
    return replace(offered, evidence=said.evidence)
