"""Whether anything grows: a mixed load at a moderate rate, with a stand-in model and a webhook receiver, 20 minutes unless told otherwise.

Visitors new and old, captures that are told by webhook, a model that is overloaded now and then, a receiver that fails now and then,
lists, histories and analytics, callers who hang up, commands. Printed for each minute: memory, open descriptors, tasks, the size of the
write-ahead log. After a fifth of the time for warming up, descriptors and tasks may not grow (a few come and go with kept connections),
memory by less than 2 %; the log stays under 64 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from harness import Bar, Report, ServerProcess, Wrong, main, progress
from instance import Instance, instances
from standin import OVERLOADED, SPOKEN, model, response, tier

from tests.webhooks.certificates import Authority

SERVERS = str(Path(__file__).parent / "servers.py")
MINUTES = 20.0
PER_S = 40
EVERY_S = 5.0
VISITORS = 60  # who come back; so few that their histories are as long as a prompt takes them before the warm-up ends
CALL_ME = "Ben Selin, beni arayın: "
COME_AND_GO = 8
"""Kept connections to the model, to receivers and of callers."""


def replies(body: bytes) -> bytes:
    """A model with 2 % overload. Notes a request where the visitor leaves an address."""
    if random.random() < 0.02:
        return OVERLOADED
    if CALL_ME.encode() not in body and rb"beni aray\u0131n" not in body:
        return SPOKEN
    last = json.loads(body)["messages"][-1]["content"]
    if not isinstance(last, str):
        return SPOKEN
    noted = {"request_type": "contact", "quotes": [last], "visitor_name": "Selin", "visitor_email": last.split()[-1]}
    return response([{"type": "tool_use", "id": "toolu_1", "name": "note_request", "input": noted}], "tool_use")


def unsteady(_: bytes) -> bytes:
    """Answer as a customer's server that hangs up on 3 % and says 500 to as many."""
    chance = random.random()
    if chance < 0.03:
        return b""
    return b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n" if chance < 0.06 else b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Caller:
    """Sends the load."""

    instance: Instance
    session: ClientSession
    base_url: str
    sent: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def one(self) -> None:
        """One request of some kind."""
        self.sent += 1
        chance = random.random()
        bot = random.choice(self.instance.bots)
        visitor = f"visitor {self.sent}" if chance < 0.2 else f"visitor {random.randrange(VISITORS)}"
        if chance < 0.55:
            await self._request("POST", "/messages", {"chatbot_id": bot, "message": "Cumartesi açık mısınız?", "user_id": visitor})
        elif chance < 0.65:
            said = f"{CALL_ME}selin{self.sent}@example.com"
            await self._request("POST", "/messages", {"chatbot_id": bot, "message": said, "user_id": f"caller {self.sent}"})
        elif chance < 0.97:
            path = random.choice(("/chatbots", "/conversations?limit=50", "/analytics?days=30", f"/chatbots/{bot}", "/nowhere"))
            await self._request("GET", path)
        else:
            await self._hang_up(bot)

    async def _request(self, method: str, path: str, body: object = None) -> None:
        headers = {"Authorization": f"Bearer {random.choice(self.instance.keys)}"}
        async with self.session.request(method, self.base_url + path, json=body, headers=headers) as answer:
            await answer.read()
            self.statuses[method, answer.status] += 1

    async def _hang_up(self, bot: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.002):
                await self._request("POST", "/messages", {"chatbot_id": bot, "message": "Pazar günü?", "user_id": f"hasty {self.sent}"})

    async def run(self, until: float) -> None:
        """At an even rate, however long the answers take."""
        loop = asyncio.get_running_loop()
        under_way: set[asyncio.Task[None]] = set()
        at = loop.time()
        while time.monotonic() < until:
            task = asyncio.create_task(self.one())
            under_way.add(task)
            task.add_done_callback(lambda done: (under_way.discard(done), done.cancelled() or self._look(done)))
            at += random.expovariate(PER_S)
            await asyncio.sleep(max(0.0, at - loop.time()))
        if under_way:
            await asyncio.wait(under_way)

    def _look(self, done: asyncio.Task[None]) -> None:
        fault = done.exception()
        if isinstance(fault, ClientError | OSError | TimeoutError):
            self.statuses[type(fault).__name__, 0] += 1
        elif fault is not None:
            raise fault


@dataclass
class Sample:
    """How it stood at one moment."""

    at_s: float
    rss_mb: float
    descriptors: int
    tasks: int
    wal_mb: float


