"""Cache of recent conversation histories, so that the next message needs no query.

Least recently used ones are evicted.
"""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.captures import CapturedRecord
from chatsvc.domain.models import HistoryMessage
from chatsvc.store.conversations import MAX_RECORDS, ConversationHistory

# Bot, channel and user.
ConversationKey = tuple[str, str, str]

MOST_CONVERSATIONS = 1024
MOST_CHARACTERS = 1_000_000


class _Cached(NamedTuple):
    history: ConversationHistory
    since: int
    characters: int


class HistoryCache:
    """Least-recently-used cache, bounded by conversations and by characters.

    A history is removed while its conversation is being answered and put back after the commit. After a fault there is none,
    and the store is read.
    """

    def __init__(self) -> None:
        self._cached: dict[ConversationKey, _Cached] = {}
        self._characters = 0
        self.generation = 0

    def pop(self, conversation: ConversationKey, since: int) -> ConversationHistory | None:
        """Remove and return a history, if its captures are counted from `since` (milliseconds)."""
        cached = self._cached.pop(conversation, None)
        if cached is None:
            return None
        self._characters -= cached.characters
        return cached.history if cached.since == since else None

    def put(self, conversation: ConversationKey, history: ConversationHistory, since: int, generation: int) -> None:
        """Add a history that was read in `generation`; ignored if the cache was cleared since."""
        if generation != self.generation:
            return
        characters = sum([len(message.content) for message in history.messages])
        self._cached[conversation] = _Cached(history, since, characters)
        self._characters += characters
        while len(self._cached) > MOST_CONVERSATIONS or self._characters > MOST_CHARACTERS:
            self._characters -= self._cached.pop(next(iter(self._cached))).characters

    def drop(self, conversation: ConversationKey) -> None:
        """Drop one history, to which something was added. One that is being answered is not put back."""
        self.generation += 1
        self.pop(conversation, 0)

    def clear(self) -> None:
        """Drop all histories, since messages of some conversation were deleted."""
        self.generation += 1
        self._cached.clear()
        self._characters = 0


def extended(
    history: ConversationHistory, message: str, reply: str, dialogue: str | None, *, captured: CapturedRecord | None, most: int
) -> ConversationHistory:
    """Append an exchange and its captured record to a history. The newest `most` messages are kept."""
    messages = [*history.messages, HistoryMessage("user", message), HistoryMessage("assistant", reply)][-most:]
    if captured is None:
        return ConversationHistory(messages, dialogue, history.captured, history.records)
    return ConversationHistory(messages, dialogue, history.captured + 1, (*history.records, captured)[-MAX_RECORDS:])
