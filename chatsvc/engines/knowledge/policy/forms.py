"""Forms: begin one, take what the visitor says, ask for what is missing, sum up, capture.

Nothing is captured before the visitor has confirmed a summary.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time

from chatsvc.domain import contacts
from chatsvc.domain.captures import Captured, checked
from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields import clock
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.choice import as_offered
from chatsvc.engines.knowledge.fields.count import NIGHTS
from chatsvc.engines.knowledge.fields.form import is_of_person
from chatsvc.engines.knowledge.fields.owned import Owned
from chatsvc.engines.knowledge.policy import answers, naming, records
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.answers import Beside
from chatsvc.engines.knowledge.policy.context import Context, Step
from chatsvc.engines.knowledge.policy.state import Draft, Subject
from chatsvc.engines.knowledge.understand import ReadClause, read_clauses
from chatsvc.language.folding import folded

_WHEN = ("date", "time", NIGHTS)
_REACHED = ("phone", "email")
_SKIPS, _GIVES_UP = 3, 4  # misunderstood answers to one question after which it is left, and to the confirmation after which the form is
_NAME_SKIPS, _NAME_WORDS = 2, 4
_MOST_ASIDES = 2  # questions in a row after which the open question is not repeated
_SHOWN = 160  # characters of the visitor's message in the summary
_NOON = time(12)
_DOUBT = 0.22  # probability that a yes is a question or an objection, from which on nothing is captured
_NO_MATTER = frozenset({"greet", "thank", "part", "insult", "affirm", "deny", "give", "praise", "identity"})
_YES_NO = ("offer", "offer.appointment", "offer.situation", "offer.again")  # offers that are answered by yes or no
_YES = 0.6  # least probability of a yes to the summary
_BARE = 2  # words of a question that is no more than "what?"
_TOLD = 2  # words of a matter that is told where something else was asked for
_NOTED = {"greet": "hello", "thank": "kind", "praise": "kind", "affirm": "noted"}


def begin(c: Context, kind: str, opening: str = "", *, before: Draft | None = None, purpose: str = "") -> Step:
    """Open a form. Take all values of the message, answer its questions, ask for the first thing missing."""
    draft = replace(before, kind=kind, purpose=purpose or before.purpose, missed={}) if before else Draft(kind, purpose)
    draft = with_matter(c, _known_visitor(c, draft))
    draft, _ = take(c, draft)
    beside = answers.beside(c, _free_questions(c, draft))
    step = proceed(c, draft, "\n\n".join([*beside.said, c.say(opening or f"open.{kind}")]))
    about = c.turn.message if any(clause.matter for clause in c.said.clauses) else ""
    return _with(replace(step, state=step.state.about(Subject(about))), beside)


_KINDS = {"quote": "quote", "order": "other", "course": "other"}  # of a request, by the purpose of a wish


def book(c: Context) -> Step:
    """Open the form that a wish is for."""
    kind, purpose = _wanted(c)
    return begin(c, kind, purpose=purpose)


def _wanted(c: Context) -> tuple[str, str]:
    """Return kind and purpose of the request that a wish is for."""
    if c.said.values.until or c.said.values.nights:
        return "appointment", "stay"
    purpose = next((one.purpose for one in c.said.clauses if one.purpose), "")
    return _KINDS.get(purpose, "appointment"), purpose


def availability(c: Context) -> Step | None:
    """Say that the free hours are not known here, and take the request down."""
    if not c.turn.may_capture:
        return None
    kind, purpose = _wanted(c)
    return begin(c, kind, "any.time" if c.said.values.date else "any.date", purpose=purpose)


def with_matter(c: Context, draft: Draft) -> Draft:
    """Return the draft with the visitor's words about the matter: what they told before, and this message.

    A question asked before is the matter only where nothing else is.
    """
    own = any(clause.matter and clause.act not in _NO_MATTER for clause in c.said.clauses)
    told = [*(quote for act, quote in c.state.matter if act != "ask"), *c.unanswered]
    if not (own or told or draft.quotes or c.said.says("book")):
        told = [quote for _, quote in c.state.matter[-1:] or _unanswered(c)]
    draft = draft.quote(*told)
    tells = own or _names_when(c) or _counts(c) or (draft.is_appointment and (c.said.says("book") or not draft.quotes))
    return draft.quote(c.turn.message) if tells else draft


def _counts(c: Context) -> bool:
    return c.said.values.people is not None or c.said.values.nights is not None


def _unanswered(c: Context) -> list[tuple[str, str]]:
    """Return the message before this one where it was about a matter: a turn without an answer leaves no state."""
    earlier = c.spoken[-2:-1]
    return [
        ("ask", text) for text in earlier if any(one.matter and one.act not in _NO_MATTER for one in read_clauses(text, c.said.language))
    ]


def _names_when(c: Context) -> bool:
    return c.said.values.date is not None or c.said.values.time is not None


def _known_visitor(c: Context, draft: Draft) -> Draft:
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


def take(c: Context, draft: Draft) -> tuple[Draft, frozenset[str]]:
    """Return the draft with the values of the message, and the keys of those that are new."""
    before = draft
    for one in c.form(draft).by_key.values():
        if one.key in _WHEN and not (draft.is_appointment and _is_told(c, one)):
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
    if c.said.values.people and (c.state.has_open_form or not draft.is_appointment) and not _asks_beside(c):
        draft = draft.quote(c.turn.message)  # how many come
    if draft.is_appointment:
        draft = clock.meant(draft, c.said, c.place)
    elif _names_when(c) and not c.said.questions:  # when to call, for which day a quote is
        draft = draft.quote(c.turn.message)
    changed = {key for key, stored in draft.values.items() if before.values.get(key) != stored}
    return draft, frozenset(changed | ({"message"} if draft.quotes != before.quotes else set()))


def _asks_beside(c: Context) -> bool:
    """Return whether the message asks about something that is no wish."""
    return any(clause.kind not in ("free", "may", "whether") for clause in c.said.questions)


def _is_told(c: Context, field: Field) -> bool:
    """Return whether a day or an hour is told for the appointment, and not asked about: "are you open on Saturday?"."""
    found = {"date": c.said.values.date, "time": c.said.values.time}.get(field.key)
    clause = next((one for one in c.said.clauses if found and one.start <= found.start < one.end), None)
    if clause is not None and c.state.asked in _WHEN and clause.kind not in ("open", "when"):
        return True  # "how about 3?"
    return (
        clause is None
        or not clause.asks
        or (clause.kind == "free" or (clause.kind in ("may", "whether", "when", "what") and clause.matter <= (clause.kind == "may")))
    )


def _free_questions(c: Context, draft: Draft) -> list[ReadClause]:
    """Return the questions of a message that are about something else than the values that it gives."""
    del draft
    return [one for one in c.said.questions if one.kind == "open" or not c.said.holds_value(one) or (one.matter and one.kind != "free")]


def proceed(c: Context, draft: Draft, lead: str = "") -> Step:
    """Ask for the next thing missing, or show the summary."""
    form = c.form(draft)
    problems: list[str] = []
    for key in ("date", "time"):
        if draft.get(key) is not None and not problems and (reason := form.by_key[key].refused(draft, c.place)):
            problems.append(reason)
            draft = draft.without(key)
    if form.missing(draft) is None:
        typed = _typed(c, draft)
        if form.missing(typed) is not None:
            problems.append(c.say("lost"))
        draft = typed
    asked = form.missing(draft)
    if asked is None:
        return summed_up(c, draft, " ".join(filter(None, (lead, *problems))))
    if asked.key == "name" and c.state.asked == "name":  # it was asked for, and something else was told
        draft = draft.miss("name")
        if draft.missed["name"] >= _NAME_SKIPS:
            return proceed(c, draft.skip("name"), " ".join(filter(None, (lead, *problems, c.say("no.name")))))
    if asked.key == "date" and not problems and (reason := _reason_against_day(c)):
        problems.append(reason)
    if asked.key == "contact" and c.state.asked != "contact":
        problems.append(c.say("privacy"))
    return ask(c, draft, asked, " ".join(filter(None, (lead, *problems))))


def ask(c: Context, draft: Draft, field: Field, lead: str = "", *, apart: bool = False, turns: int = 0) -> Step:
    """Say `lead`, then ask for a field."""
    question = field.ask(draft, c.place)
    text = ("\n\n" if apart else " ").join(filter(None, (lead, question)))
    if c.told and text == c.told[0]:
        again = c.say.first(f"way.{field.key}", "hint.field") if lead else field.hint(c.place)
        text = question if lead == c.say("noted") or apart else " ".join(filter(None, (lead, again, question)))
    state = replace(c.state.settled(), draft=draft, pending=states.FIELD + field.key, turns=turns)
    return c.step(text, state, choices=field.choices())


def summed_up(c: Context, draft: Draft, lead: str = "") -> Step:
    """Show what is noted, and ask whether it is right."""
    form = c.form(draft)
    lines = []
    for key in (
        "date",
        "time",
        NIGHTS,
        "message",
        *(one.key for one in form.in_order if one.key.startswith("x.")),
        "name",
        "phone",
        "email",
    ):
        value = _about(c, draft) if key == "message" else draft.get(key)
        if value and not (key in _WHEN and not draft.is_appointment):
            one = form.by_key.get(key)
            label, shown = (one.label(c.place), one.say(value, c.place)) if one else (c.say(f"field.{key}"), value)
            lines.append(f"- {label}: {shown}")
    text = "\n\n".join(filter(None, [lead, "\n".join([c.say("summary"), "", *lines]), c.say("ask.confirm")]))
    state = replace(c.state.settled(), draft=draft, pending=states.CONFIRM)
    return c.step(text, state, choices=c.say.yes_no)


def _about(c: Context, draft: Draft) -> str:
    """Return the visitor's words about the matter in one line, shortened."""
    told = " / ".join(" ".join(line.split()) for line in _quoted(c, draft))
    return told if len(told) <= _SHOWN else told[: _SHOWN - 1] + "…"


