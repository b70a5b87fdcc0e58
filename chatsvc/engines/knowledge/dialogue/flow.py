"""Entry points of the form dialogue: open a form, offer one, continue an open one.

All state is in `Reply.dialogue`. Nothing is captured before the visitor has confirmed a summary.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, time

from chatsvc.engines import Reply, Turn, language
from chatsvc.engines.knowledge.dialogue import (
    corrections,
    drafts,
    fields,
    followups,
    hearing,
    knowing,
    lookup,
    matter,
    taking_up,
    texts,
    wishes,
)
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.form_replies import with_values
from chatsvc.engines.knowledge.dialogue.forms import FormTurn
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.language.folding import words

_MOST_SENTENCES = 4  # of a message that are interpreted one by one
_MOST_TURNS_OF_AN_OFFER = 2  # messages about something else after which an offer is forgotten
_REFERENCE = 4  # digits of a number of an order or the like
_MOST_BESIDE_REFERENCE = 8  # words of a message that gives one
_ABOUT = re.compile(r" (?:icin|hakkinda|konusunda|ile ilgili|about|regarding|concerning) ")
_OFFERED = ("offer", "resume", "dropped")


def opened(turn: Turn) -> RequestDraft | None:
    """Return the draft of the open or offered form; None if there is none."""
    return drafts.load(turn.dialogue, turn.now_ms) if turn.may_capture else None


def begin(message: VisitorMessage, request_type: str, *, opening: str = "", before: RequestDraft | None = None) -> Reply:
    """Open a form. Take all values of the message and of the offer before, ask for the first missing one.

    `opening` names another first sentence than that of the kind of request.
    """
    turn, heard = message.turn, message.heard
    volunteered = opening == "open.volunteered"
    about = (
        (request_type == "appointment" and not volunteered)
        or heard.substance(1 if _ABOUT.search(message.line) else 2)
        or wishes.changes(turn.message)
    )
    if request_type == "other" and not about:
        about = True
    draft = RequestDraft(request_type, _language(message), drafts.opening_of(turn.message) if about else "")
    if not about and (heard.names_when or heard.substance(1)):
        draft = drafts.with_more(draft, turn.message)  # when the visitor wants to be called, or by whom
    if before is not None:
        draft = _continued(draft, before)
    draft = _known_visitor(turn, _with_matter(message, draft, whole=volunteered))
    if draft.is_appointment and draft.day is None and heard.day is None and heard.clock is not None:
        draft = replace(draft, day=_day_told(message))
    form = texts.of(turn.bot, draft.language).profile.form(request_type)
    draft = replace(with_values(draft, heard), extra=fields.told_at_once(form, turn.message))
    name = draft.name or hearing.name_beside(message.clauses, message.now, turn.bot.country) or matter.name_told(turn, message.now)
    said = FormTurn(turn, replace(draft, name=name), heard)
    lead = texts.of(turn.bot, draft.language)(opening or f"open.{request_type}")
    beside = _asked_beside(message)
    if opening == "open.named":  # "is Deniz there?" asks for nobody's sea view
        beside = [answer for answer in beside if not set(followups.naming_words(turn.message)).isdisjoint(words(answer))]
    return said.proceed("\n\n".join([*beside, lead]))


def begin_with_name(message: VisitorMessage, request_type: str, day: date | None = None, clock: time | None = None) -> Reply:
    """Open a form about the earlier matter with a message that is only a name."""
    turn, earlier = message.turn, matter.earlier(message.turn)
    heard = hearing.interpret(turn.message, "name", message.now, turn.bot.country)
    draft = drafts.with_more(RequestDraft(request_type, _language(message), drafts.opening_of(earlier[0])), *earlier[1:])
    draft = replace(draft, day=day, clock=clock)
    said = FormTurn(turn, with_values(_known_visitor(turn, draft), heard), heard)
    return said.proceed(said.say("open.volunteered"))


def _day_told(message: VisitorMessage) -> date | None:
    """Return the day that belongs to a bare hour: that of a visit wished for before, else one just named."""
    visit = matter.visit_told(message.turn, message.now)
    return visit[0] if visit else matter.day_told(message.turn, message.now)


def _with_matter(message: VisitorMessage, draft: RequestDraft, *, whole: bool) -> RequestDraft:
    """Add the visitor's earlier messages about the matter. They may stand for the text that the request lacks.

    Of an appointment that was wished for outright the last two are enough, unless `whole`.
    """
    earlier = matter.earlier(message.turn, dropped=not _wishes_anew(message))
    if draft.request_type == "appointment" and not whole:
        earlier = earlier[-2:]
    if not draft.opening and earlier:
        draft = replace(draft, opening=drafts.opening_of(earlier[0]))
        return drafts.with_more(draft, *earlier[1:], *([message.text] if message.heard.substance(1) else []))
    return drafts.with_more(draft, *earlier)


def _wishes_anew(message: VisitorMessage) -> bool:
    """Return whether a message wishes outright for something of its own. A request given up before is no part of it."""
    return message.wish is not None and message.wish.clear and message.heard.substance(2)


def _continued(draft: RequestDraft, before: RequestDraft) -> RequestDraft:
    """Return the draft with the values and the text of an offer that it follows."""
    own = (
        drafts.with_more(draft, before.opening, *before.more) if draft.opening else replace(draft, opening=before.opening, more=before.more)
    )
    return replace(own, day=before.day, clock=before.clock, name=before.name, email=before.email, phone=before.phone)


def _known_visitor(turn: Turn, draft: RequestDraft) -> RequestDraft:
    """Take name and contact data from the newest record of the conversation."""
    last = turn.captured[-1] if turn.captured else None
    if last is None:
        return draft
    email, phone = draft.email or last.visitor_email, draft.phone or last.visitor_phone
    return replace(draft, name=draft.name or last.visitor_name, email=email, phone=phone)


def offer(message: VisitorMessage, request_type: str, text: str, key: str = "offer") -> Reply:
    """Reply with `text` and offer to take the request down."""
    turn, heard = message.turn, message.heard
    tongue = _language(message)
    said = texts.of(turn.bot, tongue)(key)
    if not turn.may_capture:
        return Reply(text)
    draft = with_values(RequestDraft(request_type, tongue, drafts.opening_of(turn.message), "offer"), heard)
    earlier = matter.earlier(turn) if request_type == "support" else matter.earlier(turn)[-1:]
    draft = drafts.with_more(draft, *earlier)
    return Reply(f"{text}\n\n{said}" if text else said, dialogue=drafts.dump(draft, turn.now_ms))


def is_offered(draft: RequestDraft) -> bool:
    """Return whether a draft was only offered, or is to be resumed."""
    return draft.asked in _OFFERED


def answer_to_offer(message: VisitorMessage, draft: RequestDraft) -> Reply | None:
    """Reply to the answer to an offer; None if the message is about something else."""
    turn, heard, say = message.turn, message.heard, texts.of(message.turn.bot, draft.language)
    if message.wish is not None and message.wish.clear:
        return begin(message, message.wish.request_type, before=draft)
    if hearing.denies(turn.message) or "lets_go" in message.intents:
        return Reply(say("offer.declined"))
    if message.small_talk in ("goodbye", "greeting", "thanks", "identity", "opening") or _asks_something_else(message, draft):
        return None
    asked = replace(draft, asked=draft.missing(say.profile.form(draft.request_type)) or "confirm")
    heard = hearing.interpret(turn.message, asked.asked, message.now, turn.bot.country)
    taken = with_values(asked, heard)
    if taken.name is None and not heard.question and corrections.is_name(message.text, message.now, turn):
        taken = replace(taken, name=hearing.interpret(turn.message, "name", message.now, turn.bot.country).name)
    if taken.is_appointment and taken.day is None and taken.clock is not None:
        taken = replace(taken, day=_day_told(message))
    numbered = any(len(word) >= _REFERENCE and word.isdigit() for word in message.said) and len(message.said) <= _MOST_BESIDE_REFERENCE
    if (
        taken != asked
        or numbered
        or (draft.is_appointment and heard.part_of_day)
        or hearing.agrees(turn.message, heard)
        or message.intents & {"act", "enrol"}
        or taking_up.goes_ahead(message)
    ):
        passing = hearing.bare_name(turn.message, None) or hearing.name_in_passing(turn.message, message.now, turn.bot.country)
        if asked.asked == "name" and heard.name and not message.has_contact and not passing:
            return None
        if heard.substance(2) and not hearing.agrees(turn.message, heard):
            taken = drafts.with_more(taken, turn.message)
        taken = taken if taken.name else replace(taken, name=matter.name_told(turn, message.now))
        lead = "" if draft.asked == "resume" else say(f"open.{draft.request_type}" if taken == asked else "open.volunteered")
        if draft.asked != "resume" and taken.asked == "name":  # it has not been asked for yet
            taken = replace(taken, asked="", missed=0)
        return FormTurn(turn, taken, heard).proceed("\n\n".join([*_asked_beside(message), lead]))
    return None


def _asks_something_else(message: VisitorMessage, draft: RequestDraft) -> bool:
    """Return whether a message asks about something else than the day of the appointment."""
    heard = message.heard
    dated = draft.is_appointment and (heard.day is not None or heard.clock is not None)
    return heard.question and (not dated or knowing.opening_hours(message) is not None)


def taken_up_again(message: VisitorMessage, draft: RequestDraft) -> Reply | None:
    """Continue a form that was given up: "ok let's do it then", or a bare day. None for other messages."""
    dated = draft.is_appointment and taking_up.names_a_day(message)
    if not (dated or taking_up.returns(message)) or not message.turn.may_capture:
        return None
    said = FormTurn(message.turn, with_values(draft, message.heard), message.heard)
    return said.proceed(said.say(f"open.{draft.request_type}"))


def kept(draft: RequestDraft, turn: Turn) -> str | None:
    """Return the state that keeps an offer over a message about something else. None once it is forgotten."""
    if not is_offered(draft) or draft.missed + 1 >= _MOST_TURNS_OF_AN_OFFER:
        return None
    return drafts.dump(replace(draft, missed=draft.missed + 1), turn.now_ms)


def resumed(message: VisitorMessage, draft: RequestDraft, said: str) -> Reply:
    """Reply with `said` and ask whether to continue a form that was left hours ago."""
    say = texts.of(message.turn.bot, draft.language)
    about = " ".join((draft.opening or say(f"kind.{draft.request_type}")).split())[:80]
    sentence = say("resume", about=about)
    state = drafts.dump(replace(draft, asked="resume", missed=0), message.turn.now_ms)
    return Reply(f"{said}\n\n{sentence}" if said else sentence, dialogue=state)


def _asked_beside(message: VisitorMessage) -> list[str]:
    """Return the answers to questions beside the wish: "I'd like an appointment. Do you take cards?"."""
    sentences = [clause for part in lookup.parts(message.text) for clause in part.split(", ")][:_MOST_SENTENCES]
    asked = [one for one in sentences if hearing.asks(one) and not ((wish := wishes.recognise(one)) and wish.clear)]
    found = [knowing.answer_in_context(message.turn, one) for one in asked]
    if not message.heard.names_when:  # "can i book the meeting room" may have an answer of its own
        found += [knowing.answer_about(message.turn, one) for one in sentences if one not in asked and hearing.asks(one)]
    return list(dict.fromkeys(answer for answer in found if answer))


def proceed(message: VisitorMessage, draft: RequestDraft) -> Reply:
    """Reply to a message while a form is open."""
    turn = message.turn
    if turn.language:
        draft = replace(draft, language=language.among(turn, LANGUAGES, draft.language))
    heard = hearing.interpret(turn.message, draft.asked, message.now, turn.bot.country)
    said = FormTurn(turn, draft, heard)
    field = fields.of(said.say.profile.form(draft.request_type), draft.asked)
    if field and (choice := fields.as_offered(field, turn.message)):  # whatever else its words may mean: "Cancel"
        return said.choose(field, choice)
    if hearing.gives_up(turn.message, heard, draft.asked):
        return Reply(dropped(turn, draft), dialogue=drafts.dump(replace(draft, asked="dropped", missed=0), turn.now_ms))
    if "postpones" in message.intents and with_values(draft, heard) == draft:
        return said.on_postponed()
    if field:
        return said.on_field(field)
    if draft.asked == "confirm":
        return said.on_summary()
    if draft.asked == "message":
        return said.on_message()
    return said.on_question()


def dropped(turn: Turn, draft: RequestDraft) -> str:
    """Return the sentence for a request that the visitor gives up. True also where an earlier one was captured."""
    say = texts.of(turn.bot, draft.language)
    return f"{say('cancelled')} {say('kept')}" if turn.captured else say("cancelled")


def _language(message: VisitorMessage) -> str:
    """Return the caller's language, else the visitor's as detected, else that of the wish."""
    turn, wish = message.turn, message.wish
    shown = language.guess(turn.message)
    before = language.detected(turn) if turn.history else None
    heard = shown if shown in LANGUAGES else before or (wish.language if wish else None)
    return language.among(turn, LANGUAGES, heard)
