"""Forwarding of recorded events to a receiver that the operator names, oldest first."""

import asyncio
import signal
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiohttp import ClientSession

from chatsvc.cli.output import echo, to_json
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line
from chatsvc.domain.webhooks import build_headers
from chatsvc.outbound.client import FAULTS, exchange, open_session, reason_of
from chatsvc.outbound.egress import Egress

TIMEOUT_S = 10.0
MOST_BYTES = 65_536  # of an answer
POLL_S = 1.0

Fetch = Callable[[int], list[dict[str, Any]]]


async def post_all(url: str, fetch: Fetch, tls: ssl.SSLContext, *, follow: bool, as_json: bool) -> None:
    """Post the events of `fetch`, page by page. Raises CommandError at the first that the receiver refuses."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    after, outcomes = 0, list[dict[str, Any]]()
    # The operator names this receiver: neither `egress: none` nor the guard applies.
    async with open_session(Egress(), "webhook", tls) as session:
        while not stop.is_set():
            events = await asyncio.to_thread(fetch, after)  # a command without a server runs an event loop of its own
            for event in events:
                outcome = await _post(session, url, event)
                line = {name: event[name] for name in ("event", "record_id", "delivery_id")} | {
                    "success": outcome is None,
                    "error": outcome,
                }
                outcomes.append(line)
                if not as_json:
                    echo(one_line(f"{event['event']}  {event['record_id']}  {outcome or 'taken'}"))
                elif follow:
                    echo(to_json(line))
                if outcome is not None:
                    _sum_up(outcomes, follow=follow, as_json=as_json)
                    raise CommandError(f"stopped at {event['event']} {event['record_id']}: {outcome}")
                after = event["number"]
            if events:
                continue
            if not follow:
                _sum_up(outcomes, follow=follow, as_json=as_json)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), POLL_S)


async def _post(session: ClientSession, url: str, event: dict[str, Any]) -> str | None:
    """Post one event. Return the error, or None if the receiver answered 2xx."""
    headers = build_headers(event["event"], event["delivery_id"], event["signature"])
    try:
        answer = await exchange(session, "POST", url, headers, event["body"].encode(), most_bytes=MOST_BYTES, timeout_s=TIMEOUT_S)
    except FAULTS as fault:
        return reason_of(fault)
    return None if 200 <= answer.status < 300 else f"http_status ({answer.status})"


def _sum_up(outcomes: list[dict[str, Any]], *, follow: bool, as_json: bool) -> None:
    """Print the summary: one JSON list without `follow`, or a line where nothing was sent."""
    if as_json and not follow:
        echo(to_json(outcomes))
    elif not outcomes and not as_json:
        echo("nothing to send", err=True)
