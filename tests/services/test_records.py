"""Tests of changes by the visitor, decisions of the team, and the sentences that tell the customer."""

import json
from datetime import date, time
from typing import Any

import pytest
from icalendar import Calendar

from chatsvc.domain import refusals
from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.domain.refusals import Refused
from chatsvc.engines import Reply, Turn
from chatsvc.services.administration import perform
from chatsvc.services.conversations import calendar, handling
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine
from tests.store.inspection import execute
from tests.tables import json_rows

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
        self.engine.script = lambda _: Reply("Yes.")
        assert (await self.caller.send("ok", "v")).status == 200
        (record,) = self.engine.turns[-1].captured
        return record

    async def messages(self) -> list[tuple[str, str]]:
        (conversation,) = (await self.caller.get("/conversations")).json["data"]
        thread = (await self.caller.get(f"/conversations/{conversation['id']}")).json["data"]
        return [(message["role"], message["content"]) for message in thread["messages"] if message["role"] == "operator"]


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
    (entry,) = item.request.entries
    assert (entry["by"], entry["kind"], entry["before"]["date"], entry["before"]["time"]) == ("visitor", "move", "2026-11-21", "10:30")
    (change,) = item.changes
    assert (change.follows, change.request_type) == (item.request.id, "appointment")
    text = "Randevuyu taşıyor: 21 Kasım 2026 Cumartesi, 10.30 yerine 28 Kasım 2026 Cumartesi, 11.00.\n“make it saturday at 11”"
    assert change.message == text
    events = await execute(desk.caller.app, "SELECT event, data FROM webhook_events ORDER BY number")
    assert [event for event, _ in events] == ["request.created", "appointment.created", "request.created"]
    assert (json.loads(events[-1][1])["id"], json.loads(events[-1][1])["message"]) == (change.id, text)
    listed = (await desk.act("request.list", bot=desk.caller.bot)).items
    assert [row.request.follows for row in listed] == [item.request.id, None]
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


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("accepts", "day", "told"),
    [(True, "2026-11-28", "The new time is Sat 28 November"), (False, "2026-11-21", "It stays on Sat 21 November")],
)
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


@pytest.mark.parametrize("is_decided", [False, True])
async def test_a_change_that_waits_is_taken_back_or_refused_by_a_decision_beside_it(desk: Desk, is_decided: bool) -> None:
    appointment = (await desk.item()).appointment.id
    await desk.act("appointment.set", appointment=appointment, status="confirmed", tell="off")
    await desk.change("saturday at 11?", date=date(2026, 11, 28), time=time(11))
    if is_decided:
        await desk.act("appointment.set", appointment=appointment, status="confirmed")
    else:
        await desk.change("no, stay as it was", date=date(2026, 11, 21), time=time(10, 30))
    item = await desk.item()
    assert (item.request.open_change, item.appointment.date) == (None, "2026-11-21")
    refusal = "Unfortunately we cannot change your appointment. It stays on Sat 21 November 2026, 10:30."
    assert await desk.messages() == ([("operator", refusal)] if is_decided else [])


@pytest.mark.parametrize(("change", "told"), json_rows("services/told"))
async def test_the_customer_is_told_in_the_conversation(desk: Desk, change: dict[str, str], told: str | None) -> None:
    item = await desk.act("appointment.set", appointment=(await desk.item()).appointment.id, **change)
    assert await desk.messages() == ([("operator", told)] if told else [])
    kinds = [change["kind"] for change in item.request.entries]
    assert ("told" in kinds) is (told is not None)
    # The bot goes on with the conversation.
    assert (await desk.act("conversation.show", conversation=item.conversation_id)).conversation.handling == "bot"


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


async def test_urgent_words_make_what_they_add_to_urgent(desk: Desk) -> None:
    assert not (await desk.item()).request.urgent
    await desk.change("it is urgent, my scalp is bleeding", corrects=True, urgent=True)
    assert (await desk.item()).request.urgent


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"date": "2026-11-19"}, "appointment_time_refused"),
        ({"date": "2028-12-01"}, "appointment_time_refused"),
        ({"status": "confirmed", "text": "x" * 4001}, "text_too_long"),
        ({"status": "confirmed", "tell": "maybe"}, "status_unknown"),
        ({"date": "soon"}, "date_unknown"),
        ({"time": "25:00"}, "time_unknown"),
        ({}, "nothing_to_change"),
    ],
)
async def test_a_refused_decision_changes_nothing(desk: Desk, change: dict[str, str], code: str) -> None:
    before = await desk.item()
    with pytest.raises(Refused, match=code):
        await desk.act("appointment.set", appointment=before.appointment.id, **change)
    assert ((await desk.item()), await desk.messages()) == (before, [])


async def test_nothing_is_told_twice(desk: Desk) -> None:
    appointment = (await desk.item()).appointment.id
    for _ in range(2):
        await desk.act("appointment.set", appointment=appointment, status="confirmed")
        await desk.act("appointment.set", appointment=appointment, date="2026-11-21", time="10:30")
    assert len(await desk.messages()) == 1
    assert [change["kind"] for change in (await desk.item()).request.entries] == ["status", "told"]


