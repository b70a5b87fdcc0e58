"""A customer's server: real TLS on loopback, that does to its callers whatever a test says."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver:
    """Counts `accepted` connections and keeps the `heads` and `bodies` of whole requests.

    `answer`: the bytes of every answer, or what is done with the connection once a request has come. `on_open`: done before anything
    is read. `tls` None: it speaks plainly.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        answer: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]] = OK,
        *,
        on_accept: Callable[[socket.socket], Awaitable[None]] | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self._tls, self.answer, self._on_accept = tls, answer, on_accept
        self.accepted = self.open = 0
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]

    async def __aenter__(self) -> Self:
        self._spawn(self._accept())
        return self

    async def __aexit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for task in self._tasks:
            task.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        self._listener.close()
        # A receiver that breaks by itself would look like one that was told to.
        for end in ends:
            if isinstance(end, Exception):
                raise end

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            self.accepted += 1
            self._spawn(self._serve(connection))

    async def _serve(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        self.open += 1
        try:
            if self._on_accept is not None:
                await self._on_accept(connection)
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            try:
                while await self._request(reader):
                    await self._respond(writer)
            finally:
                transport.abort()
        except OSError:
            pass
        finally:
            self.open -= 1
            connection.close()

    async def _request(self, reader: asyncio.StreamReader) -> bool:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = await reader.readexactly(length)
        except asyncio.IncompleteReadError:
            return False
        self.heads.append(head)
        self.bodies.append(body)
        return True

    async def _respond(self, writer: asyncio.StreamWriter) -> None:
        if isinstance(self.answer, bytes):
            writer.write(self.answer)
            await writer.drain()
        else:
            await self.answer(writer)


async def hang(writer: asyncio.StreamWriter) -> None:
    """Do nothing until the caller has gone."""
    await writer.wait_closed()


def close_after(answer: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Answer, then close without having said so."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return respond


def reset_after(answer: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:

    async def respond(writer: asyncio.StreamWriter) -> None:
        if answer:
            writer.write(answer)
            await writer.drain()
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        writer.transport.abort()
        await asyncio.sleep(0)

    return respond


def trickle(start: bytes, rest: bytes = b"x" * 10_000, *, every_s: float) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    """Begin an answer with `start`, and go on one byte at a time."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        for number in range(len(rest)):
            writer.write(rest[number : number + 1])
            await writer.drain()
            await asyncio.sleep(every_s)

    return respond
