"""A TCP proxy that breaks connections between the service and its peers on demand.

`async with Proxy(port) as proxy` listens at `proxy.port` and passes everything on to 127.0.0.1:port. Within `proxy.broken(fault)` the fault
says what is done instead, on connections that are open already too.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

CHUNK = 64 * 1024


class Link:
    """One connection through the proxy: the caller's end, and the server's once something is passed on."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._caller, self._writer = proxy, reader, writer
        self._server: asyncio.StreamWriter | None = None
        self._back: asyncio.Task[None] | None = None
        self.given = 0
        """Bytes of the answer that the caller was given since the last fault began."""
        self.told = False

    async def run(self) -> None:
        try:
            if self._proxy.fault:
                await self._proxy.fault.opened(self)
            while data := await self._caller.read(CHUNK):
                fault = self._proxy.fault
                await (fault.asked(self, data) if fault else self.pass_on(data))
        except ConnectionError:
            pass
        finally:
            if self._back:
                self._back.cancel()
            for writer in (self._server, self._writer):
                if writer:
                    writer.close()

    async def pass_on(self, data: bytes) -> None:
        if self._server is None:
            reader, self._server = await asyncio.open_connection("127.0.0.1", self._proxy.server_port)
            self._back = asyncio.create_task(self._answers(reader))
        self._server.write(data)
        await self._server.drain()

    async def _answers(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                fault = self._proxy.fault
                await (fault.answered(self, data) if fault else self.give(data))
        self._writer.close()

    async def give(self, data: bytes) -> None:
        self._writer.write(data)
        self.given += len(data)
        await self._writer.drain()

    async def hang_up(self) -> None:
        self._writer.close()

    async def reset(self) -> None:
        raw = self._writer.get_extra_info("socket")
        if raw is not None and raw.fileno() >= 0:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._writer.transport.abort()

    async def wait_until_healed(self) -> None:
        """Do nothing for as long as the fault lasts."""
        await self._proxy.healed.wait()


async def _nothing(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Fault:
    """Actions at a new connection and at bytes from caller and server."""

    opened: Callable[[Link], Awaitable[None]] = _nothing
    asked: Callable[[Link, bytes], Awaitable[None]] = Link.pass_on
    answered: Callable[[Link, bytes], Awaitable[None]] = Link.give


def hangs() -> Fault:
    """Accepts, and neither reads nor says anything."""
    return Fault(opened=Link.wait_until_healed, asked=lambda link, _: link.wait_until_healed())


def swallows() -> Fault:
    return Fault(asked=_nothing)


def resets() -> Fault:
    """Sends RST instead of an answer, or of a welcome."""
    return Fault(opened=Link.reset, asked=lambda link, _: link.reset())


def hangs_up() -> Fault:
    return Fault(asked=lambda link, _: link.hang_up())


def delays(seconds: float, size: int = CHUNK) -> Fault:
    """Gives each piece of the answer that much later."""

    async def answered(link: Link, data: bytes) -> None:
        for begin in range(0, len(data), size):
            await asyncio.sleep(seconds)
            await link.give(data[begin : begin + size])

    return Fault(answered=answered)


def trickles(pause_s: float) -> Fault:
    return delays(pause_s, 1)


def cuts_after(count: int, end: Callable[[Link], Awaitable[None]] = Link.hang_up) -> Fault:
    """So many bytes of an answer, and then the end: a goodbye, or `Link.reset`."""

    async def asked(link: Link, data: bytes) -> None:
        link.given = 0
        await link.pass_on(data)

    async def answered(link: Link, data: bytes) -> None:
        room = count - link.given
        await link.give(data[:room])
        if len(data) >= room:
            await asyncio.sleep(0.01)  # the bytes before it have to arrive
            await end(link)

    return Fault(asked=asked, answered=answered)


def garbles(share: float) -> Fault:
    """Replaces that share of the answer's bytes by others."""
    chance = random.Random(7)
    return Fault(answered=lambda link, data: link.give(bytes(chance.randrange(256) if chance.random() < share else byte for byte in data)))


def says(*pieces: bytes, end: Callable[[Link], Awaitable[None]] = Link.hang_up) -> Fault:
    """Answers by itself, whatever was asked; then `end`."""

    async def asked(link: Link, _: bytes) -> None:
        if not link.told:
            link.told = True
            for piece in pieces:
                await link.give(piece)
            await end(link)

    return Fault(asked=asked)


class Proxy:
    """Listens, and passes on or breaks what comes."""

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.port = 0
        self.healed = asyncio.Event()
        self.fault: Fault | None = None
        self._listener: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()

    @contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """Have the fault inside of the block."""
        self.fault = fault
        self.healed.clear()
        try:
            yield
        finally:
            self.fault = None
            self.healed.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links.add(task)
        try:
            await Link(self, reader, writer).run()
        except asyncio.CancelledError:
            pass  # cut by the proxy itself; asyncio would call it an error of its server
        finally:
            self._links.discard(task)

    async def refuse(self) -> None:
        if self._listener:
            self._listener.close()
            self._listener = None
        for link in tuple(self._links):
            link.cancel()
        if self._links:
            await asyncio.wait(tuple(self._links))

    async def listen(self) -> None:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=1024)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.refuse()
