"""Notices of new requests and appointments, and of failed webhooks."""

from datetime import date, time
from typing import Any

import pytest
from icalendar import Calendar

from chatsvc.domain import refusals
from chatsvc.domain.captures import Captured
from chatsvc.domain.mails import address_digest
from chatsvc.engines import Reply
from chatsvc.services.administration import perform
from chatsvc.services.conversations import handling
from chatsvc.store import mail_notices, webhooks
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.mail.conftest import Post, add_operator
from tests.mail.smtp_server import Mailbox

SAID = "Selin, 0532 123 45 67, selin@example.com"


async def capture(caller: Caller, engine: ScriptedEngine, kind: str, user_id: str) -> None:
    """Let a visitor leave a request, or an appointment."""
    when = (date(2026, 11, 26), time(15, 30)) if kind == "appointment" else (None, None)
    wish = Captured(kind, "a secret wish", "Selin", "selin@example.com", "05321234567", *when)
    engine.script = lambda _: Reply("Noted.", captured=wish)
    assert (await caller.send(f"{SAID} 2026-11-26 15:30", user_id)).status == 200


@pytest.mark.postgres
async def test_requests_and_appointments_are_mailed_to_those_who_want_them(
    caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox
) -> None:
    await add_operator(caller, "requests@example.com", "request")
    await add_operator(caller, "both@example.com", "request", "appointment", language="tr")
    await add_operator(caller, "neither@example.com", "waiting", "webhook", role="owner")
    await capture(caller, engine, "quote", "v1")
    await capture(caller, engine, "appointment", "v2")
    await post.pass_time(2)
    mails = sorted((str(message["To"]), str(message["Subject"])) for message in mailbox.messages)
    assert mails == [
        ("both@example.com", "Yeni randevu: Desk"),
        ("both@example.com", "Yeni talep: Desk"),
        ("requests@example.com", "2 new requests: Desk"),
    ]
    by_subject = {str(message["Subject"]): str(message.get_content()).replace("\r", "") for message in mailbox.messages}
    appointment = f"Selin · 26 Kasım 2026 Perşembe, 15.30 · Desk\n> {SAID} 2026-11-26 15:30\n"
    assert appointment in by_subject["Yeni randevu: Desk"]
    assert f"Selin · Desk\n> {SAID} 2026-11-26 15:30\n" in by_subject["Yeni talep: Desk"]
    both = by_subject["2 new requests: Desk"]
    assert both.index("Selin · Thu 26 November 2026, 15:30 · Desk") < both.index("Selin · Desk")
    (conversation,) = [
        entry for entry in (await perform(caller.app.services, ADMIN, "conversation.list", {})).items if entry.user_id == "v2"
    ]
    (turkish,) = [message for message in mailbox.messages if "randevu" in str(message["Subject"])]
    assert f"/conversations/{conversation.id}" in str(turkish.get_content())


async def test_further_requests_wait_for_five_minutes(caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox) -> None:
    await add_operator(caller, "ada@example.com", "request")
    await capture(caller, engine, "contact", "v0")
    await post.pass_time(2)
    for number in range(1, 8):
        await capture(caller, engine, "contact", f"v{number}")
        await post.pass_time(30)
    assert len(mailbox.messages) == 1
    await post.pass_time(90)
    assert [str(message["Subject"]) for message in mailbox.messages] == ["New request: Desk", "7 new requests: Desk"]
    assert mailbox.texts[1].count("Selin · Desk") == 7
    for number in range(12):
        await capture(caller, engine, "contact", f"w{number}")
    await post.pass_time(300)
    assert (mailbox.texts[2].count("Selin · Desk"), "... and 2 more." in mailbox.texts[2]) == (10, True)


async def test_failed_webhooks_are_mailed_to_owners_alone(caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox) -> None:
    services = caller.app.services
    await add_operator(caller, "owner@example.com", "webhook", role="owner")
    await add_operator(caller, "editor@example.com", "webhook", role="owner")
    await perform(services, ADMIN, "operator.set", {"email": "editor@example.com", "account": caller.account, "role": "editor"})
    await perform(services, ADMIN, "webhook.set", {"bot": caller.bot, "events": ["request.created", "appointment.created"]})

    def send_to_nobody(connection: object) -> None:
        connection.execute("UPDATE webhooks SET url = 'https://127.0.0.1:9/'")  # type: ignore[attr-defined]

    await services.db.write(send_to_nobody)
    await capture(caller, engine, "appointment", "v1")
    services.webhooks.wake(caller.bot)
    while not services.webhooks.outcomes["refused_address"] or await webhooks.bots_with_pending(services.db):
        await post.pass_time(0)
    while sum(mail.causes for mail in await post.mails()) < 2:
        await post.pass_time(0)
    await post.pass_time(2)
    (message,) = mailbox.messages
    assert (message["To"], message["Subject"]) == ("owner@example.com", "2 webhook deliveries failed: Desk")
    assert f"/webhooks?account={caller.account}&status=failed" in str(message.get_content())


async def test_a_cause_of_a_bot_that_is_gone_is_passed_over(caller: Caller, post: Post) -> None:
    await caller.app.services.db.write(lambda connection: mail_notices.note(connection, "webhook", "nobody", None, 0))
    assert await post.mails() == []


