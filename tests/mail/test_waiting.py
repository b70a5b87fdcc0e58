"""Notices that a visitor waits: to whom, how many, in which language, and what becomes of them when the server refuses."""

import pytest

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.mails import Mail, MailOutcome
from chatsvc.domain.refusals import Refused
from chatsvc.services.administration import perform
from chatsvc.store import mails as stored
from chatsvc.store.database import Database
from chatsvc.store.operators import SetupLink
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.mail.conftest import Post, add_operator
from tests.mail.smtp_server import Mailbox
from tests.platforms.conftest import Visitor

WISH = "Can I talk to a real person please?"


class Desk:
    """A bot with a web channel whose visitors may ask for a person."""

    def __init__(self, caller: Caller, clock: FakeClock) -> None:
        self.caller, self.clock = caller, clock
        self.services = caller.app.services

    async def visitor_waits(self, user_id: str = "v1") -> Visitor:
        """Let a visitor ask for a person."""
        visitor = Visitor(self.caller, self.clock, user_id)
        await visitor.say(WISH)
        assert (await visitor.thread()).conversation.handling == "waiting"
        return visitor


@pytest.fixture
async def desk(caller: Caller, clock: FakeClock) -> Desk:
    """The bot "Desk" of the account "Acme"."""
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["https://shop.example.com"]})
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "hand_off": True})
    return Desk(caller, clock)


@pytest.mark.postgres
async def test_operators_who_want_it_are_mailed_in_their_language(desk: Desk, post: Post, mailbox: Mailbox, config: Config) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting", "request")
    await add_operator(desk.caller, "ayse@example.com", "waiting", role="reader", language="tr")
    await add_operator(desk.caller, "boss@example.com", "waiting", admin=True)
    await add_operator(desk.caller, "quiet@example.com", "request", "appointment", "webhook", role="owner")
    visitor = await desk.visitor_waits()
    assert await post.states() == [("waiting", "queued", 1, None)] * 3
    await post.pass_time(1)
    assert mailbox.messages == []
    await post.pass_time(1)
    assert sorted(mailbox.recipients) == ["ada@example.com", "ayse@example.com", "boss@example.com"]
    by_person = {str(message["To"]): message for message in mailbox.messages}
    english, turkish = by_person["ada@example.com"], by_person["ayse@example.com"]
    conversation = (await visitor.thread()).conversation.id
    assert english["Subject"] == "A visitor is waiting: Desk"
    assert f"/conversations/{conversation}" in str(english.get_content())
    assert "/me" in str(english.get_content())
    assert turkish["Subject"] == "Bir ziyaretçi bekliyor: Desk"
    assert "yanıt bekliyor (Desk)." in str(turkish.get_content())
    assert (english["Content-Language"], turkish["Content-Language"]) == ("en", "tr")
    assert (english["From"], english["Auto-Submitted"]) == ("Desk <desk@example.com>", "auto-generated")
    assert english["Message-ID"].endswith("@example.com>")
    assert f"A visitor · Desk\n> {WISH}\n" in str(english.get_content()).replace("\r", "")
    # One connection for all.
    assert mailbox.connections == 1
    assert await post.states() == [("waiting", "sent", 1, None)] * 3


async def test_nobody_of_another_account_is_mailed(desk: Desk, post: Post, make_caller: object) -> None:
    other = await make_caller()  # type: ignore[operator]
    await add_operator(other, "stranger@example.com", "waiting", role="owner")
    await desk.visitor_waits()
    assert await post.mails() == []


