"""Events of conversations. They wake callers that wait in this process and in others.

This module also stores for some seconds who reads and who types.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from chatsvc.domain.models import ConversationKey
from chatsvc.store.database import ProcessNotices

TYPING_S = 6.0
READING_S = 70.0  # a page that is open reads again within a minute
RENEW_S = 1.0  # a mark is not renewed more often
VISITOR, OPERATOR = "visitor", "operator"
NEWS, TYPING, TYPED, READING = "news", "typing", "typed", "reading"


class ExpiringMarks:
    """Marks that somebody types or reads in a conversation. Each mark expires `lasts_s` seconds after it was set."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self._ends: dict[tuple[ConversationKey, str], float] = {}

    def set(self, conversation: ConversationKey, who: str) -> bool:
        """Set a mark. Return False if the same mark was set a moment ago."""
        now, mark = asyncio.get_running_loop().time(), (conversation, who)
        if self._ends.get(mark, 0.0) > now + self._lasts_s - RENEW_S:
            return False
        self._ends.pop(mark, None)
        while self._ends and next(iter(self._ends.values())) <= now:
            del self._ends[next(iter(self._ends))]
        self._ends[mark] = now + self._lasts_s
        return True

    def remove(self, conversation: ConversationKey, who: str) -> None:
        self._ends.pop((conversation, who), None)

    def has(self, conversation: ConversationKey, who: str) -> bool:
        return self._ends.get((conversation, who), 0.0) > asyncio.get_running_loop().time()

    def of(self, conversation: ConversationKey) -> list[str]:
        """Return the people who have a mark (reading or typing) in a conversation."""
        return [who for marked, who in self._ends if marked == conversation and self.has(marked, who)]


class ConversationEvents:
    """Wakes callers that wait for news of a conversation, and knows who types and reads in it. Open widgets and pages bound its size.

    `typing` and `reading` contain who types and who reads; `type` and `read` set these marks. `closed` is set when the service stops; then
    no caller waits any more. `observers` are called at each change.
    """

    def __init__(self, notices: ProcessNotices | None = None) -> None:
        self._notices = notices
        self._waiters: dict[ConversationKey, set[asyncio.Event]] = {}
        self.typing, self.reading = ExpiringMarks(TYPING_S), ExpiringMarks(READING_S)
        self.closed = False
        self.observers: list[Callable[[ConversationKey], None]] = []

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    def listen(self) -> None:
        """Subscribe to the events of other processes, if there may be any."""

        def hear(message: list[Any]) -> None:
            kind, *values = message
            if kind in (NEWS, TYPING, TYPED, READING):  # the end of a turn comes this way too, and names no conversation
                self._note(kind, tuple(values[0]), *values[1:])

        if self._notices is not None:
            self._notices.listen(hear, self._wake_all)

    def _note(self, kind: str, conversation: ConversationKey, who: str = "") -> bool:
        """Apply an event of this or another process. Return False if the other processes know it already."""
        if kind == NEWS:
            self._wake(conversation)
        elif kind == READING:
            return self.reading.set(conversation, who)
        elif kind == TYPED:
            self.typing.remove(conversation, who)
        elif kind == TYPING:
            begins, is_set = not self.typing.has(conversation, who), self.typing.set(conversation, who)
            if begins:
                self._wake(conversation)
            return is_set
        return True

    def _tell(self, kind: str, conversation: ConversationKey, who: str = "") -> None:
        if self._note(kind, conversation, who) and self._notices is not None:
            self._notices.send(kind, conversation, who)

    def notify(self, conversation: ConversationKey) -> None:
        """Wake all callers that wait for the conversation, because its messages, handling or typing marks have changed."""
        self._tell(NEWS, conversation)

    def _wake_all(self) -> None:
        for conversation in list(self._waiters):
            self._wake(conversation)

    def _wake(self, conversation: ConversationKey) -> None:
        for waiter in self._waiters.pop(conversation, ()):
            waiter.set()
        for observer in self.observers:
            observer(conversation)

    @asynccontextmanager
    async def waiting_for(self, conversation: ConversationKey) -> AsyncIterator[asyncio.Event]:
        """Observe the conversation within the block. The event is set at its first change, and when the service stops."""
        waiter = asyncio.Event()
        if self.closed:
            waiter.set()
        self._waiters.setdefault(conversation, set()).add(waiter)
        try:
            yield waiter
        finally:
            waiters = self._waiters.get(conversation, set())
            waiters.discard(waiter)
            if not waiters:
                self._waiters.pop(conversation, None)

    def close(self) -> None:
        """Wake all waiting callers. Later callers do not wait."""
        self.closed = True
        self._wake_all()

    def type(self, conversation: ConversationKey, who: str) -> None:
        """Mark that the visitor or the operator is typing, for TYPING_S seconds."""
        self._tell(TYPING, conversation, who)

    def stop_typing(self, conversation: ConversationKey, who: str) -> None:
        """Remove a typing mark because the message has arrived."""
        self._tell(TYPED, conversation, who)

    def read(self, conversation: ConversationKey, operator: str) -> None:
        """Mark for READING_S seconds that the operator with the id `operator` has the conversation open."""
        self._tell(READING, conversation, operator)
