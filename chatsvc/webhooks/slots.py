"""Concurrency limits of deliveries. Connection slots, in all and for each bot, so that dead receivers do not delay the others.

A delivery holds a connection, and with it a file descriptor: for milliseconds if the receiver answers, for the whole time-out if
not. There are CONNECTIONS slots in all. A bot may have

- one, until its receiver has answered for the first time since the start;
- SLOTS_PER_BOT after that, taken from the SHARED slots; but at most a third of the shared slots that then stay free;
- one if its receiver did not answer the last delivery, as long as such bots hold less than half of all slots together.

200 bots with dead receivers hold 200 slots at most, and 128 more for one time-out if some of them had a backlog until then. Even
thousands of them hold 256. Some of the 512 are always free for the living ones. Waiting bots get slots in the order of their requests.
"""

from collections import Counter, deque
from collections.abc import Callable

CONNECTIONS = 512
SHARED = 128
SLOTS_PER_BOT = 32


class DeliverySlots:
    """Connection slots of one process; every slot that was taken must be released."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._taken = 0
        # By bot: whether its receiver answered the last time, with whatever status.
        self._answers: dict[str, bool] = {}
        self._silent = 0
        self._waiting: dict[bool, deque[tuple[str, Callable[[], None]]]] = {False: deque(), True: deque()}

    def take(self, bot_id: str, wanted: int) -> int:
        """Take at most `wanted` slots for a bot, as many as it may have now. Return how many."""
        count = max(0, min(wanted, self._room(bot_id)))
        self._hold(bot_id, count)
        return count

    def _room(self, bot_id: str) -> int:
        held = self._held[bot_id]
        first = 0 if held or self._must_wait(bot_id) else 1
        if not self._answers.get(bot_id) or not (held or first):
            return first
        # The maximum with which its further slots are a third of the shared ones that stay free.
        further, free = held + first - 1, SHARED - (self._taken - len(self._held))
        return first + max(0, min(SLOTS_PER_BOT - held - first, CONNECTIONS - self._taken - first, (free - 3 * further) // 4))

    def _must_wait(self, bot_id: str) -> bool:
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

    def wait_for_slot(self, bot_id: str, called: Callable[[], None]) -> None:
        """Queue a bot that has no slot. `called` is called once, when a slot was taken for it."""
        self._waiting[self._answers.get(bot_id) is False].append((bot_id, called))
        self._grant_waiting()

    def release(self, bot_id: str, count: int = 1) -> None:
        self._hold(bot_id, -count)
        self._grant_waiting()

    def note(self, bot_id: str, *, answered: bool) -> None:
        """Record whether a bot's receiver answered its last delivery."""
        if self._answers.get(bot_id) is answered:
            return
        held = self._held[bot_id]
        self._hold(bot_id, -held)
        self._answers[bot_id] = answered
        self._hold(bot_id, held)

    def _grant_waiting(self) -> None:
        for waiting in self._waiting.values():
            while waiting and not self._must_wait(waiting[0][0]):
                bot_id, called = waiting.popleft()
                self._hold(bot_id, 1)
                called()
