"""Answers that a form does without: refused, not known, or not understood."""

from dataclasses import replace

from chatsvc.domain import contacts
from chatsvc.engines.knowledge.fields.base import Field
from chatsvc.engines.knowledge.fields.form import is_of_person
from chatsvc.engines.knowledge.policy import answers, naming
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.context import Context, ReplyStep
from chatsvc.engines.knowledge.policy.forms import ask, ask_again, proceed, repeat, with_answers
from chatsvc.engines.knowledge.policy.state import RequestDraft
from chatsvc.engines.knowledge.policy.taking import REACHED, UNSURE, WHEN
from chatsvc.language.contacts import names_other_number, resembles_email
from chatsvc.language.folding import words

_GIVES_UP = 4  # misunderstood answers to the confirmation after which the form is left
_NAME_WORDS = 4
_WRITTEN = "written"  # counts numbers that cannot be right
_TOLD, _ADDED = 3, 2  # words of a message that may tell something for the team, and beside a summary


def refused(c: Context) -> ReplyStep | None:
    """Handle what the visitor will not or cannot tell: one of phone and e-mail is enough, the rest can be done without."""
    draft = c.state.draft
    if draft is None or not c.state.asked or not _refuses(c):
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
    if field.key in WHEN:
        return _no_time(c, draft, field)
    if field.key.startswith("x.") and not field.required:
        return proceed(c, draft.skip(field.key))
    if is_of_person(field.key):
        key = "name" if field.key == "name" else "contact"
        if draft.missed.get(f"no.{key}", 0):
            return proceed(c, draft.skip(key), c.say(f"no.{key}"))
        return ask(c, draft.miss(f"no.{key}"), field, c.say(f"need.{key}"), again=True)
    return missed_answer(c, draft, field, "")


def _refuses(c: Context) -> bool:
    """Return whether the message will not or cannot tell what was asked. "I have no order number" refuses no contact data."""
    other = c.state.asked in REACHED and names_other_number(c.turn.message)
    return not other and (c.said.says("refuse", "skip", "deny") or c.said.may_be("skip") > UNSURE)


def _no_time(c: Context, draft: RequestDraft, field: Field) -> ReplyStep:
    """Help with a day or an hour that is not told. What is told beside is kept: "no, the small one", "not sure, silver probably"."""
    if sum(one.matter for one in c.said.clauses) >= _ADDED:
        draft = draft.quote(c.turn.message)
        if not c.said.says("skip", "refuse"):
            return repeat(c, draft, c.say("noted"))
    key = "any." + field.key if c.said.says("skip") or c.said.values.flexible else "hint." + field.key
    return missed_answer(c, draft, field, c.say.first(key, "hint.field"))


def misunderstood(c: Context) -> ReplyStep | None:
    """Ask again in other words, with an example; then offer to go on without; then go on without."""
    draft = c.state.draft
    if draft is None:
        return None
    digits = any(map(str.isdigit, c.turn.message))
    if c.state.asked in WHEN and not digits and answers.find(c, c.turn.message, "").decision == "answer":  # a bare thing: "cameras"
        beside = answers.beside(c, c.said.clauses)
        return with_answers(repeat(c, draft, "\n\n".join(beside.said), aside=True), beside)
    attempt = (c.state.asked in REACHED and _tries_contact(c)) or (c.state.asked == "name" and _possible_name(c))
    if c.said.content and not attempt and not c.said.says("nonsense", "insult"):
        confirms, count = c.state.pending == states.CONFIRM, len(words(c.turn.message))
        draft = draft.quote(c.turn.message) if count >= (_ADDED if confirms else 1 if c.state.asked in WHEN else _TOLD) else draft
        remarks = c.state.asked in ("name", *REACHED) or (
            c.state.asked in WHEN and count >= (1 if c.said.counts_thing else _TOLD) and (not digits or c.said.counts_thing)
        )
        if (remarks or confirms) and draft != c.state.draft:
            return repeat(c, draft, c.say("noted"))
    if c.state.asked or c.said.values.phone_as_written:
        return missed_answer(c, draft, c.form(draft).by_key[c.state.asked or "phone"], "")
    draft = draft.miss("confirm")
    missed = draft.missed["confirm"]
    if missed >= _GIVES_UP:
        return c.step(c.say("given_up"), c.state.settled())
    fields = naming.changeable(c, draft)
    key = "hint" if missed == 1 else "way"
    said = [c.say(f"{key}.{c.state.pending}", fields=fields), *([c.say("way.out")] if missed > 1 else [])]
    return c.step(" ".join(said), replace(c.state, draft=draft), choices=c.say.yes_no if c.state.pending == states.CONFIRM else ())


def missed_answer(c: Context, draft: RequestDraft, field: Field, hint: str) -> ReplyStep:
    """Ask again for what was not told. A number that cannot be right and few words instead of a name count the second time.

    A bare word with a capital is a name at once.
    """
    written = c.said.values.phone_as_written
    if field.key in ("contact", "phone") and written:
        return _number_as_written(c, draft, field, written)
    sole = c.turn.message.strip().istitle() and " " not in c.turn.message.strip() and any(one.act == "give" for one in c.said.clauses)
    if field.key == "name" and (sole or draft.missed.get("name")) and (name := _possible_name(c)):
        return proceed(c, draft.put("name", name), c.say("noted"))
    return ask_again(c, draft, field, hint=hint)


def _tries_contact(c: Context) -> bool:
    """Return whether a message may be meant as a number or an address: one word, digits of a number, or a sign of an address."""
    said = c.turn.message.strip()
    return bool(c.said.values.phone_as_written) or " " not in said or resembles_email(said)


def _possible_name(c: Context) -> str | None:
    """Return the message where it may be a name: few words, letters alone."""
    said = c.turn.message.strip(" .!,")
    few = 0 < len(said.split()) <= _NAME_WORDS and all(part.replace("-", "").replace("'", "").isalpha() for part in said.split())
    return said if few and not c.said.says("insult", "refuse", "skip", "greet", "thank", "ask", "affirm", "deny", "part") else None


def _number_as_written(c: Context, draft: RequestDraft, field: Field, number: str) -> ReplyStep:
    """Ask once more for a number that cannot be right. The second time keep it as written, or ask for an e-mail address."""
    draft = draft.miss(_WRITTEN)
    if draft.missed[_WRITTEN] == 1:
        return ask(c, draft, field, c.say("hint.phone"))
    phone = contacts.own_phone(number, [c.turn.message], c.turn.bot.country)
    if phone is None:
        return ask(c, draft, c.form(draft).by_key["email"], c.say("phone.short"))
    return proceed(c, draft.put("phone", phone), c.say("phone.as_written"))
