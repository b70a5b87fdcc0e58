"""Entry points of the form dialogue: recognise a wish, open a form, continue an open one.

All state is in `Reply.dialogue`. Nothing is captured before the visitor has confirmed a summary.
"""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines import Reply, Turn, language
from chatsvc.engines.knowledge.dialogue import drafts, hearing, lookup, wishes
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.forms import FormTurn, local_time, with_values
from chatsvc.engines.knowledge.dialogue.wishes import Wish
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES, say

_MOST_SENTENCES = 4  # of a message that are interpreted one by one


def wish_of(turn: Turn) -> Wish | None:
    """Return the wish of a message that may open a form; None if nothing may be captured or wished for."""
    if not turn.may_capture:
        return None
    wish = wishes.recognise(turn.message)
    if wish is None or not wish.clear:  # a question in another sentence does not make the wish unclear
        told = (wishes.recognise(part) for part in lookup.parts(turn.message)[:_MOST_SENTENCES])
        wish = next((one for one in told if one is not None and one.clear), wish)
    if (wish is not None and wish.clear) or not wishes.names_an_appointment(turn.message):
        return wish
    heard = hearing.interpret(turn.message, "", local_time(turn), turn.bot.country)
    return wishes.recognise(turn.message, dated=heard.day is not None or heard.clock is not None)


def opened(turn: Turn) -> RequestDraft | None:
    """Return the draft of the open form; None if no form is open."""
    return drafts.load(turn.dialogue, turn.now_ms) if turn.may_capture else None


def begin(turn: Turn, wish: Wish) -> Reply:
    """Open a form: take all values of the message, ask for the first missing one."""
    heard = hearing.interpret(turn.message, "", local_time(turn), turn.bot.country)
    about = wish.request_type == "appointment" or heard.substance(2) or wishes.changes(turn.message)
    draft = RequestDraft(wish.request_type, _language(turn, wish), drafts.opening_of(turn.message) if about else "")
    said = FormTurn(turn, with_values(draft, heard), heard)
    opening = say(f"open.{wish.request_type}", draft.language)
    return said.proceed("\n\n".join([*_asked_beside(turn), opening]))


def _asked_beside(turn: Turn) -> list[str]:
    """Return the answers to questions beside the wish: "I'd like an appointment. Do you take cards?"."""
    sentences = [clause for part in lookup.parts(turn.message) for clause in part.split(", ")][:_MOST_SENTENCES]
    asked = [one for one in sentences if hearing.asks(one) and wishes.recognise(one) is None]
    findings = [lookup.search(turn, one) for one in asked]
    return list(dict.fromkeys(one.hits[0].entry.answer for one in findings if one.decision == "answer"))


def proceed(turn: Turn, draft: RequestDraft) -> Reply:
    """Reply to a message while a form is open."""
    if turn.language:
        draft = replace(draft, language=language.among(turn, LANGUAGES, draft.language))
    heard = hearing.interpret(turn.message, draft.asked, local_time(turn), turn.bot.country)
    if hearing.gives_up(turn.message, heard, draft.asked):
        return Reply(say("cancelled", draft.language))
    said = FormTurn(turn, draft, heard)
    if draft.asked == "confirm":
        return said.on_summary()
    if draft.asked == "message":
        return said.on_message()
    return said.on_question()


def _language(turn: Turn, wish: Wish) -> str:
    """Return the caller's language, else the visitor's as detected, else that of the wish."""
    shown = language.guess(turn.message)
    return language.among(turn, LANGUAGES, shown if shown in LANGUAGES else wish.language)
