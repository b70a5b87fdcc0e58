"""The effect of hostile and slow clients on the others.

- 600 slow connections (silent, half a head, a dripping head, half a body; with TLS: handshakes never begun or never finished) are gone
  within 15 s, and the p99 of other requests meanwhile is at most twice the one before.
- 60 clients that request a long history over and over and read nothing cost at most 64 MB.
- 1,000 connections with heads of 125 fields of 8,100 bytes that never end cost at most 64 MB, as do 1,000 that stop at 31 KiB.
- 500 half-sent bodies, with `max_in_flight` at its default of 512, make no other request fail.
"""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from harness import Bar, Load, Report, ServerProcess, main, progress, request, the_same
from instance import Instance, instances

from chatsvc.store.exchanges import NewExchange, record
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from tests.webhooks.certificates import Authority

SLOW, GONE_WITHIN_S = 600, 15.0
HEADS, BODIES = 1000, 500
READERS, ASKED_FOR, EXCHANGES = 60, 20, 250
OTHERS = 8
"""Connections of well-behaved callers: few, so that the server has time to spare as it would have."""
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 32


class Slow(asyncio.Protocol):
    """Sends `begin`, then a byte a second if it `drips`. Notes when it is disconnected."""

    def __init__(self, begin: bytes, *, drips: bool) -> None:
        self._begin, self._drips = begin, drips
        self.gone = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._transport.write(self._begin)  # type: ignore[attr-defined]  # it is a socket
        if self._drips:
            self._drip()

    def _drip(self) -> None:
        if not self.gone.done():
            self._transport.write(b"x")  # type: ignore[attr-defined]  # it is a socket
            asyncio.get_running_loop().call_later(1.0, self._drip)

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002  # asyncio's signature
        self.gone.set_result(time.perf_counter())


def manners(instance: Instance, port: int, tls_port: int) -> list[tuple[int, bytes, bool]]:
    """The ways to be slow: port, what is said, and whether it drips."""
    head = f"Host: localhost\r\nAuthorization: Bearer {instance.keys[0]}\r\n".encode()
    half = b"POST /api/v2/messages HTTP/1.1\r\n" + head + b"Content-Length: 500\r\n\r\n" + b'{"chatbot_id": "'
    begun = b"GET /api/v2/chatbots HTTP/1.1\r\n" + head
    return [
        (port, b"", False),
        (port, begun, False),
        (port, begun + b"X-Drip: ", True),
        (port, half, False),
        (port, half, True),
        (tls_port, b"", False),
        (tls_port, HELLO, False),
    ]


async def slow_ones(report: Report, made: Instance, server: ServerProcess, tls_port: int) -> None:
    """The first half of the module's docstring."""
    raw = request("GET", f"/api/v2/chatbots/{made.bots[0]}", made.keys[1])
    others = Load("GET /chatbots/{id}", server, the_same(raw), connections=OTHERS)
    await others.connect()
    progress("the others alone")
    others.rounds.append(await others.run(6.0))
    alone = others.quantile_ms(0.99)
    progress(f"the others, and {SLOW} slow connections")
    loop, ways = asyncio.get_running_loop(), manners(made, server.port, tls_port)
    started = time.perf_counter()
    slow = []
    for number in range(SLOW):
        port, begin, drips = ways[number % len(ways)]
        slow.append((await loop.create_connection(lambda b=begin, d=drips: Slow(b, drips=d), "127.0.0.1", port))[1])
    under_attack = await others.run(GONE_WITHIN_S - (time.perf_counter() - started))
    others.rounds = [under_attack]
    beside = others.quantile_ms(0.99)
    await asyncio.wait([one.gone for one in slow], timeout=10)
    last = max((one.gone.result() for one in slow if one.gone.done()), default=started) - started
    left = sum(not one.gone.done() for one in slow)
    report.bars += [
        Bar(f"seconds until all of {SLOW} slow connections are gone", last if not left else float("inf"), GONE_WITHIN_S, least=False),
        Bar("p99 of the others beside them / alone", beside / alone, 2.0, least=False),
    ]
    report.notes.append(f"p99 of the others alone {alone:.2f} ms, beside the slow ones {beside:.2f} ms")


async def long_history(instance: Instance) -> str:
    """A conversation whose answer has two megabytes; its path."""
    db = await GroupCommitDatabase.open(instance.database)
    for number in range(EXCHANGES):
        exchange = NewExchange(
            instance.account, instance.bots[0], "api", "talker", "x" * 4000, "y" * 4000, number, number, "2026-01", 1, 1, None
        )
        await record(db, exchange)
    conversation = await db.read(lambda connection: str(connection.execute("SELECT id FROM conversations").fetchone()[0]))
    await db.close()
    return f"/api/v2/conversations/{conversation}?message_limit=500"


