"""Background sender of queued mails and test mails by the configured SMTP server, with retries.

A mail is marked in the store right before its message is written, so that none is sent twice: after a break behind that point nobody
knows whether the server took it, and it is `unknown`. Everything before is tried again, with growing pauses, for a day.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import date, time
from functools import partial
from typing import TYPE_CHECKING

from chatsvc.config.model import Smtp
from chatsvc.domain import operators, paging, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.mails import ANSWER, DECISION, FAILED, QUEUED, SENT, STATES, UNKNOWN, Mail, MailOutcome
from chatsvc.domain.paging import ResultPage
from chatsvc.services.conversations import calendar
from chatsvc.services.messages import visitor_addresses
from chatsvc.services.services import Services
from chatsvc.store import mails as stored
from chatsvc.store.database import until_written
from chatsvc.store.mails import OutgoingMail

if TYPE_CHECKING:
    from chatsvc.outbound.smtp import MailFault, SmtpConnection, SmtpSettings


log = logging.getLogger(__name__)

STOP_S = 20.0
BATCH = 100


def _smtp_of(services: Services) -> Smtp:
    smtp = services.config.notices.smtp
    assert smtp is not None  # noqa: S101  # asked before: services.sends_mail
    return smtp


class Mailer:
    """Sender of the queued mails of one process."""

    def __init__(self, services: Services) -> None:
        self._services, self._smtp = services, _smtp_of(services)
        self._sending = asyncio.Lock()
        self.stopping = False
        # Outcomes since the start: sent, or the error.
        self.outcomes: Counter[str] = Counter(sent=0)

    async def resume(self) -> None:
        """Settle what the end of the service interrupted."""
        _warn(await stored.resume(self._services.db, self._services.clock()))

    async def interrupt(self) -> None:
        """Settle what the end of another process interrupted."""
        _warn(await stored.interrupt(self._services.db, self._services.clock()))

    async def send_due(self) -> None:
        """Send all mails that are due; raises StoreUnavailable."""
        services = self._services
        async with self._sending:
            found = await stored.due(services.db, services.clock(), BATCH)
            if not found or self.stopping:
                return
            # Imported here: most installations send no mail, and most times nothing is due.
            from chatsvc.outbound.smtp import MailFault, open_smtp

            try:
                connection = await open_smtp(self._settings(), services.egress)
            except MailFault as fault:
                log.warning("mails wait, %s takes none: %s", self._smtp.host, fault)
                self.outcomes[fault.code] += 1
                await stored.postpone(services.db, _outcome(QUEUED, fault), services.clock())
                return
            try:
                for number, recipient in found:
                    if not await self._send(connection, number, recipient):
                        return
            finally:
                await connection.close()

    def _settings(self) -> SmtpSettings:
        from chatsvc.outbound.smtp import SmtpSettings, client_name

        smtp, name = self._smtp, client_name(self._services.config.server.public_url)
        password = smtp.password.reveal() if smtp.password else None
        return SmtpSettings(smtp.host, smtp.port, smtp.security, smtp.username, password, smtp.ca_file, name)

    async def _send(self, connection: SmtpConnection, number: int, recipient: str) -> bool:
        """Send one mail. Return False where the connection cannot be used any more."""
        from chatsvc.outbound.smtp import MailFault

        db = self._services.db
        if self.stopping:
            return False
        try:
            await connection.address(self._smtp.sender, recipient)
        except MailFault as fault:
            await self._not_taken(number, fault, partial(stored.postpone, db, number=number))
            return not fault.of_server and await _is_reset(connection)
        mail = await stored.begin(db, number, self._services.clock())
        if mail is None:
            return await _is_reset(connection)
        return await self._write(connection, mail)

    async def _write(self, connection: SmtpConnection, mail: OutgoingMail) -> bool:
        """Write the message of a mail that is marked as being sent."""
        from chatsvc.outbound.smtp import MailFault, MailUncertain

        db, number = self._services.db, mail.number
        try:
            message = await self._message(mail)
        except Exception:
            log.exception("unexpected fault while mail %d was written", number)
            await self._settle(number, MailOutcome(FAILED, "internal_error"))
            return await _is_reset(connection)
        try:
            answer = await connection.send(message)
        except MailFault as fault:
            await self._not_taken(number, fault, partial(stored.put_back, db, number))
            return await _is_reset(connection)
        except MailUncertain as fault:
            log.warning("nobody knows whether mail %d was sent: %s", number, fault)
            await self._settle(number, MailOutcome(UNKNOWN, "connection_lost"))
            return False
        await self._settle(number, MailOutcome(SENT, None, 250, answer))
        return True

    async def _message(self, mail: OutgoingMail) -> bytes:
        from chatsvc.services.operations import mail_texts

        if mail.kind == ANSWER:
            language = await visitor_addresses.language_of(self._services, mail)
            return mail_texts.answer(mail, self._smtp, language, await visitor_addresses.stop_url(self._services, mail))
        if mail.kind == DECISION:
            return await self._decision(mail)
        server = self._services.config.server
        return mail_texts.notice(mail, self._smtp, server.public_url if server.dashboard else None)

    async def _decision(self, mail: OutgoingMail) -> bytes:
        from chatsvc.services.operations import mail_texts

        services = self._services
        language = await visitor_addresses.language_of(services, mail)
        bot, appointment = await calendar.of_mail(services, mail)
        invitation = await services.offload(lambda: calendar.invite(bot, appointment, self._smtp, mail))
        when = times.in_words(date.fromisoformat(appointment.date), time.fromisoformat(appointment.time), language)
        stop_url = await visitor_addresses.stop_url(services, mail) if mail.channel == "web" else None
        return mail_texts.decision(mail, self._smtp, language, stop_url, when, invitation)

    async def _not_taken(self, number: int, fault: MailFault, put_off: Callable[[MailOutcome, int], Awaitable[None]]) -> None:
        log.warning("mail %d was not taken: %s", number, fault)
        if fault.is_permanent:
            await self._settle(number, _outcome(FAILED, fault))
            return
        self.outcomes[fault.code] += 1
        await until_written(lambda: put_off(_outcome(QUEUED, fault), self._services.clock()), self._stops, "mails")

    async def _settle(self, number: int, outcome: MailOutcome) -> None:
        self.outcomes[outcome.error or SENT] += 1
        await until_written(lambda: stored.settle(self._services.db, number, outcome, self._services.clock()), self._stops, "mails")

    def _stops(self) -> bool:
        return self.stopping

    async def send_test(self, recipient: str) -> Mail:
        """Send a test mail now, once, and return it with its outcome."""
        from chatsvc.outbound.smtp import MailFault, open_smtp

        db = self._services.db
        mail = await stored.add_test(db, recipient, self._services.clock())
        try:
            connection = await open_smtp(self._settings(), self._services.egress)
            try:
                await connection.address(self._smtp.sender, recipient)
                await self._write(connection, mail)
            finally:
                await connection.close()
        except MailFault as fault:
            await self._settle(mail.number, _outcome(FAILED, fault))
        (sent,) = await stored.page(db, 1, mail.number + 1)
        # A server that puts it off has not taken it: a test is not tried again.
        if sent.state == QUEUED:
            await self._settle(mail.number, MailOutcome(FAILED, sent.error, sent.status_code, sent.answer))
            (sent,) = await stored.page(db, 1, mail.number + 1)
        return sent

    async def close(self) -> None:
        """Finish the mail in flight; begin none."""
        self.stopping = True
        try:
            async with asyncio.timeout(STOP_S), self._sending:
                pass
        except TimeoutError:
            log.warning("a mail is still being sent")


def _warn(interrupted: int) -> None:
    if interrupted:
        log.warning("%d mails were being sent when the service ended; nobody knows whether they were", interrupted)


def _outcome(state: str, fault: MailFault) -> MailOutcome:
    return MailOutcome(state, fault.code, fault.status_code, fault.answer)


async def _is_reset(connection: SmtpConnection) -> bool:
    from chatsvc.outbound.smtp import MailFault

    try:
        await connection.reset()
    except MailFault:
        return False
    return True


async def list_all(
    services: Services, _: Caller, *, status: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Mail]:
    """List mails, newest first. `status` is one of domain.mails.STATES."""
    if status is not None and status not in STATES:
        raise refusals.status_unknown(status=status, known=list(STATES))
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number)
    found = await stored.page(services.db, limit + 1, *(place or ()), state=status)
    return paging.page_of(found, limit, lambda mail: paging.position(mail.number))


async def test(services: Services, _: Caller, *, email: str) -> Mail:
    """Send a test mail now and return it with its outcome; raises `mail_not_set_up`."""
    recipient = operators.normalised_email(email)
    if not services.sends_mail:
        raise refusals.mail_not_set_up()
    if services.part(Mailer).stopping:
        raise refusals.service_stopping()
    return await services.part(Mailer).send_test(recipient)
