"""PostgreSQL that is reached and does not answer: refused in time, and answered again without a restart."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psycopg
import pytest

from tests.cli.support import Serving
from tests.postgres import Postgres
from tests.processes.support import PostgresSite
from tests.processes.test_serving import chat
from tests.proxy import Fault, Proxy, hangs, swallows


@pytest.fixture
async def proxy(server: Postgres) -> AsyncIterator[Proxy]:
    """A proxy before PostgreSQL."""
    async with Proxy(server.port) as made:
        yield made


@pytest.mark.parametrize("pause_s", [0, 2.5])  # a message finds the fault out, or the beat does
@pytest.mark.parametrize("fault", [swallows, hangs])
async def test_a_server_that_does_not_answer_costs_ten_seconds_and_no_restart(
    proxy: Proxy, server: Postgres, tmp_path: Path, fault: Callable[[], Fault], pause_s: float
) -> None:
    site = PostgresSite(tmp_path / "one", server, server.new_database(), proxy.port)
    made = await asyncio.to_thread(site.json, "init")
    await asyncio.to_thread(site.json, "bot", "set", made["bot"]["id"], "--model", "offline")
    serving: Serving = await asyncio.to_thread(site.serve)
    try:
        assert await asyncio.to_thread(chat, serving, made, "v") == 200
        with proxy.broken(fault()):
            await asyncio.sleep(pause_s)
            started = time.monotonic()
            assert await asyncio.to_thread(chat, serving, made, "v") == 503
            assert time.monotonic() - started < 10
            assert (await asyncio.to_thread(serving.ask, made["key"]["key"], "GET", "/chatbots")).status == 503
        await answered(lambda: asyncio.to_thread(chat, serving, made, "v"), 20)
        assert await asyncio.to_thread(serving.end) == 0
    finally:
        await asyncio.to_thread(serving.end, signal.SIGKILL)


async def answered(ask: Callable[[], Awaitable[int]], within_s: float) -> None:
    """Wait until a message is answered."""
    async with asyncio.timeout(within_s):
        while await ask() != 200:  # noqa: ASYNC110  # what is waited for happens in another process
            await asyncio.sleep(0.2)


def test_a_session_that_hangs_alone_is_refused_and_opened_again(site: PostgresSite) -> None:
    made = site.json("init")
    site.json("bot", "set", made["bot"]["id"], "--model", "offline")
    with site.serve() as serving:
        assert chat(serving, made, "v") == 200
        with psycopg.connect(f"host={site.server.folder} port={site.server.port} user=admin dbname={site.database}") as admin:
            rows = admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'chatsvc' AND datname = current_database()").fetchall()
        sessions = [int(pid) for (pid,) in rows]
        for session in sessions:
            os.kill(session, signal.SIGSTOP)
        try:
            started = time.monotonic()
            assert chat(serving, made, "v") == 503
            assert time.monotonic() - started < 10
        finally:
            for session in sessions:
                os.kill(session, signal.SIGCONT)
        deadline = time.monotonic() + 20
        while chat(serving, made, "v") != 200:
            assert time.monotonic() < deadline, site.log.read_text()
            time.sleep(0.2)
        assert serving.end() == 0
