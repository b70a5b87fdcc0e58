"""Captured records: what the bot has noted, and wishes to cancel, move or correct it.

A change is captured as a request (DECISIONS.md section 2): the appointment stays as it is until the team changes it.
"""

from dataclasses import replace
from datetime import date, time

from chatsvc.domain.captures import Captured, CapturedRecord, Change, wanted_change
from chatsvc.engines.knowledge.fields import clock
from chatsvc.engines.knowledge.fields.choice import chosen
from chatsvc.engines.knowledge.policy import answers
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.state import RequestDraft, Subject
from chatsvc.language.contacts import in_local_form

_OPEN = ("pending", "confirmed", "new", "in_progress")
OUTRIGHT = 0.88  # probability of a cancellation that is noted without asking
_OF_WISH = ("free", "may", "whether")  # kinds of questions that may name the day or hour wanted
_FRESH_MS = 2 * 3_600_000  # so long after a capture a new time alone moves it


def appointments(c: Context) -> list[CapturedRecord]:
    """Return the appointments of the conversation that are not over, oldest first; all of them if all are."""
    known = [one for one in c.turn.captured if one.kind == "appointment" and one.date and one.time]
    return [one for one in known if one.status in _OPEN] or known[-1:]


def is_fresh(c: Context) -> bool:
    """Return whether the newest record was captured just now."""
    return bool(c.turn.captured) and c.turn.now_ms - c.turn.captured[-1].created_at <= _FRESH_MS


def _meant(c: Context) -> CapturedRecord | None:
    """Return the appointment that the message names by its day or time, or the only one."""
    known = appointments(c)
    day, at = _day_named(c), c.said.values.time
    named = [one for one in known if (day and one.date == day) or (at and one.time == at.value)]
    if len(named) == 1:
        return named[0]
    return known[0] if len(known) == 1 else None


def _day_named(c: Context) -> date | None:
    """Return the day that the message names. That of an appointment that is not wanted is named to reject it."""
    return c.said.values.date.value if c.said.values.date else c.said.values.rejected_date


# Status


def status(c: Context) -> ReplyStep | None:
    """Tell date, time and status of the appointment, and a change asked for since."""
    known = appointments(c)
    beside = answers.beside(c, [one for one in c.said.questions if one.matter > 1]).said
    if known:
        return c.step("\n".join(_told(c, one) for one in known)).after(*beside)
    if not c.turn.captured:
        return None
    key = "open" if c.turn.captured[-1].status in _OPEN else "done"
    asks_when = key == "open" and any(one.kind == "when" for one in c.said.questions)
    return c.step(c.say(f"status.request.{'when' if asks_when else key}")).after(*beside)


def _told(c: Context, booked: CapturedRecord) -> str:
    told = c.say(f"status.{booked.status}", appointment=_moment(c, booked))
    wish = _last_wish(c, booked)
    if wish is not None and booked.status in _OPEN:
        wanted = ", ".join(filter(None, wish))
        told += " " + c.say("status.change.move" if wanted else "status.change.cancel", wanted=wanted)
    return told


def _wished(c: Context, booked: CapturedRecord) -> tuple[date | None, time | None] | None:
    """Return day and time of the last change that was asked for. None and None for a cancellation, None for no change."""
    wishes = [change[1:] for record in c.turn.captured if (change := wanted_change(record)) and change[0] == booked.id]
    return wishes[-1] if wishes and wishes[-1] != (booked.date, booked.time) else None


def _last_wish(c: Context, booked: CapturedRecord) -> tuple[str, str] | None:
    """Return day and time, in words, of the last change that was asked for. Empty ones for a cancellation, None for no change."""
    wished = _wished(c, booked)
    if wished is None:
        return None
    day, at = wished
    return (c.say.date(day), f"{at:%H:%M}") if day and at else ("", "")


# Changes


def cancel(c: Context) -> ReplyStep | None:
    """Capture the wish to cancel; ask first where it was put as a question, or which of several is meant."""
    booked = _meant(c)
    if booked is None:
        return _which(c, states.WHICH_CANCEL) if appointments(c) else _withdrawn(c)
    if booked.status == "canceled":
        return c.step(c.say("status.canceled", appointment=_moment(c, booked)))
    if _last_wish(c, booked) == ("", ""):
        return c.step(_told(c, booked))
    other_day = _day_named(c) not in (None, booked.date)
    if c.said.questions or other_day or c.said.may_be("cancel") < OUTRIGHT:
        state = replace(c.state.settled(), pending=states.CANCEL, record=booked.id).about(Subject(c.turn.message))
        return c.step(c.say("change.cancel?", appointment=_moment(c, booked)), state, choices=c.say.yes_no)
    return _captured(c, booked, cancels=True)


