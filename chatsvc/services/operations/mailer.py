"""Delivery of queued mails and test mails by the configured SMTP server, one after the other over one connection.

A mail is marked in the store right before its message is written, so that none is sent twice. If the connection breaks after that, the
server may have accepted the mail, and its state is `unknown`. Failures before that are retried for a day, with growing pauses.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from datetime import date, time
from functools import partial
from typing import TYPE_CHECKING

from chatsvc.domain import mails as rules
from chatsvc.domain import operators, paging, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.mails import Mail, MailFault, MailOutcome
from chatsvc.domain.paging import ResultPage
from chatsvc.services.conversations import calendar
from chatsvc.services.messages import visitor_addresses
from chatsvc.services.services import Services
from chatsvc.store import mails as stored
from chatsvc.store.database import StoreUnavailable, until_written
from chatsvc.store.mails import OutgoingMail
from chatsvc.store.operators import SetupLink

if TYPE_CHECKING:
    from chatsvc.outbound.smtp import SmtpConnection


log = logging.getLogger(__name__)

STOP_S = 20.0  # for the mail under way at the end of the service


class Mailer:
    """Sends the queued mails of one process. `outcomes` counts the attempts since the start by result: SENT, or the error's code."""

    def __init__(self, services: Services) -> None:
        smtp = services.config.notices.smtp
        assert smtp is not None  # noqa: S101  # asked before: services.sends_mail
        self._services, self._smtp = services, smtp
        self._connection: SmtpConnection | None = None
        self._sending = asyncio.Lock()
        self.stopping = False
        self.outcomes = Counter({rules.SENT: 0})

    async def start(self) -> None:
        """Delay the queued mails with answers. Mark mails as `unknown` that were being sent when their process ended."""
        await stored.delay_answers(self._services.db, self._services.clock())
        await self.interrupt()

    async def interrupt(self) -> None:
        """Mark mails as `unknown` that were being sent when their process ended."""
        count = await stored.interrupt(self._services.db, self._services.clock())
        if count:
            log.warning("%d mails were being sent when the service ended; nobody knows whether they were", count)

    async def look(self) -> None:
        """Send the mails that are due; raises StoreUnavailable."""
        async with self._sending:
            try:
                while not self.stopping and (mail := await stored.due(self._services.db, self._services.clock())):
                    await self._send(mail)
            finally:
                await self._disconnect()

    async def _send(self, mail: Mail) -> None:
        """Try once to send a mail, and write the outcome to the store. The mail fails if it is older than GIVE_UP_MS."""
        services, now = self._services, self._services.clock()
        if mail.created_at <= now - rules.GIVE_UP_MS:
            outcome = MailOutcome(rules.FAILED, mail.error or "expired", mail.status_code, mail.answer)
            await stored.give_up(services.db, mail, outcome, now)
            return
        try:
            connection = await self._connected()
        except MailFault as fault:
            log.warning("mails wait, %s takes none: %s", self._smtp.host, fault)
            await self._put_off(fault)
            return
        try:
            await connection.address(self._smtp.sender, mail.recipient)
            token, now = operators.new_token(), services.clock()
            link = SetupLink(operators.digest(token), now, now, mailed=True)
            outgoing = await stored.begin(services.db, mail.number, now, link, services.db.node)
            if outgoing is None:
                return
            outcome = await self._write(connection, outgoing, token)
        except MailFault as fault:
            log.warning(
                "nobody knows whether mail %d was sent: %s" if fault.is_uncertain else "mail %d was not taken: %s", mail.number, fault
            )
            if fault.of_server:
                await self._disconnect()
            if not (fault.is_permanent or fault.is_uncertain):
                await self._put_off(fault, mail.number)
                return
            outcome = fault.outcome()
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("unexpected fault while mail %d was sent", mail.number)
            await self._disconnect()
            outcome = MailOutcome(rules.UNKNOWN, "internal_error")
        await self._settle(mail.number, outcome)

    async def _settle(self, number: int, outcome: MailOutcome) -> None:
        self.outcomes[outcome.error or rules.SENT] += 1
        write = partial(stored.settle, self._services.db, number, outcome, self._services.clock())
        await until_written(write, lambda: self.stopping, "mails")

    async def _put_off(self, fault: MailFault, number: int | None = None) -> None:
        self.outcomes[fault.code] += 1
        write = partial(stored.put_off, self._services.db, fault.outcome(rules.QUEUED), self._services.clock(), number)
        await until_written(write, lambda: self.stopping, "mails")

    async def _connected(self) -> SmtpConnection:
        """Return the open connection, reset for the next mail, or a new connection. Raises MailFault."""
        if self._connection is not None:
            try:
                await self._connection.reset()
            except MailFault:
                await self._disconnect()
        self._connection = self._connection or await self._open()
        return self._connection

    async def _open(self) -> SmtpConnection:
        # Imported here: most installations send no mail, and most times nothing is due.
        from chatsvc.outbound.smtp import SmtpSettings, client_name, open_smtp

        smtp, name = self._smtp, client_name(self._services.config.server.public_url)
        password = smtp.password.reveal() if smtp.password else None
        settings = SmtpSettings(smtp.host, smtp.port, smtp.security, smtp.username, password, smtp.ca_file, name)
        try:
            return await open_smtp(settings, self._services.egress)
        except MailFault:
            raise
        except Exception:
            log.exception("unexpected fault while connecting to %s", smtp.host)
            raise MailFault("internal_error", of_server=True) from None

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _write(self, connection: SmtpConnection, mail: OutgoingMail, token: str = "") -> MailOutcome:
        """Send the message of a mail that the store marks as being sent. `token` is for the mail's set-up link. Raises MailFault."""
        try:
            message = await self._message(mail, token)
        except Exception:
            log.exception("unexpected fault while mail %d was written", mail.number)
            return MailOutcome(rules.FAILED, "internal_error")
        return MailOutcome(rules.SENT, None, 250, await connection.send(message))

    async def _message(self, mail: OutgoingMail, token: str) -> bytes:
        from chatsvc.services.operations import mail_texts

        services, server = self._services, self._services.config.server
        if mail.kind in rules.LINKS_MS:
            return mail_texts.set_up(mail, self._smtp, server.public_url, token)
        if mail.kind not in rules.TO_VISITORS:
            return mail_texts.notice(mail, self._smtp, server.public_url if server.dashboard else None)
        language = await visitor_addresses.language_of(services, mail)
        stop_url = await visitor_addresses.stop_url(services, mail) if mail.kind == rules.ANSWER or mail.channel == "web" else None
        if mail.kind == rules.ANSWER:
            return mail_texts.to_visitor(mail, self._smtp, language, stop_url)
        bot, appointment = await calendar.of_mail(services, mail)
        invitation = await services.offload(lambda: calendar.invite(bot, appointment, self._smtp, mail))
        when = times.in_words(date.fromisoformat(appointment.date), time.fromisoformat(appointment.time), language)
        return mail_texts.to_visitor(mail, self._smtp, language, stop_url, when, invitation)

    async def send_test(self, recipient: str) -> Mail:
        """Send a test mail now, once, and return it with its outcome."""
        db = self._services.db
        mail = await stored.add_test(db, recipient, self._services.clock(), db.node)
        try:
            connection = await self._open()
            try:
                await connection.address(self._smtp.sender, recipient)
                outcome = await self._write(connection, mail)
            finally:
                await connection.close()
        except MailFault as fault:
            outcome = fault.outcome()
        await self._settle(mail.number, outcome)
        (sent,) = await stored.page(db, 1, mail.number + 1)
        return sent

    async def close(self) -> None:
        """Finish the mail that is being sent, and send no other."""
        self.stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S), self._sending:
                pass
        await self._disconnect()


async def list_all(
    services: Services, _: Caller, *, status: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Mail]:
    """List mails, newest first. `status` is one of domain.mails.STATES."""
    if status is not None and status not in rules.STATES:
        raise refusals.status_unknown(status=status, known=list(rules.STATES))
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number)
    mails = await stored.page(services.db, limit + 1, *(position or ()), state=status)
    return paging.page_of(mails, limit, lambda mail: paging.position(mail.number))


async def test(services: Services, _: Caller, *, email: str) -> Mail:
    """Send a test mail now and return it with its outcome; raises `mail_not_set_up`."""
    recipient = operators.normalised_email(email)
    if not services.sends_mail:
        raise refusals.mail_not_set_up()
    if services.part(Mailer).stopping:
        raise refusals.service_stopping()
    return await services.part(Mailer).send_test(recipient)
