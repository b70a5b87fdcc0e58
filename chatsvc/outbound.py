"""Connections of aiohttp's clients that pass the gate of all outbound ones, before a name is looked up and where the socket is made."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from aiohttp import TCPConnector, ThreadedResolver

from chatsvc.domain.egress import Egress

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult


class _Resolver(ThreadedResolver):
    """The system's names, where any may be asked for."""

    def __init__(self, egress: Egress, purpose: str) -> None:
        super().__init__()
        self._egress, self._purpose = egress, purpose

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused."""
        self._egress.check(self._purpose)
        return await super().resolve(host, port, family)


class OutboundConnector(TCPConnector):
    """A connector whose connections serve `purpose`, one of domain.egress.PURPOSES; `options` are TCPConnector's."""

    def __init__(self, egress: Egress, purpose: str, **options: Any) -> None:
        def make_socket(info: AddrInfoType) -> socket.socket:
            # Here too, since an address is asked of no resolver.
            egress.open(purpose)
            return socket.socket(*info[:3])

        super().__init__(resolver=_Resolver(egress, purpose), socket_factory=make_socket, **options)
