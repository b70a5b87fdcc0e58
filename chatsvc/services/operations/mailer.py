"""Delivery of queued mails and test mails by the configured SMTP server, one after the other over one connection.

A mail is marked in the store right before its message is written, so that none is sent twice: after a break behind that point nobody
knows whether the server took it, and it is `unknown`. Everything before is tried again, with growing pauses, for a day.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import date, time
from typing import TYPE_CHECKING

from chatsvc.delivery.queue import DeliveryQueue, Outcome
from chatsvc.domain import mails as rules
from chatsvc.domain import operators, paging, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.mails import Mail, MailFault, MailOutcome, MailUncertain
from chatsvc.domain.paging import ResultPage
from chatsvc.services.conversations import calendar
from chatsvc.services.messages import visitor_addresses
from chatsvc.services.services import Services
from chatsvc.store import mails as stored
from chatsvc.store.database import STORE_PAUSE_S, Connection, StoreUnavailable
from chatsvc.store.mails import OutgoingMail
from chatsvc.store.operators import SetupLink

if TYPE_CHECKING:
    from chatsvc.outbound.smtp import SmtpConnection


log = logging.getLogger(__name__)

LANE = "mail"  # there is one server


class Mailer(DeliveryQueue[Mail, Mail]):
    """Sends the queued mails of one process."""

    stop_s = 20.0
    interrupted = "%d mails were being sent when the service ended; nobody knows whether they were"

    def __init__(self, services: Services) -> None:
        super().__init__(services.db)
        smtp = services.config.notices.smtp
        assert smtp is not None  # noqa: S101  # asked before: services.sends_mail
        self._services, self._smtp = services, smtp
        self._connection: SmtpConnection | None = None
        self.outcomes[rules.SENT] = 0

    async def start(self) -> None:
        await stored.delay_answers(self.db, self._services.clock())
        await super().start()

    async def settle_interrupted(self) -> int:
        return await stored.interrupt(self.db, self._services.clock())

    async def waiting(self) -> Iterable[str]:
        return [LANE] if await stored.find_due(self.db, self._services.clock(), 1) else []

    def find(self, connection: Connection, lane: str, room: int, keys: Collection[object]) -> list[Mail]:
        del lane, keys
        return stored.due(connection, self._services.clock(), room)

    def mark(self, connection: Connection, lane: str, rows: list[Mail]) -> list[Mail]:
        """Let mails fail that were tried for too long. Each other one is marked once the server has accepted its recipient."""
        del lane
        now = self._services.clock()
        old = [mail for mail in rows if mail.created_at <= now - rules.GIVE_UP_MS]
        for mail in old:
            outcome = MailOutcome(rules.FAILED, mail.error or "expired", mail.status_code, mail.answer)
            stored.settle(connection, mail.number, outcome, now)
        return [mail for mail in rows if mail not in old]

    def key(self, item: Mail) -> object:
        return item.number

    async def send(self, item: Mail) -> Outcome:
        try:
            connection = await self._connected()
        except MailFault as fault:
            log.warning("mails wait, %s takes none: %s", self._smtp.host, fault)
            return self._put_off(fault)
        try:
            await connection.address(self._smtp.sender, item.recipient)
            now, token = self._services.clock(), operators.new_token()
            link = SetupLink(operators.digest(token), now, now, mailed=True)
            mail = await stored.begin(self.db, item.number, now, link, self.db.node)
        except MailFault as fault:
            if fault.of_server:
                await self.release()
            return self._not_taken(item.number, fault)
        except StoreUnavailable as fault:
            log.error("mails wait: %s", fault)
            return Outcome(None, lambda _: None, pause_s=STORE_PAUSE_S)
        return await self._write(connection, mail, token) if mail is not None else Outcome(None, lambda _: None)

    async def _connected(self) -> SmtpConnection:
        """Return the connection without a recipient, another one where it has broken. Raises MailFault."""
        if self._connection is not None:
            try:
                await self._connection.reset()
            except MailFault:
                await self.release()
        self._connection = self._connection or await self._open()
        return self._connection

    async def _open(self) -> SmtpConnection:
        # Imported here: most installations send no mail, and most times nothing is due.
        from chatsvc.outbound.smtp import SmtpSettings, client_name, open_smtp

        smtp, name = self._smtp, client_name(self._services.config.server.public_url)
        password = smtp.password.reveal() if smtp.password else None
        settings = SmtpSettings(smtp.host, smtp.port, smtp.security, smtp.username, password, smtp.ca_file, name)
        return await open_smtp(settings, self._services.egress)

    async def release(self, lane: str = LANE) -> None:
        del lane
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _write(self, connection: SmtpConnection, mail: OutgoingMail, token: str = "") -> Outcome:
        """Write the message of a mail that is marked as being sent. `token` is that of its set-up link."""
        try:
            message = await self._message(mail, token)
        except Exception:
            log.exception("unexpected fault while mail %d was written", mail.number)
            return self._settled(mail.number, MailOutcome(rules.FAILED, "internal_error"))
        try:
            answer = await connection.send(message)
        except MailFault as fault:
            if mail.kind == rules.TEST:  # it is not tried again
                return self._settled(mail.number, _outcome(rules.FAILED, fault))
            return self._not_taken(mail.number, fault)
        except MailUncertain as fault:
            log.warning("nobody knows whether mail %d was sent: %s", mail.number, fault)
            if connection is self._connection:
                await self.release()
            return self._settled(mail.number, MailOutcome(rules.UNKNOWN, "connection_lost"))
        return self._settled(mail.number, MailOutcome(rules.SENT, None, 250, answer))

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

    def _not_taken(self, number: int, fault: MailFault) -> Outcome:
        log.warning("mail %d was not taken: %s", number, fault)
        return self._settled(number, _outcome(rules.FAILED, fault)) if fault.is_permanent else self._put_off(fault, number)

    def _put_off(self, fault: MailFault, number: int | None = None) -> Outcome:
        outcome, now = _outcome(rules.QUEUED, fault), self._services.clock()
        return Outcome(fault.code, lambda connection: stored.put_off(connection, outcome, now, number))

    def _settled(self, number: int, outcome: MailOutcome) -> Outcome:
        now = self._services.clock()
        return Outcome(outcome.error or rules.SENT, lambda connection: stored.settle(connection, number, outcome, now))

    def broken(self, item: Mail) -> Outcome:
        return self._settled(item.number, MailOutcome(rules.UNKNOWN, "internal_error"))

    async def send_test(self, recipient: str) -> Mail:
        """Send a test mail now, once, and return it with its outcome."""
        mail = await stored.add_test(self.db, recipient, self._services.clock(), self.db.node)
        try:
            connection = await self._open()
            try:
                await connection.address(self._smtp.sender, recipient)
                outcome = await self._write(connection, mail)
            finally:
                await connection.close()
        except MailFault as fault:
            outcome = self._settled(mail.number, _outcome(rules.FAILED, fault))
        await self.write(outcome)
        (sent,) = await stored.page(self.db, 1, mail.number + 1)
        return sent

    async def close(self) -> None:
        await super().close()
        await self.release()


def _outcome(state: str, fault: MailFault) -> MailOutcome:
    return MailOutcome(state, fault.code, fault.status_code, fault.answer)


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
