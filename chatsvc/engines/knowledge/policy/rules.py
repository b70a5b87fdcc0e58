"""The policy: a table read from top to bottom. The first rule whose condition holds and whose action makes a step decides.

A condition speaks of the state before the message and of what the message says; an action is a function of a module of this package.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.policy import (
    answers,
    fallbacks,
    forms,
    listening,
    misses,
    offers,
    opening_hours,
    people,
    records,
    smalltalk,
    taking,
)
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Action, Context, ReplyStep, context_of
from chatsvc.engines.knowledge.policy.state import Subject, remembered
from chatsvc.engines.knowledge.policy.taking import WHEN
from chatsvc.engines.knowledge.understand import SURE, ReadClause
from chatsvc.language.folding import words

_MATTERS = ("complain", "state", "cancel", "change", "status", "book", "message", "ask")
_NO_MATTER = ("open", "tongue")  # kinds of questions that say nothing of what a request is about
_SURE_TALK, _TALK_WORDS = 0.7, 3  # probability and words of small talk that may name a thing too
_MAY_MOVE = 0.2  # probability of a change, for a day named right after a capture
_MAY_BOOK, _WISH = 0.15, 0.3  # probability of a wish in a question: of one without an answer, and of one that is the matter of a form
_TELLS = 0.5  # probability of a situation
_OF_ROOM = ("free", "open", "whether", "may")
_TOLD = 2  # words of a no that tells something too
_REFUSES = 0.12  # probability of a refusal, beside a question, from which a form is left
_BESIDE_DAY = 2  # words beside a day that is proposed, or named alone
_OFFER_TURNS = 2  # messages about something else after which an offer is forgotten


class Rule(NamedTuple):
    """A row of the table. `name` is for people."""

    name: str
    when: Callable[[Context], bool]
    do: Action


def _always(_: Context) -> bool:
    return True


def _form(c: Context) -> bool:
    return c.state.has_open_form and c.turn.may_capture


def _pending(*names: str) -> Callable[[Context], bool]:
    return lambda c: c.state.pending in names


def _says(*acts: str) -> Callable[[Context], bool]:
    return lambda c: c.said.says(*acts)


def _gives_up(c: Context) -> bool:
    return c.said.says("cancel") or c.said.surely_says("cancel", "stop")


def _leaves_for_question(c: Context) -> bool:
    """A question of somebody who wants no form: "no booking, just tell me the price". Contact data may be refused without leaving."""
    values = c.said.values
    if not listening.asked_instead(c) or values.date or values.time or values.part_of_day:
        return False
    refusals = ("stop", "deny", "refuse") if c.state.asked in (*WHEN, "message") else ("stop", "deny") if c.state.asked else ("stop",)
    return c.said.may_be(*refusals) > _REFUSES


def _complains_instead(c: Context) -> bool:
    """A complaint where a day or an hour was asked for: "I don't want to book again, I want this put right"."""
    draft, values = c.state.draft, c.said.values
    asked = draft is not None and draft.is_appointment and c.state.asked in WHEN
    return asked and c.said.surely_says("complain") and not (values.date or values.time or values.phone or c.said.questions)


def _adds_to_complaint(c: Context) -> bool:
    """More of a complaint that the bot has offered to pass on: "the left armpit"."""
    draft = c.state.draft if c.state.pending == states.OFFER_CONTACT else None
    tells = c.said.says_only("state", "give", "complain", "correct")
    return draft is not None and draft.kind == "support" and not c.state.turns and tells and any(one.matter for one in c.said.clauses)


def _asks_on(c: Context) -> bool:
    """Another question in a row while a form holds nothing yet: the visitor wants to know first."""
    draft = c.state.draft
    told = draft is not None and draft.values.keys() & {*WHEN, "name", "phone", "email"}
    return c.state.turns >= forms.MOST_ASIDES and bool(c.state.asked and taking.free_questions(c)) and not told and not c.said.values.spans


def _answer_instead(c: Context) -> ReplyStep | None:
    """Answer as without a form, which can be taken up again."""
    return _step(replace(c, state=replace(c.state.settled(), draft=c.state.draft, pending=states.DROPPED)))


def _parts(c: Context) -> bool:
    """A parting; one with other words must be sure: "I'll think about it", but not "full leg, first time"."""
    told = any(one.matter for one in c.said.clauses)
    return c.said.says_only("part", "thank", "greet") and (c.said.surely_says("part") if told else c.said.says("part"))


def _declines(c: Context) -> bool:
    """A no to the form's first questions that tells nothing else, and speaks of no other day or hour."""
    values, refusals = c.said.values, ("deny", "stop", "cancel", "refuse")
    other = values.rejected_date or values.part_of_day or values.flexible or c.said.says("skip", "refuse")
    if other or c.state.asked not in (*WHEN, "message") or c.said.may_be(*refusals) < SURE:
        return False
    return c.said.says_only(*refusals, "thank") and sum(one.matter for one in c.said.clauses) < _TOLD


