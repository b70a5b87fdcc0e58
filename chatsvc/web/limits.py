"""Limits of connections: for all unknown callers together, for each of their addresses, and for each key.

A connection counts as an unknown caller's, except while an authenticated request on it is answered. A connection over the limits is not
read until another one ends or an idle one is closed in its favour. `share` is the address or network under which a connection is counted;
if it is None, there is no limit per address. This module also counts the bytes of request bodies.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsvc.web.connection import HttpConnection

IDLE_S = 1.0  # before an idle connection is closed in favour of another one
WAIT_S = 5.0  # for which a connection over the limits waits
LOOKED_AT = 16  # waiting connections of an address that are asked whether they have sent something
LOOK_EVERY_S = 0.1
WAITING_FACTOR = 4  # waiting connections for each one that `limits.connections` allows
MOST_BODIES = 8 * 1024 * 1024  # bytes of all bodies together whose senders are unknown


class ConnectionLimits:
    """Counter of the connections of all listeners. `per_key` limits the connections of a key on which requests are being answered."""

    def __init__(self, connections: int, per_address: int, per_key: int) -> None:
        self._connections, self._per_address, self._per_key = connections, per_address, per_key
        self._counted: set[HttpConnection] = set()
        self._shares: Counter[str | None] = Counter()  # connections that are counted, and requests forwarded by proxies
        self._keys: Counter[str] = Counter()
        self._key_of: dict[HttpConnection, str] = {}
        self._idle: dict[HttpConnection, float] = {}  # since when, the longest idle first
        self._waiting: dict[str | None, dict[HttpConnection, asyncio.TimerHandle]] = {}
        self._is_looking = False
        self.body_bytes = 0  # of bodies whose senders are unknown

    def enter(self, connection: HttpConnection) -> None:
        """Count a new connection. If there is no room for it, let it wait without reading it."""
        if self._has_room(connection.share):
            self.set_idle(connection)
            connection.proceed()
            return
        connection.pause()
        timer = asyncio.get_running_loop().call_later(WAIT_S, connection.abort)
        self._waiting.setdefault(connection.share, {})[connection] = timer
        if sum(map(len, self._waiting.values())) > WAITING_FACTOR * self._connections:
            crowd = max(self._waiting.values(), key=len)
            next(reversed(crowd)).abort()
        if not self._is_looking:
            self._look_for_idle()

    def leave(self, connection: HttpConnection) -> None:
        """Stop counting a connection that is closed."""
        self._idle.pop(connection, None)
        key = self._key_of.pop(connection, None)
        if key is not None:
            self._keys[key] -= 1
        if not self._stop_waiting(connection) and connection in self._counted:
            self._uncount(connection)

    def authenticated(self, connection: HttpConnection, key: str | None) -> None:
        """Count a connection for its key instead of its address, while its request is answered. Do nothing if the key is at its limit."""
        if connection not in self._counted or (key is not None and self._keys[key] >= self._per_key):
            return
        self._idle.pop(connection, None)
        if key is not None:
            self._keys[key] += 1
            self._key_of[connection] = key
        self._uncount(connection)

    def set_idle(self, connection: HttpConnection) -> None:
        """Note that a connection waits for its next request. It counts as an unknown caller's connection again."""
        key = self._key_of.pop(connection, None)
        if key is not None:
            self._keys[key] -= 1
        if connection not in self._counted:
            self._counted.add(connection)
            self._shares[connection.share] += 1
        self._idle.pop(connection, None)  # the longest idle stands first
        self._idle[connection] = asyncio.get_running_loop().time()

    def may_keep(self, connection: HttpConnection) -> bool:
        """Report whether a connection may stay open after its response: it has room, and no other connection needs its place."""
        if connection not in self._counted:
            return self._has_room(connection.share)
        is_full = len(self._counted) >= self._connections
        wanting = self._waiting if is_full else {connection.share} & self._waiting.keys()
        return not any(self._first_asking(share) for share in wanting)

    def take_request(self, share: str) -> bool:
        """Count a request that a trusted proxy forwards for a client. Return False instead if the client's address is at its limit."""
        if self._shares[share] >= self._per_address:
            return False
        self._shares[share] += 1
        return True

    def release_request(self, share: str | None) -> None:
        """Stop counting a forwarded request, or a connection, of an address."""
        self._shares[share] -= 1
        if not self._shares[share]:
            del self._shares[share]

    def _has_room(self, share: str | None) -> bool:
        return len(self._counted) < self._connections and (share is None or self._shares[share] < self._per_address)

    def _uncount(self, connection: HttpConnection) -> None:
        self._counted.remove(connection)
        self.release_request(connection.share)
        if self._waiting:
            self._admit_next(connection.share)

    def _admit_next(self, share: str | None) -> None:
        """Begin to read a waiting connection for which there is room now. Prefer a connection of the address `share`."""
        for candidate in [share, *self._waiting]:
            if candidate in self._waiting and self._has_room(candidate):
                connection = self._first_asking(candidate) or next(iter(self._waiting[candidate]))
                self._stop_waiting(connection)
                self.set_idle(connection)
                connection.proceed()
                return

    def _first_asking(self, share: str | None) -> HttpConnection | None:
        """Return the connection of the address `share` that waits longest and has sent something, or None."""
        return next((connection for connection in islice(self._waiting[share], LOOKED_AT) if connection.has_arrived()), None)

    def _stop_waiting(self, connection: HttpConnection) -> bool:
        """Remove a connection from the waiting connections. Return whether it was one of them."""
        crowd = self._waiting.get(connection.share, {})
        timer = crowd.pop(connection, None)
        if not crowd:
            self._waiting.pop(connection.share, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def _look_for_idle(self) -> None:
        """For each address with waiting connections, close the longest-idle connection that makes room. Repeat this while some wait."""
        self._is_looking = bool(self._waiting)
        if not self._waiting:
            return
        loop = asyncio.get_running_loop()
        loop.call_later(LOOK_EVERY_S, self._look_for_idle)
        latest = loop.time() - IDLE_S
        for share in tuple(self._waiting):
            if self._first_asking(share) is None:
                continue
            is_exhausted = share is not None and self._shares[share] >= self._per_address
            for connection, since in tuple(self._idle.items()):
                if since > latest:
                    break
                if (not is_exhausted or connection.share == share) and connection.close_if_idle():
                    with suppress(KeyError):
                        del self._idle[connection]
                    break
