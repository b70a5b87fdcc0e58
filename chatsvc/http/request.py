"""HTTP request as a handler receives it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
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

    params: Mapping[str, str] = MappingProxyType({})
    route = UNMATCHED
    error = ""
    principal: str | None = None

    def __init__(self, head: Head, body: Body, peer: str | None, client_address: Callable[[HttpRequest], str], lease: Lease) -> None:
        self.head = head
        self.body = body
        self.peer = peer
        self._client_address = client_address
        self.id = new_request_id()
        self.method = head.method
        self.target = head.target
        self.headers: CIMultiDictProxy[str] = head.headers
        self.path = head.path
        self.leases = [lease]

    @property
    def query(self) -> MultiDict[str]:
        """The query's parameters, decoded anew at each access. `get` returns the first of several with one name."""
        if "?" not in self.target:
            return MultiDict()
        return MultiDict(parse_qsl(self.target.partition("#")[0].partition("?")[2], keep_blank_values=True))

    @property
    def cookies(self) -> Mapping[str, str]:
        """The cookies sent; the first counts where a name comes twice."""
        return cookies.parse(self.headers.getall("Cookie", ()))

    @property
    def client_address(self) -> str:
        """The caller's address, for logs and per-address limits."""
        return self._client_address(self)

    def authenticated(self) -> None:
        """Stop counting this connection, request and body against the limits for unauthenticated callers."""
        self.body.release()
        for lease in self.leases:
            lease.release()
