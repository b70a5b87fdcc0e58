"""Request parser: aiohttp's C parser (llhttp) behind a sans-I/O interface, one parser for each request.

This is the only file that uses aiohttp's internal classes, so `pyproject.toml` caps its version. Request heads are collected
here and parsed in one piece: the result cannot depend on where the network cut the stream, and an unfinished head costs its
bytes and nothing more. Bodies with a length are counted here; chunked bodies are decoded by the same parser.
"""

from typing import Any, NamedTuple

from aiohttp import HttpVersion10, HttpVersion11, StreamReader, http_parser
from aiohttp import __version__ as aiohttp_version
from aiohttp.http import HttpRequestParser, RawRequestMessage
from multidict import CIMultiDictProxy
from yarl import URL

from chatsvc.domain.errors import CommandError
from chatsvc.http.faults import BadRequest, BodyBroken

MAX_HEAD = 32 * 1024  # bytes of request line and fields
MAX_LINE = 8190  # bytes of the target, and of a field's name and value
MAX_FIELDS = 128
MAX_FRAMING = 512 * 1024  # bytes of chunk sizes, extensions and trailers: enough for 64 KiB in chunks of one byte
_TESTED = (3, 14)
_END = b"\r\n\r\n"


def check_parser() -> None:
    """Refuse to start unless the installed aiohttp has the C parser of a tested version. Raises CommandError."""
    if tuple(int(part) for part in aiohttp_version.split(".")[:2]) != _TESTED:
        raise CommandError(
            f"chatsvc needs aiohttp {_TESTED[0]}.{_TESTED[1]}, and this is {aiohttp_version}: install chatsvc's own requirements"
        )
    if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
        raise CommandError("aiohttp runs without its C parser, which is the stricter one: reinstall aiohttp from a wheel")


