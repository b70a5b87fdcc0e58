"""All listeners of the service with their certificate renewal, opened and closed together."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from chatsvc import background
from chatsvc.config import Acme, Limits
from chatsvc.config import Server as Settings
from chatsvc.domain.errors import CommandError
from chatsvc.http.admission import Admission
from chatsvc.http.client_address import ClientAddresses
from chatsvc.http.connection import HttpConnection
from chatsvc.http.server import HttpServer, Observe, Skin
from chatsvc.listening import sockets
from chatsvc.listening.acceptor import Acceptor, Endpoint
from chatsvc.listening.redirect import Redirect
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.tls import client_context
from chatsvc.tls.files import CertificateFiles
from chatsvc.tls.server_tls import ServerTls

FOLDER = "acme"
CERTIFICATE_RETRY_S = 60.0


class Listeners:
    """Opened last of all and closed first; `finish` once the requests in flight are answered.

    `port` and `http_port` are those really bound; 0: none.
    """

    def __init__(
        self, settings: Settings, limits: Limits, data_dir: Path, skin: Skin, observe: Observe, *, grace_s: float, egress: Egress
    ) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._skin = skin
        self._observe = observe
        self._grace_s = grace_s
        self._egress = egress
        self._admission = Admission(limits.connections, limits.connections_per_address)
        self._addresses = ClientAddresses(settings.trusted_proxies, by_socket=settings.socket is not None)
        self._acceptor = Acceptor(self._admission, limits.connections, self._addresses)
        self._servers: list[HttpServer] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._bound: Path | None = None
        self.port = 0
        self.http_port = 0

    async def open(self) -> None:
        """Begin to listen; raises CommandError, and then nothing is open."""
        try:
            await self._begin()
        except BaseException:
            await self.close()
            raise

    async def _begin(self) -> None:
        settings, tokens = self._settings, dict[str, str]()
        server_tls, keep = self._open_tls(tokens)
        always = f"Strict-Transport-Security: max-age={settings.hsts_s}\r\n" if server_tls and settings.hsts_s else ""
        main = HttpServer(self._skin, self._admission, self._addresses, self._observe, always)
        self._servers.append(main)
        if settings.socket is not None:
            self._acceptor.listen(sockets.on_socket(settings.socket), Endpoint(partial(HttpConnection, main), None))
            self._bound = settings.socket
        else:
            self.port = await self._listen(main, settings.host, settings.port, server_tls.context if server_tls else None)
        if settings.http is not None:
            redirect = HttpServer(Redirect(settings.public_url, tokens), self._admission, self._addresses)
            self._servers.append(redirect)
            self.http_port = await self._listen(redirect, *settings.http, None)
        if keep is not None:
            self._tasks.append(background.run("certificate", keep, CERTIFICATE_RETRY_S))

    async def _listen(self, server: HttpServer, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        opened = await sockets.on_port(host, port)
        for listener in opened:
            self._acceptor.listen(listener, Endpoint(partial(HttpConnection, server), tls))
        return sockets.port_of(opened[0])

    def _open_tls(self, tokens: dict[str, str]) -> tuple[ServerTls | None, Callable[[], Coroutine[Any, Any, None]] | None]:
        """Return the TLS context's holder and the coroutine that renews its certificate."""
        settings = self._settings
        if settings.tls:
            server_tls = ServerTls()
            files = CertificateFiles(server_tls, settings.tls.cert_file, settings.tls.key_file)
            files.open()
            return server_tls, files.run
        if settings.acme:
            # Imported only where it is needed: it takes a while to load.
            from chatsvc.acme.manager import CertificateManager

            server_tls = ServerTls()
            tls, shown = _trust(settings.acme), tokens if settings.http else None
            manager = CertificateManager(settings.acme, self._data_dir / FOLDER, server_tls, tls, shown, egress=self._egress)
            manager.open()
            return server_tls, manager.run
        return None, None

    async def close(self) -> None:
        """Accept no new connections; those that are open are closed after their next response."""
        await background.cancel(*self._tasks)
        self._acceptor.close()
        for server in self._servers:
            server.is_leaving = True
        if self._bound is not None:
            self._bound.unlink(missing_ok=True)

    async def finish(self) -> None:
        """Close the connections once the requests in flight are answered, idle ones first."""
        await self._acceptor.finish()
        await asyncio.gather(*(server.finish(self._grace_s) for server in self._servers))


def _trust(acme: Acme) -> ssl.SSLContext:
    try:
        return client_context(acme.ca_file)
    except OSError as fault:
        raise CommandError(f"server.acme.ca_file {acme.ca_file} cannot be used: {fault.strerror or fault}") from None