def _quoted(c: Context, draft: Draft) -> list[str]:
    """Return the visitor's messages that the draft quotes, oldest first."""
    return list(dict.fromkeys(text.strip() for text in c.spoken if states.quote_of(text) in draft.quotes))


def _typed(c: Context, draft: Draft) -> Draft:
    """Keep only what stands in the visitor's messages that are still known."""
    spoken, country = c.spoken, c.turn.bot.country
    found = {
        "name": contacts.own_name(draft.get("name") or "", spoken),
        "email": contacts.own_email(draft.get("email") or "", spoken),
        "phone": contacts.own_phone(draft.get("phone") or "", spoken, country),
    }
    lost = [key for key, known in found.items() if known is None]
    quoted = {states.quote_of(text) for text in spoken}
    return replace(draft.without(*lost), quotes=tuple(one for one in draft.quotes if one in quoted))


def _reason_against_day(c: Context) -> str:
    """Return why the day named cannot be taken; "" if none was named."""
    reason = "past" if c.said.values.gone else "never" if c.said.values.never else ""
    return c.say(f"{reason}.date") if reason else ""


def finish(c: Context, draft: Draft) -> Step:
    """Capture the request if its values still hold. Hours may have passed since the summary."""
    form = c.form(draft)
    refused = any(draft.get(key) and form.by_key[key].refused(draft, c.place) for key in ("date", "time"))
    if refused or form.missing(_typed(c, draft)) is not None:
        return proceed(c, draft)
    day = date.fromisoformat(draft.get("date") or "") if draft.is_appointment and draft.get("date") else None
    spans = hours.spans_of(c.place.week, day) if day else []
    at = draft.get("time") if day else None
    hour = time.fromisoformat(at) if at else time(*divmod(spans[0][0], 60)) if spans else _NOON
    details = [(one.own.name, value) for one in form.in_order if isinstance(one, Owned) and (value := draft.get(one.key))]
    if nights := draft.get(NIGHTS):
        details.insert(0, (NIGHTS, nights))
    caught = Captured(
        request_type=draft.kind,
        message="\n".join(_quoted(c, draft)),
        visitor_name=draft.get("name"),
        visitor_email=draft.get("email"),
        visitor_phone=draft.get("phone"),
        date=day,
        time=hour if day else None,
        details=tuple(details),
        offered=tuple(choice for one in form.in_order for choice in one.choices()),
    )
    caught = checked(caught, c.spoken, c.now, c.turn.bot.country)
    said = c.say("done.appointment" if draft.is_appointment else "done")
    return c.step(said, replace(c.state.settled(), matter=()), captured=caught)


