"""Visitors as people: a list with search, the form for name, contact data and note, and erasure."""

from typing import Any, NamedTuple

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.domain.models import Conversation
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations.people import KnownVisitor
from chatsvc.store.people import Person

_FIELDS = ("name", "email", "phone", "note")


class Row(NamedTuple):
    """A person, with the newest conversation first; requests and appointments are those of all."""

    person: Person
    conversations: list[Conversation]


def _merged(found: list[KnownVisitor]) -> list[Row]:
    """Put those with the same e-mail address or telephone number together."""
    rows: list[Row] = []
    for one in found:
        person = one.person
        same = next((row for row in rows if _is_same(row.person, person)), None)
        if same is None:
            rows.append(Row(person, [one.conversation]))
            continue
        known = same.person
        merged = Person(
            known.name or person.name,
            known.email or person.email,
            known.phone or person.phone,
            known.note or person.note,
            known.requests + person.requests,
            known.appointments + person.appointments,
        )
        rows[rows.index(same)] = Row(merged, [*same.conversations, one.conversation])
    return rows


def _is_same(one: Person, other: Person) -> bool:
    return bool((one.email and one.email == other.email) or (one.phone and one.phone == other.phone))


async def _values(page: Page, typed: Fields = NO_FIELDS) -> dict[str, Any]:
    found = await page.listed("visitor.list", q=page.query.get("q") or None, limit=40, after=page.query.get("after") or None)
    return {
        "rows": _merged(found.items),
        "next": found.next,
        "bots": await records.bots_of(page),
        "typed": {name: typed.raw(name) for name in ("id", *_FIELDS)} if "id" in typed else {},
    }


async def show(page: Page) -> Response:
    return page.render("people.html", **await _values(page))


async def change(page: Page) -> Response:
    fields = await page.form()
    try:
        await put(page, fields.text("id"), fields)
    except Refused as fault:
        return page.refused("people.html", fault, **await _values(page, fields))
    return page.redirect(page.url("/people", q=page.query.get("q")), done="saved")


async def put(page: Page, conversation: str, fields: Fields) -> None:
    """Set the visitor of a conversation; raises Refused."""
    await page.perform("visitor.set", conversation=conversation, **{name: fields.raw(name) for name in _FIELDS})