@pytest.mark.parametrize(
    ("first", "status", "after", "is_told"),
    [
        ("pending", "in_progress", ("pending", "in_progress"), False),
        ("pending", "dismissed", ("canceled", "dismissed"), True),
        ("pending", "done", ("done", "done"), False),
        ("confirmed", "done", ("confirmed", "done"), False),
        ("canceled", "in_progress", ("pending", "in_progress"), False),
    ],
)
async def test_a_request_has_no_other_status_than_its_appointment(
    desk: Desk, first: str, status: str, after: tuple[str, str], is_told: bool
) -> None:
    item = await desk.item()
    await desk.act("appointment.set", appointment=item.appointment.id, status=first, tell="off")
    await desk.act("request.set", request=item.request.id, status=status)
    item = await desk.item()
    assert ((item.appointment.status, item.request.status), bool(await desk.messages())) == (after, is_told)


async def test_a_channel_that_takes_no_message_is_noted_or_refuses(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def closed(*_: object) -> None:
        raise refusals.channel_window_closed(conversation="x")

    monkeypatch.setattr(handling, "check_writable", closed)
    appointment = (await desk.item()).appointment.id
    with pytest.raises(Refused, match="channel_window_closed"):
        await desk.act("appointment.set", appointment=appointment, status="confirmed", tell="on")
    item = await desk.act("appointment.set", appointment=appointment, status="confirmed")
    last = item.request.entries[-1]
    assert (item.appointment.status, last["how"], last["error"]) == ("confirmed", [], "channel_window_closed")
    assert await desk.messages() == []


async def test_the_drafts_are_what_is_told(desk: Desk) -> None:
    item = await desk.item()
    drafts = (await desk.act("inbox.drafts", items=[item]))[item.request.id]
    assert "{when}" in drafts["moved"]
    await desk.act("appointment.set", appointment=item.appointment.id, status="confirmed")
    assert await desk.messages() == [("operator", drafts["confirmed"])]


async def test_an_owner_rewords_what_is_told(desk: Desk) -> None:
    texts = {"decision.confirmed": {"en": "See you on {when}, dear."}}
    await desk.act("bot.set", bot=desk.caller.bot, texts=texts)
    await desk.act("appointment.set", appointment=(await desk.item()).appointment.id, status="confirmed")
    assert await desk.messages() == [("operator", "See you on Sat 21 November 2026, 10:30, dear.")]


@pytest.mark.parametrize("given", [{"phone": "call me"}, {"date": "2026-11-01"}])
async def test_an_appointment_of_the_team_is_checked(desk: Desk, given: dict[str, str]) -> None:
    with pytest.raises(Refused, match=r"phone_invalid|appointment_time_refused"):
        await desk.act("appointment.add", **{"bot": desk.caller.bot, "date": "2026-12-05", "time": "11:00", "name": "Ada", **given})


async def test_two_notes_are_two_notes_with_their_authors(desk: Desk) -> None:
    item = await desk.item()
    await execute(desk.caller.app, "UPDATE requests SET note = 'an old one'")
    await desk.act("request.set", request=item.request.id, note="likes tea")
    item = await desk.act("appointment.set", appointment=item.appointment.id, note="and the window seat")
    assert item.request.note == "an old one\n\nlikes tea\n\nand the window seat"
    notes = [(change["by"], change["text"]) for change in item.request.entries if change["kind"] == "note"]
    assert notes == [("", "an old one"), (ADMIN.actor.name, "likes tea"), (ADMIN.actor.name, "and the window seat")]
    await desk.act("request.set", request=item.request.id, note="")
    item = await desk.item()
    assert (item.request.note, item.request.entries) == (None, [])


async def test_notes_outlive_a_long_history(desk: Desk) -> None:
    appointment = (await desk.item()).appointment.id
    await desk.act("appointment.set", appointment=appointment, note="likes tea")
    for number in range(101):
        await desk.act("appointment.set", appointment=appointment, status=("confirmed", "pending")[number % 2], tell="off")
    changes = (await desk.item()).request.entries
    assert (len(changes), changes[0]["text"]) == (101, "likes tea")


async def test_a_stay_has_an_end_and_what_is_booked_which_move_with_it(caller: Caller, engine: ScriptedEngine) -> None:
    desk = Desk(caller, engine)
    words = "Selin, 0532 123 45 67: the sea room from 1 to 4 December"
    wish = Captured("appointment", words, "Selin", date=date(2026, 12, 1), time=time(14), end_date=date(2026, 12, 4), item="the sea room")
    await desk.say(words, wish)
    item = await desk.item()
    assert (item.request.item, item.request.end_date, item.request.end_time) == ("the sea room", "2026-12-04", None)
    seen = await desk.seen()
    assert (seen.item, seen.end_date) == ("the sea room", date(2026, 12, 4))
    await desk.act("appointment.set", appointment=item.appointment.id, date="2026-12-08", tell="off")
    assert (await desk.item()).request.end_date == "2026-12-11"
    await desk.change("rather 10 to 12", date=date(2026, 12, 10), time=time(14), end_date=date(2026, 12, 12))
    assert (await desk.item()).request.end_date == "2026-12-12"
    await desk.change("no, as before", date=date(2026, 12, 10), time=time(14))
    back = await desk.item()
    assert (back.request.end_date, back.appointment.date, back.appointment.begins_at) == ("2026-12-11", "2026-12-08", 1796727600000)