# A message while a form is open


def choose(c: Context) -> Step | None:
    """Take a choice exactly as it was offered, whatever else its words may mean: "Cancel"."""
    draft = c.state.draft
    field = c.form(draft).by_key.get(c.state.asked) if draft else None
    choice = as_offered(field.choices(), c.turn.message) if field else None
    return proceed(c, draft.put(field.key, choice)) if draft and field and choice else None


def drop(c: Context) -> Step:
    """Drop the form that the visitor gives up. It can be taken up again."""
    said = f"{c.say('cancelled')} {c.say('kept')}" if c.turn.captured else c.say("cancelled")
    return c.step(said, replace(c.state.settled(), draft=c.state.draft, pending=states.DROPPED, matter=()))


def leave(c: Context) -> Step:
    """Say goodbye; the form waits."""
    key = "postponed" if any(one.matter for one in c.said.clauses) else "smalltalk.goodbye.open"
    return c.step(c.say(key), replace(c.state, pending=states.RESUME))


def confirm(c: Context) -> Step | None:
    """Capture after a yes that changes nothing."""
    draft = c.state.draft
    if draft is None or c.said.may_be("affirm") < _YES or c.said.may_be("deny", "correct", "ask", "status") > _DOUBT:
        return None
    return None if take(c, draft)[1] else finish(c, draft)


