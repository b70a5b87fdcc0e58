"""Telegram and WhatsApp: a crowd that chats, how soon callbacks are acknowledged, and a bot whose platform does not answer.

2,000 visitors of each who write at once on a model of 2 s: p99 at most 2.5 s from the message at the platform to its reply there.
Callbacks of WhatsApp are acknowledged within 100 ms at p99. A bot whose Telegram never answers delays no other bot: p99 at most 1.2 of
that beside a bot whose Telegram does. telegram.py and whatsapp.py kill the service instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from harness import Bar, Report, ServerProcess, Wrong, main, progress, quantile_ms
from instance import Instance, instances
from standin import model, tier

from chatsvc import config as configuration
from chatsvc.control import client

CROWD, MODEL_S, ROUNDS = 2000, 2.0, 3
FIRST = 100
OTHERS, OTHER_ROUNDS = 300, 3  # visitors of each of two bots
CALLERS = 64  # connections of WhatsApp's callbacks
OF_A_CALL = 100  # updates that Telegram gives at a time
ACKNOWLEDGED_MS = 100
PATIENCE_S = 60.0
QUESTION = "Are you open on Saturday afternoons?"
NUMBER, SECRET = "100000000000001", "secret-of-the-app"
TOKENS = ("1001:first-bot", "1002:second-bot")

Answer = Callable[[str, dict[str, Any]], Awaitable[object]]


class PlatformConnection(asyncio.Protocol):
    """A connection of the service to a platform. `answer` makes the value of an answer."""

    def __init__(self, answer: Answer) -> None:
        self._answer, self._buffer = answer, b""
        self._transport: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.lower().find(b"content-length: ", 0, head) + 16
        length = int(self._buffer[at : self._buffer.find(b"\r", at)]) if at > 15 else 0
        if len(self._buffer) < head + 4 + length:
            return
        path, body = self._buffer.split(b" ", 2)[1].decode(), self._buffer[head + 4 :]
        self._buffer = b""
        task = asyncio.create_task(self._say(path, json.loads(body) if body else {}))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say(self, path: str, parameters: dict[str, Any]) -> None:
        body = json.dumps(await self._answer(path, parameters)).encode()
        if not self._transport.is_closing():
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


class Telegram:
    """The Bot API at its cheapest. `said_at` has the times of replies by token and chat; those of a dead token hang."""

    def __init__(self) -> None:
        self.said_at: dict[str, dict[int, float]] = {token: {} for token in TOKENS}
        self.dead: set[str] = set()
        self._waiting: dict[str, list[dict[str, Any]]] = {token: [] for token in TOKENS}
        self._arrived: dict[str, asyncio.Event] = {token: asyncio.Event() for token in TOKENS}
        self._next = 1

    def write(self, token: str, chats: range) -> None:
        """Let each chat write a message at once."""
        for chat in chats:
            person = {"id": chat, "is_bot": False, "first_name": "Selin"}
            message = {"message_id": self._next, "date": int(time.time()), "chat": {"id": chat, "type": "private"}, "from": person}
            self._waiting[token].append({"update_id": self._next, "message": {**message, "text": QUESTION}})
            self._next += 1
        self._arrived[token].set()

    async def answer(self, path: str, parameters: dict[str, Any]) -> object:
        """Carry out a call."""
        _, bot, method = path.split("/")
        token = bot.removeprefix("bot")
        if method == "getUpdates":
            return {"ok": True, "result": await self._updates(token, parameters.get("offset", 0), parameters["timeout"])}
        if method == "getMe":
            return {
                "ok": True,
                "result": {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": "Desk", "username": "desk_bot"},
            }
        if method != "sendMessage":
            return {"ok": True, "result": True}
        if token in self.dead:
            await asyncio.sleep(PATIENCE_S)
        self.said_at[token][parameters["chat_id"]] = time.perf_counter()
        return {"ok": True, "result": {"message_id": 1, "chat": {"id": parameters["chat_id"]}}}

    async def _updates(self, token: str, offset: int, timeout_s: float) -> list[dict[str, Any]]:
        self._waiting[token] = [one for one in self._waiting[token] if one["update_id"] >= offset]
        if not self._waiting[token]:
            self._arrived[token].clear()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._arrived[token].wait()
            except TimeoutError:
                return []
        return self._waiting[token][:OF_A_CALL]


class WhatsApp:
    """The Graph interface at its cheapest. `said_at` is the time of the reply to each number."""

    def __init__(self) -> None:
        self.said_at: dict[int, float] = {}

    async def answer(self, path: str, parameters: dict[str, Any]) -> object:
        """Carry out a call."""
        if not path.endswith("/messages"):
            return {"id": NUMBER, "display_phone_number": "+90 532 000 00 00", "verified_name": "Acme"}
        if "status" in parameters:
            return {"success": True}
        self.said_at[int(parameters["to"])] = time.perf_counter()
        return {"messaging_product": "whatsapp", "contacts": [], "messages": [{"id": f"wamid.{len(self.said_at)}{parameters['to']}"}]}


@asynccontextmanager
async def listening(answer: Answer) -> Any:
    """The address of a platform."""
    server = await asyncio.get_running_loop().create_server(lambda: PlatformConnection(answer), "127.0.0.1", 0, backlog=4096)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds. Raises Wrong after a minute."""
    ends = time.perf_counter() + PATIENCE_S
    while not condition():
        if time.perf_counter() > ends:
            raise Wrong("replies are missing")
        await asyncio.sleep(0.02)