async def readers(report: Report, made: Instance, server: ServerProcess, path: str) -> None:
    """The second half of the module's docstring."""
    progress(f"{READERS} callers who do not read")
    raw = request("GET", path, made.keys[2])
    warm = Load("a long history", server, the_same(raw), connections=2)
    await warm.connect()
    before = highest = server.rss_mb()
    stalled = []
    for _ in range(READERS):
        one = socket.create_connection(("127.0.0.1", server.port))
        one.sendall(raw * ASKED_FOR)
        stalled.append(one)
    until = time.perf_counter() + 8.0
    while time.perf_counter() < until:
        await asyncio.sleep(0.1)
        highest = max(highest, server.rss_mb())
    for one in stalled:
        one.close()
    report.bars.append(Bar(f"memory of {READERS} callers who read nothing, MB", highest - before, 64, least=False))
    report.notes.append(f"memory before {before:.0f} MB, at its highest {highest:.0f} MB; an answer has {len(warm.body) / 1e6:.1f} MB")


def endless_heads() -> dict[str, bytes]:
    """Heads that never end: over the limit of 32 KiB, and just below it."""
    line = b"GET /api/v2/chatbots HTTP/1.1\r\nHost: localhost\r\n"
    fields = b"".join(b"X-%d: %b\r\n" % (number, b"x" * 8090) for number in range(125))
    return {"125 fields of 8,100 bytes": line + fields, "31 KiB": (line + fields)[: 31 * 1024]}


async def heads(report: Report, server: ServerProcess) -> None:
    """Measure the memory of heads that never end."""
    for name, head in endless_heads().items():
        progress(f"{HEADS} connections with heads of {name} that never end")
        before = highest = server.rss_mb()
        opened = []
        for number in range(HEADS):
            one = socket.socket()
            # From addresses of their own, so that the limit of an address does not protect the service.
            one.bind((f"127.0.{1 + number // 100}.{1 + number % 100}", 0))
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect(("127.0.0.1", server.port))
            opened.append((one, memoryview(head)))
        until = time.perf_counter() + 6.0
        while time.perf_counter() < until:
            opened = [(one, _push(one, rest)) for one, rest in opened]
            highest = max(highest, server.rss_mb())
            await asyncio.sleep(0.02)
        for one, _ in opened:
            one.close()
        report.bars.append(Bar(f"memory of {HEADS} heads of {name} that never end, MB", highest - before, 64, least=False))
        await asyncio.sleep(1.0)


def _push(one: socket.socket, rest: memoryview) -> memoryview:
    """Send as much as the socket takes; return what is left."""
    try:
        return rest[one.send(rest) :] if rest else rest
    except OSError:
        return rest


async def half_bodies(report: Report, made: Instance, server: ServerProcess) -> None:
    """Count the requests that fail beside half-sent bodies."""
    progress(f"{BODIES} half-sent bodies")
    head = f"Host: localhost\r\nAuthorization: Bearer {made.keys[0]}\r\nContent-Length: 500\r\n\r\n"
    half = f"POST /api/v2/messages HTTP/1.1\r\n{head}{{".encode()
    opened = []
    for _ in range(BODIES):
        one = socket.create_connection(("127.0.0.1", server.port))
        one.sendall(half)
        opened.append(one)
    await asyncio.sleep(1.0)
    refused = 0
    for _ in range(50):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request("GET", f"/api/v2/chatbots/{made.bots[0]}", made.keys[1]))
        refused += b" 200 " not in await reader.readline()
        writer.close()
    for one in opened:
        one.close()
    report.bars.append(Bar(f"requests refused beside {BODIES} half-sent bodies, of 50", refused, 0, least=False))


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        authority = Authority(folder)
        authority.server("127.0.0.1")
        pem = folder / "CN=root-1.pem"
        made, secured = stack.enter_context(instances(2))
        text = secured.config.read_text("utf-8").replace(
            '"127.0.0.1:0"}', f'"127.0.0.1:0", tls: {{cert_file: "{pem}", key_file: "{pem}"}}}}'
        )
        secured.config.write_text(text, "utf-8")
        made.config.write_text(made.config.read_text("utf-8").replace("max_in_flight: 4096", "max_in_flight: 512"), "utf-8")
        path = await long_history(made)
        server = stack.enter_context(
            ServerProcess("-m", "chatsvc", "-c", str(made.config), "serve", "--json", log=made.config.with_name("log"))
        )
        with_tls = stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(secured.config), "serve", "--json"))
        await slow_ones(report, made, server, with_tls.port)
        await readers(report, made, server, path)
        await heads(report, server)
        await half_bodies(report, made, server)
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