def _all(*conditions: Callable[[Context], bool]) -> Callable[[Context], bool]:
    return lambda c: all(condition(c) for condition in conditions)


def _has_records(c: Context) -> bool:
    return bool(c.turn.captured)


def _leaves_contact(c: Context) -> bool:
    return (c.said.values.phone is not None or c.said.values.email is not None) and not _form(c)


def _cancels(c: Context) -> bool:
    """A cancellation; right after the capture a wish to stop too."""
    fresh = records.is_fresh(c)
    return c.said.says("cancel") or (fresh and (c.said.surely_says("stop") or c.said.may_be("cancel") >= _MAY_MOVE))


def _asks_for_room(c: Context) -> bool:
    """A question of what is free; for the days of a stay, any whether something is possible."""
    values = c.said.values
    stays = values.until is not None or (values.nights is not None and (values.people is not None or values.date is not None))
    return any(
        one.kinds.get("free", 0.0) >= SURE or (stays and sum(one.kinds.get(kind, 0.0) for kind in _OF_ROOM) > _TELLS)
        for one in c.said.questions
    )


def _proposes_day(c: Context) -> bool:
    """A day and an hour or the last day told, or a day and little else, and nothing asked."""
    values = c.said.values
    days = values.date or values.until or ("date" in c.state.heard and values.time)
    other = c.said.says("part", "thank", "status", "cancel", "change") or c.said.surely_says("state")
    if not days or c.said.questions or other or not c.turn.may_capture:
        return False
    return values.time is not None or values.until is not None or (c.said.says("give") and c.said.content <= _BESIDE_DAY)


def _wishes(c: Context) -> bool:
    """A wish, and no cancellation beside it: "I've got an appointment at ten and I can't make it"."""
    return c.said.says("book") and not c.said.surely_says("cancel") and c.turn.may_capture


def _only_day(c: Context) -> bool:
    """A day and nothing else: "tuesday?"."""
    talks = c.said.says("part", "thank", "greet", "cancel", "change", "status", "state")
    talks = talks or any(one.kind in ("may", "free", "whether") for one in c.said.questions)
    alone = not c.said.content and len(words(c.said.values.rest)) <= _BESIDE_DAY
    return c.said.values.date is not None and c.said.values.time is None and alone and not talks


def _agrees(c: Context) -> bool:
    """A yes in more words than a nod, after something was told: "yes, let's do it"."""
    several = len(words(c.turn.message)) > _TALK_WORDS and c.turn.may_capture
    return several and c.state.subject.entry not in ("", states.REQUEST) and c.said.says_only("affirm") and c.said.surely_says("affirm")


def _asks_what_to_do(c: Context) -> bool:
    asked = c.said.questions
    return (
        c.state.pending in (states.OFFER, states.OFFER_CONTACT)
        and bool(asked)
        and all(one.kind in ("what", "how") and one.matter <= 1 for one in asked)
    )


def _names_oneself(c: Context) -> bool:
    """A name and nothing else, after something was said of a matter."""
    about = bool(c.state.matter) or bool(c.unanswered) or _has_records(c)
    return c.said.values.name is not None and not c.said.content and about and c.turn.may_capture


def _new_time(c: Context) -> bool:
    """A day or hour soon after the capture, alone or in a message that changes something and books nothing."""
    named = c.said.values.date or c.said.values.time
    changes = (c.said.says("correct", "change", "give") or not c.said.content) and not c.said.questions
    moves = changes or c.said.may_be("change") >= _MAY_MOVE
    return bool(named) and records.is_fresh(c) and moves and not _may_ask(c)


def _may_ask(c: Context) -> bool:
    """Return whether what may be a wish to move may as well be a question: "can my sister pick him up instead of me"."""
    return c.said.says("change") and c.said.may_be("change") < SURE and c.said.may_be("ask") > _MAY_MOVE


def _asks_of_request(c: Context) -> bool:
    """A bare question of when or who, with nothing else spoken of since the capture."""
    if c.said.values.date:
        return False
    bare = [one for one in c.said.questions if one.kind in ("when", "who") and one.matter <= (one.kind != "who")]
    return bool(bare) and len(bare) == len(c.said.clauses) and (c.state.subject == Subject("") or c.state.subject.entry == states.REQUEST)


def _only_talks(c: Context) -> bool:
    """Small talk and nothing else. What may be a thing that is named ("otomatik") is looked for first."""
    return all(
        clause.is_one_of(*smalltalk.ACTS)
        and (not clause.matter or (clause.may_be(*smalltalk.ACTS) > _SURE_TALK and clause.matter <= _TALK_WORDS))
        for clause in c.said.clauses
    )


