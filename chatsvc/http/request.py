"""HTTP request as a handler receives it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from multidict import CIMultiDictProxy, MultiDict

from chatsvc.http import cookies
from chatsvc.http.admission import Lease
from chatsvc.http.body import Body
from chatsvc.http.parser import Head

UNMATCHED = "other"


def new_request_id() -> str:
    """Return a random id for one request; it does not reveal how many there were."""
    return f"{random.getrandbits(64):016x}"


class HttpRequest:
    """One request. `peer` is the address of the connection, `client_address` that of the caller behind trusted proxies.

    A front end may set `route` (the template that matched), `error` (the code of its refusal) and `principal` (the account or
    person that asks): the access log and the metrics read them.
    """

    def __init__(self, head: Head, body: Body, peer: str | None, client_address: Callable[[HttpRequest], str] | None = None) -> None:
        self.head = head
        self.body = body
        self.peer = peer
        self._client_address = client_address
        self.id = new_request_id()
        self.method = head.method
        self.target = head.target
        self.headers: CIMultiDictProxy[str] = head.headers
        self.path = head.path
        self.params: Mapping[str, str] = {}
        self.route = UNMATCHED
        self.error = ""
        self.principal: str | None = None
        self.leases: list[Lease] = []

    @property
    def query(self) -> MultiDict[str]:
        """The query's parameters, decoded anew at each access; `get` returns the first of several with one name."""
        text = self.target.partition("#")[0].partition("?")[2]
        return MultiDict(parse_qsl(text, keep_blank_values=True)) if text else MultiDict()

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies sent; the first counts where a name comes twice."""
        return cookies.parse(self.headers.getall("Cookie", ()))

    @property
    def client_address(self) -> str:
        """The caller's address, for logs and per-address limits."""
        return self._client_address(self) if self._client_address else self.peer or "unknown"

    def authenticated(self) -> None:
        """Stop counting this connection and request against the limits for unauthenticated callers."""
        for lease in self.leases:
            lease.release()
