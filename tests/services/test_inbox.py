"""The inbox: requests with appointments and deliveries, filters over all bots, note and assignee."""

from datetime import date, time
from functools import partial

import pytest

from chatsvc.domain.captures import Captured, InboxItem
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.engines import Reply, Turn
from chatsvc.services.accounts import webhooks
from chatsvc.services.administration import perform
from chatsvc.services.team import operators
from chatsvc.store import inbox as stored
from tests import conftest
from tests.fakes import ADMIN, ScriptedEngine


async def listed(caller: conftest.Caller, **filters: object) -> list[InboxItem]:
    items: list[InboxItem] = []
    after = None
    while True:
        page = await perform(caller.app.services, ADMIN, "inbox.list", {**filters, "limit": 2, "after": after})
        assert isinstance(page, ResultPage)
        assert len(page.items) <= 2
        items += page.items
        after = page.next
        if after is None:
            return items


async def set_request(caller: conftest.Caller, request: str, **changes: str) -> object:
    return await perform(caller.app.services, ADMIN, "request.set", {"request": request, **changes})


def noted(wish: Captured, _: Turn) -> Reply:
    return Reply("Noted.", captured=wish)


@pytest.fixture
async def five(caller: conftest.Caller, engine: ScriptedEngine) -> list[InboxItem]:
    await webhooks.put(caller.app.services, ADMIN, bot=await caller.chatbot(), events=["request.created", "appointment.created"])
    for number, name in enumerate(("Ayşe", "Selin", "Mehmet", "John", "Mary")):
        wish = Captured("contact", "call", name, None, f"0532123456{number}")
        if number == 1:
            wish = Captured("appointment", "x", name, None, "05321234561", date(2027, 3, 1), time(10, 30))
        engine.script = partial(noted, wish)
        await caller.send(f"{name}, 0532123456{number}, 1 March 2027 10:30", f"v{number}")
    items = await listed(caller)
    assert [item.request.visitor_name for item in items] == ["Mary", "John", "Mehmet", "Selin", "Ayşe"]
    return items


async def test_an_item_has_its_appointment_conversation_and_deliveries(caller: conftest.Caller, five: list[InboxItem]) -> None:
    selin = five[3]
    assert selin.appointment is not None
    assert (selin.appointment.date, selin.appointment.time, selin.bot_id, selin.channel) == ("2027-03-01", "10:30", caller.bot, "api")
    # The webhook has no address: events are kept.
    assert [(delivery.event, delivery.state) for delivery in selin.deliveries] == [
        ("request.created", "kept"),
        ("appointment.created", "kept"),
    ]
    thread = await perform(caller.app.services, ADMIN, "conversation.show", {"conversation": selin.conversation_id})
    assert thread.conversation.user_id == "v1"
    assert five[0].appointment is None


@pytest.mark.parametrize("steps", [(1000,), (2, 3, 4)])
async def test_filters_narrow_the_list(
    caller: conftest.Caller, five: list[InboxItem], steps: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "STEPS", steps)
    services = caller.app.services
    _, john, _, selin, _ = five
    assert selin.appointment is not None
    await operators.add(services, ADMIN, email="ada@example.com", account=caller.account, role="editor")
    await set_request(caller, john.request.id, status="done", assignee="Ada@example.com")
    await perform(services, ADMIN, "appointment.set", {"appointment": selin.appointment.id, "status": "done"})

    async def found(**filters: object) -> list[str | None]:
        return [item.request.visitor_name for item in await listed(caller, **filters)]

    assert await found(status="done") == ["John", "Selin"]
    assert await found(status="new") == ["Mary", "Mehmet", "Ayşe"]
    assert await found(status="pending") == []
    assert await found(kind="appointment") == ["Selin"]
    assert await found(kind="request", status="done") == ["John"]
    assert await found(assignee="ada@example.com") == ["John"]
    assert await found(assignee="none", status="done") == ["Selin"]
    assert await found(assignee="nobody@example.com") == []
    assert await found(q="ayse") == ["Ayşe"]
    assert await found(q="+90 532 123 45 62", bot=caller.bot) == ["Mehmet"]
    # "Noted." is no captured word.
    assert await found(q="noted") == await found(q="!?") == []
    assert (await found(q="532"))[0] == "Mary"
    assert len(await found(q="532")) == 5
    with pytest.raises(Refused, match="status_unknown"):
        await found(status="lost")
    with pytest.raises(Refused, match="bot_not_found"):
        await found(bot="x")


