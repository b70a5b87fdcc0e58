"""Helpers of the tests of webhooks: a service that may send to this machine, a capturing visitor, and the records."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, time
from ipaddress import ip_network
from typing import Any

from chatsvc.config import Config
from chatsvc.control import rendering
from chatsvc.domain.captures import Captured
from chatsvc.engines import Reply
from chatsvc.services.accounts import webhooks
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine
from tests.store.inspection import execute
from tests.webhooks.receiver import Receiver

BOTH = ("request.created", "appointment.created")
SAID = "Ben Selin, selin@example.com, 0532 123 45 67. Yarın 10:30'a randevu istiyorum. ☕"
WISH = Captured("appointment", SAID, "Selin", "selin@example.com", "0532 123 45 67", date(2026, 11, 21), time(10, 30))
CALL_ME = replace(WISH, request_type="contact", date=None, time=None)


def may_send_here(config: Config, ca_file: Any) -> Config:
    """The configuration with receivers on this machine allowed."""
    return replace(config, webhooks=replace(config.webhooks, allowed_networks=(ip_network("127.0.0.0/8"),), ca_file=ca_file, timeout_s=20))


def captures(engine: ScriptedEngine, captured: Captured = WISH) -> None:
    """Every message from now on is answered with a capture."""
    engine.script = lambda _: Reply("Not aldım.", captured=captured)


def url(receiver: Receiver) -> str:
    return f"https://127.0.0.1:{receiver.port}/hook"


async def hook(caller: Caller, receiver: Receiver | None, *events: str) -> str:
    """Set the bot's webhook; its signing key."""
    shown = await webhooks.put(
        caller.app.services,
        ADMIN,
        bot=await caller.chatbot(),
        url=url(receiver) if receiver else None,
        events=events or ("request.created",),
    )
    return shown.signing_key or ""


async def attempts(caller: Caller) -> list[dict[str, Any]]:
    listed: list[Any] = []
    after = None
    while True:
        page = await webhooks.attempts(caller.app.services, ADMIN, bot=await caller.chatbot(), limit=1000, after=after)
        listed += [rendering.attempt(attempt) for attempt in page.items]
        after = page.next
        if after is None:
            return listed[::-1]


async def states(caller: Caller) -> list[tuple[str, int]]:
    """Every event with its state: 0 pending, 1 attempted, 2 kept."""

    return await execute(caller.app, "SELECT event, state FROM webhook_events WHERE bot_id = :1 ORDER BY number", caller.bot)


async def eventually(condition: Callable[[], Awaitable[bool] | bool], within_s: float = 20.0) -> None:
    async with asyncio.timeout(within_s):
        while True:
            holds = condition()
            if holds if isinstance(holds, bool) else await holds:
                return
            await asyncio.sleep(0.005)


async def settled(caller: Caller, count: int) -> list[dict[str, Any]]:
    """The attempts, once so many have an outcome."""

    async def so_many() -> bool:
        return [attempt["success"] is not None for attempt in await attempts(caller)].count(True) >= count

    await eventually(so_many)
    return await attempts(caller)


def headers(head: bytes) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if line)


def envelopes(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(body) for body in receiver.bodies]