async def test_a_burst_is_one_mail_and_the_next_comes_after_a_minute(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    answered, *_ = [await desk.visitor_waits(f"v{number}") for number in range(6)]
    await answered.act("conversation.take")
    await post.pass_time(2)
    (message,) = mailbox.messages
    assert message["Subject"] == "5 visitors are waiting: Desk"
    assert f"/inbox?account={desk.caller.account}" in str(message.get_content())
    await desk.visitor_waits("v6")
    await post.pass_time(30)
    assert len(mailbox.messages) == 1
    await post.pass_time(30)
    assert mailbox.messages[1]["Subject"] == "A visitor is waiting: Desk"


async def test_a_visitor_who_was_answered_meanwhile_is_not_mailed_about(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    visitor = await desk.visitor_waits()
    await visitor.act("conversation.take")
    await post.pass_time(2)
    assert mailbox.messages == []
    assert await post.states() == [("waiting", "obsolete", 1, None)]


@pytest.mark.parametrize("change", [{"notices": ["none"]}, {"account": True, "role": "none"}, None])
async def test_who_has_changed_the_choice_or_lost_the_account_gets_none(
    desk: Desk, post: Post, mailbox: Mailbox, change: dict[str, object] | None
) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    await desk.visitor_waits()
    if change is None:
        await perform(desk.services, ADMIN, "operator.remove", {"email": "ada@example.com"})
    else:
        given = {**change, "account": desk.caller.account} if "account" in change else change
        await perform(desk.services, ADMIN, "operator.set", {"email": "ada@example.com", **given})
    await post.pass_time(2)
    assert mailbox.messages == []
    assert await post.states() == ([("waiting", "obsolete", 1, None)] if change else [])


async def test_names_cannot_add_header_fields(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    name = "Çiçek =?utf-8?q?x?= " + "x" * 100
    await perform(desk.services, ADMIN, "bot.set", {"bot": desk.caller.bot, "name": name})

    def with_breaks(connection: object) -> None:
        connection.execute("UPDATE bots SET name = ?", (f"Desk\r\nBcc: eve@example.com\r\n\r\n{name}",))  # type: ignore[attr-defined]

    await desk.services.db.write(with_breaks)
    await desk.visitor_waits()
    await post.pass_time(2)
    (message,) = mailbox.messages
    assert message["Bcc"] is None
    assert message["Subject"].startswith("A visitor is waiting: Desk Bcc: eve@example.com Çiçek")
    assert mailbox.recipients == ["ada@example.com"]


async def test_a_server_that_is_down_is_tried_again_with_growing_pauses(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    mailbox.replies["EHLO"] = "421 down"
    await desk.visitor_waits()
    await post.pass_time(2)
    (mail,) = await post.mails()
    assert (mail.state, mail.error, mail.status_code, mail.attempts) == ("queued", "greeting", 421, 1)
    assert mail.due_at == desk.clock() + 10_000
    await post.pass_time(10)
    (mail,) = await post.mails()
    assert (mail.attempts, mail.due_at) == (2, desk.clock() + 20_000)
    # What happens meanwhile joins the mail that waits.
    await desk.visitor_waits("v2")
    del mailbox.replies["EHLO"]
    await post.pass_time(20)
    assert [message["Subject"] for message in mailbox.messages] == ["2 visitors are waiting: Desk"]


async def test_a_mail_is_given_up_after_a_day(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    mailbox.replies["RCPT"] = "450 greylisted"
    await desk.visitor_waits()
    await post.pass_time(2)
    assert await post.states() == [("waiting", "queued", 1, "refused")]
    await post.pass_time(86_400)
    assert await post.states() == [("waiting", "failed", 1, "refused")]
    await post.pass_time(31 * 86_400)
    assert await stored.forget_old(desk.services.db, desk.clock(), 10)
    assert await post.mails() == []
    assert not await stored.forget_old(desk.services.db, desk.clock(), 10)


async def test_a_mail_that_takes_up_another_cause_is_not_given_up(
    desk: Desk, post: Post, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    mailbox.replies["RCPT"] = "450 greylisted"
    await desk.visitor_waits()
    await post.pass_time(2)
    del mailbox.replies["RCPT"]
    due = stored.due

    async def due_before_another_waits(db: Database, now: int) -> Mail | None:
        mail = await due(db, now)
        monkeypatch.undo()
        await desk.visitor_waits("v2")
        return mail

    monkeypatch.setattr(stored, "due", due_before_another_waits)
    await post.pass_time(86_400)
    assert await post.states() == [("waiting", "sent", 2, None)]


async def test_one_refused_recipient_does_not_hold_up_the_others(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    for name in ("a", "b", "c"):
        await add_operator(desk.caller, f"{name}@example.com", "waiting")
    mailbox.replies |= {"RCPT a@example.com": "550 5.1.1 unknown", "RCPT b@example.com": "break"}
    await desk.visitor_waits()
    await post.pass_time(2)
    await post.pass_time(2)
    states = {mail.recipient[0]: (mail.state, mail.error, mail.status_code) for mail in await post.mails()}
    assert states == {"a": ("failed", "refused", 550), "b": ("queued", "connection_lost", None), "c": ("sent", None, 250)}
    (answer,) = {mail.answer for mail in await post.mails() if mail.recipient[0] == "a"}
    assert answer == "5.1.1 unknown"


async def test_a_break_after_the_message_is_not_sent_again(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    mailbox.replies["AFTER"] = "break"
    await desk.visitor_waits()
    await post.pass_time(2)
    await post.pass_time(3600)
    assert len(mailbox.messages) == 1
    assert await post.states() == [("waiting", "unknown", 1, "connection_lost")]


async def test_a_server_that_puts_the_message_off_gets_it_later_with_what_came_meanwhile(desk: Desk, post: Post, mailbox: Mailbox) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    await desk.visitor_waits()
    desk.clock.advance(2)
    # Marked as being sent, so that the next cause begins a mail of its own, and then put off.
    mail = await stored.due(desk.services.db, desk.clock())
    assert mail
    assert await stored.begin(desk.services.db, mail.number, desk.clock(), SetupLink(b"", 0, 0), None)
    await desk.visitor_waits("v2")
    assert [state for _, state, _, _ in await post.states()] == ["sending", "queued"]
    outcome = MailOutcome("queued", "refused", 452, "full")
    await stored.put_off(desk.services.db, outcome, desk.clock(), mail.number)
    assert await post.states() == [("waiting", "queued", 2, "refused")]
    mailbox.replies["DATA"] = "452 full"
    await post.pass_time(10)
    assert await post.states() == [("waiting", "queued", 2, "refused")]
    mailbox.replies["DATA"] = "554 spam"
    await post.pass_time(20)
    assert await post.states() == [("waiting", "failed", 2, "refused")]


async def test_a_fault_of_the_program_leaves_no_mail_under_way(desk: Desk, post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    await desk.visitor_waits()
    monkeypatch.setattr("chatsvc.services.operations.mail_texts.notice", lambda *_: 1 / 0)
    await post.pass_time(2)
    assert await post.states() == [("waiting", "failed", 1, "internal_error")]


async def test_a_fault_of_the_program_while_connecting_is_tried_again_until_the_mail_is_given_up(
    desk: Desk, post: Post, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    await desk.visitor_waits()
    monkeypatch.setattr("chatsvc.outbound.smtp.client_context", lambda _: 1 / 0)
    for seconds, attempts in ((2, 1), (1, 1), (9, 2)):
        await post.pass_time(seconds)
        (mail,) = await post.mails()
        assert (mail.state, mail.error, mail.attempts) == ("queued", "internal_error", attempts)
    assert len([record for record in caplog.records if record.exc_info]) == 2
    await post.pass_time(86_400)
    assert await post.states() == [("waiting", "failed", 1, "internal_error")]


async def test_after_a_crash_what_was_being_sent_is_unknown(desk: Desk, post: Post) -> None:
    await add_operator(desk.caller, "ada@example.com", "waiting")
    await desk.visitor_waits()
    desk.clock.advance(2)
    mail = await stored.due(desk.services.db, desk.clock())
    assert mail
    await stored.begin(desk.services.db, mail.number, desk.clock(), SetupLink(b"", 0, 0), None)
    await desk.services.db.write(lambda connection: connection.execute("UPDATE mails SET node = NULL"))
    assert await stored.interrupt(desk.services.db, desk.clock()) == 1
    assert await post.states() == [("waiting", "unknown", 1, "interrupted")]
    assert await stored.interrupt(desk.services.db, desk.clock()) == 0
    # After a restore nothing that waited is sent again.
    await desk.visitor_waits("v2")
    await desk.services.db.write(lambda connection: stored.interrupt_all(connection, desk.clock()))
    assert [state for _, state, _, _ in await post.states()] == ["unknown", "unknown"]


async def test_a_test_mail_is_sent_at_once_and_not_again(app: App, post: Post, mailbox: Mailbox, caller: Caller) -> None:
    await add_operator(caller, "ada@example.com", language="en")
    sent = await perform(app.services, ADMIN, "mail.test", {"email": " Ada@example.com"})
    assert (sent.kind, sent.state, sent.answer, sent.recipient) == ("test", "sent", "2.0.0 kept as 4711", "ada@example.com")
    await perform(app.services, ADMIN, "mail.test", {"email": "someone@example.org"})
    assert [message["Subject"] for message in mailbox.messages] == ["Test mail of chatsvc", "chatsvc deneme e-postası"]
    for replies, outcome in (
        ({"RCPT": "550 no"}, ("failed", "refused", 550)),
        ({"DATA": "451 later"}, ("failed", "refused", 451)),
        ({"EHLO": "break"}, ("failed", "connection_lost", None)),
        ({"AFTER": "break"}, ("unknown", "connection_lost", None)),
    ):
        mailbox.replies = replies
        sent = await perform(app.services, ADMIN, "mail.test", {"email": "ada@example.com"})
        assert (sent.state, sent.error, sent.status_code) == outcome
    with pytest.raises(Refused, match="email_invalid"):
        await perform(app.services, ADMIN, "mail.test", {"email": "ada@example.com\r\nRCPT TO:<eve@example.com>"})
    with pytest.raises(Refused, match="status_unknown"):
        await perform(app.services, ADMIN, "mail.list", {"status": "lost"})
    assert len((await perform(app.services, ADMIN, "mail.list", {"status": "failed"})).items) == 3
