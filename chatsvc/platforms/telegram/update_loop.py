"""Loop that asks Telegram for updates with one token."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from chatsvc.domain.channels import TOKEN_ELSEWHERE, TOKEN_REFUSED
from chatsvc.domain.shapes import as_list, as_object
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.platforms.telegram import updates
from chatsvc.platforms.telegram.client import TelegramClient
from chatsvc.platforms.telegram.updates import Myself, ReadMessage
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

POLL_S = 25
ANSWER_S = 15.0  # beyond the time for which Telegram waits
OF_A_CALL = 100
_REFUSED_PAUSE_S = 60.0
_ELSEWHERE_PAUSE_S = 15.0
_STORE_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 30.0
_IMPATIENT_PAUSE_S = 1.0
_UNAUTHORIZED, _CONFLICT = ("telegram_401", "telegram_404"), "telegram_409"


class UpdateLoop:
    """Long polling with one token. Updates are confirmed by the offset of the next call, after `take` has processed them.

    `name` is for the log. `take` gets the messages of a call in their order. `note_fault` gets the token's fault, or None if there is
    none, whenever the fault changes.
    """

    def __init__(
        self,
        client: TelegramClient,
        name: str,
        take: Callable[[Sequence[ReadMessage]], Awaitable[None]],
        note_fault: Callable[[str | None], Awaitable[None]],
        fault: str | None = None,
    ) -> None:
        self._client, self._name, self._take, self._note = client, name, take, note_fault
        self._me: Myself | None = None
        self._offset = 0
        self._fault = fault
        self._failures = 0

    async def run(self) -> None:
        """Ask Telegram for updates again and again, until the task is cancelled."""
        while True:
            try:
                pause_s = await self._poll()
                self._failures = 0
            except RetryLater as later:
                pause_s = later.seconds
            except SendingRefused as refusal:
                pause_s = await self._refused(refusal)
            except (NotConnected, SendingUncertain) as fault:
                self._failures = min(self._failures + 1, 10)
                if self._failures == 1:
                    log.warning("%s: Telegram cannot be asked for messages: %s", self._name, fault)
                pause_s = min(_LONGEST_PAUSE_S, 2.0 ** (self._failures - 1))
            except StoreUnavailable as fault:
                log.error("%s: messages of Telegram wait: %s", self._name, fault)
                pause_s = _STORE_PAUSE_S
            if pause_s:
                await asyncio.sleep(pause_s)

    async def _poll(self) -> float:
        """Request updates, pass their messages to `take`, and set the offset that confirms them. Return the seconds to pause.

        The pause is not 0 if the response came too early, for instance because a proxy does not support long polling.
        """
        if self._me is None:
            me = as_object(await self._client.call("getMe", {}))
            identity, username = me.get("id"), me.get("username")
            if not isinstance(identity, int) or not isinstance(username, str) or not username:
                raise SendingUncertain("telegram_bad_answer")
            self._me = Myself(identity, username)
            # A webhook set elsewhere excludes polling. What it has not delivered is kept.
            await self._client.call("deleteWebhook", {"drop_pending_updates": False})
        # A fault that has passed shows at the first answer.
        patience = POLL_S if self._fault is None else 1
        wanted: dict[str, object] = {"timeout": patience, "limit": OF_A_CALL, "allowed_updates": list(updates.WANTED)}
        if self._offset:
            wanted["offset"] = self._offset
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = as_list(await self._client.call("getUpdates", wanted, POLL_S + ANSWER_S))
        await self._note_fault(None)
        numbered = {number: update for update in answer if (number := updates.update_id_of(update)) is not None}
        if not numbered:
            return _IMPATIENT_PAUSE_S if loop.time() - began < patience / 2 else 0.0
        messages = (updates.read(numbered[number], self._me) for number in sorted(numbered))
        await self._take([message for message in messages if message is not None])
        # Also where that is less than before: after a week without updates Telegram counts from another number.
        self._offset = max(numbered) + 1
        return 0.0

    async def _refused(self, refusal: SendingRefused) -> float:
        if refusal.code in _UNAUTHORIZED:
            await self._note_fault(TOKEN_REFUSED)
            return _REFUSED_PAUSE_S
        if refusal.code == _CONFLICT:
            # Either another program polls, or a webhook was set: the next round removes that.
            self._me = None
            if "webhook" in str(refusal):
                return 1.0
            await self._note_fault(TOKEN_ELSEWHERE)
            return _ELSEWHERE_PAUSE_S
        log.error("%s: Telegram refuses to tell messages: %s", self._name, refusal)
        return _LONGEST_PAUSE_S

    async def _note_fault(self, fault: str | None) -> None:
        if fault != self._fault:
            if fault is not None:
                log.error("%s: Telegram cannot be asked for messages: %s", self._name, fault)
            await self._note(fault)
            self._fault = fault
