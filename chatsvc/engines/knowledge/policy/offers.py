"""Forms that are offered, were dropped, or were left hours ago."""

from dataclasses import replace

from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.forms import about, begin, proceed, wanted
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.policy.taking import WHEN, asks_beside, take, with_matter

_YES_NO = ("offer", "offer.appointment", "offer.situation", "offer.again")  # offers that are answered by yes or no
_BARE = 2  # words of a message that names no wish of its own


def offer(c: Context, kind: str, text: str, key: str = "offer", purpose: str = "") -> ReplyStep:
    """Say `text` and offer to take a request down."""
    said = c.say(key)
    if not c.turn.may_capture:
        return c.step(text or c.say("person.later"), c.state.settled())
    draft, _ = take(c, with_matter(c, RequestDraft(kind, purpose)).quote(c.turn.message))
    nods = key in _YES_NO
    state = replace(c.state.settled(), draft=draft, pending=states.OFFER if nods else states.OFFER_CONTACT)
    return c.step(f"{text}\n\n{said}" if text else said, state, choices=c.say.yes_no if nods else ())


def answer_to_offer(c: Context) -> ReplyStep | None:
    """Begin what was offered after a yes or with what was asked for. None if the message is about something else."""
    draft = c.state.draft
    if draft is None:
        return None
    if c.said.says("deny", "stop", "refuse") and not c.said.says("ask", "book", "complain"):
        return replace(c, state=c.state.settled()).line("offer.declined")
    taken, changed = take(c, draft)
    cancels = c.said.says("cancel", "change") and c.state.is_of_record
    if c.state.is_of_record:
        taken = replace(taken.quote(c.turn.message) if cancels else taken, purpose="")
    tells = (
        cancels
        or changed & {"name", "phone", "email"}
        or (draft.is_appointment and not asks_beside(c) and (changed & set(WHEN) or c.said.values.part_of_day))
    )
    if not (c.said.says("affirm", "person", "message", "book") or tells) or c.said.says("thank", "part"):
        return None
    if c.state.pending == states.RESUME:
        return proceed(c, taken)
    kind, purpose = wanted(c) if c.said.says("book") else (taken.kind, taken.purpose)
    volunteered = tells and not c.said.says("book")
    return begin(c, kind, "open.volunteered" if volunteered else f"open.{kind}", before=taken, purpose=purpose)


def taken_up_again(c: Context) -> ReplyStep | None:
    """Go on with a form that was given up: "ok let's do it then", or a new day for it."""
    draft = c.state.draft
    if draft is None or not c.turn.may_capture:
        return None
    other = any(clause.matter for clause in c.said.clauses) and not c.said.says("affirm") and len(c.turn.message.split()) > _BARE
    if c.said.says("book") and (other or wanted(c)[0] != draft.kind):
        return None
    taken, changed = take(c, draft)
    goes_on = c.said.says("book", "change", "correct", "keep") or (
        c.said.says("affirm") and not c.said.says("ask") and " " in c.turn.message.strip()
    )
    if not (goes_on or (changed & {"date", "time", "phone", "email"} and not c.said.says("ask"))):
        return None
    return proceed(c, replace(taken, missed={}), c.say(f"open.{draft.kind}"))


def resume(c: Context, step: ReplyStep | None) -> ReplyStep:
    """Ask whether to go on with a form that was left hours ago, after what is said to the message."""
    draft = c.state.draft
    assert draft is not None  # noqa: S101 - the table's condition
    shown = " ".join((about(c, draft) or c.say(f"kind.{draft.kind}")).split())[:80]
    said = c.say("resume", about=shown)
    state = replace((step.state if step else c.state), draft=draft, pending=states.RESUME)
    return c.step(f"{step.text}\n\n{said}" if step else said, state, evidence=step.evidence if step else None, choices=c.say.yes_no)
