"""One request as it came: what its head says, and its body as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import HttpVersion11, StreamReader, hdrs
from aiohttp.http import RawRequestMessage
from multidict import CIMultiDictProxy

_NO_QUERY: Mapping[str, str] = {}


class Request:
    """`target` is what stood in the request line; `remote` the peer's address, None where it has none; `interim` sends a 1xx."""

    __slots__ = ("_message", "content", "headers", "interim", "method", "remote", "target")

    def __init__(self, message: RawRequestMessage, content: StreamReader, remote: str | None, interim: Callable[[bytes], None]) -> None:
        self._message = message
        self.content = content
        self.remote = remote
        self.interim = interim
        self.method: str = message.method
        self.target: str = message.path
        self.headers: CIMultiDictProxy[str] = message.headers

    @property
    def path(self) -> str:
        """The path as it was sent; empty in a target that has none."""
        target = self.target if self.target.startswith("/") else self._message.url.raw_path
        return target.partition("?")[0]

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query; the first counts where one was sent twice."""
        return self._message.url.query if "?" in self.target else _NO_QUERY

    @property
    def is_older(self) -> bool:
        """Whether the caller speaks HTTP/1.0."""
        return self._message.version < HttpVersion11

    @property
    def keep_alive(self) -> bool:
        """Whether the caller wants to use the connection again, and may."""
        message = self._message
        # What follows CONNECT might be a body to one reader and a request to another; and aiohttp's parser gives the last trailer of a
        # body in chunks to the next request, as a header of that one.
        return not (message.should_close or message.chunked or message.method == hdrs.METH_CONNECT)
