"""Visitors who want a person, complain, or leave their data: their note for the team."""

from collections.abc import Sequence
from dataclasses import replace

from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.policy import answers, forms, offers, opening_hours, records, taking
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep, context_of
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import ReadClause
from chatsvc.language.folding import words

# Probability of a wish in a question whether something is possible, from which a request is offered: without and with a day.
_WISH, _WISH_FOR_DAY = 0.2, 0.1
_ASKS = 0.3  # probability of a question in a wish, from which it is answered first
_CERTAIN = 0.8  # confidence of an answer that goes before the offer of a person


def person(c: Context) -> ReplyStep:
    """Take a note where a person is wanted. The hand-off itself is decided before the engine is asked."""
    step = _noted(c, "contact", "open.person")
    return step.after(c.say("smalltalk.identity", name=c.turn.bot.name)) if c.said.surely_says("identity") else step


def nobody_came(turn: Turn) -> Reply:
    """Open the form of a request where a person was asked for and nobody came. `message` is the visitor's last word."""
    c = context_of(turn)
    step = forms.begin(c, "contact", "open.nobody") if turn.may_capture else c.step(c.say("person.later"))
    return step.reply(c)


def unknown_record(c: Context) -> ReplyStep | None:
    """Say that there is no record here, after what the knowledge has to say, and offer a note."""
    if c.turn.may_capture and c.said.values.name is not None and c.said.values.name.explicit:
        return _noted(c, "contact", "open.contact")
    found = answers.find(c, c.turn.message, c.said.questions[0].kind if c.said.questions else "")
    known = found.text if found.decision == "answer" else ""
    if known and not c.said.may_be("status", "cancel", "change", "keep") >= records.OUTRIGHT:
        return None
    if not c.turn.may_capture:
        return c.step(known) if known else None
    return offers.offer(c, "contact", known, "own.none", states.RECORD)


def message(c: Context) -> ReplyStep:
    """Take the message that the visitor wants to leave."""
    return _noted(c, "contact", "open.contact")


def complaint(c: Context) -> ReplyStep:
    """Say sorry and take the complaint down: at once where the visitor leaves contact data, else as an offer."""
    if c.said.values.phone or c.said.values.email or (c.turn.captured and c.said.surely_says("complain")):
        return _noted(c, "support", "open.support")
    again = c.state.draft is not None and c.state.draft.kind == "support"
    if again and c.told and c.say("offer.contact") in c.told[0]:
        return _noted(c, "support", "open.support")
    answer = answers.answer(c) if c.said.questions else None  # a question at the end of a story
    lead = answer.text if answer is not None and not answer.state.pending else c.say("sorry") if again else ""
    return offers.offer(c, "support", lead, "offer.contact" if again else "offer.upset")


def wish(c: Context) -> ReplyStep:
    """Open the form of a wish. Where it may be a question, or asks for the price and names no day, answer it and offer the form."""
    values, kind, purpose = c.said.values, *forms.wanted(c)
    if values.phone or values.email or values.time:
        return forms.begin(c, kind, purpose=purpose)
    asked = [one for one in c.said.clauses if one.act == "book" and one.may_be("ask") > _ASKS]
    if values.date is None:
        asked += forms.with_topics(c, [one for one in c.said.questions if one.kind in taking.OF_THING or _asks_of_wish(one)])
    return _answered_first(c, asked, kind) or forms.begin(c, kind, purpose=purpose)


def _asks_of_wish(asked: ReadClause) -> bool:
    """Return whether a question is about the wish before it: "wanting a ride with the dog, is that doable"."""
    return asked.kind in ("whether", "may") and not asked.matter


def room(c: Context) -> ReplyStep | None:
    """Answer a question about a free hour or room from the knowledge, else take the request down."""
    values, kind, purpose = c.said.values, *forms.wanted(c)
    if not c.turn.may_capture:
        return None
    if not (values.date or values.time or values.nights) and (step := _answered_first(c, c.said.questions, kind)):
        return step
    timed = kind == "appointment" and not values.nights and c.say.profile.form(kind).appointment == "time"
    return forms.begin(c, kind, "any.free" if not timed else "any.time" if values.date else "any.date", purpose=purpose)


def _answered_first(c: Context, asked: Sequence[ReadClause], kind: str) -> ReplyStep | None:
    """Answer questions that come before a wish, and offer the form. None without an answer."""
    beside = answers.beside(c, asked)
    if not beside.said:
        return None
    step = offers.offer(c, kind, "\n\n".join(beside.said), "offer.appointment" if kind == "appointment" else "offer")
    return forms.with_answers(step, beside)


