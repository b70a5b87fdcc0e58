"""Capture by slot filling, through the whole service: an appointment taken down over several messages with the tier `offline`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from chatsvc.domain.captures import Appointment, Request
from chatsvc.engines.knowledge.state import load
from chatsvc.services.accounts import bots
from chatsvc.services.conversations import captures
from chatsvc.store import conversations
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN

WISH = "Yarın için randevu almak istiyorum"
SAID = [WISH, "saat 10:30", "Ayşe Yılmaz", "0532 123 45 67, e-postam ayse@example.com", "evet"]


@pytest.fixture
async def caller(make_caller: MakeCaller) -> Caller:
    """A customer whose bot answers from its own knowledge."""
    made: Caller = await make_caller(model="offline")
    return made


async def say(caller: Caller, *messages: str, user: str = "v") -> str:
    """Send messages one after the other; the last reply."""
    reply = ""
    for message in messages:
        answer = await caller.send(message, user)
        assert answer.status == 200, (message, answer.json)
        reply = reply_of(answer)
    return reply


def reply_of(answer: Any) -> str:
    return str(answer.json["data"]["reply"])


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


async def requests_of(caller: Caller) -> list[Request]:
    return [one.request for one in (await captures.list_requests(caller.app.services, ADMIN, bot=caller.bot)).items]


async def appointments_of(caller: Caller) -> list[Appointment]:
    found = (await captures.list_appointments(caller.app.services, ADMIN, bot=caller.bot)).items
    return [one.appointment for one in found if one.appointment]


async def dialogue(caller: Caller, user: str = "v") -> str | None:
    return (await conversations.history(caller.app.services.db, (caller.bot, "api", user), 1, 0)).dialogue


async def test_an_appointment_is_captured_over_several_messages(caller: Caller) -> None:
    assert "Ayşe Yılmaz" in await say(caller, *SAID[:-1])
    assert await requests_of(caller) == []
    assert "not aldım" in await say(caller, SAID[-1])
    (appointment,) = await appointments_of(caller)
    (request,) = await requests_of(caller)
    assert appointment.request == request
    assert (request.request_type, request.status, request.message) == ("appointment", "new", WISH)
    assert (request.visitor_name, request.visitor_email, request.visitor_phone) == ("Ayşe Yılmaz", "ayse@example.com", "+905321234567")
    assert (appointment.status, appointment.date, appointment.time) == ("pending", "2026-11-21", "10:30")
    # Istanbul is three hours ahead of UTC.
    assert appointment.begins_at == instant("2026-11-21T07:30:00+00:00")
    assert load(await dialogue(caller), caller.app.services.clock())[0].draft is None
    (conversation,) = (await caller.get("/conversations")).json["data"]
    assert (conversation["visitor_name"], conversation["visitor_email"]) == ("Ayşe Yılmaz", "ayse@example.com")


async def test_the_words_of_a_turn_without_an_answer_are_in_the_record_as_the_visitor_is_shown_it(caller: Caller) -> None:
    await bots.change(caller.app.services, ADMIN, bot=caller.bot, language="en", country="GB")
    question = "the zip on my dress broke and you kept my deposit, thats not fair"
    assert (await caller.send(question, "v")).status == 502  # nothing is stored
    shown = await say(caller, "can someone call me", "Paul Ives 07700 900433")
    (request,) = await requests_of(caller)
    assert request.message == f"{question}\ncan someone call me"
    assert f"Message: {request.message.replace(chr(10), ' / ')}" in shown


async def test_the_clock_is_that_of_the_bots_time_zone(caller: Caller) -> None:
    """12:14 in UTC is 7:14 in New York: nine o'clock today lies ahead there, and a number without a code is American."""
    await bots.change(caller.app.services, ADMIN, bot=caller.bot, timezone="America/New_York", country="US", language="en")
    await say(caller, "I'd like to book an appointment for today at 9 am", "Jane Smith", "(212) 555-0123", "yes")
    (appointment,) = await appointments_of(caller)
    assert (appointment.date, appointment.time, appointment.request.visitor_phone) == ("2026-11-20", "09:00", "+12125550123")
    assert appointment.begins_at == instant("2026-11-20T14:00:00+00:00")


async def test_an_open_dialogue_never_ends_in_an_error(caller: Caller) -> None:
    assert (await caller.send("Uzayda hayat var mı?", "v")).status == 502
    await say(caller, WISH, "Uzayda hayat var mı?", "qwx", "merhaba", "vazgeçtim")
    assert await requests_of(caller) == []
    assert (await caller.send("Uzayda hayat var mı?", "v")).status == 502
