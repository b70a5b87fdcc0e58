"""PostgreSQL that is reached and does not answer: refused in time, and answered again without a restart."""

import asyncio
import itertools
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.cli.support import Serving
from tests.postgres import Postgres
from tests.processes.support import PostgresSite
from tests.processes.test_serving import begin, chat, wait_for
from tests.proxy import Fault, Proxy, hangs, swallows


async def test_a_server_that_does_not_answer_costs_ten_seconds_and_no_restart(server: Postgres, tmp_path: Path) -> None:
    # A message finds the fault out, or the beat does. All at once, because all that they do is wait.
    cases = list(itertools.product((swallows, hangs), (0, 2.5)))
    await asyncio.gather(*(_outlives(server, tmp_path / str(at), *case) for at, case in enumerate(cases)))


async def _outlives(server: Postgres, folder: Path, fault: Callable[[], Fault], pause_s: float) -> None:
    """Begin a fault, which a service notices in time and outlives."""
    async with Proxy(server.port) as proxy:
        site = PostgresSite(folder, server, server.new_database(), proxy.port)
        report = await asyncio.to_thread(begin, site)
        serving: Serving = await asyncio.to_thread(site.serve)
        try:
            assert await asyncio.to_thread(chat, serving, report, "v") == 200
            with proxy.broken(fault()):
                await asyncio.sleep(pause_s)
                started = time.monotonic()
                assert await asyncio.to_thread(chat, serving, report, "v") == 503
                assert time.monotonic() - started < 20
                assert (await asyncio.to_thread(serving.ask, report["key"]["key"], "GET", "/chatbots")).status == 503
            await answered(lambda: asyncio.to_thread(chat, serving, report, "v"), 20)
            assert await asyncio.to_thread(serving.end) == 0
        finally:
            await asyncio.to_thread(serving.end, signal.SIGKILL)


async def answered(ask: Callable[[], Awaitable[int]], within_s: float) -> None:
    async with asyncio.timeout(within_s):
        while await ask() != 200:  # noqa: ASYNC110  # what is waited for happens in another process
            await asyncio.sleep(0.2)


def test_a_session_that_hangs_alone_is_refused_and_opened_again(site: PostgresSite) -> None:
    report = begin(site)
    with site.serve() as serving:
        assert chat(serving, report, "v") == 200
        rows = site.rows("SELECT pid FROM pg_stat_activity WHERE usename = 'chatsvc' AND datname = current_database()")
        sessions = [int(pid) for (pid,) in rows]
        for session in sessions:
            os.kill(session, signal.SIGSTOP)
        try:
            started = time.monotonic()
            assert chat(serving, report, "v") == 503
            assert time.monotonic() - started < 20
        finally:
            for session in sessions:
                os.kill(session, signal.SIGCONT)
        wait_for(lambda: chat(serving, report, "v") == 200, 20, site)
        assert serving.end() == 0
