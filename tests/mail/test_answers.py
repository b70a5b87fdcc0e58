"""Answers of operators that go by mail to visitors of the widget who have gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsvc.config.model import Notices
from chatsvc.control.rendering.conversations import thread
from chatsvc.domain.mails import MailOutcome
from chatsvc.store import channel_messages, mails
from chatsvc.usecases.administration import perform
from tests.channels.conftest import Visitor
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.mail.conftest import Post
from tests.mail.smtp_server import Mailbox

GIVEN = "Hello, is the blue one in stock? Please write to Ada@Example.com"


@pytest.fixture
async def visitor(caller: Caller, clock: FakeClock) -> Visitor:
    """A visitor of the bot "Desk" on the page of a shop."""
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["https://shop.example.com"]})
    return Visitor(caller, clock, "v1")


async def shown(visitor: Visitor) -> list[tuple[str, str | None, str | None]]:
    """Text, delivery and mail of each message of an operator, as the dashboard shows them."""
    view = await perform(visitor.services, ADMIN, "conversation.view", {"conversation": await visitor.conversation()})
    found = [(one.message.content, one.message.delivery, one.mail) for one in view.messages if one.message.role == "operator"]
    written = thread(await visitor.thread())["messages"]
    assert isinstance(written, list)
    assert [(one["content"], one["delivery"], one["mail"]) for one in written if one["role"] == "operator"] == found
    return found


async def come_back(visitor: Visitor) -> None:
    """Let the visitor's page read what is new."""
    thread = await visitor.thread()
    numbers = [one.number for one in thread.messages if one.delivery == "queued"]
    await channel_messages.deliver(visitor.services.db, numbers, "delivered")


async def test_answers_that_nobody_read_go_by_mail_once(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN, page_host="shop.example.com")
    await visitor.act("conversation.reply", text="Yes, it is.\n.And it is cheap.")
    await post.pass_time(60)
    await visitor.act("conversation.reply", text="Shall we keep one for you?")
    await post.pass_time(119)
    assert mailbox.messages == []
    await post.pass_time(1)
    (message,) = mailbox.messages
    assert (message["To"], message["Subject"]) == ("ada@example.com", "Desk: answer to your message")
    text = str(message.get_content()).replace("\r\n", "\n")
    assert "\n\nYes, it is.\n.And it is cheap.\n\nShall we keep one for you?\n\n" in text
    assert "(shop.example.com)" in text
    assert await shown(visitor) == [
        ("Yes, it is.\n.And it is cheap.", "sent", "sent"),
        ("Shall we keep one for you?", "sent", "sent"),
    ]
    assert await post.states() == [("answer", "sent", 2, None)]
    # A later answer goes alone.
    await visitor.act("conversation.reply", text="Are you there?")
    await post.pass_time(120)
    assert "Yes, it is." not in mailbox.texts[1]
    assert "Are you there?" in mailbox.texts[1]


async def test_who_has_read_the_answer_gets_no_mail(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await come_back(visitor)
    await visitor.act("conversation.reply", text="Anything else?")
    await post.pass_time(60)
    await come_back(visitor)
    await post.pass_time(60)
    assert mailbox.messages == []
    assert await post.states() == [("answer", "obsolete", 2, None)]
    assert await shown(visitor) == [("Yes.", "delivered", None), ("Anything else?", "delivered", None)]


async def test_the_mail_is_in_the_language_of_the_conversation(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say("Merhaba, mavi olanı stokta var mı acaba? ada@example.com adresine yazar mısınız?")
    await visitor.act("conversation.reply", text="Evet, var.")
    await post.pass_time(120)
    (message,) = mailbox.messages
    assert message["Subject"] == "Desk: mesajınıza yanıt"
    assert "Evet, var." in str(message.get_content())


@pytest.mark.parametrize("said", ["Is the blue one in stock?", "Write to ada@example", "My handle is @ada", "ada@ex\u00e4mple.com"])
async def test_without_an_address_nothing_is_queued(visitor: Visitor, post: Post, said: str) -> None:
    await visitor.say(said)
    await visitor.act("conversation.reply", text="Yes.")
    assert await post.mails() == []


async def test_the_letters_of_a_turkish_keyboard_are_no_other_domain(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say("My address is ADA@MA\u0130L.EXAMPLE.COM, not ada@m\u00e4il.example.com")
    await visitor.act("conversation.reply", text="Thank you.")
    await post.pass_time(120)
    assert mailbox.recipients == ["ada@mail.example.com"]


async def test_without_mail_nothing_changes(visitor: Visitor, post: Post) -> None:
    visitor.services.config = replace(visitor.services.config, notices=Notices())
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    assert await post.mails() == []
    assert await shown(visitor) == [("Yes.", "queued", None)]


async def test_other_channels_send_their_own_messages(caller: Caller, clock: FakeClock, post: Post) -> None:
    visitor = Visitor(caller, clock, "v1")
    await caller.send(GIVEN, "v1")
    await visitor.act("conversation.reply", text="Yes.")
    assert await post.mails() == []


async def test_a_refused_address_is_shown_beside_the_message(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    mailbox.replies["RCPT"] = "550 5.1.1 unknown"
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    assert await shown(visitor) == [("Yes.", "queued", "failed")]
    # It is not tried again with the next answer.
    mailbox.replies.clear()
    await visitor.act("conversation.reply", text="Are you there?")
    await post.pass_time(120)
    assert "Yes." not in mailbox.texts[0]


async def test_a_mail_that_was_put_off_takes_up_the_next_answer(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    visitor.clock.advance(120)
    ((number, _),) = await mails.due(visitor.services.db, visitor.clock(), 10)
    assert await mails.begin(visitor.services.db, number, visitor.clock())
    await visitor.act("conversation.reply", text="Hello?")
    await mails.put_back(visitor.services.db, number, MailOutcome("queued", "refused", 451, "later"), visitor.clock())
    await post.pass_time(10)
    (text,) = mailbox.texts
    assert "Yes." in text
    assert "Hello?" in text
    assert [state for _, state, _, _ in await post.states()] == ["sent"]


async def test_after_a_day_the_answer_is_given_up(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    mailbox.replies["EHLO"] = "421 down"
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    await post.pass_time(86_400)
    assert await post.states() == [("answer", "failed", 1, "greeting")]
    assert await shown(visitor) == [("Yes.", "queued", "failed")]


async def test_erasing_the_visitor_takes_the_answer_back(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await perform(visitor.services, ADMIN, "conversation.erase", {"user_id": "v1", "bot": visitor.caller.bot})
    await post.pass_time(120)
    assert (mailbox.messages, await post.mails()) == ([], [])
    await mails.settle(visitor.services.db, 1, MailOutcome("sent"), visitor.clock())
