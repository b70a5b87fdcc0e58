"""Common parts of all benchmarks: pinned server processes, a load generator on another core, interleaved rounds, a table of ratios.

A ratio is the median over the rounds. Each round runs all candidates one after another, so that disturbances of the machine affect all of
them. The status of every response is verified. The load generator uses far less processor time than any server here.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import uvloop

if TYPE_CHECKING:
    from instance import Instance

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
CONNECTIONS = 64
_TICKS = os.sysconf("SC_CLK_TCK")
_START_S = 30.0

Requests = Callable[[int], Iterator[bytes]]


class Wrong(Exception):
    """Raised when a server returned an unexpected response, or none."""


@contextmanager
def on_core(core: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class ServerProcess:
    """A server process on the server core. Its first line of output contains its `url`. Its log may be written to a file."""

    def __init__(self, *command: str, log: Path | None = None) -> None:
        with on_core(SERVER_CORE), log.open("wb") if log else nullcontext() as stream:
            words = [sys.executable, *command]
            self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=stream)  # noqa: S603  # the benchmark's own command
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line:
            raise Wrong(f"{' '.join(command)} did not start")
        self.port = int(json.loads(line)["url"].rpartition(":")[2])

    @classmethod
    def serving(cls, instance: Instance) -> Self:
        """Start the service of an instance. Its log is written to a file beside the configuration."""
        log = instance.config.with_name("log")
        return cls("-m", "chatsvc", "-c", str(instance.config), "serve", "--json", log=log)

    def rss_mb(self, field: str = "VmRSS") -> float:
        """Return the memory that the process uses now, in MB, or with "VmHWM" the most that it has used."""
        words = Path(f"/proc/{self._process.pid}/status").read_text("ascii").split()
        return int(words[words.index(f"{field}:") + 1]) * 1024 / 1e6

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))  # noqa: PTH208  # Path would look at each of them

    def tasks(self) -> int:
        """Return the number of the server's asyncio tasks. Only the server `servers.py watched` supports this."""
        self._process.send_signal(signal.SIGUSR1)
        return int(json.loads(self._process.stdout.readline() if self._process.stdout else b"")["tasks"])

    def cpu_s(self) -> float:
        """Return the processor time that all threads of the process have used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(_START_S)


def request(method: str, path: str, key: str, body: bytes = b"") -> bytes:
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{length}\r\n".encode() + body


class HttpConnection(asyncio.Protocol):
    """A keep-alive connection that receives whole HTTP messages, one at a time."""

    transport: Any = None
    _buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data
        head = data.find(b"\r\n\r\n")
        length = data.lower().find(b"content-length: ", 0, head) + 16
        is_whole = head >= 0 and len(data) >= head + 4 + int(data[length : data.find(b"\r", length)])
        self._buffer = b"" if is_whole else data
        if is_whole:
            self.received(data[:head], data[head + 4 :])

    def received(self, head: bytes, body: bytes) -> None:
        raise NotImplementedError


class Connection(HttpConnection):
    """One connection of a `Load`."""

    def __init__(self, load: Load, requests: Iterator[bytes]) -> None:
        self._load, self._requests, self.sent_at = load, requests, 0.0

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002  # asyncio's signature
        self._load.broken("the server closed a connection")

    def send(self, now: float) -> None:
        self.sent_at = now
        self.transport.write(next(self._requests))

    def received(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"HTTP/1.1 200 "):
            self._load.answered(self, body, time.perf_counter())
        else:
            self._load.broken(f"an unexpected answer: {head!r} {body[:400]!r}")


class Round(NamedTuple):
    """The result of one candidate in one round."""

    per_s: float
    cpu_us: float
    latencies: list[float]


@dataclass
class Load:
    """Connections to one server. During a round each of them always has a request in flight."""

    name: str
    server: ServerProcess
    requests: Requests
    connections: int = CONNECTIONS
    body: bytes = b""
    rounds: list[Round] = field(default_factory=list)
    opened: list[Connection] = field(default_factory=list)
    _latencies: list[float] = field(default_factory=list)
    _until: float = 0.0
    _in_flight: int = 0
    _done: asyncio.Future[None] | None = None

    async def connect(self) -> None:
        """Open connections, check one answer and warm up."""
        loop = asyncio.get_running_loop()
        for number in range(self.connections):
            _, connection = await loop.create_connection(lambda n=number: Connection(self, self.requests(n)), "127.0.0.1", self.server.port)
            self.opened.append(connection)
        await self.run(0.0, self.opened[:1])
        json.loads(self.body)
        await self.run(0.7)

    async def run(self, seconds: float, connections: Sequence[Connection] = ()) -> Round:
        """Keep all connections busy for `seconds`, and wait for the last responses."""
        self._done = asyncio.get_running_loop().create_future()
        self._latencies = []
        cpu, start = self.server.cpu_s(), time.perf_counter()
        self._until = start + seconds
        busy = connections or self.opened
        self._in_flight = len(busy)
        for connection in busy:
            connection.send(time.perf_counter())
        await self._done
        count = len(self._latencies)
        return Round(count / (time.perf_counter() - start), (self.server.cpu_s() - cpu) / count * 1e6, self._latencies)

    def answered(self, connection: Connection, body: bytes, now: float) -> None:
        """Record a response. Until the round ends, send the next request on the same connection."""
        self.body = body
        self._latencies.append(now - connection.sent_at)
        if now < self._until:
            connection.send(now)
            return
        self._in_flight -= 1
        if not self._in_flight and self._done and not self._done.done():
            self._done.set_result(None)

    def broken(self, why: str) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(Wrong(f"{self.name}: {why}"))

    @property
    def per_s(self) -> float:
        return statistics.median(round_.per_s for round_ in self.rounds)

    @property
    def cpu_us(self) -> float:
        return statistics.median(round_.cpu_us for round_ in self.rounds)

    def quantile_ms(self, share: float) -> float:
        return quantile_ms((latency for round_ in self.rounds for latency in round_.latencies), share)

    def figures(self) -> dict[str, object]:
        rates = {"per_s": round(self.per_s, 1), "cpu_us": round(self.cpu_us, 1)}
        latencies = {"p50_ms": round(self.quantile_ms(0.5), 3), "p99_ms": round(self.quantile_ms(0.99), 3)}
        return {"name": self.name, "connections": self.connections, **rates, **latencies}


def quantile_ms(seconds: Iterable[float], share: float) -> float:
    together = sorted(seconds)
    return together[min(len(together) - 1, int(len(together) * share))] * 1000


def the_same(*raw: bytes) -> Requests:
    """Return requests that never change: every connection repeats one of `raw`."""
    return lambda connection: repeat(raw[connection % len(raw)])


async def interleave(loads: Sequence[Load], rounds: int, seconds: float) -> None:
    """Connect all candidates and run them in turns. The order is reversed in every second round."""
    for load in loads:
        if not load.opened:
            await load.connect()
    for number in range(rounds):
        progress(f"{' | '.join(load.name for load in loads)}: round {number + 1} of {rounds}")
        for load in loads if number % 2 else reversed(loads):
            load.rounds.append(await load.run(seconds))


class Bar(NamedTuple):
    """One line of the table: a figure and its limit `bar`. This is the least allowed value if `least` is true, otherwise the greatest."""

    what: str
    figure: float
    bar: float
    least: bool = True

    def cells(self) -> list[str]:
        is_met = (self.figure >= self.bar) == self.least or self.figure == self.bar
        return [self.what, f"{self.figure:.2f}", f"{'>=' if self.least else '<='} {self.bar:g}", "met" if is_met else "MISSED"]


def ratio(what: str, over: Load, under: Load, bar: float) -> Bar:
    """Return the median ratio of the requests per second of `over` to those of `under`."""
    return Bar(what, statistics.median(a.per_s / b.per_s for a, b in zip(over.rounds, under.rounds, strict=True)), bar)


@dataclass
class Report:
    """The result of a benchmark."""

    bars: list[Bar] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, as_json: bool) -> None:
        if as_json:
            bars = [{"what": b.what, "figure": round(b.figure, 3), "bar": b.bar, "at_least": b.least} for b in self.bars]
            print(json.dumps({"bars": bars, "candidates": [load.figures() for load in self.loads], "notes": self.notes}))
            return
        if self.loads:
            heading = ["candidate", "connections", "requests/s", "CPU us/request", "p50 ms", "p99 ms"]
            table([heading, *([str(value) for value in load.figures().values()] for load in self.loads)])
            print()
        table([["what", "figure", "bar", ""], *(bar.cells() for bar in self.bars)])
        for note in self.notes:
            print(note)


def table(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


def main(doc: str, bench: Callable[[], Coroutine[Any, Any, Report]]) -> None:
    """Run a benchmark on the load core and print its report."""
    if set(sys.argv[1:]) - {"--json"}:
        sys.exit(f"{doc}\n--json prints one JSON value instead of tables.")
    with on_core(LOAD_CORE):
        try:
            report = uvloop.run(bench())
        except Wrong as fault:
            sys.exit(f"{sys.argv[0]}: {fault}")
    if SERVER_CORE == LOAD_CORE:
        report.notes.append("This machine has one core: server and load share it, and absolute figures say little.")
    report.show("--json" in sys.argv)
