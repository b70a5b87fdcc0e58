"""How many deliveries may be under way, over all bots and for each, so that no receiver, nor many dead ones, keep the others waiting.

A delivery holds a connection, and with it a file descriptor, for as long as it lasts: milliseconds where the receiver lives, the whole
time-out where it does not. There are CONNECTIONS lanes in all, and a bot may have

- LANES once its receiver has answered, but no more than a quarter of what then stays free: where few are free everybody gets few, and
  some always stay free for who comes next;
- one as long as its receiver has not answered since the service started;
- one, as long as all such bots together hold less than half of the lanes, where nothing was heard from its receiver the last time.

So 200 bots with dead receivers hold 200 of 256 lanes at the most, for one time-out after a start, and 128 from then on, in turns, were
there thousands of them: half of the lanes are always for receivers that answer and for those not tried yet. A receiver that dies with
LANES deliveries under way keeps these for one time-out, and then one. Who has to wait gets a lane in the order of asking.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

CONNECTIONS = 256
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
        held, free = self._held[bot_id], CONNECTIONS - self._taken
        first = 0 if held or self._has_to_wait(bot_id) else 1
        if not self._answers.get(bot_id):
            return first
        # The most with which what it holds is a quarter of what stays free: held + room <= (free - room) / 4.
        return max(first, min(LANES - held, (free - 4 * held) // 5))

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
