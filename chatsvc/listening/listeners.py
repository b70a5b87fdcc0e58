"""All listeners of the service, and what keeps their certificate good: opened and closed as one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from chatsvc import background
from chatsvc.api import caller
from chatsvc.api.interface import Interface
from chatsvc.api.plain import Plain
from chatsvc.api.protocol import Handler, Server
from chatsvc.config import Acme
from chatsvc.config import Server as Settings
from chatsvc.domain.egress import Egress
from chatsvc.domain.errors import Refused
from chatsvc.listening import sockets
from chatsvc.tls.door import Door
from chatsvc.tls.files import CertificateFiles
from chatsvc.webhooks.connector import tls_context

FOLDER = "acme"
CERTIFICATE_RETRY_S = 60.0


class Listeners:
    """`open` last of all, `close` first, `finish` when the answers under way are done.

    `port` and `http_port` are those really bound; 0: none.
    """

    def __init__(self, settings: Settings, data_dir: Path, interface: Interface, grace_s: float, egress: Egress) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._interface = interface
        self._grace_s = grace_s
        self._egress = egress
        self._servers: list[Server] = []
        self._open: list[asyncio.AbstractServer] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._bound: Path | None = None
        self.port = 0
        self.http_port = 0

    async def open(self) -> None:
        """Begin to listen; raises Refused, and then nothing is open."""
        try:
            await self._begin()
        except BaseException:
            await self.close()
            raise

    async def _begin(self) -> None:
        settings, tokens = self._settings, dict[str, str]()
        door, keep = self._door(tokens)
        always = f"Strict-Transport-Security: max-age={settings.hsts_s}\r\n" if door and settings.hsts_s else ""
        callers = self._server(self._interface.handle, always)
        if settings.socket is not None:
            self._open.append(await sockets.on_socket(callers, settings.socket))
            self._bound = settings.socket
        else:
            listener = await sockets.on_port(callers, settings.host, settings.port, door.context if door else None)
            self._open.append(listener)
            self.port = sockets.port_of(listener)
        if settings.http is not None:
            plain = self._server(Plain(settings.public_url, tokens).handle)
            self._open.append(await sockets.on_port(plain, *settings.http, None))
            self.http_port = sockets.port_of(self._open[-1])
        if keep is not None:
            self._tasks.append(background.run("certificate", keep, CERTIFICATE_RETRY_S))

    def _server(self, handler: Handler, always: str = "") -> Server:
        who = partial(caller.address, server=self._settings)
        server = Server(handler, self._interface.unknown_slot, who, always)
        self._servers.append(server)
        return server

    def _door(self, tokens: dict[str, str]) -> tuple[Door | None, Callable[[], Coroutine[Any, Any, None]] | None]:
        """What callers are let in by, and what has to run to keep its certificate good."""
        settings = self._settings
        if settings.tls:
            door = Door()
            files = CertificateFiles(door, settings.tls.cert_file, settings.tls.key_file)
            files.open()
            return door, files.run
        if settings.acme:
            # Here alone, for it takes a while to load.
            from chatsvc.acme.keeper import Keeper

            door = Door()
            tls, shown = _trust(settings.acme), tokens if settings.http else None
            keeper = Keeper(settings.acme, self._data_dir / FOLDER, door, tls, shown, egress=self._egress)
            keeper.open()
            return door, keeper.run
        return None, None

    async def close(self) -> None:
        """No new connections from now on."""
        await background.cancel(*self._tasks)
        for listener in self._open:
            listener.close()
        if self._bound is not None:
            self._bound.unlink(missing_ok=True)

    async def finish(self) -> None:
        """Close the connections, those first that wait for nothing."""
        # What has just come in is taken up before.
        await asyncio.sleep(0)
        for server in self._servers:
            server.let_idle_go()
        for server in self._servers:
            await server.finish(self._grace_s)


def _trust(acme: Acme) -> ssl.SSLContext:
    try:
        return tls_context(acme.ca_file)
    except OSError as fault:
        raise Refused(f"server.acme.ca_file {acme.ca_file} cannot be used: {fault.strerror or fault}") from None
