"""Telegram's Bot API on loopback, stricter than the real one: parameters by schema, one poller a token, confirmation by offset.

It also does what a network does: repeats updates, mixes their order, answers late, refuses, and breaks connections after a request.
"""

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.platforms.waiting import Watched

TOKEN = "123456:token-of-the-bot"
NAME = "acme_desk_bot"
_INTEGER, _TEXT, _FLAG, _LIST, _OBJECT = int, str, bool, list, dict
# Parameters by method: name -> type, and those that are required.
SCHEMAS: dict[str, tuple[dict[str, type], set[str]]] = {
    "getMe": ({}, set()),
    "deleteWebhook": ({"drop_pending_updates": _FLAG}, set()),
    "getUpdates": ({"offset": _INTEGER, "limit": _INTEGER, "timeout": _INTEGER, "allowed_updates": _LIST}, set()),
    "getChat": ({"chat_id": _INTEGER}, {"chat_id"}),
    "sendMessage": (
        {"chat_id": _INTEGER, "message_thread_id": _INTEGER, "text": _TEXT, "entities": _LIST, "reply_markup": _OBJECT},
        {"chat_id", "text"},
    ),
    "sendChatAction": ({"chat_id": _INTEGER, "message_thread_id": _INTEGER, "action": _TEXT}, {"chat_id", "action"}),
    "answerCallbackQuery": ({"callback_query_id": _TEXT, "text": _TEXT}, {"callback_query_id"}),
}
MOST_UNITS = 4096


@dataclass
class Call:
    token: str
    method: str
    parameters: dict[str, Any]


@dataclass
class Fault:
    """A fault of the next calls of a method: an answer, silence for `delay_s`, or a broken connection.

    `raw` is the body of the answer. `before`: it is not carried out; else it is, and only the answer is lost.
    """

    status: int = 0
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    delay_s: float = 0.0
    breaks: bool = False
    before: bool = True
    raw: bytes | None = None


Scripted = Callable[[Call], Fault | None]


@dataclass
class SentMessage:
    token: str
    chat: int
    text: str
    buttons: list[str]
    id: int
    urls: list[str]


