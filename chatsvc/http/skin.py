"""Front ends and where they are mounted."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from chatsvc.http.faults import HttpFault
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse


class Skin(Protocol):
    """A front end: answers requests, and words protocol faults in its own format."""

    def handle(self, request: HttpRequest) -> Awaitable[HttpResponse]:
        """Answer one request. May raise HttpFault; any other exception is logged and becomes HandlerFailed."""
        ...

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a fault; `request` is None where the bytes never became one."""
        ...


class Mounts:
    """A front end made of others. Each request goes to the first whose prefix begins its path.

    A prefix that ends with a slash stands for all paths below it, any other for that path alone and the paths below it.
    `default` takes every other path, `pathless` (by default the same) targets that are no path, such as "*", and `unparsed` words the
    refusal of bytes that never became a request.
    """

    def __init__(self, mounts: Mapping[str, Skin], default: Skin, unparsed: Skin, pathless: Skin | None = None) -> None:
        self._mounts = tuple(mounts.items())
        self._default = default
        self._unparsed = unparsed
        self._pathless = pathless or default

    def find(self, path: str) -> Skin:
        """Return the front end for a path."""
        for prefix, skin in self._mounts:
            if path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix) : len(prefix) + 1] in ("", "/")):
                return skin
        return self._default if path.startswith("/") else self._pathless

    def handle(self, request: HttpRequest) -> Awaitable[HttpResponse]:
        return self.find(request.path).handle(request)

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        skin = self.find(request.path) if request is not None else self._unparsed
        return skin.refuse(fault, request, request_id)
