"""A local receiver of webhooks: verifies the signature, prints what came."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
from pathlib import Path
from typing import Any

import click
from aiohttp import web

from chatsvc.domain import signing

MAX_BODY = 1024 * 1024


class Receiver:
    """Answers 204 to a delivery whose signature is right, 401 to any other."""

    def __init__(self, key: str, *, as_json: bool) -> None:
        self._key = key
        self._as_json = as_json
        self.received: list[dict[str, Any]] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Take one delivery."""
        body = await request.read()
        valid = signing.verify(self._key, body, request.headers.get("X-Service-Signature", ""))
        try:
            envelope = json.loads(body)
        except ValueError:
            envelope = None
        event = request.headers.get("X-Service-Event", "-")
        seen = {"valid": valid, "event": event, "delivery_id": request.headers.get("X-Service-Delivery"), "body": envelope}
        self.received.append(seen)
        if self._as_json:
            click.echo(json.dumps(seen, ensure_ascii=False))
        else:
            click.echo(f"{event}  signature {'valid' if valid else 'WRONG'}")
            click.echo(
                json.dumps(envelope, ensure_ascii=False, indent=2) if envelope is not None else f"  {len(body)} bytes that are no JSON"
            )
        return web.Response(status=204 if valid else 401)


async def receive(port: int, key: str, certificate: tuple[Path, Path] | None, *, as_json: bool) -> None:
    """Listen on 127.0.0.1 until SIGINT or SIGTERM."""
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    runner = web.ServerRunner(web.Server(Receiver(key, as_json=as_json).handle, client_max_size=MAX_BODY, access_log=None))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
        url = f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}/"
        click.echo(json.dumps({"event": "listening", "url": url}) if as_json else f"Listening on {url}; Ctrl+C ends it.")
        await stop.wait()
    finally:
        await runner.cleanup()
