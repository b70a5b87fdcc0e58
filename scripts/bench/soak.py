"""Soak test that looks for leaks: a mixed load with a stand-in model and a webhook receiver, for 20 minutes or $MINUTES.

The load has new and known visitors, captures that are sent by webhook, a model that is sometimes overloaded, a receiver that sometimes
fails, lists, histories, analytics, callers who disconnect, and commands. Each minute it prints memory, open descriptors, tasks and the size
of the write-ahead log. After a warm-up of a fifth of the time, descriptors and tasks may not grow (apart from a few keep-alive
connections), and memory by less than 2 %. The log stays under 64 MB.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector
from harness import Bar, Report, ServerProcess, Wrong, main, progress
from instance import Instance, instances, perform
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
    """Return the stand-in model's response. 2 % are overload errors. If the visitor leaves an address, it notes a request."""
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
    """Answer as an unreliable webhook receiver. It closes the connection at 3 % of the requests and returns 500 at another 3 %."""
    chance = random.random()
    if chance < 0.03:
        return b""
    return b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n" if chance < 0.06 else b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Caller:
    """Client that sends the mixed load."""

    instance: Instance
    session: ClientSession
    base_url: str
    sent: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def send(self) -> None:
        """Send one request of a random kind."""
        self.sent += 1
        chance, bot = random.random(), random.choice(self.instance.bots)
        visitor = f"visitor {self.sent}" if chance < 0.2 else f"visitor {random.randrange(VISITORS)}"
        if chance < 0.55:
            await self._message(bot, visitor, "Cumartesi açık mısınız?")
        elif chance < 0.65:
            await self._message(bot, f"caller {self.sent}", f"{CALL_ME}selin{self.sent}@example.com")
        elif chance < 0.97:
            paths = ("/chatbots", "/conversations?limit=50", "/analytics?days=30", f"/chatbots/{bot}", "/nowhere")
            await self._request("GET", random.choice(paths))
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.002):
                    await self._message(bot, f"hasty {self.sent}", "Pazar günü?")

    async def _message(self, bot: str, visitor: str, text: str) -> None:
        await self._request("POST", "/messages", {"chatbot_id": bot, "message": text, "user_id": visitor})

    async def _request(self, method: str, path: str, body: object = None) -> None:
        headers = {"Authorization": f"Bearer {random.choice(self.instance.keys)}"}
        try:
            async with self.session.request(method, self.base_url + path, json=body, headers=headers) as answer:
                await answer.read()
                self.statuses[method, answer.status] += 1
        except (ClientError, OSError) as fault:
            self.statuses[type(fault).__name__, 0] += 1

    async def run(self, until: float) -> None:
        """Send requests at a constant rate, independent of the time that the responses take."""
        due = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as requests:
            while time.monotonic() < until:
                requests.create_task(self.send())
                due += random.expovariate(PER_S)
                await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))


class Sample(NamedTuple):
    """Measurements of the service at one moment."""

    seconds: float
    rss_mb: float
    descriptors: int
    tasks: int
    wal_mb: float


async def watch(server: ServerProcess, instance: Instance, until: float) -> list[Sample]:
    """Take a sample every few seconds, and print one line each minute."""
    wal = instance.config.parent / "data/chatsvc.db-wal"
    began, samples, minute = time.monotonic(), list[Sample](), 0
    print(f"{'minute':>6} {'memory MB':>10} {'descriptors':>11} {'tasks':>6} {'log MB':>7}", file=sys.stderr)
    while time.monotonic() < until:
        await asyncio.sleep(EVERY_S)
        size = wal.stat().st_size / 1e6 if wal.exists() else 0.0
        samples.append(Sample(time.monotonic() - began, server.rss_mb(), server.descriptors(), server.tasks(), size))
        if samples[-1].seconds // 60 > minute:
            span = summary(samples, minute * 60, minute * 60 + 60)
            minute += 1
            print(
                f"{minute:>6} {span.rss_mb:>10.1f} {span.descriptors:>11} {span.tasks:>6} {span.wal_mb:>7.1f}", file=sys.stderr, flush=True
            )
            await asyncio.to_thread(perform, instance.config, "account.list")
    return samples


def summary(samples: list[Sample], begin_s: float, end_s: float) -> Sample:
    """Return one sample for a span of time: the median of memory, the least of descriptors and tasks, and the largest log."""
    span = [sample for sample in samples if begin_s <= sample.seconds < end_s] or samples[-1:]
    _, rss, descriptors, tasks, wal = zip(*span, strict=True)
    # The fewest: what is left when no request happens to be in flight.
    return Sample(begin_s, statistics.median(rss), min(descriptors), min(tasks), max(wal))


async def bench() -> Report:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        authority = Authority(folder)
        url = await stack.enter_async_context(model(replies, 0.05))
        target = await stack.enter_async_context(model(unsteady, tls=authority.server("127.0.0.1")))
        settings = f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8], timeout_s: 2}}\n"
        (instance,) = stack.enter_context(instances(1, settings + tier(url)))
        server = stack.enter_context(ServerProcess(SERVERS, "watched", str(instance.config), log=folder / "log"))
        for bot in instance.bots:
            await asyncio.to_thread(perform, instance.config, "webhook.set", bot=bot, url=f"{target}/ok", events=["request.created"])
        connector = TCPConnector(limit=64, keepalive_timeout=5)
        session = await stack.enter_async_context(ClientSession(connector=connector, timeout=ClientTimeout(30)))
        caller = Caller(instance, session, f"http://127.0.0.1:{server.port}/api/v2")
        seconds = 60 * float(os.environ.get("MINUTES", MINUTES))
        until = time.monotonic() + seconds
        progress(f"{seconds / 60:g} minutes of {PER_S} requests/s")
        samples, _ = await asyncio.gather(watch(server, instance, until), caller.run(until))
    if {status for _, status in caller.statuses} & {500, 0}:
        raise Wrong(f"unexpected answers: {dict(caller.statuses)}")
    first, last = summary(samples, seconds / 5, seconds * 2 / 5), summary(samples, seconds * 4 / 5, seconds * 2)
    counted = {f"{method} {status}": count for (method, status), count in sorted(caller.statuses.items())}
    return Report(
        [
            Bar("memory, last fifth / second fifth", last.rss_mb / first.rss_mb, 1.02, least=False),
            Bar("descriptors more than in the second fifth", last.descriptors - first.descriptors, COME_AND_GO, least=False),
            Bar("tasks more than in the second fifth", last.tasks - first.tasks, COME_AND_GO, least=False),
            Bar("the write-ahead log at its greatest, MB", max(sample.wal_mb for sample in samples), 64, least=False),
        ],
        notes=[f"{caller.sent} requests: {json.dumps(counted)}; memory in the end {last.rss_mb:.1f} MB"],
    )


if __name__ == "__main__":
    main(__doc__ or "", bench)
