"""The pasts of the conversations that go on just now, as their last answers have left them: their next messages read nothing."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.models import Said
from chatsvc.store.conversations import Past

Conversing = tuple[str, str, str]

MOST_CONVERSATIONS = 1024
MOST_CHARACTERS = 1_000_000


class _Kept(NamedTuple):
    past: Past
    since: int
    characters: int


class Pasts:
    """Keeps those that were answered last, by conversation (bot, channel, user), within bounds.

    A past is taken out while its conversation is being answered and put back when the answer is written: so a fault on the way leaves
    none behind, and the store is asked.
    """

    def __init__(self) -> None:
        self._kept: dict[Conversing, _Kept] = {}
        self._characters = 0
        self.changes = 0

    def take(self, conversation: Conversing, since: int) -> Past | None:
        """The past, if it is kept and counts what was captured since that instant."""
        kept = self._kept.pop(conversation, None)
        if kept is None:
            return None
        self._characters -= kept.characters
        return kept.past if kept.since == since else None

    def put(self, conversation: Conversing, past: Past, since: int, changes: int) -> None:
        """Keep a past that was read or taken when there had been so many `changes`; not where something was deleted meanwhile."""
        if changes != self.changes:
            return
        characters = sum([len(said.content) for said in past.history])
        self._kept[conversation] = _Kept(past, since, characters)
        self._characters += characters
        while len(self._kept) > MOST_CONVERSATIONS or self._characters > MOST_CHARACTERS:
            self._characters -= self._kept.pop(next(iter(self._kept))).characters

    def forget(self) -> None:
        """Something of some conversation was deleted."""
        self.changes += 1
        self._kept.clear()
        self._characters = 0


def grown(past: Past, message: str, reply: str, dialogue: str | None, *, captured: bool, most: int) -> Past:
    """A past with one exchange more, `most` messages at most."""
    history = [*past.history, Said("user", message), Said("assistant", reply)][-most:]
    return Past(history, dialogue, past.captured + captured)
