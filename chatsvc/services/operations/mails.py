"""Mails for the administrator: lists queued and sent ones with faults, and sends a test."""

from chatsvc.domain import operators, paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.mails import STATES, Mail
from chatsvc.domain.paging import ResultPage
from chatsvc.services.services import Services
from chatsvc.store import mails as stored


async def list_all(
    services: Services, caller: Caller, *, status: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Mail]:
    """List mails, newest first. `status` is one of domain.mails.STATES."""
    del caller
    if status is not None and status not in STATES:
        raise refusals.status_unknown(status=status, known=list(STATES))
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number)
    found = await stored.page(services.db, limit + 1, *(place or ()), state=status)
    return paging.page_of(found, limit, lambda mail: paging.position(mail.number))


async def test(services: Services, caller: Caller, *, email: str) -> Mail:
    """Send a test mail now and return it with its outcome; raises `mail_not_set_up`."""
    del caller
    recipient = operators.normalised_email(email)
    if services.mailer is None:
        raise refusals.mail_not_set_up()
    if services.mailer.stopping:
        raise refusals.service_stopping()
    return await services.mailer.send_test(recipient)