def callback(phone: int) -> bytes:
    """A callback with one message, as it goes over the wire."""
    message = {"from": str(phone), "id": f"wamid.in{phone}", "timestamp": str(int(time.time())), "type": "text", "text": {"body": QUESTION}}
    value = {"messaging_product": "whatsapp", "metadata": {"display_phone_number": "905320000000", "phone_number_id": NUMBER}}
    contacts = [{"profile": {"name": "Selin"}, "wa_id": str(phone)}]
    change = {"field": "messages", "value": {**value, "contacts": contacts, "messages": [message]}}
    return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "9", "changes": [change]}]}).encode()


async def deliver(port: int, bot: str, phones: range) -> list[float]:
    """Post a callback of each number over some connections. The seconds until each was acknowledged."""
    waiting, times = iter(phones), list[float]()

    async def caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for phone in waiting:
            body = callback(phone)
            signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
            began = time.perf_counter()
            writer.write(
                f"POST /channels/whatsapp/{bot} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise Wrong(f"a callback was not acknowledged: {head[:60]!r}")
            times.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return times


def prepare(made: Instance, telegram_url: str, graph_url: str) -> None:
    """Set the channels: Telegram of two bots, WhatsApp of the first."""
    urls = f"channels: {{telegram: {{api_url: '{telegram_url}'}}, whatsapp: {{graph_url: '{graph_url}/v26.0'}}}}\n"
    made.config.write_text(made.config.read_text() + urls)
    config = configuration.load(made.config)
    for bot, token in zip(made.bots, TOKENS, strict=False):
        client.call(config, "channel.set", {"bot": bot, "channel": "telegram", "token": token})
    secrets = {"token": "token", "app_secret": SECRET, "verify_token": "verify"}
    client.call(config, "channel.set", {"bot": made.bots[0], "channel": "whatsapp", "phone_number_id": NUMBER, **secrets})


def numbers(start: int = FIRST) -> Iterator[range]:
    """Ranges of new visitors, one after another."""
    while True:
        yield range(start, start + CROWD)
        start += CROWD


async def bench() -> Report:
    """See the module's docstring."""
    report, telegram, whatsapp = Report(), Telegram(), WhatsApp()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model(delay_s=MODEL_S))
        telegram_url = await stack.enter_async_context(listening(telegram.answer))
        graph_url = await stack.enter_async_context(listening(whatsapp.answer))
        (made,) = stack.enter_context(instances(1, models=tier(url)))
        await asyncio.to_thread(prepare, made, telegram_url, graph_url)
        log = made.config.with_name("log")
        server = stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(made.config), "serve", "--json", log=log))
        await asyncio.sleep(1.0)
        # Warm up: the bot's knowledge is read with the first message.
        telegram.write(TOKENS[0], range(FIRST))
        await until(lambda: len(telegram.said_at[TOKENS[0]]) == FIRST)
        await asyncio.sleep(1.0)
        await _on_telegram(report, server, telegram)
        await _on_whatsapp(report, server, whatsapp, made.bots[0])
        await _beside_another(report, telegram)
    return report


