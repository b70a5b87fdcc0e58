"""Local webhook receiver: verifies signatures and prints deliveries."""

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

from aiohttp import web

from chatsvc.cli.output import echo, to_json
from chatsvc.domain import webhooks
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line


class ReceivedDelivery(NamedTuple):
    """A received delivery: whether its signature is valid, and its body where that is JSON."""

    valid: bool
    event: str | None
    delivery_id: str | None
    size: int
    envelope: Any


class Receiver:
    """HTTP handler: 204 for a delivery with a valid signature, else 401. Calls `seen` with each."""

    def __init__(self, key: str, seen: Callable[[ReceivedDelivery], None]) -> None:
        self.key = key
        self._seen = seen

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        valid = webhooks.verify(self.key, body, request.headers.get("X-Service-Signature", ""))
        try:
            envelope = json.loads(body)
        except ValueError:
            envelope = None
        headers = request.headers
        self._seen(ReceivedDelivery(valid, headers.get("X-Service-Event"), headers.get("X-Service-Delivery"), len(body), envelope))
        return web.Response(status=204 if valid else 401)

    @asynccontextmanager
    async def listening(self, port: int, certificate: tuple[Path, Path] | None) -> AsyncIterator[str]:
        """Listen on 127.0.0.1, with TLS where there is a certificate (and its key). Gives the address."""
        context = None
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
        runner = web.ServerRunner(web.Server(self.handle, access_log=None))
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


def _show(delivery: ReceivedDelivery, *, as_json: bool) -> None:
    if as_json:
        line = {"valid": delivery.valid, "event": delivery.event, "delivery_id": delivery.delivery_id, "body": delivery.envelope}
        echo(to_json(line))
        return
    echo(f"{one_line(delivery.event or 'no event')}  signature {'valid' if delivery.valid else 'WRONG'}")
    if delivery.envelope is None:
        echo(f"  {delivery.size} bytes that are no JSON")
    else:
        echo(to_json(delivery.envelope, indent=2))


async def receive(port: int, key: str, certificate: tuple[Path, Path] | None, *, as_json: bool) -> None:
    """Receive, verify and print until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Receiver(key, partial(_show, as_json=as_json)).listening(port, certificate) as url:
        echo(to_json({"event": "listening", "url": url}) if as_json else f"Listening on {url}; Ctrl+C ends it.")
        await stop.wait()
