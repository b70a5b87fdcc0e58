"""Posts recorded events to a receiver that the operator names, oldest first."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from typing import Any

import click
from aiohttp import ClientError, ClientSession, ClientTimeout

from chatsvc.webhooks.envelope import build_headers

TIMEOUT_S = 10.0
POLL_S = 1.0

Fetch = Callable[[int], list[dict[str, Any]]]


async def post_all(url: str, fetch: Fetch, *, follow: bool, as_json: bool) -> bool:
    """Post what `fetch` gives, page by page; False at the first one that the receiver did not take."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    after = 0
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_S), trust_env=False) as session:
        while not stop.is_set():
            events = fetch(after)
            for event in events:
                outcome = await _post(session, url, event)
                _say(event, outcome, as_json=as_json)
                if outcome is not None:
                    return False
                after = event["number"]
            if events:
                continue
            if not follow:
                return True
            try:
                await asyncio.wait_for(stop.wait(), POLL_S)
            except TimeoutError:
                continue
    return True


async def _post(session: ClientSession, url: str, event: dict[str, Any]) -> str | None:
    """What went wrong; None where the receiver answered 2xx."""
    sent = build_headers(event["event"], event["delivery_id"], event["signature"])
    try:
        async with session.post(url, data=event["body"].encode(), headers=sent, allow_redirects=False) as response:
            return None if 200 <= response.status < 300 else f"the receiver answered {response.status}"
    except TimeoutError:
        return f"no answer within {TIMEOUT_S:.0f} s"
    except (ClientError, OSError, ValueError) as fault:
        return f"{type(fault).__name__}"


def _say(event: dict[str, Any], fault: str | None, *, as_json: bool) -> None:
    line = {name: event[name] for name in ("event", "record_id", "delivery_id")} | {"success": fault is None, "error": fault}
    click.echo(json.dumps(line) if as_json else f"{event['event']}  {event['record_id']}  {fault or 'taken'}")