def keep(c: Context) -> ReplyStep | None:
    """Capture that a change or a cancellation is taken back, and answer the questions beside it."""
    beside = answers.beside(c, [one for one in c.said.clauses if one.matter > 1])
    known = appointments(c)
    changed = [one for one in known if _wished(c, one)]
    if known and known[-1].status not in _OPEN:
        return status(c)
    if changed:
        step = _captured(c, changed[-1], day=changed[-1].date, at=changed[-1].time)
    elif not known and is_fresh(c) and c.turn.may_capture:
        step = _added(c, c.turn.captured[-1])
    else:
        step = c.step(c.say("change.dropped"), c.state.settled())
    return step.after(*beside.said)


def add(c: Context) -> ReplyStep | None:
    """Capture what is told right after the capture as an addition to the record: "his name is Duke btw"."""
    return _added(c, c.turn.captured[-1]) if is_fresh(c) and c.turn.may_capture else None


def _added(c: Context, last: CapturedRecord) -> ReplyStep:
    """Capture the message as an addition to a record."""
    caught = Captured(last.request_type, c.turn.message.strip(), change=Change(last, cancels=False, corrects=True))
    return c.step(c.say("change.done.detail"), c.state.settled(), captured=caught)


def _withdrawn(c: Context) -> ReplyStep | None:
    """Capture that the visitor withdraws a request that is no appointment."""
    last = c.turn.captured[-1] if c.turn.captured else None
    if last is None:
        return None
    if not c.turn.may_capture:
        return c.step(c.say("change.too_many"))
    about = f"{c.turn.message.strip()}\n{last.message}"
    caught = Captured(last.request_type, about, last.visitor_name, last.visitor_email, last.visitor_phone)
    return c.step(c.say("change.withdrawn"), c.state.settled(), captured=caught)


def move(c: Context) -> ReplyStep | None:
    """Capture the wish for another time; ask for it where it was not told, or which of several is meant.

    Another length of a stay is an addition to the record.
    """
    known, values = appointments(c), c.said.values
    if not known:
        return None
    if (values.until or values.nights) and not values.date and c.turn.may_capture:
        return _added(c, known[-1])
    booked = known[0] if len(known) == 1 else None
    return _move(c, booked, ("", "")) if booked else _which(c, states.WHICH_MOVE)


def _which(c: Context, pending: str) -> ReplyStep:
    known = appointments(c)
    shown = tuple(_moment(c, one) for one in known)
    state = replace(c.state.settled(), pending=pending, options=tuple(zip((one.id for one in known), shown, strict=True)))
    return c.step("\n".join([c.say("back.which"), "", *(f"- {one}" for one in shown)]), state, choices=shown)


def _move(c: Context, booked: CapturedRecord, wanted: tuple[str, str]) -> ReplyStep:
    """Take the new day and time, beside what was wanted before."""
    values = c.said.values
    draft = RequestDraft("appointment")
    for key, value in (("date", wanted[0]), ("time", wanted[1])):
        draft = draft.put(key, value) if value else draft
    if values.date:
        draft = draft.put("date", values.date.value.isoformat())
    if values.time:
        draft = draft.put("time", f"{values.time.value:%H:%M}")
    named = draft.get("date") or draft.get("time")
    wished = _wished(c, booked) or (booked.date, booked.time)
    if not draft.get("date") and wished[0]:
        draft = draft.put("date", wished[0].isoformat())
    draft = clock.meant(draft, c.said, c.place)
    if not draft.get("time") and wished[1]:
        draft = draft.put("time", f"{wished[1]:%H:%M}")
    state = replace(c.state.settled(), pending=states.MOVE, record=booked.id)
    at = date.fromisoformat(draft.get("date") or ""), time.fromisoformat(draft.get("time") or "")
    if named and at in ((booked.date, booked.time), wished):
        return c.step(_told(c, booked), c.state.settled())
    if not named:
        return c.step(c.say("change.when", appointment=_moment(c, booked)), state)
    for key in ("date", "time"):
        if reason := c.form(draft).by_key[key].refused(draft, c.place):
            kept = ("" if key == "date" else draft.get("date") or "", draft.get("time") or "" if key == "date" and values.time else "")
            return c.step(f"{reason} {c.say('change.other')}", replace(state, wanted=kept))
    return _captured(c, booked, day=at[0], at=at[1])