def listen(c: Context) -> Step | None:
    """Take the values of a message, answer its questions, and go on with the form. None if it holds neither."""
    draft = c.state.draft
    if draft is None:
        return None
    if draft.kind in ("contact", "other") and c.said.values.date and c.said.values.time and not _asks_beside(c):
        draft = replace(draft, kind="appointment")
    taken, changed = take(c, draft)
    asked = _free_questions(c, taken)
    if other := _other_way(c, draft, asked):
        return other
    if c.said.values.rejected_date and "date" not in changed and draft.get("date"):
        taken, changed = taken.without("date", "time"), changed | {"date"}
    if changed:
        beside = answers.beside(c, asked)
        said = beside.said or ((c.say("unknown"),) if asked else ())
        corrected = any(draft.get(key) is not None and key in changed for key in (*draft.values, "date"))
        answered = changed & (set(_REACHED) if c.state.asked == "contact" else {c.state.asked})
        lead = "\n\n".join(said) or (c.say("noted") if corrected or not answered else "")
        return _with(proceed(c, _with_rest(c, taken), lead), beside)
    if c.state.asked == "time" and c.said.values.part_of_day and not asked:
        return repeat(c, draft.quote(c.turn.message) if len(c.turn.message.split()) > _BARE else draft, c.say("noted"))
    if c.state.asked in _WHEN and c.said.values.flexible:
        return _missed(c, draft, c.form(draft).by_key[c.state.asked], c.say.first(f"any.{c.state.asked}", "hint.field"))
    if asked:
        return _answer_and_go_on(c, draft, asked)
    if c.state.asked == "date" and _reason_against_day(c):
        return proceed(c, draft)
    return repeat(c, draft, c.say("noted")) if _says_again(c, draft) else None


def _other_way(c: Context, draft: Draft, asked: list[ReadClause]) -> Step | None:
    """Ask for the other of number and e-mail where the visitor proposes it; for a bare "what?" say again what is meant."""
    if c.state.asked in ("contact", "phone", "email") and asked:
        named = naming.field_named(c, draft)
        if named is not None and named.key in ("phone", "email") and all(one.kind in ("may", "whether") for one in asked):
            return ask(c, draft, named, c.say("noted"))
    bare = asked and all(one.kind == "what" and not one.matter for one in asked) and len(c.turn.message.split()) <= _BARE
    return _missed(c, draft, c.form(draft).by_key[c.state.asked], "") if bare and c.state.asked else None


def _says_again(c: Context, draft: Draft) -> bool:
    """Return whether the message gives a value that is noted already."""
    known = (one for one in c.form(draft).by_key.values() if draft.get(one.key) is not None and not one.key.startswith("x."))
    return any(one.read(c.said) == draft.get(one.key) for one in known) and not c.said.says("deny", "correct")