class Head(NamedTuple):
    """A parsed request head; `length` is None for a chunked body."""

    method: str
    target: str
    url: URL
    headers: CIMultiDictProxy[str]
    is_http_1_0: bool
    keep_alive: bool
    length: int | None

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for an interim response before it sends the body."""
        return self.length != 0 and not self.is_http_1_0 and self.headers.get("Expect", "").lower() == "100-continue"

    @property
    def path(self) -> str:
        """The path as it was sent; empty for a target without one (`*`, CONNECT)."""
        if self.method == "CONNECT":
            return ""
        target = self.target if self.target.startswith("/") else self.url.raw_path
        return target.partition("?")[0]


class _NoFlowControl:
    """The protocol that aiohttp's StreamReader reports to: flow control is the connection's own."""

    connected = True

    def pause_reading(self) -> None: ...

    def resume_reading(self, resume_parser: bool = True) -> None: ...


_NO_FLOW_CONTROL: Any = _NoFlowControl()


def _new_parser() -> HttpRequestParser:
    # The second argument is the event loop, which only a reader that waits would use.
    return HttpRequestParser(
        _NO_FLOW_CONTROL,
        _NO_FLOW_CONTROL,
        MAX_HEAD,
        max_line_size=MAX_LINE,
        max_field_size=MAX_LINE,
        max_headers=MAX_FIELDS,
        auto_decompress=False,
    )


def _check_framing(message: RawRequestMessage) -> int:
    """Return the declared length; raises BadRequest. In requests for an upgrade the C parser skips some of these checks."""
    if not message.chunked and "Content-Length" not in message.headers and "Transfer-Encoding" not in message.headers:
        return 0
    codings, lengths = message.headers.getall("Transfer-Encoding", ()), message.headers.getall("Content-Length", ())
    if len(codings) + len(lengths) > 1 or (codings and codings[0].lower() != "chunked") or bool(codings) is not message.chunked:
        raise BadRequest("ambiguous framing")
    if lengths and not (lengths[0].isascii() and lengths[0].isdecimal()):
        raise BadRequest("bad length")
    return int(lengths[0]) if lengths else 0


class RequestParser:
    """Parses the requests of one connection from the bytes given to `receive`.

    `next_head` yields a head, then `take_body` its body until `body_is_complete`, then `next_head` again.
    """

    __slots__ = ("_chunked", "_data", "_framing", "_is_line_checked", "_left", "_searched", "body_is_complete")

    def __init__(self) -> None:
        self._data = b""
        self._searched = 0
        self._is_line_checked = False
        self._left = 0
        self._chunked: tuple[HttpRequestParser, StreamReader] | None = None
        self._framing = 0
        self.body_is_complete = True

    @property
    def buffered(self) -> int:
        """Bytes received and not yet taken."""
        return len(self._data)

    def receive(self, data: bytes) -> None:
        """Append bytes from the network."""
        self._data = self._data + data if self._data else data

    def next_head(self) -> Head | None:
        """Take the next request's head; None while it is incomplete. Raises BadRequest."""
        data = self._data
        if data and data[0] in b"\r\n":
            data = self._data = data.lstrip(b"\r\n")
        if not data:
            return None
        end = data.find(_END, max(0, self._searched - len(_END)))
        if end < 0:
            self._searched = len(data)
            self._check_beginning(data)
            return None
        size = end + len(_END)
        if size > MAX_HEAD:
            raise BadRequest("head too large")
        self._data = data[size:]
        self._searched, self._is_line_checked = 0, False
        return self._parse(data[:size])

    def _check_beginning(self, data: bytes) -> None:
        """Refuse early what cannot become a request; raises BadRequest."""
        if len(data) >= MAX_HEAD:
            raise BadRequest("head too large")
        if not (data[:1].isalpha() and data[:1].isupper()):
            raise BadRequest("no request line")
        line_end = data.find(b"\n")
        if line_end >= 0 and not self._is_line_checked:
            self._is_line_checked = True
            try:
                _new_parser().feed_data(data[: line_end + 1])
            except Exception as fault:  # noqa: BLE001  # the same
                raise BadRequest(type(fault).__name__) from None

    def _parse(self, data: bytes) -> Head:
        parser = _new_parser()
        try:
            ((message, payload),) = parser.feed_data(data)[0]
        except Exception as fault:  # noqa: BLE001  # whatever the parser raises, the bytes are no request
            # The parser's own message quotes the faulty bytes, which may hold a key.
            raise BadRequest(type(fault).__name__) from None
        # aiohttp's parser accepts HTTP/0.9, a textual HTTP/2.0 and several spaces too.
        if message.version not in (HttpVersion10, HttpVersion11) or data.count(b" ", 0, data.index(b"\r")) != 2:
            raise BadRequest("bad request line")
        is_connect = message.method == "CONNECT"
        length = 0 if is_connect else _check_framing(message)
        # Bytes behind a CONNECT may be a tunnel's. The end of a chunked body is known to the C parser alone, so nothing may follow one.
        keep_alive = not (message.should_close or message.chunked or is_connect)
        if message.chunked:
            self._chunked, self._framing = (parser, payload), 0
        self._left, self.body_is_complete = length, not (length or message.chunked)
        return Head(
            message.method,
            message.path,
            message.url,
            message.headers,
            message.version == HttpVersion10,
            keep_alive,
            None if message.chunked else length,
        )

    def take_body(self) -> bytes:
        """Take the bytes of the body that have arrived; raises BodyBroken."""
        if self.body_is_complete:
            return b""
        if self._chunked is not None:
            return self._take_chunks(*self._chunked)
        body, self._data = self._data[: self._left], self._data[self._left :]
        self._left -= len(body)
        self.body_is_complete = not self._left
        return body

    def _take_chunks(self, parser: HttpRequestParser, payload: StreamReader) -> bytes:
        data, self._data = self._data, b""
        if not data:
            return b""
        try:
            parser.feed_data(data)
        except Exception as fault:  # noqa: BLE001  # whatever the parser raises, it is about the body or what is behind it
            if not payload.is_eof():
                raise BodyBroken(type(fault).__name__) from None
        body = payload.read_nowait()
        self.body_is_complete = payload.is_eof()
        self._framing += len(data) - len(body)
        if self.body_is_complete:
            self._chunked = None
        elif self._framing > MAX_FRAMING:
            raise BodyBroken("too much framing")
        return body
