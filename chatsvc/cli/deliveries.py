"""Tools for developers of a webhook receiver: a local receiver that verifies deliveries, and the forwarding of recorded events."""

import asyncio
import errno
import json
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import ClientSession, web

from chatsvc import background
from chatsvc.cli.output import echo
from chatsvc.domain import webhooks
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line, to_json
from chatsvc.outbound.client import FAULTS, exchange, open_session, reason_of
from chatsvc.outbound.egress import Egress

TIMEOUT_S = 10.0
MOST_BYTES = 65_536  # of an answer
POLL_S = 1.0

Fetch = Callable[[int], list[dict[str, Any]]]


class ReceivedDelivery(NamedTuple):
    """A received delivery. `valid` is true if its signature is valid. `envelope` is its parsed body, or None if the body is not JSON."""

    valid: bool
    event: str | None
    delivery_id: str | None
    size: int
    envelope: Any


@asynccontextmanager
async def receiver(
    port: int, certificate: tuple[Path, Path] | None, key: Callable[[], str], seen: Callable[[ReceivedDelivery], None]
) -> AsyncIterator[str]:
    """Receive webhook deliveries on 127.0.0.1, and yield the URL. `certificate` is a certificate file and its key file for TLS, or None.

    A delivery with a valid signature is answered with 204, any other with 401. `seen` is called with every delivery.
    """

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        body, headers = await request.read(), request.headers
        valid = webhooks.verify(key(), body, headers.get("X-Service-Signature", ""))
        try:
            envelope = json.loads(body)
        except ValueError:
            envelope = None
        seen(ReceivedDelivery(valid, headers.get("X-Service-Event"), headers.get("X-Service-Delivery"), len(body), envelope))
        return web.Response(status=204 if valid else 401)

    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        except OSError as fault:
            why = "another program listens there" if fault.errno == errno.EADDRINUSE else fault.strerror
            raise CommandError(f"cannot listen on 127.0.0.1:{port}: {why}") from None
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def show_delivery(delivery: ReceivedDelivery, *, as_json: bool) -> None:
    if as_json:
        line = {"valid": delivery.valid, "event": delivery.event, "delivery_id": delivery.delivery_id, "body": delivery.envelope}
        echo(to_json(line))
        return
    echo(f"{one_line(delivery.event or 'no event')}  signature {'valid' if delivery.valid else 'WRONG'}")
    echo(f"  {delivery.size} bytes that are no JSON" if delivery.envelope is None else to_json(delivery.envelope, indent=2))


def stop_event() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def receive(port: int, key: str, certificate: tuple[Path, Path] | None, *, as_json: bool) -> None:
    """Receive, verify and print webhook deliveries until SIGINT or SIGTERM."""
    stop = stop_event()
    async with receiver(port, certificate, lambda: key, partial(show_delivery, as_json=as_json)) as url:
        echo(to_json({"event": "listening", "url": url}) if as_json else f"Listening on {url}; Ctrl+C ends it.")
        await stop.wait()


async def post_all(url: str, fetch: Fetch, tls: ssl.SSLContext, *, follow: bool, as_json: bool) -> None:
    """Post the recorded events, which `fetch` returns page by page, to a URL. Raises CommandError at the first failed event."""
    stop, after, outcomes = stop_event(), 0, list[dict[str, Any]]()
    error: str | None = None
    # The operator names this receiver: neither `egress: none` nor the guard applies.
    async with open_session(Egress(), "webhook", tls) as session:
        while error is None and not stop.is_set():
            events = await asyncio.to_thread(fetch, after)  # a command without a server runs an event loop of its own
            for event in events:
                error, after = await _post(session, url, event), event["number"]
                outcomes.append({name: event[name] for name in ("event", "record_id", "delivery_id")})
                outcomes[-1] |= {"success": error is None, "error": error}
                if follow or not as_json:
                    echo(to_json(outcomes[-1]) if as_json else one_line(f"{event['event']}  {event['record_id']}  {error or 'taken'}"))
                if error is not None:
                    break
            if not events:
                if not follow:
                    break
                await background.wait(stop, POLL_S)
    if as_json and not follow:
        echo(to_json(outcomes))
    elif not outcomes and not as_json and not follow:
        echo("nothing to send", err=True)
    if error is not None:
        raise CommandError(f"stopped at {outcomes[-1]['event']} {outcomes[-1]['record_id']}: {error}")


async def _post(session: ClientSession, url: str, event: dict[str, Any]) -> str | None:
    """Post one event to a URL. Return the error, or None if the receiver answered 2xx."""
    headers = webhooks.build_headers(event["event"], event["delivery_id"], event["signature"])
    try:
        answer = await exchange(session, "POST", url, headers, event["body"].encode(), most_bytes=MOST_BYTES, timeout_s=TIMEOUT_S)
    except FAULTS as fault:
        return reason_of(fault)
    return None if 200 <= answer.status < 300 else f"http_status ({answer.status})"
