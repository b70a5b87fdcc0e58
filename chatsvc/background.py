"""Background tasks, and long work in threads. All tasks are started by this module, so that none of them can end silently."""

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar, cast

T = TypeVar("T")
log = logging.getLogger(__name__)

Tasks = set[asyncio.Task[None]]
# Tasks without another reference: asyncio itself keeps only weak ones.
_TASKS: Tasks = set()


class Outage(Exception):
    """Raised if something that the program needs, such as the store, fails but may work again later."""


def run(
    name: str,
    work: Callable[[], Awaitable[object]],
    pause_s: float,
    tasks: Tasks = _TASKS,
    *,
    once: bool = False,
    woken: asyncio.Event | None = None,
) -> asyncio.Task[None]:
    """Start a task that runs `work`, pauses, and runs it again, until the task is cancelled. The task is in `tasks` while it runs.

    An Outage or OSError is logged in one line, any other exception with its traceback. After the pause, `work` runs again. If `once` is
    true, the task ends when `work` has returned without an exception. Setting the event `woken` ends a pause early.
    """
    return _registered(asyncio.create_task(_run(name, work, pause_s, once=once, woken=woken or asyncio.Event()), name=name), tasks)


async def _run(name: str, work: Callable[[], Awaitable[object]], pause_s: float, *, once: bool, woken: asyncio.Event) -> None:
    while True:
        try:
            await work()
        except (Outage, OSError) as fault:
            log.error("%s: %s; next attempt in %g s", name, fault, pause_s)
        except Exception:
            log.exception("%s: unexpected fault; next attempt in %g s", name, pause_s)
        else:
            if once:
                return
        await wait(woken, pause_s)
        woken.clear()


async def wait(event: asyncio.Event, most_s: float | None) -> None:
    """Wait until an event is set, but at most `most_s` seconds. If `most_s` is None, wait without a limit."""
    with suppress(TimeoutError):
        async with asyncio.timeout(most_s):
            await event.wait()


def start(name: str, work: Coroutine[Any, Any, object], tasks: Tasks = _TASKS) -> asyncio.Task[None]:
    """Start a task that runs `work` once. An exception is logged with its traceback. The task is in `tasks` while it runs."""
    return _registered(asyncio.create_task(_start(name, work), name=name), tasks)


async def _start(name: str, work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception:
        log.exception("%s: unexpected fault", name)


def _registered(task: asyncio.Task[None], tasks: Tasks) -> asyncio.Task[None]:
    for group in (_TASKS, tasks):
        group.add(task)
        task.add_done_callback(group.discard)
    return task


async def cancel(*tasks: asyncio.Task[None] | None, after_s: float = 0.0) -> None:
    """Cancel tasks that do not end within `after_s` seconds, and wait until they have ended. Arguments that are None are ignored."""
    left = {task for task in tasks if task is not None}
    if left and after_s:
        _, left = await asyncio.wait(left, timeout=after_s)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


class Abandoned(Exception):
    """Raised in a thread when the caller of its long work no longer waits for the result."""


# Is done as soon as the caller of long work in a thread has gone.
_ABANDONMENT: ContextVar[Future[None] | None] = ContextVar("abandonment", default=None)
# The account that long work is for: it has a share of the threads.
ACCOUNT: ContextVar[str] = ContextVar("account", default="")


def proceed() -> None:
    """Raise Abandoned if the caller of this thread's work was cancelled. Long work calls this function before each step."""
    abandonment = _ABANDONMENT.get()
    if abandonment is not None and abandonment.done():
        raise Abandoned


def on_abandonment(end: Callable[[], object]) -> None:
    """Register `end`, which is called as soon as the caller of this thread's work is cancelled."""
    abandonment = _ABANDONMENT.get()
    if abandonment is not None:
        abandonment.add_done_callback(lambda _: end())


class WorkPool:
    """Limited slots for long work, with a maximum (`share`) for each account.

    Work starts in the order of its arrival, but may overtake work of accounts that have reached their maximum. Waiting work is dropped
    when its caller is cancelled. Work in a thread occupies its slot until the thread has really ended. Work without an account is
    limited only by the number of slots.
    """

    def __init__(self, slots: int, share: int) -> None:
        self._slots, self._share = slots, share
        self._running: Counter[str] = Counter()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    @property
    def load(self) -> int:
        """Number of calls that occupy a slot or wait for a slot."""
        return self._running.total() + len(self._waiting)

    async def run(self, work: Callable[[], T], account: str | None = None) -> T:
        """Run work in a thread for an account. If `account` is None, use the account in the context variable ACCOUNT."""
        account = ACCOUNT.get() if account is None else account
        await self._take(account)
        return await in_daemon_thread(work, lambda: self._release(account))

    @asynccontextmanager
    async def slot(self, account: str | None = None) -> AsyncIterator[None]:
        """Wait for a slot and occupy it in a `with` block. If `account` is None, use the account in the context variable ACCOUNT."""
        account = ACCOUNT.get() if account is None else account
        await self._take(account)
        try:
            yield
        finally:
            self._release(account)

    async def _take(self, account: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((account, turn))
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(account)
            else:
                self._waiting.remove((account, turn))
            raise

    def _next(self) -> None:
        for entry in list(self._waiting):
            account, turn = entry
            if self._running.total() >= self._slots:
                return
            if not turn.done() and (not account or self._running[account] < self._share):
                self._waiting.remove(entry)
                self._running[account] += 1
                turn.set_result(None)

    def _release(self, account: str) -> None:
        self._running[account] -= 1
        if not self._running[account]:
            del self._running[account]
        self._next()


async def in_daemon_thread(work: Callable[[], T], ended: Callable[[], object] = lambda: None) -> T:
    """Run long work in a daemon thread, and call `ended` in the event loop when the work has ended.

    If the caller is cancelled, it no longer waits for the thread, and the work ends at its next call of `proceed`. Unlike a thread of
    an executor, such a thread does not delay the exit of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    abandonment = Future[None]()

    def settle(result: T | None, fault: BaseException | None) -> None:
        ended()
        if done.cancelled():
            return
        if fault is None:
            done.set_result(cast("T", result))
        else:
            done.set_exception(fault)

    def run() -> None:
        _ABANDONMENT.set(abandonment)
        result, fault = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001  # raised again by the caller
            fault = raised
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        abandonment.set_result(None)
        raise