async def test_note_and_assignee_are_kept_shown_and_removed(caller: conftest.Caller, five: list[InboxItem]) -> None:
    services, selin = caller.app.services, five[3]
    assert selin.appointment is not None
    await operators.add(services, ADMIN, email="ada@example.com", account=caller.account, role="editor", name="Ada")
    offered = await perform(services, ADMIN, "inbox.assignees", {"account": caller.account})
    assert [(operator.email, operator.name) for operator in offered] == [("ada@example.com", "Ada")]
    await perform(
        services, ADMIN, "appointment.set", {"appointment": selin.appointment.id, "note": " call\nback ", "assignee": "ada@example.com"}
    )
    item = (await listed(caller, q="selin"))[0]
    assert (item.request.note, item.request.assignee, item.request.status) == ("call\nback", "ada@example.com", "new")
    assert item.appointment is not None
    assert (item.appointment.status, item.appointment.request.note) == ("pending", "call\nback")
    # A status alone leaves both.
    await set_request(caller, selin.request.id, status="done")
    assert (await listed(caller, status="done"))[0].request.assignee == "ada@example.com"
    await set_request(caller, selin.request.id, note="", assignee="")
    item = (await listed(caller, q="selin"))[0]
    assert (item.request.note, item.request.assignee, item.request.status) == (None, None, "done")
    # An operator who is removed is in charge of nothing.
    await set_request(caller, selin.request.id, assignee="ada@example.com")
    await operators.remove(services, ADMIN, email="ada@example.com")
    assert (await listed(caller, q="selin"))[0].request.assignee is None


async def test_wrong_changes_are_refused(caller: conftest.Caller, five: list[InboxItem]) -> None:
    request = five[0].request.id
    await operators.add(caller.app.services, ADMIN, email="chief@example.com", admin=True)
    await set_request(caller, request, assignee="chief@example.com")
    for code, changes in {
        "nothing_to_change": {},
        "status_unknown": {"status": "lost"},
        "text_too_long": {"note": "x" * 4001},
        "text_invalid": {"note": "a\0b"},
        "operator_not_found": {"assignee": "nobody@example.com"},
    }.items():
        with pytest.raises(Refused, match=code):
            await set_request(caller, request, **changes)
    with pytest.raises(Refused, match="request_not_found"):
        await set_request(caller, "x", note="y", assignee="chief@example.com")


async def test_urgent_requests_come_first_until_somebody_has_dealt_with_them(
    caller: conftest.Caller, engine: ScriptedEngine, five: list[InboxItem]
) -> None:
    engine.script = partial(noted, Captured("support", "my cat is bleeding", urgent=True))
    await caller.send("my cat is bleeding", "v9")
    engine.script = partial(noted, Captured("contact", "call me"))
    await caller.send("call me", "v10")
    services = caller.app.services

    async def shown(**filters: object) -> list[str]:
        page = await perform(services, ADMIN, "inbox.list", {"urgent_first": True, "limit": 3, **filters})
        return [item.request.message for item in page.items]

    assert (await shown())[:2] == ["my cat is bleeding", "call me"]
    assert len(set(await shown())) == len(await shown()) == 3
    assert (await listed(caller))[0].request.message == "call me"
    today = await perform(services, ADMIN, "today", {"account": caller.account})
    assert today.requests[0].request.message == "my cat is bleeding"
    assert "my cat is bleeding" not in await shown(kind="appointment")
    urgent = next(item.request.id for item in await listed(caller) if item.request.urgent)
    await set_request(caller, urgent, status="done")
    assert (await shown())[0] == "call me"
