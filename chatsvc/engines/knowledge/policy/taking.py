"""Values and words that a message adds to a form."""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines.knowledge.fields import clock
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.count import NIGHTS
from chatsvc.engines.knowledge.policy.context import Context
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.understand import ReadClause, read_clauses
from chatsvc.language import values
from chatsvc.language.folding import folded

WHEN = ("date", "time", NIGHTS)
"""Keys of the fields that say when an appointment is."""
_WISH = 0.3  # probability of a wish in a question whether something is possible, from which its day is told
_RECENT = 3  # messages before a wish of which a day is taken
_OF_THING = ("price", "duration")
_NO_MATTER = frozenset({"greet", "thank", "part", "insult", "affirm", "deny", "give", "praise", "identity"})


def with_matter(c: Context, draft: RequestDraft) -> RequestDraft:
    """Return the draft with the visitor's words about the matter: what they told before, and this message.

    A question asked before is the matter only where nothing else is.
    """
    own = any(clause.matter and clause.act not in _NO_MATTER for clause in c.said.clauses)
    told = [*(quote for act, quote in c.state.matter if act != "ask"), *c.unanswered]
    if draft.is_appointment and not told:  # the price of a thing was asked before it is booked
        told = [quote for _, quote in c.state.matter if _asks_of_thing(c, quote)][-1:]
    if not (own or told or draft.quotes or c.said.says("book")):
        told = [quote for _, quote in c.state.matter[-1:] or _unanswered(c)]
    draft = draft.quote(*told)
    tells = own or names_when(c) or _counts(c) or (draft.is_appointment and (c.said.says("book") or not draft.quotes))
    return draft.quote(c.turn.message) if tells else draft


def _asks_of_thing(c: Context, text: str) -> bool:
    """Return whether a question was about price or length of something."""
    return any(one.kind in _OF_THING and one.matter for one in read_clauses(text, c.said.language))


def _counts(c: Context) -> bool:
    return c.said.values.people is not None or c.said.values.nights is not None


def _unanswered(c: Context) -> list[tuple[str, str]]:
    """Return the message before this one where it was about a matter: a turn without an answer leaves no state."""
    earlier = c.spoken[-2:-1]
    return [
        ("ask", text) for text in earlier if any(one.matter and one.act not in _NO_MATTER for one in read_clauses(text, c.said.language))
    ]


def names_when(c: Context) -> bool:
    return c.said.values.date is not None or c.said.values.time is not None


def known_visitor(c: Context, draft: RequestDraft) -> RequestDraft:
    """Take name and contact data from the newest record of the conversation."""
    last = c.turn.captured[-1] if c.turn.captured else None
    if c.state.name and draft.get("name") is None:
        draft = draft.put("name", c.state.name)
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
        if one.key in WHEN and not (draft.is_appointment and _is_told(c, one)):
            continue
        value = one.read(c.said)
        if value is None or value == draft.get(one.key):
            continue
        if one.key == "name" and any(folded(value) in folded(kept.value) for key, kept in draft.values.items() if key.startswith("x.")):
            continue  # of a person to choose, not the visitor's own
        draft = draft.quote(value) if one.key == "message" else draft.put(one.key, value)
    named, surname = c.said.values.name, c.said.values.surname
    if surname and (named is None or named.value == surname) and (known := before.get("name")):
        draft = draft.put("name", " ".join([*(known.split()[:-1] or [known]), surname]))
    if c.said.values.people and not c.said.says("person") and (c.state.has_open_form or not draft.is_appointment) and not asks_beside(c):
        draft = draft.quote(c.turn.message)  # how many come
    if draft.is_appointment:
        draft = clock.meant(draft, c.said, c.place)
    elif (names_when(c) or c.said.values.rejected_date) and not c.said.questions:  # when to call, for which day a quote is
        draft = draft.quote(c.turn.message)
    changed = {key for key, stored in draft.values.items() if before.values.get(key) != stored}
    return draft, frozenset(changed | ({"message"} if draft.quotes != before.quotes else set()))


def day_spoken_of(c: Context, draft: RequestDraft) -> RequestDraft:
    """Take the day of which the visitor spoke shortly before the wish: "is there a tour on Tuesday", "ok book us"."""
    if not draft.is_appointment or draft.get("date") is not None or c.turn.captured:
        return draft
    for text in reversed(c.spoken[:-1][-_RECENT:]):
        found = values.read(text, now=c.now, language=c.said.language, country=c.turn.bot.country)
        if found.date is None:
            continue
        said = replace(c.said, text=text, clauses=read_clauses(text, c.said.language), values=found)
        for key in WHEN:
            value = c.form(draft).by_key[key].read(said)
            if value is not None and draft.get(key) is None:
                draft = draft.put(key, value)
        break
    return draft


def asks_beside(c: Context) -> bool:
    """Return whether the message asks about something that is no wish."""
    return any(clause.kind not in ("free", "may", "whether") for clause in c.said.questions)


def _is_told(c: Context, field: Field) -> bool:
    """Return whether a day or an hour is told for the appointment, and not asked about: "are you open on Saturday?"."""
    found = {"date": c.said.values.date, "time": c.said.values.time}.get(field.key)
    clause = next((one for one in c.said.clauses if found and one.start <= found.start < one.end), None)
    if clause is not None and c.state.asked in WHEN and clause.kind not in ("open", "when"):
        return True  # "how about 3?"
    return (
        clause is None
        or not clause.asks
        or clause.kind == "free"
        or (clause.kind in ("may", "whether", "when", "what") and clause.matter <= (clause.kind == "may"))
        or (clause.kind == "may" and clause.may_be("book") >= _WISH)
    )


def free_questions(c: Context, draft: RequestDraft) -> list[ReadClause]:
    """Return the questions of a message that are about something else than the values that it gives."""
    del draft
    return [one for one in c.said.questions if one.kind == "open" or not c.said.holds_value(one) or (one.matter and one.kind != "free")]


def with_rest(c: Context, draft: RequestDraft) -> RequestDraft:
    """Keep what is said of the matter beside the values."""
    tells = any(one.matter and one.act in ("state", "complain", "book", "message") for one in c.said.clauses)
    beside = not draft.is_appointment and c.said.content > 0 and not c.said.says("affirm", "thank", "greet", "correct", "deny")
    return draft.quote(c.turn.message) if tells or beside else draft


def reason_against_day(c: Context) -> str:
    """Return why the day named cannot be taken; "" if none was named."""
    reason = "past" if c.said.values.gone else "never" if c.said.values.never else ""
    return c.say(f"{reason}.date") if reason else ""
