"""Forms: begin one, ask for what is missing, sum up, capture.

Nothing is captured before the visitor has confirmed a summary.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, time
from itertools import pairwise

from chatsvc.domain import contacts
from chatsvc.domain.captures import Captured, checked
from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.count import NIGHTS, PEOPLE
from chatsvc.engines.knowledge.fields.owned import Owned
from chatsvc.engines.knowledge.policy import answers
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.answers import Beside
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.state import RequestDraft, Subject
from chatsvc.engines.knowledge.policy.taking import (
    OF_THING,
    WHEN,
    free_questions,
    heard,
    known_visitor,
    reason_against_day,
    take,
    with_matter,
)
from chatsvc.engines.knowledge.understand import ReadClause, read_clauses

_SKIPS, _NAME_SKIPS = 3, 2  # answers to a question, and to that for the name or the matter, that hold no value, after which it is left
_WISHES = frozenset({"person", "message", "book", "complain"})
MOST_ASIDES = 2  # questions in a row after which the open question is not repeated
_MOST_UNTIMED = 5
_SHOWN = 160  # characters of the visitor's message in the summary
_NOON = time(12)
_KINDS = {"quote": "quote", "order": "other", "course": "other"}  # of a request, by the purpose of a wish


def begin(c: Context, kind: str, opening: str = "", *, before: RequestDraft | None = None, purpose: str = "") -> ReplyStep:
    """Open a form. Take all values of the message, answer its questions, ask for the first thing missing."""
    draft = replace(before, kind=kind, purpose=purpose or before.purpose, missed={}) if before else RequestDraft(kind, purpose)
    before_it = {key: one for key, one in heard(c).items() if draft.is_appointment or key not in WHEN}
    if draft.purpose not in ("", "stay"):
        before_it = {key: one for key, one in before_it.items() if key not in (NIGHTS, "until")}
    draft = replace(draft, values={**before_it, **draft.values})
    draft, _ = take(c, with_matter(c, known_visitor(c, draft)))
    if draft.is_appointment and draft.get(NIGHTS):
        draft = replace(draft, purpose="stay")
    asked = free_questions(c)
    beside = answers.beside(c, with_topics(c, asked))
    said = beside.said or ((c.say("unknown.noted"),) if any(one.kind in OF_THING for one in asked) else ())
    draft = draft.quote(c.turn.message) if said and not beside.said else draft
    step = proceed(c, draft, "\n\n".join([*said, c.say(opening or f"open.{kind}")]))
    about = c.turn.message if any(clause.matter for clause in c.said.clauses) else ""
    return with_answers(replace(step, state=step.state.about(Subject(about))), beside)


def with_topics(c: Context, asked: Sequence[ReadClause]) -> list[ReadClause]:
    """Join a question without a thing of its own to the clause before it: "we'd love a cake for 20. How much would that be?"."""
    before = {one.start: earlier.text for earlier, one in pairwise(c.said.clauses)}
    return [replace(one, text=f"{before[one.start]} {one.text}") if not one.matter and one.start in before else one for one in asked]


def wanted(c: Context) -> tuple[str, str]:
    """Return kind and purpose of the request that a wish is for. A stay is an appointment whatever else it may be."""
    if c.said.values.nights:
        return "appointment", ""
    purpose = next((one.purpose for one in c.said.clauses if one.purpose), "")
    return _KINDS.get(purpose, "appointment"), purpose


def proceed(c: Context, draft: RequestDraft, lead: str = "") -> ReplyStep:
    """Ask for the next thing missing, or show the summary."""
    form = c.form(draft)
    draft, problems, noted = _possible(c, draft)
    lead = " ".join(filter(None, (lead, noted)))
    if form.missing(draft) is None:
        typed = _typed(c, draft)
        if form.missing(typed) is not None:
            problems.append(c.say("lost"))
        draft = typed
    asked = form.missing(draft)
    if asked is None:
        return summed_up(c, draft, " ".join(filter(None, (lead, *problems))))
    if asked.key == "date" and not problems and (reason := reason_against_day(c)):
        problems.append(reason)
    if c.state.asked == asked.key and not problems and not _corrects(c, draft):
        return ask_again(c, draft, asked, lead)
    if asked.key == "contact" and c.said.values.phone_as_written:
        problems.append(c.say("hint.phone"))
    elif asked.key == "contact" and c.state.asked != "contact":
        problems.append(c.say("privacy"))
    again = c.state.asked == asked.key and bool(lead) and not problems
    return ask(c, draft, asked, " ".join(filter(None, (lead, *problems))), again=again)


def _corrects(c: Context, draft: RequestDraft) -> bool:
    """Return whether the message replaced a value told before. That is no miss of the open question."""
    before = c.state.draft.values if c.state.draft else {}
    return any(key in draft.values and draft.values[key] != value for key, value in before.items())


def _possible(c: Context, draft: RequestDraft) -> tuple[RequestDraft, list[str], str]:
    """Return the draft without what is refused, the reasons, and a word on what is taken all the same."""
    form = c.form(draft)
    for key in ("date", "time"):
        if draft.get(key) is None or not (reason := form.by_key[key].refused(draft, c.place)):
            continue
        draft = draft.insisting(key)
        if draft.get(key) is None or form.by_key[key].refused(draft, c.place):
            return draft.without(key), [reason], ""
        return draft, [], c.say("insists")
    return draft, [], ""


def _last_wish(c: Context) -> str:
    """Return the visitor's last message with a wish, which stands for a matter that is never told."""
    wishes = (text for text in reversed(c.spoken) if any(one.act in _WISHES for one in read_clauses(text, c.said.language)))
    return next(wishes, c.spoken[0])


