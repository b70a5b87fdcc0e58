"""Values and words that a message adds to a form."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from chatsvc.engines.knowledge.fields import clock
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.count import NIGHTS, PEOPLE, PeopleField
from chatsvc.engines.knowledge.fields.owned import PREFIX
from chatsvc.engines.knowledge.policy.context import Context
from chatsvc.engines.knowledge.policy.state import RequestDraft, Stored
from chatsvc.engines.knowledge.understand import LIKELY, SURE, ReadClause
from chatsvc.language.days import next_date
from chatsvc.language.folding import folded
from chatsvc.language.sentences import KINDS
from chatsvc.language.values import read as read_values

MONTH = "month"
WHEN = ("date", "time", "until", NIGHTS)
"""Keys of the fields that say when an appointment is."""
_HEARD = (*WHEN, MONTH, PEOPLE)
_WISH = 0.3  # probability of a wish in a question whether something is possible, from which its day is told
UNSURE = 0.2  # probability that a visitor cannot tell, in a question without a matter: "I can't say when"
_OF_VALUE = ("free", "may", "whether", "when", "what", "how")  # kinds of questions that a value may be about: "is 5 all right?"
OF_THING = ("price", "duration", "which", "how_many")  # kinds of questions about a thing that may be wanted next
_OF_WISH = (*OF_THING, "may")  # the same, where the wish itself names nothing
_COUNTING = ("give", "correct", "change", "deny", "book")  # acts that may put another number of people in place of one told
REACHED = ("contact", "phone", "email")
_TELLING = {"state": 1, "complain": 1, "book": 1, "message": 1, "give": 2, "correct": 2}  # words that tell a matter, by act
_NAMED = 2  # words of a wish that says what it is for
_NO_MATTER = frozenset({"greet", "thank", "part", "insult", "affirm", "deny", "give", "praise", "identity"})


def with_matter(c: Context, draft: RequestDraft) -> RequestDraft:
    """Return the draft with the visitor's words about the matter: what they told before, and this message.

    Of what was asked before only a room is the matter, and the last thing where this message names none. Messages without a reply are
    not kept by the service, and cannot be quoted in a later turn.
    """
    own = c.said.content > 0 and any(clause.matter and clause.act not in _NO_MATTER for clause in c.said.clauses)
    named = own and sum(clause.matter for clause in c.said.clauses) >= _NAMED
    told = [quote for about, quote in c.state.matter if about not in KINDS or about == "free"]
    if not (told or named or draft.quotes):
        told = [quote for about, quote in c.state.matter if about in _OF_WISH or not draft.is_appointment][-1:]
    draft = draft.quote(*told)
    counts = c.said.values.people is not None or c.said.values.nights is not None
    wishes = draft.is_appointment and (c.said.says("book") or not draft.quotes)
    return draft.quote(c.turn.message) if own or counts or wishes or names_when(c) else draft


def names_when(c: Context) -> bool:
    return any(one is not None for one in (c.said.values.date, c.said.values.until, c.said.values.time))


def known_visitor(c: Context, draft: RequestDraft) -> RequestDraft:
    """Take name and contact data from the newest record of the conversation."""
    last = c.turn.captured[-1] if c.turn.captured else None
    if last is None:
        return draft
    for key, value in (("name", last.visitor_name), ("phone", last.visitor_phone), ("email", last.visitor_email)):
        if value and draft.get(key) is None:
            draft = draft.put(key, value, "record")
    return draft


def take(c: Context, draft: RequestDraft) -> tuple[RequestDraft, frozenset[str]]:
    """Return the draft with the values of the message, and the keys of those that are new."""
    before = draft
    for one in c.form(draft).by_key.values():
        if (value := _read(c, draft, one)) is not None and value != draft.get(one.key):
            draft = draft.quote(value) if one.key == "message" else draft.put(one.key, value)
    if c.said.values.month and draft.is_appointment and draft.get("date") is None:
        first = next_date(c.now.date().replace(day=1), c.said.values.month, 1)
        draft = draft.put(MONTH, first.isoformat()) if first else draft
    named, surname = c.said.values.name, c.said.values.surname
    if surname and (named is None or named.value == surname) and (known := before.get("name")):
        draft = draft.put("name", " ".join([*(known.split()[:-1] or [known]), surname]))
    if c.said.values.people and not c.said.says("person") and (c.state.has_open_form or not draft.is_appointment) and not asks_beside(c):
        draft = draft.quote(c.turn.message)
    if draft.is_appointment:
        draft = clock.meant(_lasting(c, draft), c.said, c.place)
    elif (names_when(c) or c.said.values.rejected_date) and not c.said.questions:  # when to call, for which day a quote is
        draft = draft.quote(c.turn.message)
    changed = {key for key, stored in draft.values.items() if before.values.get(key) != stored}
    return draft, frozenset(changed | ({"message"} if draft.quotes != before.quotes else set()))


def _read(c: Context, draft: RequestDraft, one: Field) -> str | None:
    """Return the value of a field that the message tells for this draft."""
    if one.key in WHEN and not ((draft.is_appointment or draft.get("date")) and _is_told(c, draft, one)):
        return None
    value, known = one.read(c.said), draft.get(one.key)
    if value is None or (one.key == "name" and _is_chosen_person(value, draft)):
        return None
    if isinstance(one, PeopleField) and known:
        if asks_beside(c) or not c.said.says(*_COUNTING):
            return None  # "one of us is vegan"
        return value if known.isdigit() else one.told(c.said)  # "not 2 but 3 children", of a sum
    return value


def _is_chosen_person(name: str, draft: RequestDraft) -> bool:
    """Return whether a name is that of a person to choose, and not the visitor's own."""
    return any(folded(name) in folded(kept.value) for key, kept in draft.values.items() if key.startswith("x."))


