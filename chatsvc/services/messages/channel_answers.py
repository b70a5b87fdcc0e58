"""Answers stored messages in the background, a limited number at once. Also settles turns that were interrupted."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from weakref import WeakValueDictionary

from chatsvc import background
from chatsvc.services.messages import channel_messages
from chatsvc.services.services import Services
from chatsvc.store import channel_messages as stored
from chatsvc.store.channel_messages import StoredMessage
from chatsvc.store.database import LAST, StoreUnavailable

log = logging.getLogger(__name__)

STORE_PAUSE_S = 2.0
AT_ONCE = 16
OF_A_BOT = 2  # at once, so that one bot's dead model delays no other bot's turns
RETRY_S = 10.0
PAUSE_S = 0.02  # of a bot after each turn: visitors who write meanwhile come first


class ChannelAnswers:
    """Turns in the background. At most `limits.max_in_flight` run at a time, and at most half of them for one account.

    Other turns wait here, and their deadline has not begun yet. If the process ends, they are settled when it starts again.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        most = services.config.limits.max_in_flight
        self._slots = asyncio.Semaphore(most)
        self._of_account = max(1, most // 2)
        # An account has its own while turns of it run or wait.
        self._accounts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, message: StoredMessage, done: Callable[[], object] | None = None) -> None:
        """Settle the turn of a stored message in the background. `done` is called at the end, even after a failure."""
        task = background.start("answer", self._run(message), self._tasks)
        if done is not None:
            task.add_done_callback(lambda _: done())

    async def _run(self, message: StoredMessage) -> None:
        async with self._accounts.setdefault(message.account_id, asyncio.Semaphore(self._of_account)), self._slots:
            while not self._services.events.closed:
                try:
                    await channel_messages.answer(self._services, message)
                    return
                except StoreUnavailable as fault:
                    log.error("a message waits for its answer: %s", fault)
                await asyncio.sleep(STORE_PAUSE_S)

    async def close(self) -> None:
        """Drop the waiting turns, which remain in the store. Turns in progress continue; the locks of conversations end them."""
        await background.cancel(*self._tasks)


def settle_in_background(services: Services) -> asyncio.Task[None]:
    """Settle the unfinished turns in a background task, and again after an outage of the store."""
    return background.run("interrupted turns", lambda: settle_all(services), RETRY_S, once=True)


async def settle_all(services: Services, *, at_least_s: float | None = None) -> int:
    """Settle the turns that are unfinished now, oldest first for each bot; return how many. Raises StoreUnavailable.

    Turns under way are waited for. After the service has begun to stop, no turn is started. `at_least_s` is the least age of the turns, or
    None for any age.
    """
    until = services.clock() - int(at_least_s * 1000) if at_least_s is not None else LAST
    outages: list[StoreUnavailable] = []
    slots, of_bots = asyncio.Semaphore(AT_ONCE), defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(OF_A_BOT))

    async def settle(message: StoredMessage) -> bool:
        async with of_bots[message.bot_id]:
            async with slots:
                if services.events.closed or outages:
                    return False
                try:
                    await channel_messages.answer(services, message)
                except StoreUnavailable as outage:
                    outages.append(outage)
                    return False
                except Exception:
                    # One turn that cannot be settled must not keep the others waiting.
                    log.exception("the turn of message %d of bot %s could not be settled", message.number, message.bot_id)
                    return False
            await asyncio.sleep(PAUSE_S)
            return True

    settled = (await asyncio.gather(*map(settle, await stored.pending(services.db, until)))).count(True)
    if settled:
        log.info("%d messages that waited for a reply at the last end of the service have been settled", settled)
    if outages:
        raise outages[0]
    return settled
