"""Answers of operators that go by mail to visitors of the widget who have gone."""

import re
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

import pytest
from aiohttp import ClientSession

from chatsvc.config import Config
from chatsvc.config.model import Notices
from chatsvc.control.rendering import thread
from chatsvc.domain.mails import ANSWERS_A_DAY, MailOutcome
from chatsvc.services.administration import perform
from chatsvc.services.messages import web_visits
from chatsvc.services.messages.visitor_addresses import MailAddress
from chatsvc.services.operations import mail_texts
from chatsvc.store import channel_messages, mails
from chatsvc.store.operators import SetupLink
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.mail.conftest import Post
from tests.mail.smtp_server import Mailbox
from tests.platforms.conftest import Visitor
from tests.store.inspection import execute

GIVEN = "Hello, is the blue one in stock? Please write to Ada@Example.com"


@pytest.fixture
async def visitor(caller: Caller, clock: FakeClock) -> Visitor:
    """A visitor of the bot "Desk" on the page of a shop."""
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web", "sites": ["https://shop.example.com"]})
    return Visitor(caller, clock, "v1")


async def shown(visitor: Visitor) -> list[tuple[str, str | None, str | None]]:
    """Text, delivery and mail of each message of an operator, as the dashboard shows them."""
    view = await perform(visitor.services, ADMIN, "conversation.view", {"conversation": await visitor.conversation()})
    answers = [
        (entry.message.content, entry.message.delivery, entry.mail and entry.mail.state)
        for entry in view.messages
        if entry.message.role == "operator"
    ]
    written = thread(await visitor.thread())["messages"]
    assert isinstance(written, list)
    assert [(entry["content"], entry["delivery"], entry["mail"]) for entry in written if entry["role"] == "operator"] == answers
    return answers


async def come_back(visitor: Visitor) -> None:
    """Let the visitor's page read what is new."""
    thread = await visitor.thread()
    numbers = [message.number for message in thread.messages if message.delivery == "queued"]
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


@pytest.mark.parametrize("text", ["Is the blue one in stock?", "Write to ada@example", "My handle is @ada", "ada@ex\u00e4mple.com"])
async def test_without_an_address_nothing_is_queued(visitor: Visitor, post: Post, text: str) -> None:
    await visitor.say(text)
    await visitor.act("conversation.reply", text="Yes.")
    assert await post.mails() == []


@pytest.mark.parametrize(
    ("messages", "recipient"),
    [
        # The letters of a Turkish keyboard are no other domain.
        (("My address is ADA@MA\u0130L.EXAMPLE.COM, not ada@m\u00e4il.example.com",), "ada@mail.example.com"),
        (
            (GIVEN, f"{'a very long story ' * 150} better write to ada@work.example.com {'and more of it ' * 60}", "@desk thanks"),
            "ada@work.example.com",
        ),
    ],
)
async def test_the_newest_address_counts(visitor: Visitor, post: Post, mailbox: Mailbox, messages: tuple[str, ...], recipient: str) -> None:
    for text in messages:
        await visitor.say(text)
        await execute(visitor.caller.app, "UPDATE conversations SET visitor_email = 'ada@example.com'")
    await visitor.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    assert mailbox.recipients == [recipient]


async def told_address(visitor: Visitor) -> MailAddress | None:
    """The address named before an operator writes."""
    view = await perform(visitor.services, ADMIN, "conversation.view", {"conversation": await visitor.conversation()})
    address: MailAddress | None = view.mail_to
    return address


def stop_url(message: EmailMessage) -> str:
    (url,) = re.findall(r"^http://\S+/mails/\S+$", str(message.get_content()).replace("\r", ""), re.MULTILINE)
    assert message["List-Unsubscribe"] == f"<{url}>"
    assert "List-Unsubscribe-Post" not in message
    return str(url)


async def test_the_owner_of_an_address_stops_the_mails(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN, page_host="shop.example.com")
    await visitor.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    (message,) = mailbox.messages
    text = str(message.get_content())
    assert "This address was given in the chat of Desk (shop.example.com). If that was not you, you can ignore this mail." in text
    assert await told_address(visitor) == ("ada@example.com", None)
    url = stop_url(message).replace("http://127.0.0.1:8080", visitor.caller.app.url)
    assert "ada@" not in url
    assert "ada%40" not in url
    await visitor.act("conversation.reply", text="Still there?")
    async with ClientSession(headers={"Accept-Language": "tr"}) as browser:
        async with browser.get(url) as page:
            question = await page.text()
            assert (page.status, "E-postaları durdur" in question, "no-store") == (200, True, page.headers["Cache-Control"])
        async with browser.post(url) as page:
            assert (page.status, "bir daha yanıt e-postası gönderilmeyecek" in await page.text()) == (200, True)
        # A mail program does it once more, with a form.
        async with browser.post(url, data={"List-Unsubscribe": "One-Click"}) as page:
            assert page.status == 200
        for wrong in (f"{url[:-1]}{'A' if url[-1] != 'A' else 'E'}x", f"{url.rpartition('/')[0]}/x.y"):
            async with browser.post(wrong) as page:
                assert page.status == 404
    # The one that waited is not sent, and no other is queued.
    await post.pass_time(120)
    assert await post.states() == [("answer", "sent", 1, None), ("answer", "failed", 1, "stopped")]
    await visitor.act("conversation.reply", text="Hello?")
    assert len(await post.mails()) == 2
    assert await told_address(visitor) == ("ada@example.com", "stopped")
    assert await shown(visitor) == [("Yes.", "sent", "sent"), ("Still there?", "queued", "failed"), ("Hello?", "queued", None)]
    # Other addresses get theirs.
    await visitor.say("or bob@example.com")
    await visitor.act("conversation.reply", text="Hello Bob")
    await post.pass_time(120)
    assert mailbox.recipients == ["ada@example.com", "bob@example.com"]


