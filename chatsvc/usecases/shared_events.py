"""News of conversations over several processes, sent as notices: new messages and typing marks.

A message that one process stores wakes those who wait for it at another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chatsvc.domain.models import ConversationKey
from chatsvc.store.database import ProcessNotices
from chatsvc.usecases.conversation_events import ConversationEvents

NEWS, TYPING, TYPED = "news", "typing", "typed"


class SharedEvents(ConversationEvents):
    """Waiters and typing marks of one of several processes. News that is lost is found when a waiter's time is over."""

    def __init__(self, notices: ProcessNotices) -> None:
        super().__init__()
        self._is_quiet = False
        self._notices = notices

    def listen(self) -> None:
        """Hear the other processes from now on."""
        self._notices.listen(self._hear, self._wake_all)

    def notify(self, conversation: ConversationKey) -> None:
        """See ConversationEvents.notify."""
        super().notify(conversation)
        self._tell(NEWS, conversation)

    def type(self, conversation: ConversationKey, who: str) -> None:
        """See ConversationEvents.type."""
        before = self._typing.get((conversation, who))
        with self._quiet():
            super().type(conversation, who)
        if self._typing.get((conversation, who)) != before:
            self._tell(TYPING, conversation, who)

    def stop_typing(self, conversation: ConversationKey, who: str) -> None:
        """See ConversationEvents.stop_typing."""
        super().stop_typing(conversation, who)
        self._tell(TYPED, conversation, who)

    def close(self) -> None:
        """See ConversationEvents.close."""
        with self._quiet():
            super().close()

    def _tell(self, *message: object) -> None:
        if not self._is_quiet:
            self._notices.send(*message)

    def _hear(self, message: list[Any]) -> None:
        if message[0] not in (NEWS, TYPING, TYPED):
            return
        kind, (bot_id, channel, user_id), *who = message
        conversation = bot_id, channel, user_id
        with self._quiet():
            if kind == NEWS:
                self.notify(conversation)
            elif kind == TYPING:
                self.type(conversation, *who)
            elif kind == TYPED:
                self.stop_typing(conversation, *who)

    def _wake_all(self) -> None:
        """Wake all who wait here, since news of other processes may have been lost."""
        with self._quiet():
            for conversation in list(self._waiters):
                self.notify(conversation)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Tell the other processes nothing within the block."""
        before, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = before