async def watch(server: ServerProcess, instance: Instance, until: float) -> list[Sample]:
    """A sample every few seconds, a line a minute."""
    wal = instance.database.with_name("chatsvc.db-wal")
    began, samples, minute = time.monotonic(), list[Sample](), 0
    print(f"{'minute':>6} {'memory MB':>10} {'descriptors':>11} {'tasks':>6} {'log MB':>7}", file=sys.stderr)
    while time.monotonic() < until:
        await asyncio.sleep(EVERY_S)
        size = wal.stat().st_size / 1e6 if wal.exists() else 0.0
        samples.append(Sample(time.monotonic() - began, server.rss_mb(), server.descriptors(), server.tasks(), size))
        if samples[-1].at_s // 60 > minute:
            minute += 1
            print(line(minute, samples, minute - 1), file=sys.stderr, flush=True)
        if minute and len(samples) % 12 == 0:
            command(instance, "account", "list")
    return samples


def line(minute: int, samples: list[Sample], number: int) -> str:
    """One minute in a line."""
    rss, descriptors, tasks, wal = of(samples, number * 60, number * 60 + 60)
    return f"{minute:>6} {rss:>10.1f} {descriptors:>11.0f} {tasks:>6.0f} {wal:>7.1f}"


def of(samples: list[Sample], begin_s: float, end_s: float) -> tuple[float, float, float, float]:
    """In a span of time: the median of the memory, the fewest descriptors and tasks, the greatest size of the log."""
    span = [sample for sample in samples if begin_s <= sample.at_s < end_s] or samples[-1:]
    rss = statistics.median(sample.rss_mb for sample in span)
    # The least: what is left when nothing happens to be under way.
    return rss, min(sample.descriptors for sample in span), min(sample.tasks for sample in span), max(sample.wal_mb for sample in span)


def command(instance: Instance, *arguments: str) -> None:
    """One command beside the service."""
    subprocess.run(  # noqa: S603  # its own commands
        [sys.executable, "-m", "chatsvc", "-c", str(instance.config), *arguments], check=True, stdout=subprocess.DEVNULL
    )


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        authority = Authority(folder)
        url = await stack.enter_async_context(model(replies, 0.05))
        target = await stack.enter_async_context(model(unsteady, tls=authority.server("127.0.0.1")))
        settings = f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8], timeout_s: 2}}\n"
        (made,) = stack.enter_context(instances(1, settings + tier(url)))
        server = stack.enter_context(ServerProcess(SERVERS, "watched", str(made.config), log=folder / "log"))
        for bot in made.bots:
            await asyncio.to_thread(command, made, "webhook", "set", bot, f"{target}/ok", "--event", "request.created")
        session = await stack.enter_async_context(
            ClientSession(connector=TCPConnector(limit=64, keepalive_timeout=5), timeout=ClientTimeout(30))
        )
        caller = Caller(made, session, f"http://127.0.0.1:{server.port}/api/v2")
        until = time.monotonic() + MINUTES * 60
        progress(f"{MINUTES:g} minutes of {PER_S} requests/s")
        samples, _ = await asyncio.gather(watch(server, made, until), caller.run(until))
        judge(report, samples, caller)
    return report


def judge(report: Report, samples: list[Sample], caller: Caller) -> None:
    """The last fifth of the time against the second."""
    if {status for _, status in caller.statuses} & {500, 0}:
        raise Wrong(f"unexpected answers: {dict(caller.statuses)}")
    fifth = MINUTES * 60 / 5
    first, last = of(samples, fifth, 2 * fifth), of(samples, 4 * fifth, 6 * fifth)
    report.bars += [
        Bar("memory, last fifth / second fifth", last[0] / first[0], 1.02, least=False),
        Bar("descriptors more than in the second fifth", last[1] - first[1], COME_AND_GO, least=False),
        Bar("tasks more than in the second fifth", last[2] - first[2], COME_AND_GO, least=False),
        Bar("the write-ahead log at its greatest, MB", max(sample.wal_mb for sample in samples), 64, least=False),
    ]
    counted: dict[str, Any] = {f"{method} {status}": count for (method, status), count in sorted(caller.statuses.items())}
    report.notes.append(f"{caller.sent} requests: {json.dumps(counted)}; memory in the end {last[0]:.1f} MB")


def minutes() -> None:
    """Take `--minutes N`, which the harness does not know."""
    global MINUTES  # noqa: PLW0603  # read by everything above
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    known, sys.argv[1:] = parser.parse_known_args()
    MINUTES = known.minutes


if __name__ == "__main__":
    minutes()
    main(__doc__ or "", bench)
