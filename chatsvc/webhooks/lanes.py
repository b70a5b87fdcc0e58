"""How many deliveries may be under way, over all bots and for each, so that no receiver, nor many dead ones, keep the others waiting.

A delivery holds a connection, and with it a file descriptor, for as long as it lasts: milliseconds where the receiver lives, the whole
time-out where it does not. There are CONNECTIONS lanes in all. A bot may have

- one, as long as its receiver has not answered since the service started;
- LANES once it has answered; of the SHARED lanes that these further ones come from, though, no more than a third of what then stays
  free, so that who is early does not take them all;
- one, as long as all such bots together hold less than half of all lanes, where nothing was heard from its receiver the last time.

So 200 bots whose receivers are dead hold 200 lanes at the most, and 128 more if some had been answering with a backlog until then, for
one time-out; afterwards 200, and 256 were there thousands of them, who then take turns. Of 512 there are always some for the living
ones, each of which has a first lane at once. Who has to wait gets a lane in the order of asking.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

CONNECTIONS = 512
SHARED = 128
LANES = 32


class Lanes:
    """The lanes of one process. What has been taken must be given back."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._taken = 0
        # By bot: whether its receiver answered the last time, with whatever status.
        self._answers: dict[str, bool] = {}
        self._silent = 0
        self._waiting: dict[bool, deque[tuple[str, Callable[[], None]]]] = {False: deque(), True: deque()}

    def take(self, bot_id: str, wanted: int) -> int:
        """Take lanes for a bot, as many as it may have now and at most `wanted`; gives how many."""
        count = max(0, min(wanted, self._room(bot_id)))
        self._hold(bot_id, count)
        return count

    def _room(self, bot_id: str) -> int:
        held = self._held[bot_id]
        first = 0 if held or self._has_to_wait(bot_id) else 1
        if not self._answers.get(bot_id) or not (held or first):
            return first
        # The most with which its further lanes are a third of what stays free of the shared ones.
        further, free = held + first - 1, SHARED - (self._taken - len(self._held))
        return first + max(0, min(LANES - held - first, CONNECTIONS - self._taken - first, (free - 3 * further) // 4))

    def _has_to_wait(self, bot_id: str) -> bool:
        if self._taken >= CONNECTIONS:
            return True
        return self._answers.get(bot_id) is False and self._silent >= CONNECTIONS // 2

    def _hold(self, bot_id: str, count: int) -> None:
        self._taken += count
        self._held[bot_id] += count
        if self._answers.get(bot_id) is False:
            self._silent += count
        if not self._held[bot_id]:
            del self._held[bot_id]

    def line_up(self, bot_id: str, called: Callable[[], None]) -> None:
        """For a bot that holds none and could take none: have `called` called once, when a lane has been taken for it."""
        self._waiting[self._answers.get(bot_id) is False].append((bot_id, called))
        self._serve()

    def give_back(self, bot_id: str, count: int = 1) -> None:
        """Lanes that are not needed any more."""
        self._hold(bot_id, -count)
        self._serve()

    def note(self, bot_id: str, *, answered: bool) -> None:
        """Whether a bot's receiver has answered just now."""
        if self._answers.get(bot_id) is answered:
            return
        held = self._held[bot_id]
        self._hold(bot_id, -held)
        self._answers[bot_id] = answered
        self._hold(bot_id, held)

    def _serve(self) -> None:
        for waiting in self._waiting.values():
            while waiting and not self._has_to_wait(waiting[0][0]):
                bot_id, called = waiting.popleft()
                self._hold(bot_id, 1)
                called()
