"""Settles turns that the end of a process interrupted.

It does so after the next start, or at another process.

It works in the background and for all channels.

Nobody has to write again for a reply: a widget reads it when it is opened, and a messaging platform is sent it.
"""

import asyncio
import logging
from collections.abc import Sequence

from chatsvc import background
from chatsvc.services.messages import channel_messages
from chatsvc.services.services import Services
from chatsvc.store import channel_messages as stored
from chatsvc.store.channel_messages import UnfinishedTurn
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

AT_ONCE = 16
OF_A_BOT = 2  # at once, so that one bot's dead model delays no other bot's turns
RETRY_S = 10.0
PAUSE_S = 0.02  # of a worker after each turn: visitors who write meanwhile come first


def settle_in_background(services: Services) -> asyncio.Task[None]:
    """Settle the turns that are unfinished now, in a task; after an outage again."""
    return background.run("interrupted turns", lambda: settle_all(services), RETRY_S, expected=(StoreUnavailable,), once=True)


async def settle_all(services: Services, *, at_least_s: float | None = None) -> int:
    """Settle the turns that are unfinished now, oldest first for each bot; return how many. Raises StoreUnavailable.

    Turns under way are waited for. After the service has begun to stop, no turn is started.
    at_least_s: how old they have to be, None for any age.
    """
    found: dict[str, list[UnfinishedTurn]] = {}
    until = services.clock() - int(at_least_s * 1000) if at_least_s is not None else None
    for turn in await stored.pending(services.db, until):
        found.setdefault(turn.bot_id, []).append(turn)
    slots = asyncio.Semaphore(AT_ONCE)
    workers = [_work(services, turns[place::OF_A_BOT], slots) for turns in found.values() for place in range(OF_A_BOT)]
    results = await asyncio.gather(*workers, return_exceptions=True)
    settled = sum(result for result in results if isinstance(result, int))
    if settled:
        log.info("%d messages that waited for a reply at the last end of the service have been settled", settled)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return settled


async def _work(services: Services, turns: Sequence[UnfinishedTurn], slots: asyncio.Semaphore) -> int:
    settled = 0
    for turn in turns:
        async with slots:
            if services.events.closed:
                break
            settled += await _settle(services, turn)
        await asyncio.sleep(PAUSE_S)
    return settled


async def _settle(services: Services, turn: UnfinishedTurn) -> bool:
    message = await stored.pending_message(services.db, turn.number)
    if message is None:
        return False
    try:
        await channel_messages.answer(services, turn.account_id, message)
    except StoreUnavailable:
        raise
    except Exception:
        # One turn that cannot be settled must not keep the others waiting.
        log.exception("the turn of message %d of bot %s could not be settled", turn.number, turn.bot_id)
        return False
    return True
