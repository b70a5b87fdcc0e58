"""How fast what was captured is delivered: a backlog against a bare client, and how little a dead receiver costs the others.

A backlog of 2,000 pending events, each recorded before and after it is sent: at least 0.8 of aiohttp alone posting the same signed
body over kept-alive connections, as many at a time. With one receiver of 20 that never answers, the p99 of the others is at most 1.2
times what it is without; the p99 of chats with all receivers failing is at most 1.1 times what it is with all healthy; 100,000 pending
events cost less than 20 MB of memory.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from harness import SERVER_CORE, Bar, Load, Report, Requests, ServerProcess, Wrong, interleave, main, on_core, progress, request
from instance import Instance, instances

from tests.webhooks.certificates import Authority

WORKER = str(Path(__file__).parent / "deliveries.py")
SERVER = str(Path(__file__).parent / "capturing.py")
ROUNDS, BACKLOG = 7, 2000
RECEIVERS, PACED_ROUNDS, PER_S = 20, 5, 200
CALLERS = 8
PENDING = 100_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    """A customer's server at its cheapest: 200 to everything, but nothing, ever, to /dead."""

    def __init__(self) -> None:
        self._buffer = b""
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data
        head = data.find(b"\r\n\r\n")
        at = data.find(b"Content-Length: ", 0, head) + 16
        if head < 0 or len(data) < head + 4 + int(data[at : data.find(b"\r", at)]):
            self._buffer = data
            return
        self._buffer = b""
        if not data.startswith(b"POST /dead "):
            self.transport.write(OK)


@asynccontextmanager
async def receiver(tls: ssl.SSLContext) -> AsyncIterator[str]:
    """A receiver's address."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0, ssl=tls)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


class Worker:
    """deliveries.py on the server core."""

    def __init__(self, process: Any) -> None:
        self._process = process

    async def __call__(self, *command: object) -> Any:
        """Run one command."""
        self._process.stdin.write((" ".join(map(str, command)) + "\n").encode())
        return await self.answer()

    async def answer(self) -> Any:
        """The next value."""
        line = await self._process.stdout.readline()
        if not line:
            raise Wrong("deliveries.py has ended")
        return json.loads(line)


@asynccontextmanager
async def worker(instance: Instance, url: str) -> AsyncIterator[Worker]:
    """A worker over an instance's store."""
    with on_core(SERVER_CORE):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            WORKER,
            str(instance.config),
            f"{url}/ok",
            f"{url}/dead",
            *instance.bots,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**24,
        )
    made = Worker(process)
    await made.answer()
    yield made
    if process.stdin:
        process.stdin.close()
    await process.wait()


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        authority = Authority(folder)
        (made,) = stack.enter_context(
            instances(1, f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8], timeout_s: 2}}\n", RECEIVERS)
        )
        url = await stack.enter_async_context(receiver(authority.server("127.0.0.1")))
        send = await stack.enter_async_context(worker(made, url))
        await send("drain", 300), await send("bare", 300)
        ours, theirs = [], []
        for number in range(ROUNDS):
            progress(f"a backlog of {BACKLOG}: round {number + 1} of {ROUNDS}")
            ours.append(BACKLOG / await send("drain", BACKLOG))
            theirs.append(BACKLOG / await send("bare", BACKLOG))
        share = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        report.bars.append(Bar("deliveries of a backlog / a bare client's", share, 0.8))
        report.notes.append(f"{statistics.median(ours):.0f} deliveries/s, a bare client {statistics.median(theirs):.0f} (medians)")
        delays: dict[int, list[float]] = {0: [], 1: []}
        for number in range(PACED_ROUNDS):
            progress(f"one of {RECEIVERS} receivers never answers: round {number + 1} of {PACED_ROUNDS}")
            for dead in (0, 1) if number % 2 else (1, 0):
                delays[dead].append(p99(await send("paced", PER_S, dead)))
        report.bars.append(
            Bar(f"p99 of {RECEIVERS - 1} receivers, another one dead / all healthy", middle(delays[1], delays[0]), 1.2, least=False)
        )
        report.notes.append("p99 of a delivery {:.1f} ms, with a dead receiver {:.1f} ms (medians)".format(*map(in_ms, delays.values())))
        progress(f"{PENDING:,} pending events")
        report.bars.append(Bar(f"memory grown with {PENDING:,} pending events, MB", await send("grow", PENDING) / 1e6, 20, least=False))
    await chats(report)
    return report


async def chats(report: Report) -> None:
    """Measure chats whose captures every receiver fails. Each message captures a request for one of RECEIVERS."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        authority = Authority(folder)
        settings = f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8]}}\n"
        url = await stack.enter_async_context(receiver(authority.server("127.0.0.1")))
        nobody = stack.enter_context(socket.socket())
        nobody.bind(("127.0.0.1", 0))
        urls = {"healthy": f"{url}/ok", "refusing": f"https://127.0.0.1:{nobody.getsockname()[1]}/", "hanging": f"{url}/dead"}
        loads = []
        for (name, target), made in zip(urls.items(), stack.enter_context(instances(3, settings, RECEIVERS)), strict=True):
            server = stack.enter_context(ServerProcess(SERVER, str(made.config), target, *made.bots))
            loads.append(Load(f"chats, all receivers {name}", server, visitors(made), CALLERS, varies=True))
        await interleave(loads, ROUNDS, 1.0)
        healthy, *failing = ([p99(one.latencies) for one in load.rounds] for load in loads)
        for (name, _), delays in zip(list(urls.items())[1:], failing, strict=True):
            report.bars.append(Bar(f"p99 of chats, all receivers {name} / all healthy", middle(delays, healthy), 1.1, least=False))
        report.loads += loads


def visitors(made: Instance) -> Requests:
    """Each message is another visitor's, to one bot after the other."""

    def requests(connection: int) -> Iterator[bytes]:
        for number in count():
            visitor = f"{connection:03d}-{number:08d}"
            # No two callers go through the bots in step: a burst to one of them now and then is not what is measured.
            bot = made.bots[(7 * number + 5 * connection) % len(made.bots)]
            body = {"chatbot_id": bot, "message": f"Please call me back: {visitor}@example.com", "user_id": visitor}
            yield request("POST", "/api/v2/messages", made.keys[connection % len(made.keys)], json.dumps(body).encode())

    return requests


def middle(over: list[float], under: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def in_ms(delays: list[float]) -> float:
    """The median in milliseconds."""
    return statistics.median(delays) * 1000


def p99(delays: list[float]) -> float:
    """The 99th percentile."""
    return sorted(delays)[int(len(delays) * 0.99)]


if __name__ == "__main__":
    main(__doc__ or "", bench)
