"""Decision of a turn: which of the readings of a message is replied to.

READINGS is the order in which they are tried; the first reply counts. A reading returns None if the message is none of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chatsvc.domain.language import primary
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.dialogue import (
    answers,
    ask_back,
    colleagues,
    corrections,
    drafts,
    facts,
    fallbacks,
    flow,
    followups,
    hearing,
    knowing,
    matter,
    openings,
    records,
    repetition,
    situations,
    smalltalk,
    taking_up,
    texts,
    wishes,
)
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.form_replies import last_reply
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage

_MOST_WORDS = 7  # of a question about the bot's languages
_MOST_LISTED = 6  # entries in an overview
_FEW = 5  # words of a message that says how many come
_LIKELY = 0.5  # confidence of a hedged answer that goes before a weak wish
_PRICE = "how much is it"
_UPSET = frozenset({"complaint", "refund"})


def reply(turn: Turn) -> Reply:
    """Answer one turn; raises EngineError("no_answer") if nothing replies to it."""
    message = VisitorMessage(turn)
    said = _reply(message)
    return said if said.captured is not None or said.text != last_reply(turn) else repetition.varied(message, said)


def _reply(message: VisitorMessage) -> Reply:
    turn, draft = message.turn, flow.opened(message.turn)
    if draft is None:
        return _first_of(message, READINGS)
    if draft.asked == "dropped":
        if hearing.denies(message.text) and not message.heard.question:
            return Reply(_say(message)("offer.declined"), dialogue=turn.dialogue)
        again = None if drafts.is_stale(turn.dialogue, turn.now_ms) else flow.taken_up_again(message, draft)
        return again or _beside_an_offer(message, draft)
    if draft.asked != "offer" and drafts.is_stale(turn.dialogue, turn.now_ms):
        return _after_a_pause(message, draft)
    if flow.is_offered(draft):
        return flow.answer_to_offer(message, draft) or _beside_an_offer(message, draft)
    return flow.proceed(message, draft)


def _beside_an_offer(message: VisitorMessage, draft: RequestDraft) -> Reply:
    """Reply to a message about something else; the offer stays open for a while. A question without a subject gets it again."""
    try:
        said = _first_of(message, READINGS)
    except EngineError:
        if draft.asked != "offer" or not message.heard.question or followups.naming_words(message.text):
            raise
        return Reply(_say(message)("offer.again"), dialogue=flow.kept(draft, message.turn))
    if said.dialogue is not None or said.captured is not None or message.small_talk == "goodbye":
        return said
    return replace(said, dialogue=flow.kept(draft, message.turn))


def _after_a_pause(message: VisitorMessage, draft: RequestDraft) -> Reply:
    """Resume a form that was left hours ago. One sentence says so, unless the message resumes it itself."""
    resumed = replace(draft, asked="resume")
    said = flow.answer_to_offer(message, resumed)
    if said is not None:
        return said
    if message.small_talk == "goodbye":
        return _first_of(message, READINGS)
    said = _first_of(message, READINGS)
    return said if said.dialogue is not None or said.captured is not None else flow.resumed(message, draft, said.text)


def _first_of(message: VisitorMessage, readings: tuple[Reading, ...]) -> Reply:
    for reading in readings:
        said = reading(message)
        if said is not None:
            return said
    finding = message.finding
    detail = f"decision {finding.decision}, confidence {finding.confidence:.2f}"
    raise EngineError("no_answer", detail, fallback=fallbacks.sentence(message.turn))


# Readings


def _choice(message: VisitorMessage) -> Reply | None:
    """Read the choice among entries that the last reply offered."""
    return ask_back.answered(message.turn, lambda: message.finding)


def _pending_change(message: VisitorMessage) -> Reply | None:
    """Read the answer to a question about a change of an appointment."""
    change = records.load(message.turn)
    return records.proceed(message, change) if change else None


def _small_talk(message: VisitorMessage) -> Reply | None:
    small = smalltalk.answer(message.turn)
    if small is None:
        return None
    own = knowing.answer_of(message.turn, message.text) if smalltalk.asks_who(message.turn) else None
    return Reply(own or small)


def _record(message: VisitorMessage) -> Reply | None:
    """Read a question about a captured record, or a wish to change it."""
    return records.reply(message)


def _volunteered(message: VisitorMessage) -> Reply | None:
    """Read name and contact data given though no form is open."""
    turn = message.turn
    if not turn.may_capture or not message.has_contact or (message.heard.question and message.wish is None):
        return None
    kind = message.wish.request_type if message.wish else matter.request_type(turn, message.text)
    if kind == "appointment" and message.wish is None and not (message.heard.day or message.heard.clock):
        kind = matter.request_type(turn, message.text)
    if kind == "contact" and message.wish is None and taking_up.is_invited(turn):
        kind = "appointment"
    clear = message.wish is not None and message.wish.clear
    visit = matter.visit_told(turn, message.now) if kind == "contact" and message.wish is None else None
    if visit is not None:
        return flow.begin(
            message, "appointment", opening="open.volunteered", before=RequestDraft("appointment", "en", day=visit[0], clock=visit[1])
        )
    return flow.begin(message, kind, opening="" if clear else "open.volunteered")


def _clear_wish(message: VisitorMessage) -> Reply | None:
    wish, turn = message.wish, message.turn
    if wish is None or not wish.clear or not turn.may_capture:
        return None
    return flow.begin(message, wish.request_type)


def _person(message: VisitorMessage) -> Reply | None:
    """Read the wish to speak to a person."""
    named = colleagues.are_asked_for(message)
    if ("person" not in message.intents and not named) or followups.asks_who(message.turn):
        return None
    if not message.turn.may_capture:
        return Reply(_say(message)("person.later"))
    return flow.begin(message, "contact", opening="open.named" if named else "open.person")


def _upset(message: VisitorMessage) -> Reply | None:
    """Read a complaint or a demand for money back. The answer if there is one, and the offer to pass it on."""
    if not message.intents & _UPSET or ("?" in message.text and "complaint" not in message.intents):
        return None
    say = _say(message)
    asks = message.heard.question or "refund" in message.intents  # "balata 2.200 TL" is no reply to "you scratched my car"
    known = (answers.answer(message.turn, message.finding) or _hedged(message)) if asks else None
    said = f"{say('sorry')} {known.text if known else ''}".strip()
    offered = flow.offer(message, "support", said, "offer.contact")
    return replace(offered, evidence=known.evidence) if known else offered


def _enrolment(message: VisitorMessage) -> Reply | None:
    if "enrol" not in message.intents or not message.turn.may_capture:
        return None
    kind = "appointment" if message.heard.day else matter.request_type(message.turn, message.text)
    return flow.begin(message, "other" if kind == "contact" else kind)


def _taken_up(message: VisitorMessage) -> Reply | None:
    """Read a bare day after an invitation to name one, or "let's do it"."""
    turn = message.turn
    if not turn.may_capture:
        return None
    invited = taking_up.is_invited(turn)
    if invited and taking_up.names_a_day(message):
        return flow.begin(message, "appointment")
    day = matter.day_told(turn, message.now) if message.heard.counts and len(message.said) <= _FEW else None
    if day is not None:  # "are you open on Friday?", "we are 6"
        return flow.begin(message, "appointment", before=RequestDraft("appointment", "en", day=day))
    if not taking_up.goes_ahead(message) or not taking_up.has_matter(turn):
        return None
    kind = "appointment" if invited else matter.request_type(turn)
    return flow.begin(message, "other" if kind == "contact" else kind)


def _opening_hours(message: VisitorMessage) -> Reply | None:
    said = knowing.opening_hours(message)
    return Reply(said) if said else None


def _foreign(message: VisitorMessage) -> Reply | None:
    """Refuse a message in a language that the bot does not have; raises EngineError("no_answer")."""
    if not fallbacks.is_foreign(message.turn) or message.has_contact or corrections.is_name(message.text, message.now, message.turn):
        return None
    raise EngineError("no_answer", "a language that the bot does not have", fallback=fallbacks.sentence(message.turn))


def _answer(message: VisitorMessage) -> Reply | None:
    """Read a question that the knowledge answers; a weak wish beside it gets an offer."""
    known = answers.answer(message.turn, message.finding)
    if known is None:
        return None
    return _with_offer(message, known) if message.wish is not None or _names_service_and_day(message) else known


def _names_service_and_day(message: VisitorMessage) -> bool:
    """Return whether a few words name something and the day for it: "yarın manikür"."""
    heard = message.heard
    return heard.day is not None and not heard.question and len(message.said) <= _FEW and heard.substance(1)


def _with_offer(message: VisitorMessage, known: Reply) -> Reply:
    """Add the offer to take down the wish beside a question."""
    wish = message.wish
    kind = wish.request_type if wish is not None else "appointment"
    key = "offer.appointment" if kind in ("appointment", "other") else "offer"
    return replace(flow.offer(message, kind, known.text, key), evidence=known.evidence)


def _hedged(message: VisitorMessage) -> Reply | None:
    """Return a hedged answer; None if the result warrants none."""
    return answers.unsure(message.turn, message.finding) if message.finding.hedged else None


def _language(message: VisitorMessage) -> Reply | None:
    """Read "do you speak English?", asked of the bot."""
    asked = next((tag for tag in ("tr", "en") if f"speaks {tag}" in message.intents), None)
    return Reply(texts.of(message.turn.bot, asked)("speaks")) if asked and len(message.said) <= _MOST_WORDS else None


def _overview(message: VisitorMessage) -> Reply | None:
    """Read a question about everything, or about prices of nothing in particular. List entries to choose from."""
    entries = message.turn.knowledge.entries
    if "prices" in message.intents and not message.turn.history:
        entries = [entry for entry in entries if facts.states_any(entry.answer, facts.asked(_PRICE))]
    elif "overview" not in message.intents and "prices" not in message.intents:
        return None
    listed = [entry for entry in entries if primary(entry.language) == message.tongue] or list(entries)
    if message.turn.bot.ask_back is False or not listed:
        return None
    return ask_back.ask_among(message.turn, "prices" if "prices" in message.intents else "overview", listed[:_MOST_LISTED])


def _own_booking(message: VisitorMessage) -> Reply | None:
    """Read a question or a wish about a booking that this conversation has not captured. The team can look it up."""
    wanted = message.intents & {"own", "cancel", "move"}
    if not wanted or not message.turn.may_capture:
        return None
    if message.wish is not None and not message.wish.clear and wanted & {"cancel", "move"}:
        return flow.begin(message, message.wish.request_type)
    if wanted & {"cancel", "move"} and (not message.heard.question or records.asks_leave(message)):
        return flow.begin(message, "other")
    known = _hedged(message)
    return flow.offer(message, "other", known.text if known else "", "own.none")


def _weak_wish(message: VisitorMessage) -> Reply | None:
    wish, heard = message.wish, message.heard
    if wish is None or not message.turn.may_capture:
        return None
    dated = heard.day is not None or heard.clock is not None
    likely = heard.question or message.finding.confidence >= _LIKELY
    if not dated and likely and (known := _hedged(message)) is not None:
        return _with_offer(message, known)
    visits = wishes.is_visit(message.text)  # "could we come and see the place" asks for nothing else
    if heard.question and not (dated or visits) and wish.request_type == "appointment" and followups.naming_words(message.text):
        return _with_offer(message, Reply(_say(message)("unknown")))
    return flow.begin(message, wish.request_type)


def _proposed_day(message: VisitorMessage) -> Reply | None:
    """Read "would today do?": the hours of that day, and the offer of a request unless it is closed."""
    if not openings.is_day_alone(message) or not openings.proposes(message) or openings.asked_before(message.turn):
        return None
    said = knowing.opening_hours_beside(message)
    if openings.is_closed(message) or not message.turn.may_capture:
        return Reply(said) if said else None
    return flow.offer(message, "appointment", said or "", "offer.appointment")


def _opening_hours_beside(message: VisitorMessage) -> Reply | None:
    said = knowing.opening_hours_beside(message)
    return Reply(said) if said else None


def _act(message: VisitorMessage) -> Reply | None:
    """Read "please sort it out": somebody of the team has to."""
    if "act" not in message.intents or message.heard.question or not message.turn.may_capture:
        return None
    return flow.begin(message, matter.request_type(message.turn, message.text), opening="open.volunteered")


def _named(message: VisitorMessage) -> Reply | None:
    """Read a bare name after something was said of a matter: the visitor expects to be noted down."""
    turn = message.turn
    if not turn.may_capture or not turn.history or not matter.earlier(turn) or not corrections.is_name(message.text, message.now, turn):
        return None
    kind = matter.request_type(turn)
    visit = matter.visit_told(turn, message.now) if kind == "contact" else None
    return flow.begin_with_name(message, "appointment" if visit else kind, *(visit or ()))


def _introduced(message: VisitorMessage) -> Reply | None:
    """Read an introduction that asks and wants nothing yet: "adım Okan, arabamın plakası 34 ABC 12"."""
    told = message.heard.name is not None and not message.heard.question and message.wish is None and not message.has_contact
    return Reply(_say(message)("smalltalk.opening")) if told and message.finding.decision != "answer" else None


def _insult(message: VisitorMessage) -> Reply | None:
    if "insult" not in message.intents:
        return None
    say = texts.of(message.turn.bot, message.tongue)
    return Reply(say("insult"))


def _lets_go(message: VisitorMessage) -> Reply | None:
    return Reply(_say(message)("offer.declined")) if message.intents & {"lets_go", "postpones"} else None


def _unsure(message: VisitorMessage) -> Reply | None:
    """Read a question that the knowledge may answer: a hedged answer, or a question back."""
    return answers.unsure(message.turn, message.finding)


def _say(message: VisitorMessage) -> texts.Say:
    return texts.of(message.turn.bot, message.tongue)


Reading = Callable[[VisitorMessage], Reply | None]
READINGS: tuple[Reading, ...] = (
    _choice,
    _pending_change,
    _small_talk,
    _record,
    _foreign,
    _volunteered,
    _clear_wish,
    _person,
    _upset,
    _enrolment,
    _taken_up,
    _language,
    _opening_hours,
    _answer,
    _overview,
    _lets_go,
    _own_booking,
    _weak_wish,
    _proposed_day,
    _opening_hours_beside,
    _act,
    _named,
    _introduced,
    _insult,
    situations.reply,
    _unsure,
)
