"""Request body: read on demand, within the size and time that the route allows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from chatsvc.http.admission import Admission
from chatsvc.http.faults import BodiesOverload, BodyBroken, BodyTimeout, BodyTooLarge
from chatsvc.http.parser import MAX_HEAD, RequestParser

DEFAULT_TIMEOUT_S = 10.0
UNCOUNTED = MAX_HEAD  # bytes of each body that nobody counts: its connection may hold as much of a head
MAX_SKIPPED = 1024 * 1024  # bytes of an unread body for which a connection is kept

WaitForData = Callable[[], Awaitable[None]]


class Body:
    """The body of one request. Nothing is decoded before it is read, so an unread body costs one network read.

    `length` is the declared length, None for a chunked body. `wait` returns after more bytes have arrived and raises BodyBroken
    when none will; `continue_` sends the interim response that the client asked for by `Expect: 100-continue`. `admission` counts
    what `read` holds until `release`.
    """

    __slots__ = ("_admission", "_continue", "_counted", "_has_failed", "_parser", "_wait", "length")

    def __init__(
        self, parser: RequestParser, length: int | None, admission: Admission, wait: WaitForData, continue_: Callable[[], None] | None
    ) -> None:
        self._parser = parser
        self._admission: Admission | None = admission
        self._counted = 0
        self._wait = wait
        self._continue = continue_
        self._has_failed = False
        self.length = length

    @property
    def is_complete(self) -> bool:
        """Whether the body has been read to its end."""
        return self._parser.body_is_complete

    @property
    def is_skippable(self) -> bool:
        """Whether the rest can be skipped to reach the next request. It depends on nothing but the head, unless reading failed.

        A client that still waits for `100 Continue` may send its next request instead of the body.
        """
        if self.is_complete:
            return True
        return not self._has_failed and self._continue is None and self.length is not None and self.length <= MAX_SKIPPED

    async def chunks(self, limit: int, timeout_s: float = DEFAULT_TIMEOUT_S) -> AsyncIterator[bytes]:
        """Iterate over the body as it arrives.

        Raises BodyTooLarge over `limit` bytes, BodyTimeout when the whole takes longer than `timeout_s`, and BodyBroken.
        """
        if self.length is not None and self.length > limit:
            raise BodyTooLarge
        deadline = asyncio.get_running_loop().time() + timeout_s
        size = 0
        while not self.is_complete:
            chunk = await self._next(deadline)
            size += len(chunk)
            if size > limit:
                raise BodyTooLarge
            if chunk:
                yield chunk

    def _count(self, size: int) -> None:
        if self._admission is None or size <= self._counted:
            return
        if not self._admission.take_bytes(size - self._counted):
            self._has_failed = True
            raise BodiesOverload
        self._counted = size

    def release(self) -> None:
        """Stop counting: the sender is known, or the request is answered."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.release_bytes(self._counted)

    async def _next(self, deadline: float) -> bytes:
        """Return what has arrived, waiting once if that is nothing."""
        try:
            chunk = self._parser.take_body()
            if chunk or self.is_complete:
                return chunk
            if self._continue is not None:
                send, self._continue = self._continue, None
                send()
            async with asyncio.timeout_at(deadline):
                await self._wait()
            return self._parser.take_body()
        except TimeoutError:
            self._has_failed = True
            raise BodyTimeout from None
        except BodyBroken:
            self._has_failed = True
            raise

    async def read(self, limit: int, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
        """Read the whole body. Raises as `chunks` does, and BodiesOverload where the service holds too much for unknown senders already."""
        if self.length == 0:
            return b""
        # Most bodies arrive with their head and need no timer.
        if self.length is not None and self.length <= limit and self._parser.buffered >= self.length:
            return self._parser.take_body()
        chunks, size = [], 0
        async for chunk in self.chunks(limit, timeout_s):
            chunks.append(chunk)
            size += len(chunk)
            self._count(size - UNCOUNTED)
        return b"".join(chunks)

    async def skip(self, timeout_s: float) -> None:
        """Discard what is left; raises BodyTimeout and BodyBroken."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        self._continue = None
        while not self.is_complete:
            await self._next(deadline)