class BotApi(Watched):
    """A running Bot API. `tokens` are known bots with their names; `sent` is what was accepted, `calls` all that came."""

    def __init__(self, *, seed: int = 1) -> None:
        super().__init__()
        self.tokens = {TOKEN: NAME}
        self.webhooks: set[str] = set()
        self.calls: list[Call] = []
        self.sent: list[SentMessage] = []
        self.answered_queries: list[str] = []
        self.faults: dict[str, list[Fault]] = {}
        self.script: Scripted = lambda _: None
        self.left: set[int] = set()  # groups that do not have the bots any more
        self.times = 1  # so often each update is delivered
        self.shuffled = False
        self.send_delay_s = 0.0
        self.is_impatient = False  # answers for updates at once, whatever the time-out
        self.url = ""
        self._updates: dict[str, list[dict[str, Any]]] = {}
        self._confirmed: dict[str, int] = {}
        self._delivered: dict[tuple[str, int], int] = {}
        self._pollers: dict[str, asyncio.Event] = {}
        self._ids = itertools.count(1000)
        self._message_ids = itertools.count(1)
        self._random = random.Random(seed)
        self._runner: web.AppRunner

    async def __aenter__(self) -> Self:
        site = web.Application()
        site.router.add_route("*", "/bot{token}/{method}", self._answer)
        self._runner = web.AppRunner(site, shutdown_timeout=0.1)
        await self._runner.setup()
        self._port = 0
        await self.listen()
        return self

    async def listen(self) -> None:
        """Listen, on the same port after `hang_up`."""
        listener = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await listener.start()
        self._listener = listener
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def hang_up(self) -> None:
        """Refuse connections from now on, and close the open ones."""
        await self._listener.stop()
        for connection in list(self._runner.server.connections if self._runner.server else []):
            connection.force_close()
            if connection.transport is not None:
                connection.transport.close()

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    # What visitors do.

    def update(self, *, token: str = TOKEN, **content: Any) -> int:
        """Put an update into a bot's queue; return its id."""
        number = next(self._ids)
        self._updates.setdefault(token, []).append({"update_id": number, **content})
        self.changed.set()
        return number

    def message(
        self, chat: int = 7, text: str | None = None, *, at: int = 0, token: str = TOKEN, group: int | None = None, **more: Any
    ) -> dict[str, Any]:
        """Put a message into the queue, private unless `group` is given; return it."""
        room = {"id": chat, "type": "private", "first_name": "Selin"} if group is None else {"id": group, "type": "supergroup"}
        message: dict[str, Any] = {
            "message_id": next(self._message_ids),
            "date": at,
            "chat": room,
            "from": {"id": chat, "is_bot": False, "first_name": "Selin"},
        }
        if text is not None:
            message["text"] = text
        message |= more
        self.update(token=token, message=message)
        return message

    def press(self, sent: SentMessage, index: int) -> None:
        keyboard = [[{"text": text, "callback_data": str(n)}] for n, text in enumerate(sent.buttons)]
        person = {"id": sent.chat, "is_bot": False, "first_name": "Selin"}
        message = {
            "message_id": sent.id,
            "date": 1,
            "chat": {"id": sent.chat, "type": "private"},
            "from": {"id": int(sent.token.partition(":")[0]), "is_bot": True, "first_name": "Desk"},
            "text": sent.text,
            "reply_markup": {"inline_keyboard": keyboard},
        }
        query = {"id": f"q{next(self._ids)}", "from": person, "message": message, "chat_instance": "1", "data": str(index)}
        self.update(token=sent.token, callback_query=query)

    def count_anew(self, token: str = TOKEN) -> None:
        """Give the next updates lower ids, as Telegram may after a week without any."""
        self._ids = itertools.count(1)
        self._updates[token], self._confirmed[token] = [], 0

    # What tests ask.

    def of(self, method: str) -> list[dict[str, Any]]:
        return [call.parameters for call in self.calls if call.method == method]

    def texts(self, chat: int = 7) -> list[str]:
        return [message.text for message in self.sent if message.chat == chat]

    def unconfirmed(self, token: str = TOKEN) -> int:
        return len([update for update in self._updates.get(token, []) if update["update_id"] >= self._confirmed.get(token, 0)])

    def undelivered(self, token: str = TOKEN) -> int:
        """Number of updates that were delivered less often than they are to be."""
        return sum(self._delivered.get((token, update["update_id"]), 0) < self.times for update in self._updates.get(token, []))

    def fail(self, method: str, *faults: Fault) -> None:
        """Let the next calls of a method fail, one after another."""
        self.faults.setdefault(method, []).extend(faults)

    # The interface.

    async def _answer(self, request: web.Request) -> web.Response:
        token, method = request.match_info["token"], request.match_info["method"]
        try:
            parameters = await request.json() if request.method == "POST" else dict(request.query)
        except ValueError:
            return _refused(400, "Bad Request: can't parse the body")
        call = Call(token, method, parameters)
        self.calls.append(call)
        self.changed.set()
        queued = self.faults.get(method)
        fault = queued.pop(0) if queued else self.script(call)
        if fault is not None and fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault is not None and fault.before and (fault.status or fault.breaks):
            return self._faulty(request, fault)
        answer = await self._carried_out(call)
        self.changed.set()
        return self._faulty(request, fault) if fault is not None and (fault.status or fault.breaks) else answer

    def _faulty(self, request: web.Request, fault: Fault) -> web.Response:
        if fault.breaks:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if fault.raw is not None:
            return web.Response(status=fault.status, body=fault.raw)
        return _refused(fault.status, fault.description, fault.parameters)

    async def _carried_out(self, call: Call) -> web.Response:
        if call.token not in self.tokens:
            return _refused(401, "Unauthorized")
        if call.method not in SCHEMAS:
            return _refused(404, "Not Found")
        wrong = _wrong(call)
        if wrong:
            return _refused(400, f"Bad Request: {wrong}")
        match call.method:
            case "getUpdates":
                return await self._get_updates(call)
            case "getChat":
                return _chat(call.parameters["chat_id"], self.left)
            case "sendMessage":
                return await self._send_message(call)
            case "deleteWebhook":
                return self._delete_webhook(call)
            case "answerCallbackQuery":
                self.answered_queries.append(call.parameters["callback_query_id"])
                return _done(True)
            case "getMe":
                identity = int(call.token.partition(":")[0])
                return _done({"id": identity, "is_bot": True, "first_name": "Desk", "username": self.tokens[call.token]})
        return _done(True)

    def _delete_webhook(self, call: Call) -> web.Response:
        self.webhooks.discard(call.token)
        if call.parameters.get("drop_pending_updates"):
            self._updates[call.token] = []
        return _done(True)

    async def _get_updates(self, call: Call) -> web.Response:
        if call.token in self.webhooks:
            return _refused(
                409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
            )
        if call.token in self._pollers:
            self._pollers[call.token].set()
        ended = self._pollers[call.token] = asyncio.Event()
        try:
            return await self._long_poll(call, ended)
        finally:
            if self._pollers.get(call.token) is ended:
                del self._pollers[call.token]

    async def _long_poll(self, call: Call, ended: asyncio.Event) -> web.Response:
        given, token = call.parameters, call.token
        offset, newest = given.get("offset", 0), max((update["update_id"] for update in self._updates.get(token, [])), default=0)
        # One from the far future counts as none: what was not confirmed is delivered again.
        if offset <= newest + 10:
            self._confirmed[token] = max(self._confirmed.get(token, 0), offset)
        deadline = asyncio.get_running_loop().time() + (0 if self.is_impatient else given.get("timeout", 0))
        while True:
            if ended.is_set():
                text = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
                return _refused(409, text)
            updates = self._due(token, given.get("limit", 100), given.get("allowed_updates"))
            if updates or asyncio.get_running_loop().time() >= deadline:
                return _done(updates)
            await asyncio.sleep(0.01)

    def _due(self, token: str, limit: int, allowed: list[str] | None) -> list[dict[str, Any]]:
        """The updates that are delivered now: unconfirmed ones, and confirmed ones that are repeated."""
        updates = []
        for update in self._updates.get(token, []):
            number = update["update_id"]
            repeats = self._delivered.get((token, number), 0)
            is_allowed = not allowed or bool(set(update) & set(allowed))
            if is_allowed and (number >= self._confirmed.get(token, 0) or repeats < self.times):
                updates.append(update)
        if self.shuffled:
            self._random.shuffle(updates)
        updates = updates[:limit]
        for update in updates:
            key = token, update["update_id"]
            self._delivered[key] = self._delivered.get(key, 0) + 1
        return updates

    async def _send_message(self, call: Call) -> web.Response:
        text, chat = call.parameters["text"], call.parameters["chat_id"]
        if not text.strip():
            return _refused(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > MOST_UNITS:
            return _refused(400, "Bad Request: message is too long")
        rows = call.parameters.get("reply_markup", {}).get("inline_keyboard", [])
        buttons = [button for row in rows for button in row]
        for button in buttons:
            if set(button) == {"text", "url"}:
                if not button["url"].startswith("https://"):
                    return _refused(400, "Bad Request: BUTTON_URL_INVALID")
            elif set(button) != {"text", "callback_data"} or not 1 <= len(button["callback_data"].encode()) <= 64:
                return _refused(400, "Bad Request: BUTTON_DATA_INVALID")
            if not button["text"].strip():
                return _refused(400, "Bad Request: text buttons are unallowed in the inline keyboard")
        if len(buttons) > 100 or len(json.dumps(rows)) >= 10_000:
            return _refused(400, "Bad Request: reply markup is too long")
        urls = [button["url"] for button in buttons if "url" in button]
        sent = SentMessage(call.token, chat, text, [button["text"] for button in buttons], next(self._message_ids), urls)
        self.sent.append(sent)
        if self.send_delay_s:
            await asyncio.sleep(self.send_delay_s)
        return _done({"message_id": sent.id, "date": 1, "chat": {"id": chat, "type": "private"}, "text": text})


def _chat(chat: int, left: set[int]) -> web.Response:
    if chat in left:
        return _refused(400, "Bad Request: chat not found")
    return _done({"id": chat, "type": "supergroup" if chat < 0 else "private", "accent_color_id": 1, "max_reaction_count": 11})


def _wrong(call: Call) -> str | None:
    known, required = SCHEMAS[call.method]
    if not isinstance(call.parameters, dict):
        return "parameters are an object"
    missing, unknown = required - set(call.parameters), set(call.parameters) - set(known)
    mistyped = [name for name, value in call.parameters.items() if name in known and type(value) is not known[name]]
    if missing or unknown or mistyped:
        return f"missing {sorted(missing)}, unknown {sorted(unknown)}, of another type {mistyped}"
    return None


def _done(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _refused(status: int, description: str, parameters: dict[str, Any] | None = None) -> web.Response:
    body = {"ok": False, "error_code": status, "description": description}
    return web.json_response(body | ({"parameters": parameters} if parameters else {}), status=status)


def chats(sent: Iterable[SentMessage]) -> dict[int, list[str]]:
    texts: dict[int, list[str]] = {}
    for message in sent:
        texts.setdefault(message.chat, []).append(message.text)
    return texts