def ask(c: Context, draft: RequestDraft, field: Field, lead: str = "", *, again: bool = False, aside: bool = False) -> ReplyStep:
    """Say `lead`, then ask for a field.

    The question is short where it is asked `again`. After something `aside` it is short too, and a paragraph of its own.
    """
    question = field.ask_again(draft, c.place) if again or aside else field.ask(draft, c.place)
    if field.key == "time" and draft.get(NIGHTS) is not None:
        draft = draft.skip("time")  # the time of arrival is asked for once
    text = ("\n\n" if aside else " ").join(filter(None, (lead, question)))
    if c.told and text == c.told[0]:
        way = c.say.first(f"way.{field.key}", "hint.field") if lead else field.hint(c.place)
        told = (lead, field.ask(draft, c.place)) if again else (lead, way, question)
        text = lead if aside else " ".join(filter(None, told))
    state = replace(c.state.settled(), draft=draft, pending=states.FIELD + field.key, turns=c.state.turns + 1 if aside else 0)
    return c.step(text, state, choices=field.choices())


def repeat(c: Context, draft: RequestDraft, lead: str, *, aside: bool = False) -> ReplyStep:
    """Say `lead`, then repeat the open question; not again where the visitor goes on asking."""
    turns = c.state.turns + 1 if aside else 0
    state = replace(c.state, draft=draft, turns=turns)
    if turns > MOST_ASIDES:
        return c.step(lead, state)
    if c.state.pending == states.CONFIRM and draft != c.state.draft:
        return summed_up(c, draft, lead)
    if c.state.pending == states.CONFIRM:
        return c.step(f"{lead}\n\n{c.say('ask.confirm')}", state, choices=c.say.yes_no)
    if c.state.pending == states.CHANGE:
        return c.step(f"{lead} {c.say('ask.change')}", state)
    field = c.form(draft).by_key[c.state.asked]
    if aside:
        return ask(c, draft, field, lead, aside=True)
    if field.key in draft.skipped:
        return proceed(c, draft, lead)
    return ask_again(c, draft, field, lead)


def ask_again(c: Context, draft: RequestDraft, field: Field, lead: str = "", hint: str = "") -> ReplyStep:
    """Ask for a field once more, the second time in other words and with the way out. Then go on without it.

    `lead` answers the message, `hint` helps to answer the question.
    """
    draft = draft.miss(field.key)
    missed = draft.missed[field.key]
    if missed >= (_NAME_SKIPS if field.key in ("name", "message") else _SKIPS):
        return without(c, draft, field, lead)
    if missed == 1:
        return ask(c, draft, field, lead or hint or field.hint(c.place), again=bool(lead))
    said = lead or hint or c.say.first(f"way.{field.key}", "hint.field")
    return ask(c, draft, field, f"{said} {c.say('way.without')}", again=bool(lead))


