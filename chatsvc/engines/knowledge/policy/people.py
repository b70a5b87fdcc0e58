"""Visitors who want a person, complain, or leave their data: their note for the team."""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.policy import answers, forms, offers, openings, records, taking
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep, context_of
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.language.folding import words

_CERTAIN = 0.8  # confidence of an answer that goes before the offer of a person

# Probability of a wish in a question whether something is possible, from which a request is offered: without and with a day.
_WISH, _WISH_FOR_DAY = 0.2, 0.1


def person(c: Context) -> ReplyStep:
    """Take a note where a person is wanted. The hand-off itself is decided before the engine is asked."""
    return _noted(c, "contact", "open.person")


def nobody_came(turn: Turn) -> Reply:
    """Open the form of a request where a person was asked for and nobody came. `message` is the visitor's last word."""
    c = context_of(turn)
    step = forms.begin(c, "contact", "open.nobody") if turn.may_capture else c.step(c.say("person.later"))
    return step.reply(c)


def unknown_record(c: Context) -> ReplyStep | None:
    """Say that there is no record here, after what the knowledge has to say, and offer a note."""
    found = answers.find(c, c.turn.message, c.said.questions[0].kind if c.said.questions else "")
    known = found.text if found.decision == "answer" else ""
    if known and not c.said.may_be("status", "cancel", "change", "keep") >= records.OUTRIGHT:
        return None
    if not c.turn.may_capture:
        return c.step(known) if known else None
    return offers.offer(c, "contact", known, "own.none")


def message(c: Context) -> ReplyStep:
    """Take the message that the visitor wants to leave."""
    return _noted(c, "contact", "open.contact")


def complaint(c: Context) -> ReplyStep:
    """Say sorry and take the complaint down: at once where the visitor leaves contact data, else as an offer."""
    if c.said.values.phone or c.said.values.email:
        return _noted(c, "support", "open.support")
    again = c.state.draft is not None and c.state.draft.kind == "support"
    answer = answers.answer(c) if c.said.questions else None  # a question at the end of a story
    lead = answer.text if answer is not None and not answer.state.pending else c.say("sorry") if again else ""
    return offers.offer(c, "support", lead, "offer.contact" if again else "offer.upset")


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
    hours = openings.answer(c, c.turn.message) or ""
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
    if found.decision not in ("hedge", "ask") or len(found.options) > 1 or c.turn.bot.ask_back is False or not c.turn.may_capture:
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
