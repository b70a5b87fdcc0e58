"""Notes on a request beside what aiohttp knows: its id, its caller, its route, its refusal."""

from __future__ import annotations

import random
from collections.abc import Callable

from aiohttp import HttpVersion11, web

from chatsvc.web.faults import BodiesOverload, HttpFault
from chatsvc.web.limits import ConnectionLimits

UNMATCHED = "other"
MAX_SKIPPED = 1024 * 1024  # bytes of an unread body for which a connection is kept


def new_request_id() -> str:
    """Return a random id for one request; it does not reveal how many there were."""
    return f"{random.getrandbits(64):016x}"


class RequestInfo:
    """Notes on one request, for its handler, the access log and the metrics.

    `route` is the template that matched, `error` the code of the refusal, `principal` the account or person that asks, `refusal` a
    fault that was found before the request reached its front end. `expects_continue`: the client waits for a word before it sends the
    body. `is_body_lost`: the body cannot be read to its end, so the connection ends with the response.
    """

    def __init__(self, client_address: str, budget: ConnectionLimits, on_authenticated: Callable[[str | None], None]) -> None:
        self.id = new_request_id()
        self.client_address = client_address
        self.route = UNMATCHED
        self.error = ""
        self.principal: str | None = None
        self.refusal: HttpFault | None = None
        self.expects_continue = False
        self.is_body_lost = False
        self._budget: ConnectionLimits | None = budget
        self._body_bytes = 0
        self._on_authenticated = on_authenticated

    def authenticated(self, key: str | None = None) -> None:
        """Stop counting this request, its body and its connection against the limits for unknown callers.

        With `key` the connection counts as one of that key instead.
        """
        self.release_body()
        self._on_authenticated(key)

    def count_body(self, size: int) -> None:
        """Count the bytes of the body that are held; raises BodiesOverload."""
        if self._budget is None or size <= self._body_bytes:
            return
        if not self._budget.take_bytes(size - self._body_bytes):
            self.is_body_lost = True
            raise BodiesOverload
        self._body_bytes = size

    def release_body(self) -> None:
        """Stop counting the body: its sender is known, or the request is answered."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.release_bytes(self._body_bytes)


INFO = web.RequestKey("info", RequestInfo)


def info_of(request: web.BaseRequest) -> RequestInfo:
    """Return the notes on a request."""
    info: RequestInfo = request[INFO]
    return info


def leaves_connection(request: web.BaseRequest, response: web.StreamResponse) -> bool:
    """Report whether the connection can be used again: what is left of the request, and the response, have an end."""
    # What comes behind a declined upgrade aiohttp may lose, and behind a chunked body may be fields of its trailer.
    if request.method == "CONNECT" or "Transfer-Encoding" in request.headers or "Upgrade" in request.headers:
        return False
    if request.version < HttpVersion11 and response.content_length is None:
        return False
    content = request.content
    if content.is_eof():
        return True
    info = info_of(request)
    is_lost = info.is_body_lost or info.expects_continue or content.exception() is not None
    return not is_lost and (request.content_length or 0) <= MAX_SKIPPED