def _with_rest(c: Context, draft: Draft) -> Draft:
    """Keep what is said of the matter beside the values."""
    tells = any(one.matter and one.act in ("state", "complain", "book", "message") for one in c.said.clauses)
    beside = not draft.is_appointment and c.said.content > 0 and not c.said.says("affirm", "thank", "greet", "correct", "deny")
    return draft.quote(c.turn.message) if tells or beside else draft


def _answer_and_go_on(c: Context, draft: Draft, asked: list[ReadClause]) -> Step:
    beside = answers.beside(c, asked)
    said = list(beside.said)
    if not said and any(one.kind == "free" for one in asked):
        said = [c.say("any.date" if c.state.asked == "date" else "any.time")]
    if not said:
        noted = not draft.is_appointment and any(one.matter for one in asked)
        draft = draft.quote(c.turn.message) if noted else draft
        said = [c.say("unknown.noted" if noted else "unknown")]
    return _with(repeat(c, draft, "\n\n".join(said), aside=True), beside)


def _with(step: Step, beside: Beside) -> Step:
    """Return the step with the origin of the answers beside it, and what they are about on top."""
    state = step.state
    for subject in beside.subjects:
        state = state.about(subject)
    return replace(step, state=state, evidence=beside.evidence or step.evidence)


def repeat(c: Context, draft: Draft, lead: str, *, aside: bool = False) -> Step:
    """Say `lead`, then repeat the open question; not again where the visitor goes on asking."""
    turns = c.state.turns + 1 if aside else 0
    state = replace(c.state, draft=draft, turns=turns)
    if turns > _MOST_ASIDES:
        return c.step(lead, state)
    if c.state.pending == states.CONFIRM:
        return c.step(f"{lead}\n\n{c.say('ask.confirm')}", state, choices=c.say.yes_no)
    if c.state.pending == states.CHANGE:
        return c.step(f"{lead} {c.say('ask.change')}", state)
    if c.state.asked == "name" and not aside:
        draft = draft.miss("name")
    return ask(c, draft, c.form(draft).by_key[c.state.asked], lead, apart=aside, turns=turns)


def change(c: Context) -> Step | None:
    """Ask for the value that the visitor wants to change; without one named, which it is."""
    draft = c.state.draft
    if draft is None or not (c.said.says("deny", "correct", "change") or c.state.pending == states.CHANGE):
        return None
    named = naming.field_named(c, draft)
    if named is not None:
        return ask(c, draft.without(named.key), named)
    if c.state.pending == states.CHANGE and c.said.says("affirm", "skip", "deny"):
        return summed_up(c, draft)
    if c.state.pending == states.CONFIRM and c.said.says("deny", "correct", "change"):
        return c.step(c.say("ask.change"), replace(c.state, pending=states.CHANGE))
    return None


def refused(c: Context) -> Step | None:
    """Handle what the visitor will not or cannot tell: one of phone and e-mail is enough, the rest can be done without."""
    draft = c.state.draft
    if draft is None or not c.state.asked or not c.said.says("refuse", "skip", "deny"):
        return None
    field = c.form(draft).by_key[c.state.asked]
    named = naming.field_named(c, draft)
    key = named.key if named is not None and is_of_person(named.key) else field.key
    if key in ("phone", "email"):
        other = "email" if key == "phone" else "phone"
        if draft.get(other):
            done = draft.skip(key)
            return ask(c, done, field, c.say(f"no.{key}")) if field.key == "name" else proceed(c, done, c.say(f"no.{key}"))
        if field.key == "contact":
            return ask(c, draft, c.form(draft).by_key[other], c.say(f"no.{key}"))
        field = c.form(draft).by_key["contact"]
    if field.key in _WHEN:
        key = "any." + field.key if c.said.says("skip") or c.said.values.flexible else "hint." + field.key
        return _missed(c, draft, field, c.say.first(key, "hint.field"))
    if field.key.startswith("x.") and not field.required:
        return proceed(c, draft.skip(field.key))
    if is_of_person(field.key):
        key = "name" if field.key == "name" else "contact"
        if draft.missed.get(key, 0):
            return proceed(c, draft.skip(key), c.say(f"no.{key}"))
        return ask(c, draft.miss(key), field, c.say(f"need.{key}"))
    return _missed(c, draft, field, "")