def named(c: Context) -> ReplyStep:
    """Take a name that is told alone; that of the record is known already."""
    found = c.said.values.name
    if c.turn.captured and found is not None and found.value == c.turn.captured[-1].visitor_name:
        return c.line("smalltalk.noted")
    return volunteered(c)


def volunteered(c: Context) -> ReplyStep:
    """Take name and contact data that are given though no form is open; with a day, for an appointment."""
    return _noted(c, "appointment" if c.said.values.date or "until" in c.state.heard else "contact", "open.volunteered")


def proposed(c: Context) -> ReplyStep:
    """Take down a day that the visitor proposes: "cumartesi 11'e gelirim o zaman". Somebody who wanted no form gets none."""
    if not c.said.values.time and not {"cancelled", "offer.declined"}.isdisjoint(c.state.told):
        return c.line("smalltalk.noted")
    return forms.begin(c, "appointment")


def day(c: Context) -> ReplyStep | None:
    """Tell the hours of a day that is named alone, and offer to take a request for it."""
    draft, _ = taking.take(c, RequestDraft("appointment"))
    hours = opening_hours.answer(c, c.turn.message) or ""
    if draft.get("date") is None or not c.turn.may_capture or c.form(draft).by_key["date"].refused(draft, c.place):
        return c.step(hours) if hours else None
    return offers.offer(c, "appointment", hours, "offer.appointment")


def agreed(c: Context) -> ReplyStep:
    """Offer a request where the visitor agrees to what was told: "yes let's do it"."""
    return offers.offer(c, "appointment", "", "offer.appointment")


def situation(c: Context) -> ReplyStep:
    """Offer a note where the visitor tells of something for which there is no answer."""
    if c.state.pending == states.OFFER_CONTACT and c.state.draft is not None and c.state.draft.kind == "support":
        return complaint(c)
    open_offer = c.state.draft if c.state.pending in (states.OFFER, states.OFFER_CONTACT) else None
    return offers.offer(c, open_offer.kind if open_offer else "contact", "", "offer.situation")


def answered(c: Context) -> ReplyStep | None:
    """Answer a message; where nothing but the last reply can be said again, offer a note beside it."""
    step = _near(c) if c.said.says("state") else None
    step = step or answers.answer(c)
    if step is not None and not step.state.pending and c.turn.may_capture and wishes(c):
        return _beside(step, offers.offer(c, "appointment", step.text, "offer.appointment"))
    if step is None or not c.told or step.text != c.told[0] or step.choices or not c.turn.may_capture:
        return step
    again = words(c.turn.message) == words(c.spoken[-2]) if len(c.spoken) > 1 else True
    if not again and step.evidence is not None and (step.evidence.confidence or 0.0) > _CERTAIN:
        return step  # another question with the same answer
    return _beside(step, offers.offer(c, "contact", step.text, "offer.again"))


def _beside(step: ReplyStep, offered: ReplyStep) -> ReplyStep:
    """Return an answer with an offer beside it."""
    return replace(offered, state=replace(offered.state, subjects=step.state.subjects), evidence=step.evidence)


def wishes(c: Context) -> bool:
    """A wish put as a question whether something is possible: "can I book the sauna?"."""
    least = _WISH_FOR_DAY if c.said.values.date else _WISH
    return any(one.kind == "may" and one.may_be("book") > least for one in c.said.questions)


def _near(c: Context) -> ReplyStep | None:
    """Tell a situation what may help, and offer a note beside it. None where the answer is sure, or nothing is near."""
    found = answers.find(c, c.turn.message, "")
    if found.decision != "hedge" or c.turn.bot.ask_back is False or not c.turn.may_capture:
        return None
    text = f"{c.say('back.near', question=found.question.rstrip(' ?!.:'))}\n\n{found.text}"
    return offers.offer(c, "contact", text)


def introduced(c: Context) -> ReplyStep:
    """Listen to a visitor who says no more than a name."""
    return c.line("smalltalk.opening")


def asked_again(c: Context) -> ReplyStep | None:
    """Offer again where the visitor asks what to do, and no more is known."""
    return c.step(c.say("offer.again"), choices=c.say.yes_no)


def booking(c: Context) -> ReplyStep | None:
    """Offer to take down what the visitor asks how to get: "how do I book?"."""
    return offers.offer(c, "appointment", c.say("unknown"), "offer.appointment") if c.turn.may_capture else None


def _noted(c: Context, kind: str, opening: str) -> ReplyStep:
    if not c.turn.may_capture:
        return c.step(c.say("person.later"))
    return forms.begin(c, kind, opening)
