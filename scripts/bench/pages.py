"""Cost of the dashboard's pages beside the interface: server time, size, memory, and their effect on POST /messages.

With 1,000,000 conversations of two messages, as many usage records, 100,000 requests and 70,000 counts of 180 days: p99 of today, inbox,
conversations (the list with last words and unread messages, also filtered) and usage at most 20 ms, asked for by one operator at a time.
HTML, style and script of a page at most 60 KB together, compressed with gzip. POST /messages at least 0.95 of its throughput alone while
ten operators each open a page every 2 s. Memory of the idle service at most 70 MB.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection

from harness import Bar, Load, Report, ServerProcess, in_turn, main, progress, ratio, the_same
from instance import Instance, instances
from messages import start, visitors
from reads import serve

from chatsvc.dashboard import session_cookie

CONVERSATIONS, RECORDS, REQUESTS = 1_000_000, 1_000_000, 100_000
PAGES = ("/", "/inbox", "/conversations", "/conversations?status=unread", "/conversations?status=mine", "/usage", "/usage?days=90")
OPERATORS, PAUSE_S = 10, 2.0
ROUNDS, SECONDS = 9, 2.0
IDLE_S = 5.0


def get(path: str, token: str) -> bytes:
    """Make the request of a signed-in browser."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {session_cookie.name('http://localhost')}={token}\r\n\r\n".encode()


def body(server: ServerProcess, path: str, token: str) -> str:
    """Return the body of one answer."""
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", path, headers={"Cookie": f"{session_cookie.name('http://localhost')}={token}"})
    content = connection.getresponse().read().decode()
    connection.close()
    return content


def sizes(server: ServerProcess, token: str) -> Iterator[tuple[str, float]]:
    """Yield each page with the KB of its HTML, style and script, compressed with gzip."""
    for path in PAGES:
        page = body(server, path, token)
        files = [page] + [body(server, link, token) for link in re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', page)]
        yield path, sum(len(gzip.compress(file.encode())) for file in files) / 1000


async def browse(load: Load, seconds: float) -> None:
    """Let each operator of a load open a page every PAUSE_S, one after another."""
    until = asyncio.get_running_loop().time() + seconds
    for connection in itertools.cycle(load.opened):
        if asyncio.get_running_loop().time() >= until:
            return
        connection.go(asyncio.get_running_loop().time())
        await asyncio.sleep(PAUSE_S / OPERATORS)


async def beside(report: Report, instance: Instance) -> None:
    """Measure POST /messages alone and beside operators who browse."""
    tokens = instance.sessions(OPERATORS)
    with ExitStack() as stack:
        server = start(stack, "product", instance)
        alone, busy = (
            Load("POST /messages", server, visitors(instance)),
            Load("POST /messages beside operators", server, visitors(instance)),
        )
        opened = [get(path, token) for token, path in zip(tokens, itertools.cycle(PAGES), strict=False)]
        pages = Load("operators", server, in_turn(*opened), connections=OPERATORS, varies=True, is_json=False)
        for load in (alone, busy, pages):
            await load.connect()
        for number in range(ROUNDS):
            progress(f"POST /messages alone and beside {OPERATORS} operators: round {number + 1} of {ROUNDS}")
            alone.rounds.append(await alone.run(SECONDS))
            both = await asyncio.gather(busy.run(SECONDS), pages.measure(browse(pages, SECONDS)))
            busy.rounds.append(both[0])
            pages.rounds.append(both[1])
    report.bars.append(ratio(f"POST /messages beside {OPERATORS} operators / alone", busy, alone, 0.95, 0.95))
    report.loads += [alone, busy, pages]


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    with instances(2) as (large, small), ExitStack() as stack:
        large.conversations(CONVERSATIONS)
        large.usage(RECORDS)
        large.requests(REQUESTS)
        large.day_counts()
        (token,) = large.sessions(1)
        large.messages()
        server = serve(stack, large)
        await asyncio.sleep(IDLE_S)
        report.bars.append(Bar("memory of the idle service, MB", server.rss_mb(), 70, 70, least=False))
        loads = [Load(path, server, the_same(get(path, token)), connections=1, varies=True, is_json=False) for path in PAGES]
        for load in loads:
            await load.connect()
        for number, load in itertools.product(range(ROUNDS), loads):
            progress(f"{load.name}: round {number + 1} of {ROUNDS}")
            load.rounds.append(await load.run(SECONDS / 4))
        report.bars += [Bar(f"{load.name}, p99 in ms", load.quantile_ms(0.99), 20, 20, least=False) for load in loads]
        report.bars += [Bar(f"{path}, HTML, style and script, KB gzip", size, 60, 60, least=False) for path, size in sizes(server, token)]
        await asyncio.sleep(IDLE_S)
        report.notes.append(f"Memory after all pages were visited: {server.rss_mb():.1f} MB.")
        report.loads += loads
        await beside(report, small)
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
