"""Locks of conversations in a process that answers no messages. No event loop is imported: a command starts in milliseconds."""

from __future__ import annotations

from chatsvc.usecases.history_cache import ConversationKey


class Busy(Exception):
    """A conversation was still locked at the deadline."""


class NoLocks:
    """Stands for ConversationLocks: nothing is ever locked or in flight."""

    unfinished = 0
    waiting = 0

    def hold(self, conversation: ConversationKey, timeout_s: float) -> NoLocks:
        """Lock a conversation, see ConversationLocks.hold."""
        del conversation, timeout_s
        return self

    def locked(self, user_id: str, bot_id: str | None) -> list[ConversationKey]:
        """List the locked conversations: none."""
        del user_id, bot_id
        return []

    async def __aenter__(self) -> None:
        """Enter at once."""

    async def __aexit__(self, *_: object) -> None:
        """Leave."""
