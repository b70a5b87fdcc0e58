"""Metrics listener: GET /metrics on a port of its own, without authentication."""

from typing import Self

from aiohttp import hdrs, web
from prometheus_client import CONTENT_TYPE_LATEST

from chatsvc.domain.errors import CommandError
from chatsvc.metrics.collector import Exposition

PATH = "/metrics"


class MetricsListener:
    """HTTP server of the metrics; `port` is the one really bound."""

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        self.port = 0

    @classmethod
    async def open(cls, exposition: Exposition, host: str, port: int) -> Self:
        """Begin to listen; raises CommandError where the address cannot be used."""
        listener = cls(exposition)
        await listener._runner.setup()
        try:
            await web.TCPSite(listener._runner, host or None, port).start()
        except OSError as fault:
            await listener.close()
            raise CommandError(f"cannot listen on {host}:{port} for metrics: {fault.strerror or fault}") from fault
        listener.port = listener._runner.addresses[0][1]
        return listener

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        headers = {hdrs.SERVER: "chatsvc"}
        if request.path != PATH:
            return web.Response(status=404, text=f"metrics are at {PATH}\n", headers=headers)
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            return web.Response(status=405, headers={**headers, hdrs.ALLOW: "GET, HEAD"})
        return web.Response(body=await self._exposition.text(), headers={**headers, hdrs.CONTENT_TYPE: CONTENT_TYPE_LATEST})

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()
