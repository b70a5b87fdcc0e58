"""Tests of changes by the visitor, decisions of the team, and the sentences that tell the customer."""

from __future__ import annotations

import json
from datetime import date, time
from typing import Any

import pytest
from icalendar import Calendar

from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.domain.refusals import Refused
from chatsvc.engines import Reply, Turn
from chatsvc.services.administration import perform
from chatsvc.services.conversations import calendar
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine
from tests.store.inspection import execute

SAID = "I am Selin, selin@example.com, 0532 123 45 67. A haircut tomorrow at 10:30."
WISH = Captured("appointment", SAID, "Selin", "selin@example.com", "0532 123 45 67", date(2026, 11, 21), time(10, 30))


class Desk:
    """A bot with one appointment that its engine has noted for the visitor `v`, and its team."""

    def __init__(self, caller: Caller, engine: ScriptedEngine) -> None:
        self.caller, self.engine = caller, engine

    async def act(self, operation: str, **arguments: Any) -> Any:
        return await perform(self.caller.app.services, ADMIN, operation, arguments)

    async def say(self, text: str, captured: Captured) -> None:
        self.engine.script = lambda _: Reply("Noted.", captured=captured)
        assert (await self.caller.send(text, "v")).status == 200

    async def change(self, words: str, *, cancels: bool = False, corrects: bool = False, **values: Any) -> None:
        def script(turn: Turn) -> Reply:
            change = Change(turn.captured[-1], cancels, corrects)
            return Reply("Noted.", captured=Captured("appointment", words, change=change, **values))

        self.engine.script = script
        assert (await self.caller.send(words, "v")).status == 200

    async def item(self) -> Any:
        (item,) = (await self.act("inbox.list", bot=self.caller.bot)).items
        return item

    async def seen(self) -> CapturedRecord:
        """Return the record as an engine reads it in the next turn."""
        self.engine.script = lambda _: Reply("Yes.")
        assert (await self.caller.send("ok", "v")).status == 200
        (record,) = self.engine.turns[-1].captured
        return record

    async def messages(self) -> list[tuple[str, str]]:
        (conversation,) = (await self.caller.get("/conversations")).json["data"]
        thread = (await self.caller.get(f"/conversations/{conversation['id']}")).json["data"]
        return [(one["role"], one["content"]) for one in thread["messages"] if one["role"] == "operator"]


@pytest.fixture
async def desk(caller: Caller, engine: ScriptedEngine) -> Desk:
    desk = Desk(caller, engine)
    await desk.act("webhook.set", bot=caller.bot, events=["request.created", "appointment.created"])
    await desk.say(SAID, WISH)
    return desk


async def test_a_pending_appointment_is_moved_in_place_and_keeps_its_history(desk: Desk) -> None:
    await desk.change("make it saturday at 11", date=date(2026, 11, 28), time=time(11))
    item = await desk.item()
    assert (item.appointment.date, item.appointment.time, item.appointment.status) == ("2026-11-28", "11:00", "pending")
    (entry,) = json.loads(item.request.history)["changes"]
    assert (entry["by"], entry["kind"], entry["before"]["date"], entry["before"]["time"]) == ("visitor", "move", "2026-11-21", "10:30")
    (change,) = item.changes
    assert (change.follows, change.request_type) == (item.request.id, "appointment")
    said = "Randevuyu taşıyor: 21 Kasım 2026 Cumartesi, 10.30 yerine 28 Kasım 2026 Cumartesi, 11.00.\n“make it saturday at 11”"
    assert change.message == said
    events = await execute(desk.caller.app, "SELECT event, data FROM webhook_events ORDER BY number")
    assert [event for event, _ in events] == ["request.created", "appointment.created", "request.created"]
    assert (json.loads(events[-1][1])["id"], json.loads(events[-1][1])["message"]) == (change.id, said)
    listed = (await desk.act("request.list", bot=desk.caller.bot)).items
    assert [one.request.follows for one in listed] == [item.request.id, None]
    assert (await desk.seen()).date == date(2026, 11, 28)


async def test_a_pending_appointment_is_canceled_and_that_is_taken_back(desk: Desk) -> None:
    await desk.change("cancel it please", cancels=True)
    item = await desk.item()
    assert (item.appointment.status, item.request.status) == ("canceled", "dismissed")
    await desk.act("appointment.set", appointment=item.appointment.id, status="pending", tell="off")
    await desk.change("saturday at 11", date=date(2026, 11, 28), time=time(11))
    await desk.change("no, as it was", date=date(2026, 11, 28), time=time(11))
    item = await desk.item()
    assert (item.appointment.date, item.appointment.time, item.appointment.status) == ("2026-11-21", "10:30", "pending")


async def test_a_visitor_takes_their_own_cancellation_back_and_not_the_teams(desk: Desk) -> None:
    await desk.change("cancel it please", cancels=True)
    await desk.change("no wait, keep it", date=date(2026, 11, 21), time=time(10, 30))
    item = await desk.item()
    assert (item.appointment.status, item.request.status) == ("pending", "new")
    await desk.act("appointment.set", appointment=item.appointment.id, status="canceled", tell="off")
    await desk.change("keep it", date=date(2026, 11, 21), time=time(10, 30))
    assert (await desk.item()).appointment.status == "canceled"


async def test_words_and_contact_data_are_added_in_place(desk: Desk) -> None:
    await desk.change("and a beard trim; call 0533 765 43 21", corrects=True, visitor_phone="0533 765 43 21")
    request = (await desk.item()).request
    assert (request.message, request.visitor_phone) == (f"{SAID}\nand a beard trim; call 0533 765 43 21", "+905337654321")