def _talks(c: Context) -> bool:
    """Small talk beside something else. What is hardly any names no thing."""
    talk = [clause for clause in c.said.clauses if clause.is_one_of(*smalltalk.ACTS)]
    return not c.said.questions and any(not clause.matter or clause.may_be(*smalltalk.ACTS) > _SURE_TALK for clause in talk)


def _is_foreign(c: Context) -> bool:
    """A message in a language that neither the bot nor its knowledge has. One word that the knowledge has may be of any language."""
    sole = len(words(c.turn.message)) == 1
    return fallbacks.is_foreign(c) and not (sole and answers.find(c, c.turn.message, "").decision == "answer")


def _is_nonsense(c: Context) -> bool:
    return bool(words(c.turn.message)) and all(clause.may_be("nonsense") > _SURE_TALK for clause in c.said.clauses)


def _asks_of_request_form(c: Context) -> bool:
    """A question that may be a wish: "how do I book?", "is tomorrow all right?"."""
    on_day = c.said.values.date is not None and any(one.kind == "may" for one in c.said.questions)
    how = any(one.kind == "how" and one.of_wish for one in c.said.questions)
    return bool(c.said.questions) and (on_day or how or c.said.may_be("book") > _MAY_BOOK)


def _tells_situation(c: Context) -> bool:
    """A situation is told that has no answer."""
    tells = c.said.may_be("state", "complain", "cancel", "change", "correct") > _TELLS
    return tells and c.turn.may_capture and any(clause.matter for clause in c.said.clauses)


RULES = (
    Rule("a choice of the form as it was offered", _form, listening.choose),
    Rule("no words at all", smalltalk.is_wordless, smalltalk.wordless),
    Rule("a language that nobody here speaks", _is_foreign, fallbacks.foreign),
    # An open form
    Rule("a complaint instead of the form", _all(_form, _complains_instead), people.complaint),
    Rule("the form is given up", _all(_form, lambda c: c.said.says("stop") and not c.said.says("ask", "give", "affirm")), listening.drop),
    Rule("the form is canceled", _all(_form, _gives_up, lambda c: not _has_records(c) and not c.said.questions), listening.drop),
    Rule("a question instead of the form", _all(_form, _leaves_for_question), listening.suspend),
    Rule("one question after another in place of a form", _all(_form, _asks_on), _answer_instead),
    Rule("a yes to the summary", _pending(states.CONFIRM), listening.confirm),
    Rule("goodbye before the end", _all(_form, _parts), listening.leave),
    Rule("values, and questions beside them", _form, listening.listen),
    Rule("an insult beside a form", _form, listening.insulted),
    Rule("what the question is for", _all(_form, _says("why")), listening.why),
    Rule("something noted is wrong", _form, listening.change),
    Rule("a no to the form", _all(_form, _declines), listening.drop),
    Rule("what the visitor will not or cannot tell", _form, misses.refused),
    Rule("the request is taken for sent", _form, listening.not_sent),
    Rule("another wish", _form, listening.other_wish),
    Rule("no answer to the question", _form, listening.aside),
    Rule("not understood", _form, misses.misunderstood),
    # Open questions of the bot
    Rule("one of the things offered", _all(_pending(states.OPTIONS), lambda c: not c.said.surely_says("person")), answers.choice),
    Rule("a change that was asked about", _pending(states.CANCEL, states.MOVE, states.WHICH_CANCEL, states.WHICH_MOVE), records.answer),
    Rule("what an offer asks for", _all(_pending(states.OFFER, states.OFFER_CONTACT), _says("why")), lambda c: c.step(c.say("why"))),
    Rule("an offer to take a note", _pending(states.OFFER, states.OFFER_CONTACT, states.RESUME), offers.answer_to_offer),
    Rule("a form that was given up", _pending(states.DROPPED), offers.taken_up_again),
    Rule("another day for the opening hours", opening_hours.is_another_day, answers.other_day),
    # Records
    Rule("a change taken back", _all(_has_records, _says("keep")), records.keep),
    Rule("an appointment to cancel", _all(_has_records, _cancels), records.cancel),
    Rule("corrected contact data", _all(_has_records, lambda c: c.said.says("correct", "give", "change")), records.correct),
    Rule("an appointment to move", lambda c: _has_records(c) and c.said.says("change") and not _may_ask(c), records.move),
    Rule("another time right after the request", _all(_has_records, _new_time), records.move),
    Rule("what became of the request", _all(_has_records, _says("status")), records.status),
    # Wishes
    Rule("a person", _says("person"), people.person),
    Rule("a message for the team", _says("message"), people.message),
    Rule("a complaint", lambda c: c.said.says("complain") or _adds_to_complaint(c), people.complaint),
    Rule("a wish to book", _wishes, people.wish),
    Rule("a day that suits", _proposes_day, people.proposed),
    Rule("whether there is a free hour or room", _asks_for_room, people.room),
    Rule("contact data", lambda c: _leaves_contact(c) and c.turn.may_capture, people.volunteered),
    Rule("a name after a matter", _names_oneself, people.named),
    Rule("a record that is not known here", _says("status", "cancel", "change", "keep"), people.unknown_record),
    Rule("a day alone", _only_day, people.day),
    # Talk
    Rule("agreement to what was told", _agrees, people.agreed),
    Rule("small talk alone", _only_talks, smalltalk.reply),
    Rule("insults", lambda c: c.said.surely_says("insult") and not c.said.questions, smalltalk.insult),
    Rule("nonsense alone", _is_nonsense, smalltalk.nonsense),
    # Questions
    Rule("when and by whom a request is answered", _all(_has_records, _asks_of_request), records.status),
    Rule("what to do, beside an offer", _asks_what_to_do, people.asked_again),
    Rule("questions", _always, people.answered),
    Rule("an introduction", _all(_says("give"), lambda c: c.said.values.name is not None), people.introduced),
    Rule("a question about what the bot does itself", _asks_of_request_form, people.booking),
    Rule("insults beside what has no answer", _says("insult"), smalltalk.insult),
    Rule("something to add to the request", lambda c: c.said.says("give", "correct") and taking.tells(c), records.add),
    Rule("a situation", _tells_situation, people.situation),
    Rule("small talk", _talks, smalltalk.reply),
    Rule("nonsense", lambda c: c.said.surely_says("nonsense") and bool(words(c.turn.message)), smalltalk.nonsense),
)


