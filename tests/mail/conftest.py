"""Fixtures: a service with a mail server, and an operator who wants notices."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from chatsvc import background
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Notices, Smtp
from chatsvc.domain.mails import Mail
from chatsvc.services.administration import perform
from chatsvc.services.operations.mailer import Mailer
from tests.api.support import execute
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.mail.smtp_server import Mailbox, smtp_server


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    """A mail server without encryption that takes everything."""
    async with smtp_server(Mailbox()) as mailbox:
        yield mailbox


@pytest.fixture
def config(config: Config, mailbox: Mailbox) -> Config:
    smtp = Smtp("127.0.0.1", mailbox.port, None, None, "Desk", "desk@example.com", "none", None)
    # Mails lead to the dashboard's pages.
    return replace(config, server=replace(config.server, dashboard=True), notices=Notices(smtp))


class Post:
    """The queue of mails of a service, sent when a test says so."""

    def __init__(self, app: App, clock: FakeClock, mailbox: Mailbox) -> None:
        self.app, self.clock, self.mailbox = app, clock, mailbox

    async def pass_time(self, seconds: float) -> None:
        """Let time pass and send what is due."""
        self.clock.advance(seconds)
        await self.app.services.part(Mailer).look()

    async def mails(self) -> list[Mail]:
        """The mails of the queue, oldest first."""
        mails: list[Mail] = (await perform(self.app.services, ADMIN, "mail.list", {})).items
        return mails[::-1]

    async def states(self) -> list[tuple[str, str, int, str | None]]:
        """Kind, state, count and error of each mail, oldest first."""
        return [(mail.kind, mail.state, mail.causes, mail.error) for mail in await self.mails()]


@pytest.fixture
async def post(app: App, clock: FakeClock, mailbox: Mailbox) -> Post:
    """The queue of the service, without the task that sends by itself."""
    await background.cancel(*[task for task in asyncio.all_tasks() if task.get_name() == "mails"])
    return Post(app, clock, mailbox)


async def add_operator(caller: Caller, email: str, *notices: str, role: str = "editor", admin: bool = False, language: str = "en") -> None:
    """Add an operator of the caller's account who wants these notices."""
    where = {"admin": True} if admin else {"account": caller.account, "role": role}
    await perform(caller.app.services, ADMIN, "operator.add", {"email": email, "language": language, **where})
    await perform(caller.app.services, ADMIN, "operator.set", {"email": email, "notices": list(notices) or ["none"]})
    # The invitation has tests of its own.
    await execute(caller.app, "DELETE FROM mails WHERE kind = 'invitation'")