async def test_changes_are_not_counted_against_the_five_a_day(desk: Desk) -> None:
    for hour in range(11, 17):
        await desk.change(f"better at {hour}", date=date(2026, 11, 28), time=time(hour))
    assert (await desk.item()).appointment.time == "16:00"
    assert desk.engine.turns[-1].may_capture


@pytest.mark.parametrize(("accepts", "day", "told"), [(True, "2026-11-28", "Yeni zaman: 28 Kasım"), (False, "2026-11-21", "21 Kasım")])
async def test_a_confirmed_appointment_waits_for_the_team(desk: Desk, accepts: bool, day: str, told: str) -> None:
    item = await desk.item()
    await desk.act("appointment.set", appointment=item.appointment.id, status="confirmed", tell="off")
    assert (await desk.item()).request.status == "done"
    await desk.change("saturday at 11?", date=date(2026, 11, 28), time=time(11))
    item = await desk.item()
    assert (item.appointment.date, item.appointment.status, item.request.status) == ("2026-11-21", "confirmed", "new")
    seen = await desk.seen()
    assert seen.change is not None
    assert (seen.change.kind, seen.change.date, seen.change.time) == ("move", date(2026, 11, 28), time(11))
    await desk.act("request.decide", request=item.request.id, accept=accepts)
    item = await desk.item()
    assert (item.appointment.date, item.appointment.status, item.request.open_change) == (day, "confirmed", None)
    ((_, text),) = await desk.messages()
    assert told in text
    with pytest.raises(Refused, match="nothing_to_change"):
        await desk.act("request.decide", request=item.request.id, accept=True)


async def test_a_change_that_waits_is_taken_back(desk: Desk) -> None:
    await desk.act("appointment.set", appointment=(await desk.item()).appointment.id, status="confirmed", tell="off")
    await desk.change("saturday at 11?", date=date(2026, 11, 28), time=time(11))
    await desk.change("no, stay as it was", date=date(2026, 11, 21), time=time(10, 30))
    item = await desk.item()
    assert (item.request.open_change, item.appointment.date) == (None, "2026-11-21")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"status": "confirmed"}, "Randevunuz onaylandı: 21 Kasım 2026 Cumartesi, 10.30. Görüşmek üzere."),
        (
            {"status": "canceled"},
            "21 Kasım 2026 Cumartesi, 10.30 randevunuz iptal edildi. Başka bir zaman isterseniz buradan yazabilirsiniz.",
        ),
        ({"date": "2026-12-01"}, "Randevunuzun zamanı değişti. Yeni zaman: 1 Aralık 2026 Salı, 10.30."),
        ({"status": "confirmed", "text": "See you!"}, "See you!"),
        ({"status": "confirmed", "tell": "off"}, None),
        ({"status": "done"}, None),
    ],
)
async def test_the_customer_is_told_in_the_conversation(desk: Desk, change: dict[str, str], told: str | None) -> None:
    item = await desk.act("appointment.set", appointment=(await desk.item()).appointment.id, **change)
    assert await desk.messages() == ([("operator", told)] if told else [])
    kinds = [one["kind"] for one in json.loads(item.request.history)["changes"]]
    assert ("told" in kinds) is (told is not None)
    # The bot goes on with the conversation.
    assert (await desk.act("conversation.show", conversation=item.conversation_id)).conversation.handling == "bot"


@pytest.mark.parametrize(
    ("change", "code"), [({"date": "soon"}, "date_unknown"), ({"time": "25:00"}, "time_unknown"), ({}, "nothing_to_change")]
)
async def test_a_day_or_time_that_is_none_is_refused(desk: Desk, change: dict[str, str], code: str) -> None:
    with pytest.raises(Refused, match=code):
        await desk.act("appointment.set", appointment=(await desk.item()).appointment.id, **change)


async def test_the_team_adds_an_appointment_and_finds_it_in_a_calendar(desk: Desk) -> None:
    bot = desk.caller.bot
    added = await desk.act(
        "appointment.add", bot=bot, date="2026-12-05", time="11:00", name="Ada", phone="0212 000 11 22", message="Colour"
    )
    assert (added.appointment.status, added.request.visitor_name, added.channel) == ("confirmed", "Ada", "api")
    url = (await desk.act("appointment.calendar", bot=bot)).url
    token = url.rpartition("/")[2].removesuffix(".ics")
    services = desk.caller.app.services
    read: Any = Calendar.from_ical((await calendar.feed(services, token) or b"").decode())
    events = [(str(event["summary"]), event["dtstart"].dt.isoformat()) for event in read.walk("VEVENT")]
    assert events == [("Selin", "2026-11-21T07:30:00+00:00"), ("Ada", "2026-12-05T08:00:00+00:00")]
    path = url.replace(services.config.server.public_url, desk.caller.app.url)
    async with desk.caller.session.get(path) as answer:
        assert (answer.status, answer.content_type) == (200, "text/calendar")
        assert b"SUMMARY:Ada" in await answer.read()
    async with desk.caller.session.get(path.replace(".ics", "x.ics")) as answer:
        assert answer.status == 404
    assert (await desk.act("appointment.calendar", bot=bot)).url == url
    assert (await desk.act("appointment.calendar", bot=bot, renew=True)).url != url
    assert await calendar.feed(services, token) is None
    assert await calendar.feed(services, "x") is None


async def test_an_urgent_record_says_so(desk: Desk) -> None:
    await desk.say("my cat is bleeding", Captured("contact", "my cat is bleeding", urgent=True))
    newest = (await desk.act("request.list", bot=desk.caller.bot)).items[0]
    assert newest.request.urgent
    assert desk.engine.turns[-1].may_capture
