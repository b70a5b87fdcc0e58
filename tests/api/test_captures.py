"""Captured records through the whole service. Written with the exchange or not at all, limited, from the visitor's words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time

from chatsvc.domain.captures import Appointment, Captured, Request
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.conversations import captures as listed
from tests.api.support import execute
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine

SAID = "Ben Selin, selin@example.com, 0532 123 45 67. Yarın 10:30'a randevu istiyorum."
WISH = Captured("appointment", SAID, "Selin", "selin@example.com", "0532 123 45 67", date(2026, 11, 21), time(10, 30))


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


async def records(caller: Caller) -> tuple[list[Request], list[Appointment]]:
    services = caller.app.services
    requests = await listed.list_requests(services, ADMIN, bot=caller.bot)
    appointments = await listed.list_appointments(services, ADMIN, bot=caller.bot)
    return [item.request for item in requests.items], [item.appointment for item in appointments.items if item.appointment]


def captures(engine: ScriptedEngine, captured: Captured) -> None:
    engine.script = lambda _: Reply("Not aldım.", captured=captured)


async def test_a_request_and_its_appointment_are_written_with_the_exchange(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    captures(engine, WISH)
    assert (await caller.send(SAID, "v")).status == 200
    (request,), (appointment,) = await records(caller)
    assert appointment.request == request
    expected = Request("", "appointment", "new", SAID, "Selin", "selin@example.com", "+905321234567", "", clock.now, urgent=False)
    assert replace(request, id="") == expected
    assert (appointment.status, appointment.date, appointment.time) == ("pending", "2026-11-21", "10:30")
    # Istanbul is three hours ahead of UTC.
    assert appointment.begins_at == instant("2026-11-21T07:30:00+00:00")


async def test_name_and_email_appear_on_the_conversation_and_stay(caller: Caller, engine: ScriptedEngine) -> None:
    captures(engine, WISH)
    await caller.send(SAID, "v")
    captures(engine, Captured("contact", "beni arayın"))
    await caller.send("beni arayın", "v")
    (conversation,) = (await caller.get("/conversations")).json["data"]
    assert (conversation["visitor_name"], conversation["visitor_email"]) == ("Selin", "selin@example.com")
    assert len((await records(caller))[0]) == 2


async def test_what_the_visitor_did_not_type_becomes_null_and_the_request_is_kept(caller: Caller, engine: ScriptedEngine) -> None:
    captures(engine, replace(WISH, message="Pay me", visitor_name="Victor", visitor_email="v@victim.example", visitor_phone="+15321234567"))
    await caller.send(SAID, "v")
    (request,), (appointment,) = await records(caller)
    assert (request.visitor_name, request.visitor_email, request.visitor_phone) == (None, None, None)
    assert request.message == SAID
    assert appointment.request == request


async def test_earlier_messages_of_the_same_visitor_count_and_those_of_another_do_not(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send(SAID, "v")
    await caller.send("merhaba", "w")
    captures(engine, WISH)
    await caller.send("evet", "v")
    await caller.send("evet", "w")
    of_w, of_v = (await records(caller))[0]
    assert (of_v.visitor_name, of_v.visitor_email, of_v.visitor_phone) == ("Selin", "selin@example.com", "+905321234567")
    assert (of_w.visitor_name, of_w.visitor_email, of_w.visitor_phone) == (None, None, None)


async def test_a_date_that_cannot_be_makes_no_appointment(caller: Caller, engine: ScriptedEngine) -> None:
    for number, day in enumerate((date(2026, 11, 19), date(2026, 11, 20), date(1, 1, 1), date(9999, 12, 31)), 1):
        captures(engine, replace(WISH, date=day))
        assert (await caller.send(SAID, "v")).status == 200
        requests, appointments = await records(caller)
        assert (len(requests), appointments) == (number, [])


async def test_a_conversation_captures_five_requests_a_day(caller: Caller, engine: ScriptedEngine, clock: FakeClock) -> None:
    captures(engine, WISH)
    for _ in range(8):
        assert (await caller.send(SAID, "v")).status == 200
    assert [turn.may_capture for turn in engine.turns] == [True] * 5 + [False] * 3
    assert len((await records(caller))[0]) == 5
    await caller.send(SAID, "another")
    assert len((await records(caller))[0]) == 6
    # The day is the bot's: it is 15:14 in Istanbul.
    clock.advance(8 * 3600)
    await caller.send(SAID, "v")
    assert len((await records(caller))[0]) == 6
    clock.advance(3600)
    await caller.send(SAID, "v")
    assert len((await records(caller))[0]) == 7


async def test_a_failed_reply_captures_nothing(caller: Caller, engine: ScriptedEngine) -> None:
    for reply in (EngineError("timeout"), EngineError("empty"), Reply(" ", captured=WISH), Reply("a\0", captured=WISH)):

        def script(_: Turn, reply: Reply | EngineError = reply) -> Reply:
            if isinstance(reply, EngineError):
                raise reply
            return reply

        engine.script = script
        assert (await caller.send(SAID, "v")).status == 502
        assert await records(caller) == ([], [])
    assert (await caller.get("/conversations")).json["data"] == []


async def test_a_zone_that_is_unknown_here_is_utc_and_costs_nobody_the_answer(caller: Caller, engine: ScriptedEngine) -> None:
    held = await caller.app.services.account_cache.account(caller.account)
    assert held is not None
    held.update_bot(held.bots[caller.bot]._replace(timezone="Mars/Olympus"))
    await execute(caller.app, f"UPDATE bots SET timezone = 'Mars/Olympus' WHERE id = '{caller.bot}'")  # noqa: S608  # its own id
    captures(engine, WISH)
    assert (await caller.send(SAID, "v")).status == 200
    (appointment,) = (await records(caller))[1]
    assert appointment.begins_at == instant("2026-11-21T10:30:00+00:00")
