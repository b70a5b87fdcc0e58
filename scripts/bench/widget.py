"""The web widget: its size, what open widgets cost, a crowd that chats, and how soon an operator's message is seen.

Loader at most 2 KB, the frame's page with style and script at most 25 KB, both compressed with gzip, and two requests before the first
message. First paint of the conversation at most 1.3 of a nearly empty page's of the same server. 2,000 visitors who write at once on a
model of 2 s: p99 at most 2.5 s. 2,000 open widgets that wait: at most 5 % of a core and 40 MB. An operator's message is seen within 3 s at
p99 with 500 open widgets. A script that is a new visitor with each message begins as many conversations as `limits.web_daily` permits.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shutil
import statistics
import time
from base64 import urlsafe_b64decode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from harness import Bar, Report, ServerProcess, Wrong, main, progress
from instance import Instance, instances
from standin import model, tier

from chatsvc import config as configuration
from chatsvc.control import client

WIDGETS, MODEL_S, WAIT_S = 2000, 2.0, 30.0
WATCHED, REPLIES = 500, 200
PAINTS = 15
SCRIPTED, DAILY = 1500, 1000  # visitors of a script, and new conversations that a bot's limit permits in a day
LIMITS = "max_in_flight: 4096, connections: 10000, connections_per_address: 10000, web_per_minute: 1000000, web_daily: 1000000}"


class Visitor:
    """An open widget on one kept connection."""

    def __init__(self, port: int, bot: str, site: str, number: int) -> None:
        self._port, self._path, self._site, self._number = port, f"/widget/{bot}/messages", site, number
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self.token, self.last = "", ""

    @property
    def user_id(self) -> str:
        """The visitor's user_id, which the token names."""
        body = self.token.partition(".")[0]
        return str(json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))[1])

    async def connect(self) -> None:
        """Open the connection."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _ask(self, method: str, query: str, more: str, body: bytes = b"") -> dict[str, Any]:
        own = f"Host: 127.0.0.1:{self._port}\r\nOrigin: http://127.0.0.1:{self._port}\r\nChatsvc-Site: {self._site}\r\n"
        known = f"Authorization: Visitor {self.token}\r\n" if self.token else ""
        self._writer.write(f"{method} {self._path}{query} HTTP/1.1\r\n{own}{known}{more}\r\n".encode() + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"Content-Length: (\d+)", head)[1])  # type: ignore[index]  # every answer has one
        answer: dict[str, Any] = json.loads(await self._reader.readexactly(length))
        if b" 200 " not in head[:13]:
            raise Wrong(f"{head[:20]!r} {answer}")
        self.token = answer["token"] or self.token
        self.last = answer["messages"][-1]["id"] if answer["messages"] else self.last
        return answer

    async def send(self, text: str) -> float:
        """Send a message; the seconds until its reply is there."""
        began = time.perf_counter()
        self._number += 1
        body = json.dumps({"text": text, "after": self.last}).encode()
        more = f"Idempotency-Key: bench-key-{self._number:012d}\r\nContent-Length: {len(body)}\r\n"
        answer = await self._ask("POST", "", more, body)
        if answer["messages"][-1]["role"] != "assistant":
            raise Wrong(f"no reply: {answer}")
        return time.perf_counter() - began

    async def wait(self) -> dict[str, Any]:
        """Ask for what is new, and wait for it."""
        return await self._ask("GET", f"?after={self.last}&wait=1&known=bot-0", "")


def page(server: ServerProcess, path: str) -> str:
    """Return the body of one answer."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", path)
    content = connection.getresponse().read().decode()
    connection.close()
    return content


def size_kb(*texts: str) -> float:
    """The size of texts, each compressed."""
    return sum(len(gzip.compress(text.encode(), 9)) for text in texts) / 1024


async def first_paints_ms(*urls: str) -> list[float]:
    """The median times until Chromium paints the first content of pages, measured in turns."""
    from playwright.async_api import async_playwright

    times: list[list[float]] = [[] for _ in urls]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for _ in range(PAINTS):
            for url, found in zip(urls, times, strict=True):
                tab = await browser.new_page()
                await tab.goto(url)
                painted = None
                while painted is None:
                    await tab.wait_for_timeout(50)
                    painted = await tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
                found.append(painted)
                await tab.close()
        await browser.close()
    return [statistics.median(found) for found in times]


