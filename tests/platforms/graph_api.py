"""WhatsApp's Graph interface on loopback, stricter than the real one. It signs and delivers callbacks too.

It takes known fields within their limits alone, and marks no unknown message as read.
"""

import asyncio
import hashlib
import hmac
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Self

from aiohttp import ClientSession, web

from tests.platforms.waiting import Watched

NUMBER, TOKEN, APP_SECRET, VERIFY_TOKEN = "1055", "token-of-the-number", "secret-of-the-app", "verify-token-of-the-owner"
PHONE, SCOPED = "905551112233", "TR.13491208655302741918"
_ENVELOPE = {"messaging_product", "recipient_type", "to", "recipient", "type", "biz_opaque_callback_data"}


@dataclass
class GraphFault:
    """A fault of the next sends: an error, a delay, or a connection that breaks. `before`: the message is not sent."""

    status: int = 0
    code: int = 0
    delay_s: float = 0.0
    breaks: bool = False
    before: bool = True


@dataclass
class GraphMessage:
    id: str
    to: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        own = self.body[self.body["type"]]
        return str(own["body"] if self.body["type"] == "text" else own["body"]["text"])


class GraphApi(Watched):
    """A running Graph interface of one phone number. `sent` is what was accepted, `refused` are broken requests, which a test expects."""

    def __init__(self, *, seed: int = 1) -> None:
        super().__init__()
        self.token, self.number, self.app_secret = TOKEN, NUMBER, APP_SECRET
        self.callback = ""
        self.sent: list[GraphMessage] = []
        self.receipts: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.faults: list[GraphFault] = []
        self.send_delay_s = 0.0
        self.url = ""
        self._known: set[str] = set()
        self._ids = itertools.count(1)
        self._random = random.Random(seed)
        self._session: ClientSession
        self._runner: web.AppRunner

    async def __aenter__(self) -> Self:
        site = web.Application()
        site.router.add_get("/v26.0/{number}", self._show)
        site.router.add_post("/v26.0/{number}/messages", self._post)
        self._runner = web.AppRunner(site, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v26.0"
        self._session = ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self._runner.cleanup()

    # What the platform delivers.

    def wamid(self) -> str:
        return f"wamid.HBgL{next(self._ids):06d}AA=="

    def message(self, text: str = "hello", *, at: int, phone: str | None = PHONE, scoped: str | None = None, **more: Any) -> dict[str, Any]:
        """Make the value of a change with one message of a visitor. `at` is in seconds; `more` are fields of the message."""
        message: dict[str, Any] = {"id": self.wamid(), "timestamp": str(at), "type": "text", "text": {"body": text}, **more}
        if message["type"] != "text":
            del message["text"]
        contact: dict[str, Any] = {"profile": {"name": "Selin"}}
        for there, name, contacts_name, value in ((message, "from", "wa_id", phone), (message, "from_user_id", "user_id", scoped)):
            if value is not None:
                there[name] = contact[contacts_name] = value
        self._known.add(message["id"])
        return self.value(contacts=[contact], messages=[message])

    def status(self, sent: GraphMessage | str, status: str, *, code: int = 0, opaque: str | None = None) -> dict[str, Any]:
        report: dict[str, Any] = {"id": sent if isinstance(sent, str) else sent.id, "status": status, "timestamp": "1795176868"}
        report["recipient_id"] = PHONE
        name = opaque if isinstance(sent, str) else sent.body.get("biz_opaque_callback_data")
        if name is not None:
            report["biz_opaque_callback_data"] = name
        if code:
            report["errors"] = [{"code": code, "title": "a title", "message": "a message", "error_data": {"details": "details"}}]
        return self.value(statuses=[report])

    def echo(self, text: str, *, at: int, phone: str = PHONE, key: str | None = None) -> dict[str, Any]:
        message = {"from": "905320000000", "to": phone, "id": key or self.wamid(), "timestamp": str(at), "type": "text"}
        return self.value(message_echoes=[{**message, "text": {"body": text}}])

    def value(self, **content: Any) -> dict[str, Any]:
        metadata = {"display_phone_number": "905320000000", "phone_number_id": self.number}
        return {"messaging_product": "whatsapp", "metadata": metadata, **content}

    def body(self, *values: dict[str, Any]) -> bytes:
        changes = [{"field": "smb_message_echoes" if "message_echoes" in value else "messages", "value": value} for value in values]
        return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "9", "changes": changes}]}, ensure_ascii=False).encode()

    def signature(self, body: bytes) -> str:
        return "sha256=" + hmac.new(self.app_secret.encode(), body, hashlib.sha256).hexdigest()

    async def post(self, body: bytes, headers: dict[str, str] | None = None) -> int:
        """Deliver a body, signed unless headers are given; return the status of the answer."""
        given = {"X-Hub-Signature-256": self.signature(body)} if headers is None else headers
        async with self._session.post(self.callback, data=BytesIO(body), headers={"Content-Type": "application/json", **given}) as answer:
            await answer.read()
            return answer.status

    async def deliver(self, *values: dict[str, Any], times: int = 1) -> None:
        """Deliver a batch `times` times. Each delivery must be acknowledged."""
        for _ in range(times):
            assert await self.post(self.body(*values)) == 200

    async def deliver_shuffled(self, values: list[dict[str, Any]], times: int) -> None:
        """Deliver each value `times` times in random order and random batches."""
        waiting = values * times
        self._random.shuffle(waiting)
        while waiting:
            size = self._random.randint(1, 5)
            batch, waiting = waiting[:size], waiting[size:]
            await self.deliver(*batch)

    # What tests ask.

    def texts(self, to: str = PHONE) -> list[str]:
        return [message.text for message in self.sent if message.to == to]

    # The interface.

    async def _show(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.token}" or request.match_info["number"] != self.number:
            return _error(401, 190, "Invalid OAuth access token.")
        return web.json_response({"id": self.number, "display_phone_number": "+90 532 000 00 00", "verified_name": "Acme"})

    async def _post(self, request: web.Request) -> web.Response:
        self.changed.set()
        if request.headers.get("Authorization") != f"Bearer {self.token}" or request.match_info["number"] != self.number:
            return _error(401, 190, "Invalid OAuth access token.")
        body = await request.json()
        if "status" in body:
            return self._read(body)
        broken = next(_broken(body), None)
        if broken:
            self.refused.append(broken)
            return _error(400, 100, broken)
        return await self._send(request, body)

    def _read(self, body: dict[str, Any]) -> web.Response:
        shape = {"messaging_product", "status", "message_id", "typing_indicator"}
        typing = body.get("typing_indicator", {"type": "text"})
        if body["status"] != "read" or body["message_id"] not in self._known or set(body) - shape or typing != {"type": "text"}:
            self.refused.append(f"receipt {body}")
            return _error(400, 131009, "Parameter value is not valid")
        self.receipts.append(body)
        return web.json_response({"success": True})

    async def _send(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        fault = self.faults.pop(0) if self.faults else GraphFault()
        await asyncio.sleep(fault.delay_s or self.send_delay_s)
        to = body.get("to") or body["recipient"]
        if fault.status and fault.before:
            return _error(fault.status, fault.code, f"(#{fault.code}) a reason")
        message = GraphMessage(self.wamid(), to, body)
        if not (fault.breaks and fault.before):
            self.sent.append(message)
        if fault.breaks and request.transport is not None:
            request.transport.abort()
        if fault.status:
            return _error(fault.status, fault.code, f"(#{fault.code}) a reason")
        contact = {"input": to, **({"wa_id": to} if "to" in body else {"user_id": to})}
        return web.json_response({"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": message.id}]})


