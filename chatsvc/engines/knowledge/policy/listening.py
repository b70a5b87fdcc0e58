"""Messages while a form is open: values, questions, corrections, other wishes."""

from collections.abc import Sequence
from dataclasses import replace

from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.choice import as_offered
from chatsvc.engines.knowledge.policy import answers, naming, records
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.forms import ask, begin, finish, proceed, repeat, summed_up, wanted, with_answers, without
from chatsvc.engines.knowledge.policy.misses import missed_answer
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.policy.taking import WHEN, asks_beside, free_questions, reason_against_day, take, tells, with_rest
from chatsvc.engines.knowledge.understand import AskedFor, ReadClause, understand

_REACHED = ("phone", "email")
_DOUBT = 0.22  # probability that a yes is a question or an objection, from which on nothing is captured
_YES, _SURE_YES = 0.6, 0.8  # least probability of a yes to the summary, alone and before a question
_ANSWERED = 2  # clauses of a yes with a question
_PERSON = 0.8  # probability of a wish for a person, from which an appointment with its day is given up
_ANY = {"date": "any.date"}  # the sentence about free days and hours, by the field that was asked for
_ASKS_TOO = 0.05  # probability of a question in the words of somebody who stops: "no booking, just the price"
_SURE_KIND = 0.9  # probability of the kind of such a question
_BARE = 2  # words of a question that is no more than "what?"
_TOLD = 2  # words of a matter that is told where something else was asked for
_NOTED = {"greet": "hello", "thank": "kind", "praise": "kind", "affirm": "noted"}


def choose(c: Context) -> ReplyStep | None:
    """Take a choice exactly as it was offered, whatever else its words may mean: "Cancel"."""
    draft = c.state.draft
    field = c.form(draft).by_key.get(c.state.asked) if draft else None
    choice = as_offered(field.choices(), c.turn.message) if field else None
    return proceed(c, draft.put(field.key, choice)) if draft and field and choice else None


def confirm(c: Context) -> ReplyStep | None:
    """Capture after a yes that changes nothing, and answer the questions behind it: "yes. and who was looking after him?"."""
    draft, clauses = c.state.draft, c.said.clauses
    if draft is None or c.said.may_be("affirm") < _YES or take(c, draft)[1]:
        return None
    if c.said.may_be("deny", "correct", "ask", "status") <= _DOUBT:
        return finish(c, draft)
    ends = c.turn.message[clauses[0].end - 1 : clauses[0].end + 1]  # with the sign in or behind it
    nods = clauses[0].may_be("affirm") >= _SURE_YES and not clauses[0].matter and any(one in ends for one in ".!,")
    if not nods or len(clauses) < _ANSWERED or not all(one.asks for one in clauses[1:]):
        return None
    beside = answers.beside(c, clauses[1:])
    step = finish(c, draft)
    return with_answers(replace(step, text="\n\n".join([step.text, *(beside.said or (c.say("unknown"),))])), beside)


def listen(c: Context) -> ReplyStep | None:
    """Take the values of a message, answer its questions, and go on with the form. None if it holds neither."""
    draft = c.state.draft
    if draft is None:
        return None
    if draft.kind in ("contact", "other") and (c.said.values.date or draft.get("date")) and c.said.values.time and not asks_beside(c):
        draft = replace(draft, kind="appointment")
    taken, changed = take(c, draft)
    asked = free_questions(c)
    if other := _other_way(c, draft, asked):
        return other
    if c.said.values.rejected_date and not changed and draft.get("date"):
        taken, changed = taken.without("date", "time"), changed | {"date"}
    if changed:
        return _taken(c, draft, taken, changed, asked)
    if c.state.asked == "time" and c.said.values.part_of_day and not asked:
        return repeat(c, draft.quote(c.turn.message) if len(c.turn.message.split()) > _BARE else draft, c.say("noted"))
    if c.state.asked in WHEN and c.said.values.flexible and not asked:
        return _any_will_do(c, draft, c.form(draft).by_key[c.state.asked])
    if c.state.asked == "date" and reason_against_day(c) and not asks_beside(c):
        return proceed(c, draft)
    if asked:
        return _answer_and_go_on(c, draft, asked)
    return repeat(c, draft, c.say("noted")) if _says_again(c, draft) else None


