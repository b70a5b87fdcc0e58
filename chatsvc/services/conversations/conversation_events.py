"""News of conversations, told to other processes too: wakes waiting callers, and remembers for a while who reads and types."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from chatsvc.domain.models import ConversationKey
from chatsvc.store.database import ProcessNotices

TYPING_S = 6.0
READING_S = 70.0  # a page that is open reads again within a minute
RENEW_S = 1.0  # a mark is not renewed more often
VISITOR, OPERATOR = "visitor", "operator"
NEWS, TYPING, TYPED, READING = "news", "typing", "typed", "reading"


class Waiter:
    """One who waits for a change of a conversation."""

    def __init__(self, future: asyncio.Future[None]) -> None:
        self._future = future

    async def wait(self, timeout_s: float) -> None:
        """Return at the change, after `timeout_s` seconds, or when the service stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._future


class ConversationEvents:
    """Waiters and typing marks by conversation (bot, channel, user). Both are bounded by the open widgets and pages.

    `closed` is set when the service stops; then nobody waits any more. `observers` are called at each change.
    """

    def __init__(self, notices: ProcessNotices | None = None) -> None:
        self._notices = notices
        self._waiters: dict[ConversationKey, set[asyncio.Future[None]]] = {}
        self._typing: dict[tuple[ConversationKey, str], float] = {}
        self._readers: dict[tuple[ConversationKey, str], float] = {}
        self._tidied = 0.0
        self.closed = False
        self.observers: list[Callable[[ConversationKey], None]] = []

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def listen(self) -> None:
        """Hear the other processes from now on, if there may be any."""
        if self._notices is not None:
            self._notices.listen(self._hear, self._wake_all)

    def _hear(self, message: list[Any]) -> None:
        kind, *values = message
        if kind == NEWS:
            self._wake(tuple(values[0]))
        elif kind == TYPING:
            self._mark(tuple(values[0]), values[1])
        elif kind == READING:
            self._note_reader(tuple(values[0]), values[1])
        elif kind == TYPED:
            self._typing.pop((tuple(values[0]), values[1]), None)

    def _tell(self, *message: object) -> None:
        if self._notices is not None:
            self._notices.send(*message)

    def notify(self, conversation: ConversationKey) -> None:
        """Wake all who wait for the conversation. A message, its handling or a typing mark has changed."""
        self._wake(conversation)
        self._tell(NEWS, conversation)

    def _wake_all(self) -> None:
        for conversation in list(self._waiters):
            self._wake(conversation)

    def _wake(self, conversation: ConversationKey) -> None:
        for waiter in self._waiters.pop(conversation, ()):
            if not waiter.done():
                waiter.set_result(None)
        for observer in self.observers:
            observer(conversation)

    @asynccontextmanager
    async def waiting_for(self, conversation: ConversationKey) -> AsyncIterator[Waiter]:
        """Observe the conversation within the block. A change between its beginning and the waiter's `wait` is not missed."""
        future = asyncio.get_running_loop().create_future()
        if self.closed:
            future.set_result(None)
        self._waiters.setdefault(conversation, set()).add(future)
        try:
            yield Waiter(future)
        finally:
            waiters = self._waiters.get(conversation, set())
            waiters.discard(future)
            if not waiters:
                self._waiters.pop(conversation, None)

    def close(self) -> None:
        """Wake everybody, and let nobody wait any more."""
        self.closed = True
        self._wake_all()

    def type(self, conversation: ConversationKey, who: str) -> None:
        """Mark that the visitor or the operator is typing, for TYPING_S seconds."""
        if self._mark(conversation, who):
            self._tell(TYPING, conversation, who)

    def _mark(self, conversation: ConversationKey, who: str) -> bool:
        """Note a typing mark here. A mark that was just made stays as it is, however often a caller tries; False then."""
        now = asyncio.get_running_loop().time()
        until = self._typing.get((conversation, who), 0.0)
        if until > now + TYPING_S - RENEW_S:
            return False
        if now >= self._tidied + TYPING_S:
            self._tidied = now
            self._typing = {mark: end for mark, end in self._typing.items() if end > now}
        self._typing[conversation, who] = now + TYPING_S
        if until <= now:
            self._wake(conversation)
        return True

    def stop_typing(self, conversation: ConversationKey, who: str) -> None:
        """Remove a typing mark: the message has come."""
        self._typing.pop((conversation, who), None)
        self._tell(TYPED, conversation, who)

    def read(self, conversation: ConversationKey, operator: str) -> None:
        """Note that an operator (its id) has the conversation open, for READING_S seconds."""
        if self._note_reader(conversation, operator):
            self._tell(READING, conversation, operator)

    def _note_reader(self, conversation: ConversationKey, operator: str) -> bool:
        """Note a reader here; False where that was done a moment ago."""
        now = asyncio.get_running_loop().time()
        until = self._readers.pop((conversation, operator), 0.0)
        while self._readers and (oldest := next(iter(self._readers.items())))[1] <= now:
            del self._readers[oldest[0]]
        is_new = until <= now + READING_S - RENEW_S
        self._readers[conversation, operator] = now + READING_S if is_new else until
        return is_new

    def readers(self, conversation: ConversationKey) -> list[str]:
        """Return the operators who have the conversation open."""
        now = asyncio.get_running_loop().time()
        return [operator for (there, operator), until in self._readers.items() if there == conversation and until > now]

    def is_typing(self, conversation: ConversationKey, who: str) -> bool:
        return self._typing.get((conversation, who), 0.0) > asyncio.get_running_loop().time()
