"""DNS lookups with a time limit, whose every address is checked against the guard's rules."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from ipaddress import ip_address

from chatsvc.domain.addresses import UNKNOWN, IPAddress, Networks, Own, TargetRefused, check_answers
from chatsvc.domain.targets import Target

LOOKUP_S = 5.0
MAX_LOOKUPS = 64

Resolve = Callable[[str], Awaitable[Sequence[str | IPAddress]]]


class LookupFailed(OSError):
    """Failure of a lookup: the name has no address, or it took too long."""


class SystemResolver:
    """System resolver (getaddrinfo) in daemon threads, as a `Resolve`.

    getaddrinfo cannot be cancelled, and an unreachable name server blocks it for up to half a minute. Each lookup has its own daemon
    thread, so that it delays neither the shared thread pool nor the exit of the process. Concurrent lookups of one name share a
    thread, and there are at most MAX_LOOKUPS.
    """

    def __init__(self) -> None:
        self._in_flight: dict[str, Future[list[str]]] = {}

    async def __call__(self, host: str) -> list[str]:
        """Look up every address of `host`; raises OSError where it has none. lookup() bounds the time."""
        answer = self._in_flight.get(host)
        if answer is None:
            if len(self._in_flight) >= MAX_LOOKUPS:
                raise OSError("too many names are being looked up")
            answer = self._in_flight[host] = Future()
            # It runs: a caller that is cancelled does not cancel the lookup of the others.
            answer.set_running_or_notify_cancel()
            answer.add_done_callback(lambda _: self._in_flight.pop(host))
            try:
                threading.Thread(target=_look_up, args=(host, answer), name="lookup", daemon=True).start()
            except RuntimeError as fault:
                answer.set_exception(OSError(str(fault)))
        return await asyncio.wrap_future(answer)


def _look_up(host: str, answer: Future[list[str]]) -> None:
    try:
        # Without AI_ADDRCONFIG: an address counts for the check even if this machine could not reach it.
        answer.set_result([str(sockaddr[0]) for *_, sockaddr in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)])
    except (OSError, UnicodeError) as fault:
        answer.set_exception(fault if isinstance(fault, OSError) else OSError(str(fault)))


async def addresses_of(host: str, resolve: Resolve) -> list[str]:
    """Look up the addresses of a name, each once. Raises LookupFailed if there is no answer within LOOKUP_S seconds or an empty one."""
    try:
        async with asyncio.timeout(LOOKUP_S):
            answers = await resolve(host)
    except TimeoutError:
        raise LookupFailed(f"the name {host} could not be looked up in {LOOKUP_S:g} s") from None
    except OSError:
        answers = []
    if not answers:
        raise LookupFailed(f"the name {host} does not resolve to an address")
    return list(dict.fromkeys(map(str, answers)))


async def lookup(target: Target, own: Own, allowed: Networks, resolve: Resolve) -> tuple[IPAddress, ...]:
    """Look up the target's host and check each of its addresses; raises LookupFailed, and TargetRefused if an address is refused."""
    if target.address is not None:
        return (target.address,)
    try:
        addresses = [ip_address(answer) for answer in await addresses_of(target.host, resolve)]
    except ValueError:
        raise TargetRefused(f"the name {target.host} has an address that is none", UNKNOWN) from None
    return check_answers(target.host, addresses, target.port, own, allowed, inside_only=target.inside_only)