def _lasting(c: Context, draft: RequestDraft) -> RequestDraft:
    """Return the draft with as many nights as lie between its first and its last day."""
    if draft.get("until") is None or c.said.values.until:
        return draft
    first, last = (date.fromisoformat(draft.get(key) or "9999-12-31") for key in ("date", "until"))
    if c.said.values.nights or last <= first:
        return draft.without("until")
    return draft.put(NIGHTS, str((last - first).days))


def heard(c: Context) -> dict[str, Stored]:
    """Return what the visitor has told before this message, while no form was open. A turn without an answer leaves no state."""
    values = {key: Stored(value) for key, value in c.state.heard.items()}
    for text in c.unanswered:
        values = listened(c, text, values)
    return values


def listened(c: Context, text: str, values: Mapping[str, Stored]) -> dict[str, Stored]:
    """Return values with those of a text, questions included: "is there a tour on Tuesday"."""
    found = read_values(text, now=c.now, language=c.said.language, country=c.turn.bot.country)
    said = replace(c.said, text=text, clauses=(), asked="", values=found)
    draft, _ = take(replace(c, said=said), RequestDraft("appointment", values=values))
    named = found.name is not None and found.name.explicit
    return {key: one for key, one in draft.values.items() if key in _HEARD or (key == "name" and (named or key in values))}


def asks_beside(c: Context) -> bool:
    """Return whether the message asks about something that is no wish."""
    return any(clause.kind not in ("free", "may", "whether") for clause in c.said.questions)


def _is_told(c: Context, draft: RequestDraft, field: Field) -> bool:
    """Return whether a day or an hour is told for the appointment, and not asked about: "are you open on Saturday?"."""
    found = {"date": c.said.values.date, "time": c.said.values.time}.get(field.key)
    clause = next((one for one in c.said.clauses if found and one.start <= found.start < one.end), None)
    other = draft.get(field.key) is not None and clause is not None and clause.asks and clause.matter >= _NAMED
    if clause is not None and c.state.asked in WHEN and clause.kind not in ("open", "when") and not other:
        return True  # "how about 3?", but not "we have guests on Friday, will it be done?" where the day is known
    if not c.state.asked and draft.get(field.key) is None and clause is not None and clause.may_be("state", "complain") >= SURE:
        return not c.state.has_open_form  # "I leave at 2"
    return (
        clause is None
        or c.said.values.until is not None
        or not clause.asks
        or clause.kind == "free"
        or (clause.kind in ("may", "whether", "when", "what") and clause.matter <= (clause.kind == "may"))
        or (clause.kind == "may" and clause.may_be("book") >= _WISH)
    )


def free_questions(c: Context) -> list[ReadClause]:
    """Return the questions of a message that are about something else than its values."""
    asked = (one for one in c.said.questions if one.may_be("ask") >= LIKELY and (one.matter or one.may_be("skip") < UNSURE))
    return [one for one in asked if one.kind not in _OF_VALUE or not c.said.holds_value(one) or (one.matter and one.kind != "free")]


def tells(c: Context) -> bool:
    """Return whether the message says something of the matter beside its values and questions: "his name is Duke btw"."""
    values = c.said.values
    known = {"name": values.name, "contact": values.phone or values.email, "phone": values.phone, "email": values.email}
    answers = c.said.asked.startswith(PREFIX) or known.get(c.said.asked, True) is None  # what is given answers the question, read or not
    told = (one for one in c.said.clauses if not (answers and one.act == "give"))
    return c.said.content > 0 and any(one.matter >= _TELLING.get(one.act, one.matter + 1) for one in told)


def with_rest(c: Context, draft: RequestDraft) -> RequestDraft:
    """Keep what is said of the matter beside the values."""
    beside = not draft.is_appointment and c.said.content > 0 and c.said.says("give")
    return draft.quote(c.turn.message) if tells(c) or beside else draft


def reason_against_day(c: Context) -> str:
    """Return why the day named cannot be taken; "" if none was named."""
    reason = "past" if c.said.values.gone else "never" if c.said.values.never else ""
    return c.say(f"{reason}.date") if reason else ""
