"""The running service: mails leave by themselves, and the end of the service waits for the one in flight."""

import asyncio

import pytest

from chatsvc import workers
from chatsvc.app import App
from chatsvc.services.administration import perform
from chatsvc.services.operations.mailer import Mailer
from chatsvc.store import mail_notices
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.mail.conftest import add_operator
from tests.mail.smtp_server import Mailbox


@pytest.fixture(autouse=True)
def _frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MAILS_EVERY_S", 0.05)


async def states(app: App) -> list[str]:
    return [mail.state for mail in (await perform(app.services, ADMIN, "mail.list", {})).items]


async def test_mails_leave_by_themselves_and_wait_while_the_service_stops(
    app: App, caller: Caller, clock: FakeClock, mailbox: Mailbox
) -> None:
    await add_operator(caller, "ada@example.com", "request")
    services = app.services
    await services.db.write(lambda connection: mail_notices.note(connection, "request", caller.bot, None, clock()))
    clock.advance(2)
    async with asyncio.timeout(20):
        while await states(app) != ["sent"]:  # noqa: ASYNC110  # of the store
            await asyncio.sleep(0.05)
    await services.part(Mailer).close()
    sent = len(mailbox.messages)  # the invitation may have left too
    await services.db.write(lambda connection: mail_notices.note(connection, "request", caller.bot, None, clock()))
    clock.advance(600)
    await services.part(Mailer).look()
    assert (await states(app), len(mailbox.messages)) == (["queued", "sent"], sent)