def _any_will_do(c: Context, draft: RequestDraft, field: Field) -> ReplyStep:
    """Leave the hour to the team, and ask for a day all the same."""
    return (
        without(c, draft, field) if field.key == "time" else missed_answer(c, draft, field, c.say.first(f"any.{field.key}", "hint.field"))
    )


def _taken(c: Context, draft: RequestDraft, taken: RequestDraft, changed: frozenset[str], asked: list[ReadClause]) -> ReplyStep:
    """Answer the questions beside new values, and ask for the next."""
    if changed == {"message"} and c.state.asked not in ("", "message") and not asked:
        return repeat(c, with_rest(c, taken), c.say("noted"))
    beside = answers.beside(c, asked)
    said = beside.said or ((c.say("unknown"),) if asked else ())
    corrected = any(draft.get(key) is not None and key in changed for key in (*draft.values, "date"))
    answered = changed & (set(_REACHED) if c.state.asked == "contact" else {c.state.asked})
    lead = "\n\n".join(said) or (c.say("noted") if corrected or not answered else "")
    return with_answers(proceed(c, with_rest(c, taken), lead), beside)


def _other_way(c: Context, draft: RequestDraft, asked: list[ReadClause]) -> ReplyStep | None:
    """Ask for the other of number and e-mail where the visitor proposes it. For a bare "what?" say again what is meant."""
    reached = c.said.values.phone or c.said.values.email
    if c.state.asked in ("contact", "phone", "email") and asked and not reached:
        named = naming.field_named(c, draft)
        if named is not None and named.key in ("phone", "email") and all(one.kind in ("may", "whether") for one in asked):
            return ask(c, draft, named, c.say("noted"))
    bare = asked and all(one.kind == "what" and not one.matter for one in asked) and len(c.turn.message.split()) <= _BARE
    return missed_answer(c, draft, c.form(draft).by_key[c.state.asked], "") if bare and c.state.asked else None


def _says_again(c: Context, draft: RequestDraft) -> bool:
    """Return whether the message gives a value that is noted already."""
    known = (one for one in c.form(draft).by_key.values() if draft.get(one.key) is not None and not one.key.startswith("x."))
    return any(one.read(c.said) == draft.get(one.key) for one in known) and not c.said.says("deny", "correct")


def _answer_and_go_on(c: Context, draft: RequestDraft, asked: list[ReadClause]) -> ReplyStep:
    beside = answers.beside(c, asked)
    said = list(beside.said)
    if not said and any(one.kind == "free" for one in asked):
        week = c.place.week
        said = [c.say("hours", hours=hours.in_words(week, c.say.days)) if week else c.say(_ANY.get(c.state.asked, "any.time"))]
    draft = with_rest(c, draft)
    if not said:
        noted = not draft.is_appointment and any(one.matter for one in asked)
        draft = draft.quote(c.turn.message) if noted else draft
        said = [c.say("unknown.noted" if noted else "unknown")]
    return with_answers(repeat(c, draft, "\n\n".join(said), aside=True), beside)


def change(c: Context) -> ReplyStep | None:
    """Ask for the value that is to change. Without one named, note what is told, or ask which it is."""
    draft = c.state.draft
    if (
        draft is None
        or c.said.values.phone_as_written
        or not (c.said.says("deny", "correct", "change") or c.state.pending == states.CHANGE)
    ):
        return None
    named = naming.field_named(c, draft)
    if untold := naming.untold(c, draft, named):
        return without(c, draft.without(untold.key), untold)
    if named is not None:
        if named.key in ("date", "time"):
            draft = replace(draft, kind="appointment")
        told = c.said.text[c.said.values.number.start :] if c.said.values.number else c.said.text
        asked = AskedFor(named.key, named.asks_as, named.asks_as)
        taken, changed = take(replace(c, said=understand(replace(c.turn, message=told), asked, c.now, c.state.language)), draft)
        return proceed(c, taken, c.say("noted")) if named.key in changed else ask(c, draft.without(named.key), named)
    counts = c.said.values.number is not None
    corrects = c.state.pending == states.CONFIRM and c.said.surely_says("correct")
    if any((one.matter >= _TOLD or (one.matter and (counts or corrects))) and not one.asks for one in c.said.clauses):
        return summed_up(c, draft.quote(c.turn.message), c.say("noted")) if not c.state.asked else None
    if c.state.pending == states.CHANGE and c.said.says("affirm", "skip", "deny"):
        return summed_up(c, draft)
    if c.state.pending == states.CONFIRM and c.said.says("deny", "correct", "change"):
        return c.step(c.say("ask.change"), replace(c.state, pending=states.CHANGE))
    return None