async def test_a_customer_hears_of_a_decision_by_mail_with_a_calendar_file(
    caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox
) -> None:
    services = caller.app.services
    await perform(services, ADMIN, "bot.set", {"bot": caller.bot, "address": "1 High Street"})
    await capture(caller, engine, "appointment", "v1")
    (item,) = (await perform(services, ADMIN, "inbox.list", {"bot": caller.bot})).items
    appointment = item.appointment.id
    for change in ({"status": "confirmed"}, {"time": "16:00", "text": "Now at {when}."}, {"status": "canceled"}):
        await perform(services, ADMIN, "appointment.set", {"appointment": appointment, **change})
        await post.pass_time(0)
    assert await post.states() == [("decision", "sent", 1, None)] * 3
    assert [str(message["Subject"]) for message in mailbox.messages] == [
        "Desk: 26 Kasım 2026 Perşembe, 15.30 randevunuz",
        *["Desk: 26 Kasım 2026 Perşembe, 16.00 randevunuz"] * 2,
    ]
    events = []
    for message in mailbox.messages:
        assert message["To"] == "selin@example.com"
        file: Any = next(message.iter_attachments())
        assert file.get_content_type() == "text/calendar"
        calendar: Any = Calendar.from_ical(file.get_content())
        (event,) = calendar.walk("VEVENT")
        events.append((file["Content-Type"].params["method"], str(event["status"]), event["dtstart"].dt.isoformat(), event["sequence"]))
        assert (str(event["uid"]), str(event["location"])) == (f"{appointment}@chatsvc", "1 High Street")
    assert [event[:3] for event in events] == [
        ("REQUEST", "CONFIRMED", "2026-11-26T12:30:00+00:00"),
        ("REQUEST", "CONFIRMED", "2026-11-26T13:00:00+00:00"),
        ("CANCEL", "CANCELLED", "2026-11-26T13:00:00+00:00"),
    ]
    assert events[0][3] < events[1][3] < events[2][3]
    assert "Now at 26 Kasım 2026 Perşembe, 16.00." in mailbox.texts[1]
    (item,) = (await perform(services, ADMIN, "inbox.list", {"bot": caller.bot})).items
    channels = [entry["how"] for entry in item.request.entries if entry["kind"] == "told"]
    assert channels == [["api", "mail"]] * 3


async def test_a_mail_about_an_appointment_tells_of_the_moment_when_it_was_queued(
    caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox, clock: FakeClock
) -> None:
    await capture(caller, engine, "appointment", "v1")
    (item,) = (await perform(caller.app.services, ADMIN, "inbox.list", {"bot": caller.bot})).items
    for move in ({"time": "16:00"}, {"time": "17:00"}, {"status": "canceled"}):
        change = {"appointment": item.appointment.id, **move, "text": "About {when}."}
        await perform(caller.app.services, ADMIN, "appointment.set", change)
        clock.advance(1)
    await post.pass_time(0)
    told = []
    for message, text in zip(mailbox.messages, mailbox.texts, strict=True):
        file: Any = next(message.iter_attachments())
        calendar: Any = Calendar.from_ical(file.get_content())
        (event,) = calendar.walk("VEVENT")
        when = str(message["Subject"]).removeprefix("Desk: ").removesuffix(" randevunuz")
        assert f"About {when}." in text
        told.append((when[-5:], file["Content-Type"].params["method"], event["dtstart"].dt.hour, event["sequence"]))
    assert [entry[:3] for entry in told] == [("16.00", "REQUEST", 13), ("17.00", "REQUEST", 14), ("17.00", "CANCEL", 14)]
    assert told[0][3] < told[1][3] < told[2][3]


async def test_a_customer_who_wants_no_mails_gets_none(caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox) -> None:
    services = caller.app.services
    await capture(caller, engine, "appointment", "v1")
    (item,) = (await perform(services, ADMIN, "inbox.list", {"bot": caller.bot})).items
    await perform(services, ADMIN, "appointment.set", {"appointment": item.appointment.id, "status": "confirmed"})
    await mail_notices.add_stop(services.db, caller.account, address_digest("selin@example.com"), services.clock())
    await post.pass_time(0)
    await perform(services, ADMIN, "appointment.set", {"appointment": item.appointment.id, "status": "canceled"})
    assert (await post.states(), mailbox.messages) == ([("decision", "failed", 1, "stopped")], [])


async def test_a_mail_goes_where_the_conversation_takes_no_message(
    caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed(*_: object) -> None:
        raise refusals.channel_window_closed(conversation="x")

    monkeypatch.setattr(handling, "check_writable", closed)
    services = caller.app.services
    await capture(caller, engine, "appointment", "v1")
    (item,) = (await perform(services, ADMIN, "inbox.list", {"bot": caller.bot})).items
    await perform(services, ADMIN, "appointment.set", {"appointment": item.appointment.id, "status": "confirmed"})
    await post.pass_time(0)
    assert len(mailbox.messages) == 1
    shown = await perform(services, ADMIN, "conversation.show", {"conversation": item.conversation_id})
    assert (shown.messages[-1].delivery, shown.messages[-1].error) == ("failed", "channel_window_closed")


async def test_an_urgent_request_is_mailed_at_once_to_all_who_want_requests(
    caller: Caller, engine: ScriptedEngine, post: Post, mailbox: Mailbox
) -> None:
    await add_operator(caller, "requests@example.com", "request")
    await add_operator(caller, "appointments@example.com", "appointment", language="tr")
    await add_operator(caller, "waiting@example.com", "waiting")
    await capture(caller, engine, "contact", "v0")
    await post.pass_time(2)
    for number in (1, 2):
        engine.script = lambda _: Reply("Noted.", captured=Captured("support", "it is bleeding", urgent=True))
        assert (await caller.send("it is bleeding", f"u{number}")).status == 200
        await post.pass_time(2)
    urgent = [
        (str(message["To"]), str(message["Subject"]))
        for message in mailbox.messages
        if "request:" not in str(message["Subject"]).lower()[:12]
    ]
    assert sorted(urgent) == [
        *[("appointments@example.com", "ACİL talep: Desk")] * 2,
        *[("requests@example.com", "URGENT request: Desk")] * 2,
    ]
