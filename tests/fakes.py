"""Stand-ins for what lies outside: the clock and the model. The database and the HTTP server are always real."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from chatsvc.domain.models import Bot, Usage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.local_user import caller_of
from chatsvc.services.accounts import bots
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

T = TypeVar("T")

ADMIN = caller_of(0)
START = 1_795_176_868_123  # 2026-11-20T12:14:28.123Z


async def bot_of(services: Services, bot_id: str) -> Bot:
    """Look up a bot for a use-case, as `perform` does."""
    return await bots.resolve(services, ADMIN, bot_id)


class FakeClock:
    """A wall clock that goes only when it is told to."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        """Go on, or back where `seconds` is negative."""
        self.now += int(seconds * 1000)


class ScriptedEngine:
    """An engine that does what a test says: `script` makes the reply of each turn, or raises; `delay_s` is waited before."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.delay_s = 0.0
        self.gate: asyncio.Event | None = None
        self.completion: Callable[[str], str] = lambda _: "[]"
        self.script: Callable[[Turn], Reply] = lambda turn: Reply(f"echo: {turn.message}", Usage(10, 2))

    async def hold(self, message: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a message, and hold its reply until `release`."""
        self.gate, asked = self.gate or asyncio.Event(), len(self.turns)
        task = asyncio.create_task(message)
        async with asyncio.timeout(20):
            while len(self.turns) == asked:  # noqa: ASYNC110  # what is waited for happens inside of the service
                await asyncio.sleep(0.002)
        return task

    def release(self) -> None:
        """Give the replies that are held."""
        if self.gate is not None:
            self.gate.set()

    async def start(self) -> None:
        """See Engine.start."""

    async def reply(self, turn: Turn) -> Reply:
        """See Engine.reply."""
        self.turns.append(turn)
        try:
            async with asyncio.timeout(turn.timeout_s):
                await asyncio.sleep(self.delay_s)
                if self.gate:
                    await self.gate.wait()
        except TimeoutError:
            raise EngineError("timeout") from None
        return self.script(turn)

    async def complete(self, model: str, system: str, text: str, max_tokens: int) -> tuple[str, Usage]:  # noqa: ARG002
        """Write what a test says to a text."""
        return self.completion(text), Usage(100, 20)

    async def close(self) -> None:
        """See Engine.close."""


def failing(reason: str) -> Callable[[Turn], Reply]:
    """A script that gives no reply."""

    def script(_: Turn) -> Reply:
        raise EngineError(reason)

    return script


class FailingAtFirst:
    """A function of the store whose first two calls fail.

    `left` is below 0 once it has worked.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.left = 2

    def __call__(self, *given: Any) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise StoreUnavailable("the disk is full")
        return self._function(*given)
