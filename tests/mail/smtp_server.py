"""An SMTP server that takes mails, or does not: the real aiosmtpd on the test's own event loop."""

import asyncio
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass
class Mailbox:
    """Mails that the server took, and its behaviour. `replies` answers commands by name; "silence" and "break" are no answers.

    `credentials` are those of `logins`; a server with some takes nothing from others. `greeted` are the names of clients, `unanswered` the
    commands met with silence.
    """

    port: int = 0
    logins: dict[str, str] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)
    greeted: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    connections: int = 0

    @property
    def texts(self) -> list[str]:
        """The bodies, without attachments. The server reads this, too: it looks at all attributes."""
        return [str(cast(Any, message.get_body()).get_content()) for message in self.messages]

    async def _answer(self, command: str, server: SMTP) -> str | None:
        reply = self.replies.get(command)
        if reply == "silence":
            self.unanswered.append(command)
            await asyncio.sleep(3600)
        if reply == "break":
            cast(asyncio.Transport, server.transport).abort()
            return "421 gone"
        return reply

    async def handle_EHLO(self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]) -> list[str]:  # noqa: N802  # aiosmtpd's name
        del envelope
        session.host_name = hostname
        self.greeted.append(hostname)
        reply = await self._answer("EHLO", server)
        offered = [line for line in responses if self.logins or "AUTH" not in line]
        return [reply] if reply else offered

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802  # aiosmtpd's name
        del session
        reply = await self._answer("MAIL", server)
        if reply:
            return reply
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802  # aiosmtpd's name
        del session, options
        reply = await self._answer(f"RCPT {address}", server) or await self._answer("RCPT", server)
        if reply:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        reply = await self._answer("DATA", server)
        if reply and not reply.startswith("2"):
            return reply
        self.recipients += envelope.rcpt_tos
        self.senders.append(str(envelope.mail_from))
        self.encrypted.append(session.ssl is not None or cast(asyncio.Transport, server.transport).get_extra_info("sslcontext") is not None)
        self.messages.append(message_from_bytes(cast(bytes, envelope.content), policy=policy.default))
        if await self._answer("AFTER", server):
            return "421 gone"
        return reply or "250 2.0.0 kept as 4711"


def _sign_in(mailbox: Mailbox) -> Any:
    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: object) -> AuthResult:
        del server, session, envelope, mechanism
        if not isinstance(given, LoginPassword):
            return AuthResult(success=False, handled=False)
        name = given.login.decode()
        is_right = mailbox.logins.get(name) == given.password.decode()
        if is_right:
            mailbox.signed_in.append(name)
        return AuthResult(success=is_right, handled=False)

    return authenticate


@asynccontextmanager
async def smtp_server(
    mailbox: Mailbox, *, tls: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None
) -> AsyncIterator[Mailbox]:
    """Serve `mailbox` on a free port. Encrypted with `tls` from the first byte, with `starttls` after the command."""
    loop = asyncio.get_running_loop()
    begun: list[SMTP] = []

    def make() -> SMTP:
        mailbox.connections += 1
        with warnings.catch_warnings():
            # It warns of passwords without STARTTLS, since it does not see a listener's own TLS.
            warnings.simplefilter("ignore")
            server = SMTP(
                mailbox,
                hostname="mail.test",
                loop=loop,
                tls_context=starttls,
                authenticator=_sign_in(mailbox) if mailbox.logins else None,
                auth_required=bool(mailbox.logins),
                auth_require_tls=False,
            )
        begun.append(server)
        return server

    listener = await loop.create_server(make, "127.0.0.1", mailbox.port, ssl=tls)
    mailbox.port = listener.sockets[0].getsockname()[1]
    try:
        yield mailbox
    finally:
        listener.close()
        for server in begun:
            if server.transport is not None:
                cast(asyncio.Transport, server.transport).abort()
        # Connections that clients have just closed end too.
        await asyncio.sleep(0.05)
