"""The listener for plain http: leads callers to https, and answers an authority that asks for proof (RFC 8555, 8.3)."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import hdrs

from chatsvc.api import render
from chatsvc.api.request import Request

CHALLENGES = "/.well-known/acme-challenge/"


class Plain:
    """`tokens`: what to answer under each token of a challenge."""

    def __init__(self, public_url: str, tokens: Mapping[str, str]) -> None:
        self._public_url = public_url
        self._tokens = tokens

    async def handle(self, request: Request) -> render.Response:
        """Answer one request; nothing of a body is read."""
        target, request_id = request.target, render.new_request_id()
        if request.method == hdrs.METH_GET and target.startswith(CHALLENGES):
            authorization = self._tokens.get(target.removeprefix(CHALLENGES))
            if authorization is not None:
                return render.plain_text(200, authorization, request_id)
        # The place is from the configuration, not from the Host header: that one may say anything.
        path = target if target.startswith("/") and target.isascii() and target.isprintable() else "/"
        response = render.plain_text(308, "", request_id, {hdrs.LOCATION: self._public_url + path})
        if not request.content.is_eof():
            response.closes = True
        return response
