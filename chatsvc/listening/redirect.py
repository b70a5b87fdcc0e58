"""Front end of the plain-http listener. Redirects to https and answers HTTP-01 challenges (RFC 8555, 8.3)."""

from collections.abc import Mapping

from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse, redirect, text

CHALLENGES = "/.well-known/acme-challenge/"


class Redirect:
    """Redirects to `public_url`; `tokens` maps the token of each pending challenge to its response."""

    def __init__(self, public_url: str, tokens: Mapping[str, str]) -> None:
        self._public_url = public_url
        self._tokens = tokens

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request; its body is not read."""
        target = request.target
        if request.method == "GET" and target.startswith(CHALLENGES):
            authorization = self._tokens.get(target.removeprefix(CHALLENGES))
            if authorization is not None:
                return text(200, authorization)
        # The host is the configured one: the Host field may say anything.
        path = target if target.startswith("/") and target.isascii() and target.isprintable() else "/"
        return redirect(self._public_url + path, 308)

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:  # noqa: ARG002  # see Skin
        """See Skin."""
        return text(fault.status, "")
