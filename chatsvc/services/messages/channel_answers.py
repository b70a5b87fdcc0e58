"""Answers messages of messaging platforms in background tasks, a limited number at once.

The platform has been told that the messages are stored. services/messages/channel_messages.py answers each.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from chatsvc import background
from chatsvc.domain.models import ConversationKey
from chatsvc.services.messages import channel_messages
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.incoming_messages import StoredMessage

if TYPE_CHECKING:
    from chatsvc.services.services import Services

log = logging.getLogger(__name__)

STORE_PAUSE_S = 2.0


class ChannelAnswers:
    """Turns in the background. At most `limits.max_in_flight` run at a time, half of them for an account.

    More wait here without their deadline having begun; the end of the process leaves them in the store, which settles them at its start.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        most = services.config.limits.max_in_flight
        self._slots = asyncio.Semaphore(most)
        self._of_account = max(1, most // 2)
        self._accounts: dict[str, tuple[asyncio.Semaphore, int]] = {}
        # Tasks that wait for a slot or the store, and the turns of each conversation that are not settled.
        self._waiting: set[asyncio.Task[None]] = set()
        self._of_conversation: Counter[ConversationKey] = Counter()

    def waiting(self, conversation: ConversationKey) -> int:
        """Return how many turns of a conversation are not settled, those under way included."""
        return self._of_conversation[conversation]

    def begin(self, account_id: str, message: StoredMessage, done: Callable[[], object] | None = None) -> None:
        """Settle the turn of a stored message; `done` is called afterwards, whatever came of it."""
        conversation = (message.bot_id, message.channel, message.user_id)
        self._of_conversation[conversation] += 1

        def ended(task: asyncio.Task[None]) -> None:
            self._waiting.discard(task)
            self._of_conversation[conversation] -= 1
            if not self._of_conversation[conversation]:
                del self._of_conversation[conversation]
            if done is not None:
                done()

        task = background.start("answer", self._run(account_id, message))
        self._waiting.add(task)
        task.add_done_callback(ended)

    async def _run(self, account_id: str, message: StoredMessage) -> None:
        slots, users = self._accounts.get(account_id, (asyncio.Semaphore(self._of_account), 0))
        self._accounts[account_id] = slots, users + 1
        try:
            async with slots, self._slots:
                await self._answer(account_id, message)
        finally:
            slots, users = self._accounts[account_id]
            self._accounts[account_id] = slots, users - 1
            if users == 1:
                del self._accounts[account_id]

    async def _answer(self, account_id: str, message: StoredMessage) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("turns are settled in tasks")
        while not self._services.events.closed:
            self._waiting.discard(task)
            try:
                return await channel_messages.answer_here(self._services, account_id, message)
            except StoreUnavailable as fault:
                log.error("a message waits for its answer: %s", fault)
            self._waiting.add(task)
            await asyncio.sleep(STORE_PAUSE_S)
        return None

    async def close(self) -> None:
        """Give up waiting turns, which stay in the store. Those under way are ended by the locks of conversations."""
        await background.cancel(*self._waiting)