def quantile(values: list[float], share: float) -> float:
    """The value below which so many lie."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def prepare(made: Instance, limits: str = LIMITS) -> None:
    """Lift the limits, and set the channel of each bot."""
    made.config.write_text(made.config.read_text().replace("max_in_flight: 4096}", limits))
    config = configuration.load(made.config)
    for bot in made.bots:
        client.call(config, "channel.set", {"bot": bot, "channel": "web", "sites": ["any-link"]})


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model(delay_s=MODEL_S))
        (made,) = stack.enter_context(instances(1, models=tier(url)))
        await asyncio.to_thread(prepare, made)
        server = stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(made.config), "serve", "--json", log=Path("/dev/null")))
        await _documents(report, server, made)
        site = json.loads(re.search(r'id="data">(.*?)</script>', page(server, f"/chat/{made.bots[0]}"))[1])["site"]  # type: ignore[index]
        widgets = [Visitor(server.port, made.bots[0], site, number * 1_000_000) for number in range(WIDGETS)]
        await _crowd(report, server, widgets)
        await _waiting(report, server, widgets)
        await _operator(report, made, widgets[:WATCHED])
        (limited,) = stack.enter_context(instances(1, models=tier(url)))
        await asyncio.to_thread(prepare, limited, LIMITS.replace("web_daily: 1000000", f"web_daily: {DAILY}"))
        server = stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(limited.config), "serve", "--json", log=Path("/dev/null")))
        await _script(report, server, limited)
    return report


async def _documents(report: Report, server: ServerProcess, made: Instance) -> None:
    chat = page(server, f"/chat/{made.bots[0]}")
    files = re.findall(r'(?:src|href)="(/[^"]+)"', chat)
    report.bars += [
        Bar("loader, KB", size_kb(page(server, "/widget.js")), 2, least=False),
        Bar("page, style and script of the frame, KB", size_kb(chat, *(page(server, file) for file in files)), 25, least=False),
        Bar("requests before the first message", 1 + len(files), 2, least=False),
    ]
    if shutil.which("chromium"):
        progress("first paint")
        place = f"http://127.0.0.1:{server.port}"
        # Opened without a frame, the frame's page is a sentence.
        bare, full = await first_paints_ms(f"{place}/widget/{made.bots[0]}", f"{place}/chat/{made.bots[0]}")
        report.bars.append(Bar("first paint of the conversation, of a nearly empty page's", full / bare, 1.3, least=False))
        report.notes.append(f"first paint: {full:.0f} ms, nearly empty page {bare:.0f} ms")


async def _crowd(report: Report, server: ServerProcess, widgets: list[Visitor]) -> None:
    progress(f"{len(widgets)} visitors write at once")
    for some in range(0, len(widgets), 200):
        await asyncio.gather(*(widget.connect() for widget in widgets[some : some + 200]))
    used = server.cpu_s()
    times = await asyncio.gather(*(widget.send("Are you open on Saturday afternoons?") for widget in widgets))
    report.notes.append(f"CPU of a message of the widget {1e6 * (server.cpu_s() - used) / len(widgets):.0f} us")
    p99 = quantile(list(times), 0.99)
    report.bars.append(Bar(f"p99 of {len(widgets)} first messages at once on a model of {MODEL_S:g} s, seconds", p99, 2.5, least=False))


async def _waiting(report: Report, server: ServerProcess, widgets: list[Visitor]) -> None:
    progress(f"{len(widgets)} widgets wait")
    for widget in widgets:
        widget.close()
    await asyncio.sleep(5.0)
    before = server.rss_mb()
    for some in range(0, len(widgets), 200):
        await asyncio.gather(*(widget.connect() for widget in widgets[some : some + 200]))
    turns = [asyncio.create_task(_turn(widget)) for widget in widgets]
    await asyncio.sleep(3.0)
    began, used = time.perf_counter(), server.cpu_s()
    await asyncio.sleep(WAIT_S)
    share = (server.cpu_s() - used) / (time.perf_counter() - began)
    report.bars += [
        Bar(f"{len(widgets)} open widgets that wait, % of a core", 100 * share, 5, least=False),
        Bar(f"{len(widgets)} open widgets that wait, MB", server.rss_mb() - before, 40, least=False),
    ]
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)
    for widget in widgets:
        widget.close()


async def _turn(widget: Visitor) -> None:
    """Wait again and again, as the widget does."""
    while True:
        await widget.wait()


async def _operator(report: Report, made: Instance, widgets: list[Visitor]) -> None:
    progress(f"an operator writes to {REPLIES} of {len(widgets)} open widgets")
    config, ids = configuration.load(made.config), await asyncio.to_thread(conversations, made)
    for widget in widgets:
        await widget.connect()
    turns = [asyncio.create_task(_turn(widget)) for widget in widgets[REPLIES:]]
    held = {widget.user_id: asyncio.create_task(_seen(widget)) for widget in widgets[:REPLIES]}
    await asyncio.sleep(1.0)
    sent = {}
    for user_id in held:
        sent[user_id] = time.perf_counter()
        arguments = {"conversation": ids[user_id], "text": "This is Ada. How can I help?"}
        await asyncio.to_thread(client.call, config, "conversation.reply", arguments)
    times = [await asyncio.wait_for(task, 10.0) - sent[user_id] for user_id, task in held.items()]
    p99 = quantile(times, 0.99)
    report.bars.append(Bar(f"p99 until an operator's message is seen, {len(widgets)} open widgets, seconds", p99, 3, least=False))
    for turn in turns:
        turn.cancel()
    await asyncio.gather(*turns, return_exceptions=True)


async def _script(report: Report, server: ServerProcess, made: Instance) -> None:
    """Send messages as a script does that is a new visitor with each."""
    progress(f"a script makes {SCRIPTED} visitors")
    site = json.loads(re.search(r'id="data">(.*?)</script>', page(server, f"/chat/{made.bots[0]}"))[1])["site"]  # type: ignore[index]
    visitors = [Visitor(server.port, made.bots[0], site, number * 1_000_000) for number in range(SCRIPTED)]
    before, memory = made.size(), server.rss_mb()
    figures = []
    for some in (visitors[:DAILY], visitors[DAILY:]):
        used, answered = server.cpu_s(), 0
        for at in range(0, len(some), 100):
            answered += sum(await asyncio.gather(*(_is_answered(visitor) for visitor in some[at : at + 100])))
        figures.append((answered, 1e6 * (server.cpu_s() - used) / len(some)))
    (accepted, each), (more, refused) = figures
    report.bars.append(
        Bar(f"conversations of {SCRIPTED} new visitors of a script, {DAILY} permitted a day", accepted + more, DAILY, least=False)
    )
    kilobytes = (made.size() - before) / accepted / 1000
    report.notes.append(
        f"a script that makes visitors: {each:.0f} us and {kilobytes:.1f} KB of disk for each of {accepted} conversations, "
        f"{refused:.0f} us for each of {len(visitors) - DAILY} refused messages; {server.rss_mb() - memory:.0f} MB of memory"
    )


async def _is_answered(visitor: Visitor) -> bool:
    await visitor.connect()
    try:
        await visitor.send("Are you open on Saturday afternoons?")
    except Wrong as refusal:
        if "too_many_conversations" not in str(refusal):
            raise
        return False
    finally:
        visitor.close()
    return True


def conversations(made: Instance) -> dict[str, str]:
    """Map the visitors of the first bot to the ids of their conversations."""
    config, after, found = configuration.load(made.config), None, {}
    while True:
        arguments = {"bot": made.bots[0], "limit": 1000} | ({"after": after} if after else {})
        listed = client.call(config, "conversation.list", arguments)
        found.update({one["user_id"]: one["id"] for one in listed["items"]})
        after = listed["next"]
        if after is None:
            return found


async def _seen(widget: Visitor) -> float:
    """Wait for an operator's message; the time when it is there."""
    while True:
        answer = await widget.wait()
        if any(message["role"] == "operator" for message in answer["messages"]):
            return time.perf_counter()


if __name__ == "__main__":
    main(__doc__ or "", bench)
