"""All listeners of the service, opened and closed together, with the renewal of their certificate. One listener redirects plain HTTP."""

import asyncio
import errno
import os
import socket
import ssl
import stat
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from chatsvc import background
from chatsvc.config.model import Limits
from chatsvc.config.model import Server as Settings
from chatsvc.domain.errors import CommandError
from chatsvc.outbound.egress import Egress, client_context
from chatsvc.tls.server_tls import CertificateFiles, ServerTls
from chatsvc.web.client_address import ClientAddresses
from chatsvc.web.connection import LINGER_S
from chatsvc.web.limits import ConnectionLimits
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import HttpFault
from chatsvc.web.server import HttpServer, Refuse

BACKLOG = 1024
SOCKET_MODE = 0o660
HANDSHAKE_TIMEOUT_S = 10.0
FOLDER = "acme"
CHALLENGES = "/.well-known/acme-challenge/"
CERTIFICATE_RETRY_S = 60.0


class Listeners:
    """Listeners of the service, which opens them last and closes them first. Later, `finish` closes the connections that are still open.

    `port` and `http_port` are the ports that were bound, or 0 if there is none.
    """

    def __init__(
        self,
        settings: Settings,
        limits: Limits,
        data_dir: Path,
        application: web.Application,
        unparsed: Refuse,
        *,
        grace_s: float,
        egress: Egress,
    ) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._application = application
        self._unparsed = unparsed
        self._grace_s = grace_s
        self._egress = egress
        self._limits = ConnectionLimits(limits.connections, limits.connections_per_address, max(1, limits.max_in_flight // 2))
        self._addresses = ClientAddresses(settings.trusted_proxies, by_socket=settings.socket is not None)
        self._servers: list[HttpServer] = []
        self._listening: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._bound: Path | None = None
        self.port = 0
        self.http_port = 0

    async def open(self) -> None:
        """Begin to listen. If this raises an exception, such as CommandError, nothing stays open."""
        settings, tokens = self._settings, dict[str, str]()
        try:
            server_tls, keep = self._open_tls(tokens)
            always = {"Strict-Transport-Security": f"max-age={settings.hsts_s}"} if server_tls and settings.hsts_s else {}
            main = await self._serve(self._application, self._unparsed, always)
            if settings.socket is not None:
                opened = asyncio.get_running_loop().create_unix_server(main.connect, sock=_bind(settings.socket), backlog=BACKLOG)
                self._listening.append(await opened)
                self._bound = settings.socket
            else:
                self.port = await self._listen(main, settings.host, settings.port, server_tls.context if server_tls else None)
            if settings.http is not None:
                plain = await self._serve(redirecting(settings.public_url, tokens), _refuse, {})
                self.http_port = await self._listen(plain, *settings.http, None)
            if keep is not None:
                self._tasks.append(background.run("certificate", keep, CERTIFICATE_RETRY_S))
        except BaseException:
            await self.close()
            raise

    async def _serve(self, application: web.Application, unparsed: Refuse, always: dict[str, str]) -> HttpServer:
        server = HttpServer(application, self._limits, self._addresses, unparsed, always)
        self._servers.append(server)
        await server.start()
        return server

    async def _listen(self, server: HttpServer, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen on every address of the host, where "" means every interface. Return the port that was bound."""
        loop = asyncio.get_running_loop()
        try:
            listening = await loop.create_server(
                server.connect,
                host or None,
                port,
                ssl=tls,
                backlog=BACKLOG,
                ssl_handshake_timeout=HANDSHAKE_TIMEOUT_S if tls else None,
                ssl_shutdown_timeout=LINGER_S if tls else None,
            )
        except OSError as fault:
            raise CommandError(f"cannot listen on {host}:{port}: {_reason(fault)}") from fault
        self._listening.append(listening)
        bound: int = listening.sockets[0].getsockname()[1]
        return bound

    def _open_tls(self, tokens: dict[str, str]) -> tuple[ServerTls | None, Callable[[], Coroutine[Any, Any, None]] | None]:
        """Return the TLS context and the coroutine function that renews its certificate. Return (None, None) without TLS."""
        settings = self._settings
        if settings.tls:
            server_tls = ServerTls()
            files = CertificateFiles(server_tls, settings.tls.cert_file, settings.tls.key_file)
            files.open()
            return server_tls, files.run
        if settings.acme:
            # Imported only where it is needed: it takes a while to load.
            from chatsvc.acme import CertificateManager

            try:
                tls = client_context(settings.acme.ca_file)
            except OSError as fault:
                raise CommandError(f"server.acme.ca_file {settings.acme.ca_file} cannot be used: {fault.strerror or fault}") from None
            server_tls, shown = ServerTls(), tokens if settings.http else None
            manager = CertificateManager(settings.acme, self._data_dir / FOLDER, server_tls, tls, shown, egress=self._egress)
            manager.open()
            return server_tls, manager.run
        return None, None

    async def close(self) -> None:
        """Accept no new connections. Open connections are closed after their next response."""
        await background.cancel(*self._tasks)
        for listening in self._listening:
            listening.close()
        for server in self._servers:
            server.is_leaving = True
        if self._bound is not None:
            self._bound.unlink(missing_ok=True)

    async def finish(self) -> None:
        """Close the connections when their requests in flight are answered. Idle connections are closed first."""
        await asyncio.gather(*(server.finish(self._grace_s) for server in self._servers))


def _reason(fault: OSError) -> str:
    """Return the operating system's text of an error, without the sentence that asyncio adds to it."""
    return os.strerror(fault.errno) if fault.errno else str(fault)


def _bind(path: Path) -> socket.socket:
    """Bind a Unix socket for the process's user and group. Replace the file of an abandoned socket."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        if _is_abandoned(path):
            path.unlink()
        listener.bind(str(path))
        path.chmod(SOCKET_MODE)
        listener.setblocking(False)
    except OSError as fault:
        listener.close()
        raise CommandError(f"cannot listen on unix:{path}: {_reason(fault)}") from fault
    return listener


def _is_abandoned(path: Path) -> bool:
    """Report whether no process listens on a Unix socket. If the path is another kind of file, bind() refuses it."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except OSError as fault:
            return fault.errno == errno.ECONNREFUSED
    return False


def redirecting(public_url: str, tokens: Mapping[str, str]) -> web.Application:
    """Return an application that redirects to `public_url` and answers ACME challenges. `tokens` maps their tokens to the answers."""

    async def challenge(request: web.Request) -> web.Response:
        authorization = tokens.get(request.match_info["token"])
        return await redirect(request) if authorization is None else _text(200, authorization)

    async def redirect(request: web.Request) -> web.Response:
        # The host is the configured one: the Host field may say anything.
        target = request.raw_path
        path = target if target.startswith("/") and target.isascii() and target.isprintable() else "/"
        return _text(308, "", {"Location": public_url + path})

    @web.middleware
    async def redirect_all(request: web.Request, handler: Handler) -> web.StreamResponse:
        return await (redirect if request.match_info.http_exception else handler)(request)

    app = web.Application(middlewares=[word_faults(lambda fault, _: _refuse(fault, "")), redirect_all])
    app.router.add_get(CHALLENGES + "{token}", challenge, allow_head=False)
    return app


def _refuse(fault: HttpFault, request_id: str) -> web.Response:
    del request_id
    return _text(fault.status, "")


def _text(status: int, text: str, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=text, headers={"Cache-Control": "no-store", **(headers or {})})