def reply(turn: Turn) -> Reply:
    """Answer one turn; raises EngineError("no_answer") if no rule does."""
    c = context_of(turn)
    if not turn.may_capture and c.state.draft is not None:
        c = replace(c, state=c.state.settled())
    step = _after_a_pause(c) if c.is_stale and (_form(c) or c.state.pending == states.RESUME) else _step(c)
    if step is None:
        raise EngineError("no_answer", "no rule has a reply", fallback=fallbacks.sentence(c))
    return _remembered(c, step).reply(c)


def _step(c: Context) -> ReplyStep | None:
    for rule in RULES:
        if rule.when(c) and (step := rule.do(c)) is not None:
            return step
    return None


def _after_a_pause(c: Context) -> ReplyStep:
    """Go on with a form that was left hours ago where the message does so, else answer it and ask."""
    waiting = replace(c, state=replace(c.state, pending=states.RESUME))
    step = offers.answer_to_offer(waiting)
    if step is not None:
        return step
    idle = replace(c, state=replace(c.state, pending="", draft=None))
    return offers.resume(c, _step(idle))


def _about(clause: ReadClause) -> str:
    """Return what a message is remembered as: a wish where it may be one, else the kind of its question or its act."""
    wishes = max(clause.may_be("book"), clause.kinds.get("free", 0.0)) > _WISH
    return "book" if wishes else clause.kind or clause.act


def _remembered(c: Context, step: ReplyStep) -> ReplyStep:
    """Keep the words about a matter for a later form, and forget an offer that was passed over twice."""
    state = step.state
    if (
        c.state.pending in (states.OFFER, states.OFFER_CONTACT, states.RESUME, states.DROPPED)
        and state.pending == c.state.pending
        and state.draft is c.state.draft
    ):
        turns = c.state.turns + 1
        state = state.settled() if turns >= _OFFER_TURNS else replace(state, turns=turns)
    elif c.state.pending == state.pending == states.OPTIONS and not step.choices:
        state = replace(state, pending="", options=())
    elif c.state.pending and state.pending == c.state.pending and not state.has_open_form and state is c.state:
        state = state.settled()
    if step.captured is not None or _form(c) or state.has_open_form:
        return replace(step, state=state)
    matters = (one for one in c.said.clauses if one.matter and one.act in _MATTERS and one.kind not in _NO_MATTER)
    if (about := next(map(_about, matters), None)) is not None:
        state = remembered(state, about, c.turn.message)
    before = taking.heard(c)
    told = taking.listened(c, c.turn.message, before)
    if c.said.surely_says("complain"):  # "picked it up on Friday, and it still rubs": a day that is gone
        told = {key: one for key, one in told.items() if key not in WHEN} | {key: one for key, one in before.items() if key in WHEN}
    state = replace(state, heard={key: one.value for key, one in told.items()})
    return replace(step, state=state)
