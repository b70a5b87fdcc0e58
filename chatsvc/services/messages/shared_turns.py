"""Conversation locks, allowance and Idempotency-Keys of one of several processes, kept in the store; see store/open_turns.py."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from chatsvc import background
from chatsvc.domain import errors
from chatsvc.domain.allowance import HeldMessage
from chatsvc.domain.errors import PROBLEMS, Because, ProblemError
from chatsvc.domain.models import CHANNELS, ConversationKey
from chatsvc.services.messages.conversation_locks import Busy, ConversationLocks, HoldRequest, OpenElsewhere
from chatsvc.store import open_turns as stored
from chatsvc.store.database import Database, ProcessNotices, StoreUnavailable
from chatsvc.store.open_turns import AccountGone, AllowanceSpent, KnownKey, NewTurn, OpenedTurn, TurnEnd

LOOK_EVERY_S = 0.5  # while turns wait for others, where no notice comes
TURNS = "turns"
STORE_PAUSE_S = 1.0
END_S = 2.0


class SharedTurns(ConversationLocks):
    """Locks and requests in flight of one of several processes. `notices` tell when a turn has ended that others await."""

    def __init__(self, db: Database, notices: ProcessNotices, clock: Callable[[], int]) -> None:
        super().__init__()
        self._db, self._notices, self._clock = db, notices, clock
        # By the number of their turn: those that wait for an earlier one of their conversation.
        self._waiters: dict[int, asyncio.Future[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()

    def listen(self) -> None:
        """Hear of the turns that end at other processes from now on."""
        self._notices.listen(self._hear, self._look_again)

    def _hear(self, message: list[Any]) -> None:
        if message[0] == TURNS:
            self._look_again()

    def _look_again(self) -> None:
        """Wake those who wait for a turn, so that they look."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _tell(self) -> None:
        """Tell all processes that a turn has ended which somebody awaits."""
        self._look_again()
        self._notices.send(TURNS)

    @property
    def waiting(self) -> int:
        """See ConversationLocks.waiting."""
        return len(self._waiters)

    async def reserve(self, request: HoldRequest) -> HeldMessage | None:
        """See ConversationLocks.reserve; raises OpenElsewhere, StoreUnavailable, and the problem of an account that is gone."""
        account_id, _, month, at, conversation, key, fingerprint = request
        place = place_of(conversation) if conversation else None
        match await stored.begin(self._db, NewTurn(self._db.node or "", account_id, at, month, place, key, fingerprint)):
            case OpenedTurn(number, is_first):
                return HeldMessage(month, turn=number, is_first=is_first)
            case KnownKey(number, fingerprint):
                raise OpenElsewhere(fingerprint, partial(self._join, number))
            case AccountGone():
                raise errors.account_not_found()
            case AllowanceSpent():
                return None

    async def release(self, held: HeldMessage, problem: ProblemError | None = None) -> None:
        """See ConversationLocks.release."""
        if held.turn is not None and held.is_open:
            held.close()
            outcome = json.dumps([problem.problem.code, problem.because, problem.extra]) if problem else None
            await self._end(TurnEnd(held.turn, self._clock(), outcome))

    def charged(self, held: HeldMessage, *, awaited: bool) -> None:
        """See ConversationLocks.charged. The turn ended in the same transaction."""
        held.close()
        if awaited:
            self._tell()

    async def _end(self, turn: TurnEnd) -> None:
        """End a turn, also where the caller is cancelled. Where the store cannot write it is repeated, and nobody waits for long."""

        async def end() -> None:
            if await stored.end(self._db, turn):
                self._tell()

        ending = background.run("end of a turn", end, STORE_PAUSE_S, self._ending, once=True)
        await asyncio.wait([ending], timeout=END_S)

    async def _join(self, number: int | None, deadline: float) -> None:
        while number is not None:
            changed = self._changed
            state = await stored.joined(self._db, number)
            if state.outcome is not None:
                code, because, extra = json.loads(state.outcome)
                raise ProblemError(PROBLEMS[code], Because(*because) if because else None, extra)
            if not state.is_open:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise Busy
            await background.wait(changed, LOOK_EVERY_S)

    async def drain(self, timeout_s: float) -> None:
        """See ConversationLocks.drain. Turns that cannot be ended in the store go with this process."""
        await super().drain(timeout_s)
        await background.cancel(*self._ending, after_s=END_S)

    @asynccontextmanager
    async def lock(self, conversation: ConversationKey, deadline: float, held: HeldMessage | None = None) -> AsyncIterator[None]:
        """See ConversationLocks.lock. A message that is held stands in line since it was reserved."""
        if held is not None and held.turn is not None:
            async with self._in_line(held.turn, deadline, is_first=held.is_first):
                yield
            return
        opened = await stored.begin(self._db, NewTurn(self._db.node or "", None, self._clock(), place=place_of(conversation)))
        if not isinstance(opened, OpenedTurn):
            raise TypeError("a turn without a key and a message is always opened")
        try:
            async with self._in_line(opened.number, deadline, is_first=opened.is_first):
                yield
        finally:
            await self._end(TurnEnd(opened.number, self._clock()))

    @asynccontextmanager
    async def _in_line(self, number: int, deadline: float, *, is_first: bool) -> AsyncIterator[None]:
        if not is_first:
            waiter = self._waiters[number] = asyncio.get_running_loop().create_future()
            if self._looking is None:
                self._looking = background.start("turns in line", self._look())
            else:
                # The earlier turn may have ended meanwhile.
                self._look_again()
            try:
                async with asyncio.timeout_at(deadline):
                    await waiter
            except TimeoutError:
                raise Busy from None
            finally:
                self._waiters.pop(number, None)
        yield

    async def _look(self) -> None:
        """Look in the store for turns whose time has come, while some wait."""
        try:
            while self._waiters:
                changed, waiting = self._changed, dict(self._waiters)
                try:
                    in_order = await stored.in_order(self._db, waiting)
                    fault = StoreUnavailable("the other processes had taken this one for dead, and its turn has ended")
                except StoreUnavailable as outage:
                    in_order, fault = {}, outage
                for number, waiter in waiting.items():
                    if waiter.done():
                        continue
                    if number not in in_order:
                        waiter.set_exception(fault)
                    elif in_order[number]:
                        waiter.set_result(None)
                await background.wait(changed, LOOK_EVERY_S)
        finally:
            self._looking = None

    async def locked(self, user_id: str, bot_id: str) -> list[ConversationKey]:
        places = {place_of(key): key for key in ((bot_id, channel, user_id) for channel in CHANNELS)}
        in_line = await stored.in_line(self._db, list(places))
        return [key for place, key in places.items() if place in in_line]


def place_of(conversation: ConversationKey) -> bytes:
    """Return the digest by which a conversation is named in the store."""
    return hashlib.sha256(json.dumps(conversation).encode()).digest()
