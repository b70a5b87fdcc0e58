"""Request that is taken where a visitor asked for a person and nobody came."""

from __future__ import annotations

from chatsvc.engines import Reply, Turn, language
from chatsvc.engines.knowledge.dialogue import flow, texts
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES


def came(turn: Turn) -> Reply:
    """Open the form of a request. `message` is the visitor's last word, to which nobody has replied."""
    if not turn.may_capture:
        return Reply(texts.of(turn.bot, language.among(turn, LANGUAGES))("person.later"))
    return flow.begin(VisitorMessage(turn), "contact", opening="open.nobody")
