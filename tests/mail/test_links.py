"""Links to choose a password by mail: invitations, and what somebody asks for who has forgotten the password."""

import re

import pytest

from chatsvc.app import App
from chatsvc.domain.actors import Actor, Caller, Scope
from chatsvc.domain.refusals import Refused
from chatsvc.services.administration import perform
from chatsvc.services.team import sessions
from tests.fakes import ADMIN, FakeClock
from tests.mail.conftest import Post
from tests.mail.smtp_server import Mailbox

NOBODY = Caller(Actor("operator", "", ""), Scope({}), "web")
PASSWORD, OTHER = "a long enough one", "another long enough"


async def add(app: App, language: str = "tr") -> str:
    """Add an administrator; return the link that the command shows."""
    invitation = await perform(app.services, ADMIN, "operator.add", {"email": "ada@example.com", "admin": True, "language": language})
    return str(invitation.link)


def links(mailbox: Mailbox) -> list[str]:
    """The tokens in the mails, oldest first."""
    return [token for text in mailbox.texts for token in re.findall(r"http://127\.0\.0\.1:8080/setup/(\S+)", text)]


async def choose(app: App, token: str, password: str) -> bool:
    """Choose a password; tell whether the session is signed in without a second step."""
    result = await perform(app.services, NOBODY, "password.set", {"token": token, "password": password, "name": "Ada"})
    return bool(result.session.verified)


@pytest.mark.parametrize(("language", "subject"), [("tr", "127.0.0.1:8080 daveti"), ("en", "Your invitation to 127.0.0.1:8080")])
async def test_a_new_operator_is_invited_and_the_shown_link_works_as_well(
    app: App, post: Post, mailbox: Mailbox, language: str, subject: str
) -> None:
    shown = (await add(app, language)).rpartition("/")[2]
    await post.pass_time(1)
    assert [(str(mail["To"]), str(mail["Subject"])) for mail in mailbox.messages] == [("ada@example.com", subject)]
    (token,) = links(mailbox)
    assert await sessions.find_link(app.services, shown)
    assert await choose(app, token, PASSWORD)
    assert await sessions.find_link(app.services, shown) is None, "the use of one ends all"


@pytest.mark.postgres
async def test_a_forgotten_password_is_replaced_within_an_hour(app: App, post: Post, mailbox: Mailbox, clock: FakeClock) -> None:
    await choose(app, (await add(app)).rpartition("/")[2], PASSWORD)
    await post.pass_time(1)
    for _ in range(3):
        await sessions.ask_for_link(app.services, " Ada@Example.com", "192.0.2.1")
        await sessions.ask_for_link(app.services, "nobody@example.com", "192.0.2.1")
        await post.pass_time(60)
    assert [mail.kind for mail in await post.mails()] == ["invitation", "password"], "one mail in a quarter of an hour"
    _, token = links(mailbox)
    clock.advance(3500)
    assert await sessions.find_link(app.services, token) is None
    await sessions.ask_for_link(app.services, "ada@example.com", "192.0.2.1")
    await post.pass_time(1)
    assert await choose(app, links(mailbox)[-1], OTHER)
    signed_in = await perform(app.services, NOBODY, "session.create", {"email": "ada@example.com", "password": OTHER})
    assert signed_in.session.verified
    # A link by mail leaves the second factor.
    await app.services.db.write(lambda connection: connection.execute("UPDATE operators SET totp = ?", (b"sealed",)))
    clock.advance(900)
    await sessions.ask_for_link(app.services, "ada@example.com", "192.0.2.1")
    await post.pass_time(1)
    assert not await choose(app, links(mailbox)[-1], OTHER)


async def test_who_asks_too_often_has_to_wait(app: App, post: Post) -> None:
    await add(app)
    for number in range(20):
        await sessions.ask_for_link(app.services, f"{number}@example.com", "192.0.2.1")
    with pytest.raises(Refused, match="too_many_attempts"):
        await sessions.ask_for_link(app.services, "ada@example.com", "192.0.2.1")
    await sessions.ask_for_link(app.services, "ada@example.com", "198.51.100.1")
    assert [mail.kind for mail in await post.mails()] == ["invitation", "password"]
