"""SMTP client, which connects to the mail server, signs in and sends messages.

Its connections count in the egress ledger for the purpose `mail`. Mails are queued and written elsewhere (services/operations/mailer.py).

The administrator chooses the server, so it may have any address. No exception contains the password.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import aiosmtplib
from aiosmtplib import SMTPException, SMTPResponseException

from chatsvc.domain.mails import MailFault
from chatsvc.outbound.egress import Egress, EgressRefused, client_context
from chatsvc.outbound.resolver import SystemResolver, addresses_of

CONNECT_S = 10.0  # for each address
COMMAND_S = 30.0
DATA_S = 120.0
_PERMANENT = 500


class SmtpSettings(NamedTuple):
    """Settings of the mail server: address, credentials, and `security`, which is `tls`, `starttls` or `none`.

    `client_name` is the name with which the client introduces itself.
    """

    host: str
    port: int
    security: str
    username: str | None
    password: str | None
    ca_file: Path | None
    client_name: str


def client_name(public_url: str) -> str:
    """Return the host of the service's public URL, with which the client introduces itself to a mail server."""
    host = urlsplit(public_url).hostname or "localhost"
    if ":" in host:
        return f"[IPv6:{host}]"
    return f"[{host}]" if host.replace(".", "").isdigit() else host


class SmtpConnection:
    """A connection to the mail server, encrypted and signed in. It is made by open_smtp()."""

    def __init__(self, client: aiosmtplib.SMTP, connected: socket.socket) -> None:
        self._client, self._socket = client, connected

    async def address(self, sender: str, recipient: str) -> None:
        """Set sender and recipient of the next message. Raise MailFault if the server refuses one of them."""
        with _faults("refused"):
            await self._client.mail(sender, timeout=COMMAND_S)
            await self._client.rcpt(recipient, timeout=COMMAND_S)

    async def send(self, message: bytes) -> str:
        """Send the message to the recipient that was set, and return the server's answer. Raise MailFault on failure."""
        with _faults("refused", is_uncertain=True):
            return shortened((await self._client.data(message, timeout=DATA_S)).message)

    async def reset(self) -> None:
        """Clear sender and recipient, so that another mail can follow. Raise MailFault if the connection is broken."""
        with _faults("refused", of_server=True):
            await self._client.rset(timeout=COMMAND_S)

    async def close(self) -> None:
        """Send QUIT to the server and close the connection."""
        try:
            if self._client.is_connected:
                await self._client.quit(timeout=1.0)
        except (SMTPException, OSError):
            pass
        finally:
            await _discard(self._client, self._socket)


async def open_smtp(settings: SmtpSettings, egress: Egress) -> SmtpConnection:
    """Connect to the mail server, encrypt the connection and sign in. Raise MailFault with a true `of_server` on failure."""
    if settings.username is not None and settings.password is None:
        raise MailFault("no_password", of_server=True)
    try:
        tls = client_context(settings.ca_file)
    except OSError:
        raise MailFault("tls_failed", of_server=True) from None
    connected = await _socket(settings, egress)
    client = aiosmtplib.SMTP(
        hostname=settings.host,
        sock=connected,
        local_hostname=settings.client_name,
        timeout=COMMAND_S,
        use_tls=settings.security == "tls",
        start_tls=False,
        tls_context=tls,
    )
    try:
        await _begin(client, settings)
    except BaseException:
        await _discard(client, connected)
        raise
    return SmtpConnection(client, connected)


async def _discard(client: aiosmtplib.SMTP, connected: socket.socket) -> None:
    """Close the connection at once. A server that does not answer TLS's close_notify would otherwise delay this by 30 s."""
    transport = client.transport
    client.close()
    if isinstance(transport, asyncio.Transport):
        transport.abort()
    # The event loop closes the socket a little later, and may end after this call.
    for _ in range(20):
        if connected.fileno() < 0:
            return
        await asyncio.sleep(0.01)
    connected.close()


async def _begin(client: aiosmtplib.SMTP, settings: SmtpSettings) -> None:
    with _faults("greeting", of_server=True):
        await client.connect(timeout=COMMAND_S)
        await client.ehlo(timeout=COMMAND_S)
    if settings.security == "starttls":
        if not client.supports_extension("starttls"):
            raise MailFault("starttls_missing", of_server=True)
        with _faults("tls_failed", of_server=True):
            await client.starttls(timeout=COMMAND_S)
            await client.ehlo(timeout=COMMAND_S)
    if settings.username is not None:
        with _faults("auth_failed", of_server=True):
            try:
                await client.login(settings.username, settings.password or "", timeout=COMMAND_S)
            except (SMTPResponseException, aiosmtplib.SMTPServerDisconnected, aiosmtplib.SMTPTimeoutError):
                raise
            except SMTPException:
                # The server offers no way to sign in that the library knows.
                raise MailFault("auth_missing", of_server=True) from None


async def _socket(settings: SmtpSettings, egress: Egress) -> socket.socket:
    """Connect to the first address of the server that answers."""
    try:
        egress.check("mail")
        addresses = await addresses_of(settings.host, SystemResolver())
    except EgressRefused:
        raise MailFault("egress_refused", of_server=True) from None
    except OSError:
        raise MailFault("dns_failed", of_server=True) from None
    code = "connect_failed"
    for address in addresses:
        egress.open("mail")
        opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        opened.setblocking(False)
        try:
            async with asyncio.timeout(CONNECT_S):
                await asyncio.get_running_loop().sock_connect(opened, (address, settings.port))
            return opened
        except BaseException as fault:
            opened.close()
            if not isinstance(fault, OSError):
                raise
            code = "timeout" if isinstance(fault, TimeoutError) else "connect_failed"
    raise MailFault(code, of_server=True)


@contextmanager
def _faults(code: str, *, of_server: bool = False, is_uncertain: bool = False) -> Iterator[None]:
    """Convert exceptions of aiosmtplib to MailFault within the block. `code` is the code for a refusal by the server.

    `is_uncertain` is true if the mail may have been sent when the connection breaks.
    """
    try:
        yield
    except SMTPResponseException as fault:
        is_permanent = fault.code >= _PERMANENT and not of_server
        raise MailFault(code, fault.code, shortened(fault.message), of_server=of_server, is_permanent=is_permanent) from None
    except (SMTPException, OSError, ValueError) as fault:
        if is_uncertain:
            raise MailFault("connection_lost", of_server=True, is_uncertain=True) from None
        causes: list[BaseException] = [fault]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 5:
            causes.append(cause)
        kinds = ((ssl.SSLError, "tls_failed"), (TimeoutError, "timeout"))
        code = next((code for kind, code in kinds if any(isinstance(cause, kind) for cause in causes)), "connection_lost")
        raise MailFault(code, of_server=True) from None


def shortened(answer: str) -> str:
    """Return the beginning of a server's answer as one printable line."""
    line = " ".join(answer.split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:200]