async def _on_telegram(report: Report, server: ServerProcess, telegram: Telegram) -> None:
    times, used, said_at = list[float](), server.cpu_s(), telegram.said_at[TOKENS[0]]
    for number, chats in zip(range(ROUNDS), numbers(), strict=False):
        progress(f"{CROWD} visitors write on Telegram: round {number + 1} of {ROUNDS}")
        began = time.perf_counter()
        telegram.write(TOKENS[0], chats)
        await until(lambda: chats.stop - 1 in said_at and len(said_at) >= chats.stop)  # noqa: B023  # awaited here
        times += [said_at[chat] - began for chat in chats]
        await asyncio.sleep(1.0)
    _crowd(report, "Telegram", times, (server.cpu_s() - used) / len(times))


async def _on_whatsapp(report: Report, server: ServerProcess, whatsapp: WhatsApp, bot: str) -> None:
    times, acknowledged, used = list[float](), list[float](), server.cpu_s()
    for number, phones in zip(range(ROUNDS), numbers(905320000001), strict=False):
        progress(f"{CROWD} visitors write on WhatsApp: round {number + 1} of {ROUNDS}")
        began = time.perf_counter()
        acknowledged += await deliver(server.port, bot, phones)
        await until(lambda: len(whatsapp.said_at) >= CROWD * (number + 1))  # noqa: B023  # awaited here
        times += [whatsapp.said_at[phone] - began for phone in phones]
        await asyncio.sleep(1.0)
    _crowd(report, "WhatsApp", times, (server.cpu_s() - used) / len(times))
    bar = f"p99 until a callback is acknowledged, {CALLERS} at a time, ms"
    report.bars.append(Bar(bar, quantile_ms(acknowledged, 0.99), ACKNOWLEDGED_MS, least=False))


def _crowd(report: Report, channel: str, times: list[float], cpu_s: float) -> None:
    p50, p99, slowest = (quantile_ms(times, share) / 1000 for share in (0.5, 0.99, 1))
    report.bars.append(Bar(f"p99 of {CROWD} visitors of {channel} at once on a model of {MODEL_S:g} s, seconds", p99, 2.5, least=False))
    report.notes.append(f"{channel}: p50 {p50:.2f} s, slowest {slowest:.2f} s; CPU of a message {1e6 * cpu_s:.0f} us")


async def _beside_another(report: Report, telegram: Telegram) -> None:
    """Measure a bot beside another, whose platform first answers and then never does."""
    found: dict[bool, list[float]] = {False: [], True: []}
    said_at, chats = telegram.said_at[TOKENS[0]], range(1_000_000, 1_000_000 + OTHERS)
    for number in range(2 * OTHER_ROUNDS):
        is_dead = number >= OTHER_ROUNDS  # at last: what hangs does so until the end
        progress(f"{OTHERS} visitors beside another bot, whose platform {'hangs' if is_dead else 'answers'}")
        telegram.dead = {TOKENS[1]} if is_dead else set()
        began = time.perf_counter()
        for token in TOKENS:
            telegram.write(token, chats)
        await until(lambda: all(chat in said_at for chat in chats))  # noqa: B023  # awaited here
        found[is_dead] += [said_at[chat] - began for chat in chats]
        chats = range(chats.stop, chats.stop + OTHERS)
        await asyncio.sleep(1.0)
    dead, healthy = (quantile_ms(found[is_dead], 0.99) for is_dead in (True, False))
    report.bars.append(Bar("p99 beside a bot whose platform hangs / beside one whose platform answers", dead / healthy, 1.2, least=False))


if __name__ == "__main__":
    main(__doc__ or "", bench)