def _error(status: int, code: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "OAuthException", "code": code, "fbtrace_id": "A"}}, status=status)


def _broken(body: dict[str, Any]) -> Iterator[str]:
    kind = body.get("type")
    if set(body) - _ENVELOPE - {kind} or body.get("messaging_product") != "whatsapp" or body.get("recipient_type") != "individual":
        yield f"envelope {sorted(body)}"
    to, recipient = body.get("to"), body.get("recipient")
    if (to is None) is (recipient is None) or not str(to or "0").isdecimal() or "." not in str(recipient or "."):
        yield f"address {to} {recipient}"
    if not 0 < len(body.get("biz_opaque_callback_data", "x")) <= 512:
        yield "biz_opaque_callback_data"
    if kind == "text":
        own = body["text"]
        if set(own) != {"body", "preview_url"} or own["preview_url"] is not False or not 0 < len(own["body"]) <= 4096:
            yield "text"
    elif kind == "interactive":
        yield from _broken_question(body["interactive"])
    else:
        yield f"type {kind}"


def _broken_question(own: dict[str, Any]) -> Iterator[str]:
    if set(own) != {"type", "body", "action"} or set(own["body"]) != {"text"} or not 0 < len(own["body"]["text"]) <= 1024:
        yield "interactive"
    action = own["action"]
    if own["type"] == "button":
        offered = [button["reply"] for button in action["buttons"]]
        if set(action) != {"buttons"} or not 1 <= len(offered) <= 3 or any(button["type"] != "reply" for button in action["buttons"]):
            yield "buttons"
        yield from _broken_rows(offered, {"id": 256, "title": 20})
    else:
        (section,) = action["sections"]
        if own["type"] != "list" or set(section) != {"rows"} or not 1 <= len(section["rows"]) <= 10 or not 0 < len(action["button"]) <= 20:
            yield "list"
        yield from _broken_rows(section["rows"], {"id": 200, "title": 24, "description": 72})


def _broken_rows(rows: list[dict[str, str]], limits: dict[str, int]) -> Iterator[str]:
    for row in rows:
        if set(row) - set(limits) or any(not 0 < len(value) <= limits[name] or "\n" in value for name, value in row.items()):
            yield f"row {row}"
    if len({row["id"] for row in rows}) != len(rows):
        yield "ids"
    if len({row["title"] for row in rows}) != len(rows) or any(row["id"] != row["id"].strip() for row in rows):
        yield "titles"
