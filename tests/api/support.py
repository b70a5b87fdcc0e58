"""Helpers of the API tests: exact expectations of an answer, a raw socket, and records inserted into the store."""

import asyncio
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from aiohttp import ClientSession
from multidict import CIMultiDict
from yarl import URL

from chatsvc.app import App
from chatsvc.domain import errors
from chatsvc.domain.errors import PROBLEMS
from tests.conftest import Answer, Caller
from tests.fakes import START
from tests.store import inspection

LIMIT = "X-RateLimit-Limit"
REMAINING = "X-RateLimit-Remaining"
RESET = "X-RateLimit-Reset"
ALWAYS = {"Cache-Control", "Content-Length", "Content-Type", "Date", "X-Request-Id", LIMIT, REMAINING, RESET}
MINUTE_END = (START // 60_000 + 1) * 60
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def envelope(code: str, because: tuple[str, str] | None = None, **extra: Any) -> dict[str, Any]:
    """The whole body of an error; `because` are the sentences added in Turkish and English."""
    problem = PROBLEMS[code]
    if because is None and "reason" in extra:
        because = errors.because(extra["reason"])
    tr, en = (f" {because[0]}", f" {because[1]}") if because else ("", "")
    return {"success": False, "error": code, "message": problem.text("tr") + tr, "message_en": problem.text("en") + en, **extra}


def assert_headers(answer: Answer, *, limit: int, remaining: int, also: Mapping[str, str] | None = None) -> None:
    """The headers that every response of the interface has, those of `also`, and no other."""
    more = dict(also or {})
    wanted = ALWAYS | set(more)
    assert sorted(names(answer)) == sorted(name.lower() for name in wanted)
    assert {name: answer.headers[name] for name in more} == more
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["X-Request-Id"])
    assert standing(answer) == (limit, remaining, MINUTE_END)


def names(answer: Answer) -> list[str]:
    """The names of the headers; the client spells some of them its own way."""
    return [name.lower() for name in answer.headers]


def standing(answer: Answer) -> tuple[int, int, int]:
    """The values of the three rate-limit headers: limit, remaining, reset."""
    return int(answer.headers[LIMIT]), int(answer.headers[REMAINING]), int(answer.headers[RESET])


async def fetch(session: ClientSession, method: str, url: str | URL, **options: Any) -> Answer:
    """One request without a key of its own."""
    async with session.request(method, url, **options) as response:
        body = await response.read()
        return Answer(response.status, response.headers, body, json.loads(body) if body else None)


class Wire:
    """A bare connection to the service: bytes out, responses in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes | str) -> None:
        """Send bytes. A peer that has closed meanwhile is no fault."""
        with suppress(ConnectionError):
            self._writer.write(data.encode("latin-1") if isinstance(data, str) else data)
            await self._writer.drain()

    async def line(self) -> bytes:
        """One line."""
        async with asyncio.timeout(20):
            return await self._reader.readline()

    async def answer(self, *, bodiless: bool = False, within_s: float = 20.0) -> Answer:
        """The next response. `bodiless`: it answers HEAD; interim responses never have a body."""
        async with asyncio.timeout(within_s):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status_line, *lines = head[:-4].split("\r\n")
            assert re.fullmatch(r"HTTP/1\.[01] \d{3} [A-Za-z -]+", status_line), status_line
            headers = CIMultiDict([(name, value) for name, _, value in (line.partition(": ") for line in lines)])
            bodiless |= status_line.split(" ")[1] == "100"
            body = b"" if bodiless else await self._reader.readexactly(int(headers["Content-Length"]))
        return Answer(int(status_line.split(" ")[1]), headers, body, json.loads(body) if body else None)

    async def is_closed(self, within_s: float = 20.0) -> bool:
        """Whether the other side closes, with nothing more said."""
        try:
            async with asyncio.timeout(within_s):
                return await self._reader.read(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def stop_reading(self) -> None:
        """Take nothing more off the wire, not even into a buffer."""
        cast(asyncio.ReadTransport, self._writer.transport).pause_reading()

    def go_on_reading(self) -> None:
        """Take what has come meanwhile."""
        cast(asyncio.ReadTransport, self._writer.transport).resume_reading()

    async def breaks_off(self, within_s: float = 20.0) -> bool:
        """Whether the other side lets go before all of what it promised has come."""
        try:
            async with asyncio.timeout(within_s):
                while True:
                    await self.answer()
        except (ConnectionError, asyncio.IncompleteReadError):
            return True
        except TimeoutError:
            return False

    def send_no_more(self) -> None:
        """Close one's own side, and go on listening."""
        self._writer.write_eof()

    def hang_up(self) -> None:
        """Close at once, with whatever is under way."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def request(
    method: str, target: str, caller: Caller | None = None, *lines: str, body: bytes | None = None, version: str = "HTTP/1.1"
) -> bytes:
    """A request as bytes, with the caller's key and, for a body, a Content-Length."""
    head = [f"{method} {target} {version}", "Host: chat.example", *lines]
    if caller:
        head.append(f"Authorization: Bearer {caller.key}")
    if body is not None:
        head.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + (body or b"")


async def insert_conversations(app: App, caller: Caller, last_message_at: Iterable[int], channel: str = "api") -> list[str]:
    """Insert conversations as exchanges would. Returns their ids in the order of `last_message_at`."""
    rows = [(str(uuid.uuid4()), caller.account, caller.bot, channel, f"u-{uuid.uuid4()}", at, at, at, 0) for at in last_message_at]
    columns = "id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count"
    await inspection.insert(app, "conversations", columns, rows)
    await execute(
        app,
        """
        INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET conversations = conversation_counts.conversations + excluded.conversations
        """,
        *(caller.account, caller.bot, channel, len(rows)),
    )
    return [row[0] for row in rows]


async def insert_history(app: App, caller: Caller, messages: int, characters: int) -> str:
    """One conversation with so many messages of that length, straight into the store."""
    (conversation,) = await insert_conversations(app, caller, [START])
    await insert_messages(app, conversation, [("user", "x" * characters, START)] * messages)
    return conversation


async def insert_messages(app: App, conversation: str, messages: Iterable[tuple[str, str, int]]) -> None:
    """Messages of a conversation straight into the store: (role, content, created_at)."""
    ((number,),) = await execute(app, "SELECT number FROM conversations WHERE id = :1", conversation)
    rows = [(number, str(uuid.uuid4()), *message) for message in messages]
    await inspection.insert(app, "messages", "conversation, id, role, content, created_at", rows)
    await execute(app, "UPDATE conversations SET message_count = :1 WHERE number = :2", len(rows), number)


async def insert_usage(app: App, caller: Caller, records: Iterable[tuple[int, int, int]], bot: str | None = None) -> None:
    """Usage records straight into the store: (created_at, tokens, micro-dollars)."""
    rows = [(caller.account, bot or caller.bot, *record) for record in records]
    await inspection.insert(app, "usage_records", "account_id, bot_id, created_at, tokens, cost_micro_usd", rows)


execute, out_of_reach = inspection.execute, inspection.out_of_reach


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what is about to happen."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  # what is waited for happens inside of the service
            await asyncio.sleep(0.002)
