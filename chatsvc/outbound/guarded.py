"""Connections to addresses that customers choose (SPEC.md 6.4): each is checked where its socket is opened. `Guard` has the rules."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from typing import TypeVar

from chatsvc.domain.addresses import TargetRefused, check_address
from chatsvc.domain.targets import Target
from chatsvc.outbound.client import Guard
from chatsvc.outbound.dialler import Dialler, alternating
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.http_connection import AnswerBroken, ConnectionLost
from chatsvc.outbound.resolver import LookupFailed, lookup

P = TypeVar("P", bound=asyncio.Protocol)

# Expected exceptions of a guarded request. uvloop raises RuntimeError for operations on a lost connection.
FAULTS = (OSError, TargetRefused, LookupFailed, ConnectionLost, AnswerBroken, ValueError, RuntimeError)


class GuardedDialler(Dialler):
    """Opens connections to an address that a customer chose (SPEC.md 6.4): each name is looked up and each address checked every time.

    It protects against SSRF and DNS rebinding: what is dialled is the address that was checked, in the same step of the event loop.
    """

    def __init__(self, egress: Egress, purpose: str, target: Target, tls: ssl.SSLContext, guard: Guard) -> None:
        """Raises TargetRefused."""
        if guard.target(target.url) != target:
            raise TargetRefused(f"the address at {target.host} could be read in two ways")
        super().__init__(egress, purpose, target.host, target.port, tls if target.scheme == "https" else None)
        self._target, self._guard = target, guard

    async def _addresses(self) -> list[str]:
        """Look up and check the addresses of the name; raises EgressRefused, TargetRefused and LookupFailed."""
        self._egress.check(self._purpose)
        guard = self._guard
        return alternating([str(address) for address in await lookup(self._target, guard.own, guard.allowed, guard.resolve)])

    async def _open(self, factory: Callable[[], P], address: str) -> tuple[asyncio.Transport, P]:
        check_address(ip_address(address), self._port, self._guard.own, self._guard.allowed)
        return await super()._open(factory, address)


def reason_of(fault: Exception) -> str:
    """Return the code of a request without an answer. The exception's text is not used: it may quote the receiver."""
    match fault:
        case TargetRefused():
            return "refused_address"
        case LookupFailed() | socket.gaierror():
            return "dns_failed"
        case ssl.SSLError():
            return "tls_failed"
        case ConnectionLost() if isinstance(fault.__cause__, ssl.SSLError):
            return "tls_failed"
        case TimeoutError():
            return "timeout"
        case ConnectionLost() | RuntimeError():
            return "connection_lost"
        case OSError():
            return "connect_failed"
    return "bad_response"