def other_wish(c: Context) -> Step | None:
    """Go over to what the visitor wants instead: an appointment, or a person."""
    draft = c.state.draft
    if draft is None:
        return None
    if c.said.says("person", "message"):
        if draft.kind == "contact":
            return repeat(c, _with_rest(c, draft), c.say("noted"))
        return proceed(c, replace(draft, kind="contact").quote(c.turn.message), c.say("open.person"))
    if not c.said.says("book"):
        return None
    kind, purpose = _wanted(c)
    if kind == draft.kind:
        return repeat(c, draft.quote(c.turn.message), c.say("noted"))
    return begin(c, kind, before=draft, purpose=purpose)


def why(c: Context) -> Step | None:
    """Say what the question is for."""
    return repeat(c, c.state.draft, c.say("why")) if c.state.draft and c.said.says("why") else None


def not_sent(c: Context) -> Step | None:
    """Say that the request has not been passed on yet, where the visitor takes it for sent."""
    if c.state.draft is None or not c.said.says("status", "cancel"):
        return None
    told = records.status(c) if c.turn.captured else None
    return repeat(c, c.state.draft, told.text if told else c.say("not_sent"), aside=told is not None)


def insulted(c: Context) -> Step | None:
    """Stay calm, and repeat the question."""
    return repeat(c, c.state.draft, c.say("insult.short")) if c.state.draft and c.said.says("insult") else None


def aside(c: Context) -> Step | None:
    """Say a line to what is no answer, and repeat the question."""
    draft = c.state.draft
    if draft is None or not c.said.clauses:
        return None
    if c.said.says("complain"):
        return repeat(c, draft.quote(c.turn.message), c.say("sorry"))
    if c.said.says("identity"):
        return repeat(c, draft, c.say("smalltalk.identity", name=c.turn.bot.name))
    tells = [one for one in c.said.clauses if one.matter >= _TOLD]
    values = c.said.values.people or c.said.values.nights or _names_when(c)
    if any(one.is_one_of("state", "message", "correct", "book") or (values and one.act == "give") for one in tells):
        return repeat(c, draft.quote(c.turn.message), c.say("noted"))
    act = max(c.said.clauses, key=lambda one: max(one.acts.values(), default=0.0)).act
    key = None if act == "affirm" and c.state.pending == states.CONFIRM else _NOTED.get(act)
    return repeat(c, draft, c.say(key)) if key and not draft.missed.get(c.state.asked, 0) else None


def misunderstood(c: Context) -> Step | None:
    """Ask again in other words, with an example; then offer to go on without; then go on without."""
    draft = c.state.draft
    if draft is None:
        return None
    if c.state.asked:
        return _missed(c, draft, c.form(draft).by_key[c.state.asked], "")
    draft = draft.miss("confirm")
    missed = draft.missed["confirm"]
    if missed >= _GIVES_UP:
        return c.step(c.say("given_up"), c.state.settled())
    fields = naming.changeable(c, draft)
    key = "hint" if missed == 1 else "way"
    said = [c.say(f"{key}.{c.state.pending}", fields=fields), *([c.say("way.out")] if missed > 1 else [])]
    return c.step(" ".join(said), replace(c.state, draft=draft), choices=c.say.yes_no if c.state.pending == states.CONFIRM else ())


def _missed(c: Context, draft: Draft, field: Field, hint: str) -> Step:
    written = c.said.values.phone_as_written
    if field.key in ("contact", "phone") and written:
        return _number_as_written(c, draft, field, written)
    draft = draft.miss(field.key)
    missed = draft.missed[field.key]
    if field.key == "name" and missed > 1 and (name := _possible_name(c)):
        return proceed(c, draft.put("name", name), c.say("noted"))
    if missed >= (_NAME_SKIPS if field.key == "name" else _SKIPS):
        return _without(c, draft, field)
    if missed == 1:
        return ask(c, draft, field, hint or field.hint(c.place))
    return ask(c, draft, field, " ".join(filter(None, (hint or c.say.first(f"way.{field.key}", "hint.field"), c.say("way.without")))))