def without(c: Context, draft: RequestDraft, field: Field, lead: str = "") -> ReplyStep:
    """Go on without a value. An appointment without its day or hour becomes a call back; the last wish stands for a matter."""
    said = c.say.first(f"no.{field.key}", "noted")
    if field.key in ("date", "time") and (insisted := _insisted(c, draft, field)):
        draft, said = insisted, ""
    elif field.key in ("date", "time"):
        draft, said = replace(draft, kind="contact"), c.say("without.time" if draft.get("date") else "without.when")
    elif field.key == "message":
        draft, said = draft.quote(_last_wish(c)), ""
    else:
        draft = draft.skip("contact" if field.key in ("phone", "email") else field.key)
    return proceed(c, draft, said if lead == c.say("noted") else " ".join(filter(None, (lead, said))))


def _insisted(c: Context, draft: RequestDraft, field: Field) -> RequestDraft | None:
    """Return the draft with the day or hour that was refused last, where the team may decide on it."""
    if not draft.refused or (":" in draft.refused) != (field.key == "time"):
        return None
    kept = draft.put(field.key, draft.refused)
    return None if field.refused(kept.insisting(field.key), c.place) else kept


def with_answers(step: ReplyStep, beside: Beside) -> ReplyStep:
    """Return the step with the origin of the answers beside it, and what they are about on top."""
    state = step.state
    for subject in beside.subjects:
        state = state.about(subject)
    return replace(step, state=state, evidence=beside.evidence or step.evidence)


def summed_up(c: Context, draft: RequestDraft, lead: str = "") -> ReplyStep:
    """Show what is noted, and ask whether it is right."""
    form = c.form(draft)
    lines = []
    for key in (
        *WHEN,
        PEOPLE,
        "message",
        *(one.key for one in form.in_order if one.key.startswith("x.")),
        "name",
        "phone",
        "email",
    ):
        value = about(c, draft) if key == "message" else draft.get(key)
        if value:
            one = form.by_key.get(key)
            label, shown = (one.label(c.place), one.say(value, c.place)) if one else (c.say(f"field.{key}"), value)
            lines.append(f"- {label}: {shown}")
    text = "\n\n".join(filter(None, [lead, "\n".join([c.say("summary"), "", *lines]), c.say("ask.confirm")]))
    state = replace(c.state.settled(), draft=draft, pending=states.CONFIRM)
    return c.step(text, state, choices=c.say.yes_no)


def about(c: Context, draft: RequestDraft) -> str:
    """Return the visitor's words about the matter in one line, shortened."""
    told = " / ".join(" ".join(line.split()) for line in quoted(c, draft))
    return told if len(told) <= _SHOWN else told[: _SHOWN - 1] + "…"


def quoted(c: Context, draft: RequestDraft) -> list[str]:
    """Return the visitor's messages that the draft quotes, oldest first."""
    return list(dict.fromkeys(text.strip() for text in c.spoken if states.quote_of(text) in draft.quotes))


def _typed(c: Context, draft: RequestDraft) -> RequestDraft:
    """Keep only what stands in the visitor's messages that are still known."""
    country = c.turn.bot.country
    spoken = c.in_figures
    found = {
        "name": contacts.own_name(draft.get("name") or "", spoken),
        "email": contacts.own_email(draft.get("email") or "", spoken),
        "phone": contacts.own_phone(draft.get("phone") or "", spoken, country),
    }
    lost = [key for key, known in found.items() if known is None]
    quoted = {states.quote_of(text) for text in spoken}
    return replace(draft.without(*lost), quotes=tuple(one for one in draft.quotes if one in quoted))


def finish(c: Context, draft: RequestDraft) -> ReplyStep:
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
    counted = [(key, value) for key in (*(() if day else ("date", "time")), NIGHTS, PEOPLE) if (value := draft.get(key))]
    caught = Captured(
        request_type=draft.kind,
        message="\n".join(quoted(c, draft)),
        visitor_name=draft.get("name"),
        visitor_email=draft.get("email"),
        visitor_phone=draft.get("phone"),
        date=day,
        time=hour if day else None,
        details=(*counted, *details),
        offered=(*(choice for one in form.in_order for choice in one.choices()), *(value for _, value in counted)),
    )
    caught = checked(caught, c.in_figures, c.now, c.turn.bot.country)
    said = c.say("done.appointment" if draft.is_appointment else "done")
    state = replace(c.state.settled(), matter=(), heard={})
    if day and at is None:
        state = replace(state, untimed=(*state.untimed, day.isoformat())[-_MOST_UNTIMED:])
    return c.step(said, state.about(Subject(about(c, draft), states.REQUEST)), captured=caught)
