"""The sending side of webhooks.py, in a process of its own: chatsvc's dispatcher over a real store, and a bare client beside it.

One command a line on standard input, one JSON value a line on standard output:

drain N      N events of one bot, pending in the store: seconds until the last one is recorded as delivered
bare N       N posts of one signed body by aiohttp alone over kept-alive connections, as many at a time: seconds
paced N DEAD N events a second for PACED_S over all bots, and whether the first bot's receiver never answers: each delay of the others
grow N       N events pending: by how many bytes the memory grows while they are being sent
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from chatsvc import config as configuration
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.times import now_ms
from chatsvc.domain.webhooks import generate_signing_key, sign
from chatsvc.outbound.egress import Egress
from chatsvc.store import deliveries, webhooks
from chatsvc.store.deliveries import Sending
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from chatsvc.store.webhooks import Event, Webhook
from chatsvc.webhooks import sealing
from chatsvc.webhooks.courier import build_headers, build_request, make_courier, row
from chatsvc.webhooks.dispatcher import SLOTS_PER_BOT, Dispatcher

PACED_S = 4.0
GROW_S = 4.0
DATA = {
    "id": "7f8a3f0e-3c1f-4f57-9b0a-0f6f3f1d2a11",
    "request_type": "quote",
    "status": "new",
    "message": "Good morning! I would like to have the brakes of my city bike repaired; what does it cost, and how long does it take?",
    "visitor_name": "Selin",
    "visitor_email": "selin@example.com",
    "visitor_phone": "+905321234567",
    "source_page_host": "",
    "created_at": "2026-11-20T12:14:28.123Z",
}
SNAPSHOT = json.dumps(DATA)


class Bench:
    """A store with bots that have webhooks, and what sends them."""

    def __init__(self, db: GroupCommitDatabase, config: Any, secret: MasterKey, urls: tuple[str, str], bots: list[str]) -> None:
        self.db, self.bots, self.key = db, bots, generate_signing_key()
        self.ok, self.dead = urls
        self._config, self._secret = config, secret
        self.courier = make_courier(config, secret, 1, Egress())
        self.dispatcher: Dispatcher
        self.began: dict[str, float] = {}
        self.delays: list[float] = []

    async def _deliver(self, sending: Sending) -> deliveries.Outcome:
        done = await self.courier.deliver(sending)
        if sending.url == self.ok:
            if not done.success:
                sys.exit(f"a delivery failed: {done}")
            self.delays.append(time.perf_counter() - self.began.get(sending.bot_id, 0.0))
        return done

    def start(self) -> None:
        """A new dispatcher."""
        self.dispatcher = Dispatcher(self.db, self._deliver, self.courier.sign, with_webhooks(self._config.plans), now_ms)

    async def set(self, bot: str, url: str) -> None:
        """Point a bot's webhook somewhere."""
        sealed = sealing.seal(self._secret(sealing.PURPOSE), self.key, row(bot))

        def unit(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM webhooks WHERE bot_id = ?", (bot,))
            w = Webhook(bot, url, ("request.created",), sealed, 0, 0)
            connection.execute("INSERT INTO webhooks VALUES (?, ?, ?, ?, ?, ?)", (*w[:2], json.dumps(w.events), *w[3:]))

        await self.db.write(unit)

    async def fill(self, bot: str, count: int) -> None:
        """Events that wait to be sent."""
        event = Event(0, bot, "request.created", str(DATA["id"]), SNAPSHOT, now_ms())

        def unit(connection: sqlite3.Connection) -> None:
            for _ in range(count):
                webhooks.add_event(connection, event, webhooks.PENDING)

        await self.db.write(unit)

    async def left(self) -> int:
        """Events pending or under way."""

        def unit(connection: sqlite3.Connection) -> int:
            (pending,) = connection.execute("SELECT count(*) FROM webhook_events WHERE state = 0").fetchone()
            (under_way,) = connection.execute("SELECT count(*) FROM webhook_attempts WHERE success IS NULL").fetchone()
            return int(pending + under_way)

        return await self.db.read(unit)

    async def _empty(self) -> None:
        while await self.left():  # noqa: ASYNC110  # a benchmark may look
            await asyncio.sleep(0.01)

    async def drain(self, count: int) -> float:
        """See the module's docstring."""
        await self.fill(self.bots[0], count)
        self.start()
        begun = time.perf_counter()
        await self.dispatcher.start()
        await self._empty()
        took = time.perf_counter() - begun
        await self.dispatcher.close()
        return took

    async def bare(self, count: int) -> float:
        """See the module's docstring."""
        body = build_request("request.created", "7f8a3f0e-3c1f-4f57-9b0a-0f6f3f1d2a12", now_ms(), self.bots[0], DATA)
        headers = build_headers("request.created", "7f8a3f0e-3c1f-4f57-9b0a-0f6f3f1d2a12", sign(self.key, body))
        tls = ssl.create_default_context(cafile=str(self._config.webhooks.ca_file))
        left = iter(range(count))

        async def slot(session: aiohttp.ClientSession) -> None:
            for _ in left:
                async with session.post(self.ok, data=body, headers=headers, ssl=tls) as response:
                    await response.read()
                    response.raise_for_status()

        async with aiohttp.ClientSession() as session:
            begun = time.perf_counter()
            await asyncio.gather(*(slot(session) for _ in range(SLOTS_PER_BOT)))
            return time.perf_counter() - begun

    async def paced(self, per_s: int, dead: int) -> list[float]:
        """See the module's docstring. A bot has one event under way at a time, so that each delay is that of one delivery."""
        await self.set(self.bots[0], self.dead if dead else self.ok)
        self.start()
        await self.dispatcher.start()
        self.delays.clear()
        chance, loop = random.Random(per_s), asyncio.get_running_loop()
        begun = loop.time()
        waiting: set[asyncio.Task[None]] = set()

        async def one(bot: str) -> None:
            self.began[bot] = time.perf_counter()
            await self.fill(bot, 1)
            self.dispatcher.wake(bot)

        for number in range(int(per_s * PACED_S)):
            await asyncio.sleep(begun + number / per_s - loop.time())
            # The first bot gets its share in both cases, but is never one of the others.
            bot = self.bots[0] if chance.random() < 1 / len(self.bots) else self.bots[1 + number % (len(self.bots) - 1)]
            task = asyncio.create_task(one(bot))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        await asyncio.sleep(0.3)
        others = list(self.delays)
        await self.dispatcher.close()
        await self.db.write(lambda connection: connection.execute("UPDATE webhook_events SET state = 1 WHERE state = 0"))
        await self.set(self.bots[0], self.ok)
        return others

    async def grow(self, count: int) -> int:
        """See the module's docstring."""
        await self.drain(500)
        for _ in range(count // 1000):
            await self.fill(self.bots[0], 1000)
        before = _resident()
        self.start()
        await self.dispatcher.start()
        most, until = 0, time.perf_counter() + GROW_S
        while time.perf_counter() < until:  # a benchmark may look
            await asyncio.sleep(0.05)
            most = max(most, _resident())
        await self.dispatcher.close()
        if await self.left() < count / 4:
            sys.exit("the backlog was gone before it could be measured")
        await self.db.write(lambda connection: connection.execute("UPDATE webhook_events SET state = 1 WHERE state = 0"))
        return most - before


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


async def _commands(bench: Bench) -> None:
    for bot in bench.bots:
        await bench.set(bot, bench.ok)
    loop = asyncio.get_running_loop()
    print(json.dumps("ready"), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *arguments = line.split()
        print(json.dumps(await getattr(bench, name)(*map(int, arguments))), flush=True)


async def _run(config_file: str, ok: str, dead: str, bots: list[str]) -> None:
    config = configuration.load(Path(config_file), {})
    folder = Folder(config.data_dir)
    folder.prepare()
    secret = open_master_key(folder)
    db = await GroupCommitDatabase.open(folder.database)
    bench = Bench(db, config, secret, (ok, dead), bots)
    try:
        await _commands(bench)
    finally:
        await bench.courier.close()
        await db.close()


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