def _captured(c: Context, booked: CapturedRecord, *, cancels: bool = False, day: date | None = None, at: time | None = None) -> ReplyStep:
    if not c.turn.may_capture:
        return c.step(c.say("change.too_many"), c.state.settled())
    caught = Captured("appointment", c.turn.message.strip(), date=day, time=at, change=Change(booked, cancels))
    wanted = f"{c.say.date(day)}, {at:%H:%M}" if day and at else ""
    key = "cancel" if cancels else "keep" if (day, at) == (booked.date, booked.time) else "move"
    return c.step(c.say(f"change.done.{key}", appointment=_moment(c, booked), wanted=wanted), c.state.settled(), captured=caught)


def answer(c: Context) -> ReplyStep | None:
    """Go on with a change that the bot has asked about; None for a message about something else."""
    known = {one.id: one for one in appointments(c)}
    if c.state.pending in (states.WHICH_CANCEL, states.WHICH_MOVE):
        return _chosen(c, known)
    booked = known.get(c.state.record)
    if booked is None:
        return None
    named = c.said.values.date or c.said.values.time
    if c.said.says("keep") or (c.said.says("deny", "stop") and not named):
        return c.step(c.say("change.dropped"), c.state.settled())
    if c.state.pending == states.CANCEL:
        return _captured(c, booked, cancels=True) if c.said.says("affirm", "cancel") else None
    if any(not named or one.kind not in _OF_WISH for one in c.said.questions):
        return None  # "what time is that possible on Sunday"
    return _move(c, booked, c.state.wanted) if named or c.said.says("affirm", "give") else None


def _chosen(c: Context, known: dict[str, CapturedRecord]) -> ReplyStep | None:
    picked = _meant(c)
    if picked is None:
        shown = [text for _, text in c.state.options]
        text = chosen(shown, c.turn.message, c.said.language)
        picked = next((known.get(identity) for identity, one in c.state.options if one == text), None)
    if picked is None:
        return c.step(c.say("change.dropped"), c.state.settled()) if c.said.says("deny", "stop", "keep") else None
    return _captured(c, picked, cancels=True) if c.state.pending == states.WHICH_CANCEL else _move(replace_values(c), picked, ("", ""))


def replace_values(c: Context) -> Context:
    """Return the context without the day and time that chose an appointment, which are not the new ones."""
    return replace(c, said=replace(c.said, values=replace(c.said.values, date=None, time=None)))


def correct(c: Context) -> ReplyStep | None:
    """Capture corrected name or contact data of the newest record."""
    if not c.turn.captured:
        return None
    last, values = c.turn.captured[-1], c.said.values
    name = values.name.value if values.name and values.name.value != last.visitor_name else None
    if values.surname and last.visitor_name and (name is None or name == values.surname):
        name = " ".join([*(last.visitor_name.split()[:-1] or [last.visitor_name]), values.surname])
    phone = values.phone.value if values.phone and values.phone.value != last.visitor_phone else None
    email = values.email.value if values.email and values.email.value != last.visitor_email else None
    told = (("name", name), ("phone", phone and in_local_form(phone, c.turn.bot.country)), ("email", email))
    data = ", ".join(f"{c.say(f'field.{key}').lower()} {value}" for key, value in told if value)
    if not data and not (values.people and c.said.says("correct", "change")):
        return None
    if not c.turn.may_capture:
        return c.step(c.say("change.too_many"))
    change = Change(last, cancels=False, corrects=True)
    caught = Captured(last.request_type, c.turn.message.strip(), name, email, phone, change=change)
    said = c.say("change.done.contact", data=data) if data else c.say("change.done.detail")
    return c.step(said, c.state.settled(), captured=caught)


def _moment(c: Context, booked: CapturedRecord) -> str:
    """Return day and time of an appointment in words; no time where none was told."""
    if booked.date is None or booked.time is None:
        return ""
    day = c.say.date(booked.date)
    return day if booked.date.isoformat() in c.state.untimed else f"{day}, {booked.time:%H:%M}"