async def test_an_address_gets_a_few_mails_a_day_however_many_conversations_name_it(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    other = visitor
    for number in range(ANSWERS_A_DAY + 2):
        other = Visitor(visitor.caller, visitor.clock, f"flood-{number}")
        await other.say(GIVEN)
        await other.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    assert len(mailbox.messages) == ANSWERS_A_DAY
    # The others have ended, with a reason, in the list and beside the message; the visitor still finds the answer in the widget.
    assert await post.states() == [("answer", "sent", 1, None)] * ANSWERS_A_DAY + [("answer", "failed", 1, "daily_limit")] * 2
    view = await perform(visitor.services, ADMIN, "conversation.view", {"conversation": await other.conversation()})
    assert view.mail_to == ("ada@example.com", "daily_limit")
    assert (view.messages[-1].message.delivery, view.messages[-1].mail) == ("queued", ("failed", "daily_limit"))
    (written,) = [
        message for message in cast(list[dict[str, object]], thread(await other.thread())["messages"]) if message["role"] == "operator"
    ]
    assert (written["mail"], written["mail_error"]) == ("failed", "daily_limit")
    # Those that end by the limit do not prolong it.
    await post.pass_time(43_200)
    await other.act("conversation.reply", text="Still no.")
    await post.pass_time(120)
    assert len(mailbox.messages) == ANSWERS_A_DAY
    await post.pass_time(43_080)
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await post.pass_time(120)
    assert len(mailbox.messages) == ANSWERS_A_DAY + 1


async def test_after_a_start_answers_wait_for_the_pages_of_visitors(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    thread = await visitor.thread()
    # The page shows the answer, and the service ends before the page has said so.
    visits = web_visits.WebVisits(visitor.services)
    widget = await web_visits.find(visitor.services, visitor.caller.bot)
    assert widget is not None
    news = await visits.read(widget, visitor.user_id, thread.messages[-2].id)
    assert news is not None
    assert [message.content for message in news.messages] == ["Yes."]
    visitor.clock.advance(600)
    await mails.delay_answers(visitor.services.db, visitor.clock())
    await post.pass_time(0)
    assert mailbox.messages == []
    # The page finds the service again and names the answer as its last message.
    await web_visits.WebVisits(visitor.services).read(widget, visitor.user_id, news.messages[-1].id)
    await post.pass_time(600)
    assert mailbox.messages == []
    assert await shown(visitor) == [("Yes.", "delivered", None)]
    # Without a page the answer goes a little later.
    await visitor.act("conversation.reply", text="Are you there?")
    visitor.clock.advance(600)
    await mails.delay_answers(visitor.services.db, visitor.clock())
    await post.pass_time(120)
    assert mailbox.recipients == ["ada@example.com"]


async def test_without_the_widget_no_link_stops_the_mails(visitor: Visitor, post: Post, mailbox: Mailbox) -> None:
    await visitor.say(GIVEN)
    await visitor.act("conversation.reply", text="Yes.")
    await perform(visitor.services, ADMIN, "channel.remove", {"bot": visitor.caller.bot, "channel": "web"})
    await post.pass_time(120)
    assert "If that was not you" in mailbox.texts[0]
    assert ("http" in mailbox.texts[0], mailbox.messages[0]["List-Unsubscribe"]) == (False, None)


def test_mail_programs_get_their_button_where_the_address_is_https(config: Config) -> None:
    smtp = config.notices.smtp
    assert smtp is not None
    url = f"https://chat.example.com/chat/{'b' * 36}/mails/{'t' * 120}"
    mail = mails.OutgoingMail(1, "answer", "ada@example.com", None, 1, None, None, "Desk", None, 0, None, None, None, texts=("Yes.",))
    message = message_from_bytes(mail_texts.to_visitor(mail, smtp, "en", url), policy=policy.default)
    assert (message["List-Unsubscribe"], message["List-Unsubscribe-Post"]) == (f"<{url}>", "List-Unsubscribe=One-Click")
    assert "List-Unsubscribe" not in message_from_bytes(mail_texts.to_visitor(mail, smtp, "en", "https://ö.example/x"))


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
    db, outcome = visitor.services.db, MailOutcome("queued", "refused", 451, "later")
    mail = await mails.due(db, visitor.clock())
    assert mail
    assert await mails.begin(db, mail.number, visitor.clock(), SetupLink(b"", 0, 0), None)
    await visitor.act("conversation.reply", text="Hello?")
    await mails.put_off(db, outcome, visitor.clock(), mail.number)
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