def _possible_name(c: Context) -> str | None:
    """Return the message as a name, where it was asked for twice and this may be one: few words, letters alone."""
    said = c.turn.message.strip(" .!,")
    few = 0 < len(said.split()) <= _NAME_WORDS and all(part.replace("-", "").replace("'", "").isalpha() for part in said.split())
    return said if few and not c.said.says("insult", "refuse", "skip", "greet", "thank", "ask", "affirm", "deny", "part") else None


def _without(c: Context, draft: Draft, field: Field) -> Step:
    """Go on without a value. An appointment without its day or hour becomes a call back."""
    if field.key in ("date", "time"):
        return proceed(c, replace(draft, kind="contact"), c.say("without.when"))
    return proceed(c, draft.skip("contact" if field.key in ("phone", "email") else field.key), c.say.first(f"no.{field.key}", "noted"))


def _number_as_written(c: Context, draft: Draft, field: Field, number: str) -> Step:
    """Ask once more for a number that cannot be right. The second time keep it as written, or ask for an e-mail address."""
    draft = draft.miss(field.key)
    if draft.missed[field.key] == 1:
        return ask(c, draft, field, c.say("hint.phone"))
    phone = contacts.own_phone(number, [c.turn.message], c.turn.bot.country)
    if phone is None:
        return ask(c, draft, c.form(draft).by_key["email"], c.say("phone.short"))
    return proceed(c, draft.put("phone", phone), c.say("phone.as_written"))


# Offered, dropped and interrupted forms


def offer(c: Context, kind: str, text: str, key: str = "offer") -> Step:
    """Say `text` and offer to take a request down."""
    said = c.say(key)
    if not c.turn.may_capture:
        return c.step(text or c.say("person.later"), c.state.settled())
    draft, _ = take(c, with_matter(c, Draft(kind)).quote(c.turn.message))
    state = replace(c.state.settled(), draft=draft, pending=states.OFFER)
    return c.step(f"{text}\n\n{said}" if text else said, state, choices=c.say.yes_no if key in _YES_NO else ())


def answer_to_offer(c: Context) -> Step | None:
    """Begin what was offered after a yes or with what was asked for. None if the message is about something else."""
    draft = c.state.draft
    if draft is None:
        return None
    if c.said.says("deny", "stop", "refuse") and not c.said.says("ask", "book"):
        return c.step(c.say("offer.declined"), c.state.settled())
    taken, changed = take(c, draft)
    tells = changed & {"name", "phone", "email"} or (draft.is_appointment and (changed & set(_WHEN) or c.said.values.part_of_day))
    if not (c.said.says("affirm", "person", "message", "book") or tells) or c.said.says("thank", "part"):
        return None
    if c.state.pending == states.RESUME:
        return proceed(c, taken)
    kind, purpose = _wanted(c) if c.said.says("book") else (draft.kind, draft.purpose)
    volunteered = tells and not c.said.says("book")
    return begin(c, kind, "open.volunteered" if volunteered else f"open.{kind}", before=taken, purpose=purpose)


def taken_up_again(c: Context) -> Step | None:
    """Go on with a form that was given up: "ok let's do it then", or a new day for it."""
    draft = c.state.draft
    if draft is None or not c.turn.may_capture:
        return None
    taken, changed = take(c, draft)
    goes_on = c.said.says("book", "change", "correct") or (c.said.says_only("affirm") and " " in c.turn.message.strip())
    if not (goes_on or (changed & {"date", "time"} and not c.said.says("ask"))):
        return None
    return proceed(c, replace(taken, missed={}), c.say(f"open.{draft.kind}"))


def resume(c: Context, step: Step | None) -> Step:
    """Ask whether to go on with a form that was left hours ago, after what is said to the message."""
    draft = c.state.draft
    assert draft is not None  # noqa: S101 - the table's condition
    about = " ".join((_about(c, draft) or c.say(f"kind.{draft.kind}")).split())[:80]
    said = c.say("resume", about=about)
    state = replace((step.state if step else c.state), draft=draft, pending=states.RESUME)
    return c.step(f"{step.text}\n\n{said}" if step else said, state, evidence=step.evidence if step else None, choices=c.say.yes_no)