def other_wish(c: Context) -> ReplyStep | None:
    """Go over to what the visitor wants instead: an appointment, or a person."""
    draft = c.state.draft
    if draft is None:
        return None
    if c.said.says("person", "message"):
        if draft.kind == "contact":
            told = any(one.matter for one in c.said.clauses)
            return repeat(c, draft.quote(c.turn.message) if told else draft, c.say("noted"))
        if draft.get("date") and c.said.may_be("person", "message") < _PERSON:
            return repeat(c, draft.quote(c.turn.message), c.say("noted"))
        return proceed(c, replace(draft, kind="contact").quote(c.turn.message), c.say("open.person"))
    if not c.said.says("book"):
        return None
    kind, purpose = wanted(c)
    if kind == draft.kind:
        return repeat(c, draft.quote(c.turn.message), c.say("noted"))
    return begin(c, kind, before=draft, purpose=purpose)


def why(c: Context) -> ReplyStep | None:
    """Say what the question is for."""
    return repeat(c, c.state.draft, c.say("why")) if c.state.draft and c.said.says("why") else None


def not_sent(c: Context) -> ReplyStep | None:
    """Say that the request has not been passed on yet, where the visitor takes it for sent."""
    if c.state.draft is None or not c.said.says("status", "cancel"):
        return None
    told = records.status(c) if c.turn.captured else None
    return repeat(c, c.state.draft, told.text if told else c.say("not_sent"), aside=told is not None)


def insulted(c: Context) -> ReplyStep | None:
    """Stay calm, and repeat the question."""
    return repeat(c, c.state.draft, c.say("insult.short")) if c.state.draft and c.said.says("insult") else None


def aside(c: Context) -> ReplyStep | None:
    """Say a line to what is no answer, and repeat the question."""
    draft = c.state.draft
    if draft is None or not c.said.clauses:
        return None
    if c.said.says("complain"):
        return repeat(c, draft.quote(c.turn.message), c.say("sorry"))
    if c.said.says("keep"):
        return repeat(c, draft, c.say("noted"))
    if c.said.says("identity"):
        return repeat(c, draft, c.say("smalltalk.identity", name=c.turn.bot.name))
    if tells(c):
        return repeat(c, draft.quote(c.turn.message), c.say("noted"))
    act = max(c.said.clauses, key=lambda one: max(one.acts.values(), default=0.0)).act
    if act == "affirm" and c.state.asked in WHEN:
        return missed_answer(c, draft, c.form(draft).by_key[c.state.asked], c.say.first(f"any.{c.state.asked}", "hint.field"))
    key = None if act == "affirm" and c.state.pending == states.CONFIRM else _NOTED.get(act)
    return repeat(c, draft, c.say(key)) if key else None


def drop(c: Context) -> ReplyStep:
    """Drop the form that the visitor gives up. It can be taken up again."""
    return _left(c, asked_instead(c))


def suspend(c: Context) -> ReplyStep:
    """Answer the question of a visitor who wants no form."""
    return _left(c, asked_instead(c))


def asked_instead(c: Context) -> list[ReadClause]:
    """Return the questions of a message, also in words that stop a form. Example: "no booking, just the price"."""
    return [one for one in c.said.clauses if one.asks or (one.may_be("ask") > _ASKS_TOO and max(one.kinds.values()) > _SURE_KIND)]


def _left(c: Context, asked: Sequence[ReadClause]) -> ReplyStep:
    beside = answers.beside(c, [replace(one, kind=max(one.kinds, key=lambda kind: one.kinds[kind])) for one in asked])
    said = beside.said or (
        (c.say("unknown"),) if c.said.questions else (f"{c.say('cancelled')} {c.say('kept')}" if c.turn.captured else c.say("cancelled"),)
    )
    step = c.line("cancelled")
    state = replace(step.state.settled(), draft=c.state.draft, pending=states.DROPPED, matter=(), heard={})
    return with_answers(c.step("\n\n".join(said), state), beside)


def leave(c: Context) -> ReplyStep:
    """Say goodbye; the form waits."""
    key = "postponed" if any(one.matter for one in c.said.clauses) else "smalltalk.goodbye.open"
    return c.step(c.say(key), replace(c.state, pending=states.RESUME))
