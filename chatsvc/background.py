"""Background tasks: started here alone, so that none can end silently. And long work in threads."""

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
    """Something that the program needs cannot be used at the moment."""


def run(
    name: str,
    work: Callable[[], Awaitable[object]],
    pause_s: float,
    tasks: Tasks = _TASKS,
    *,
    once: bool = False,
    woken: asyncio.Event | None = None,
) -> asyncio.Task[None]:
    """Start a task that runs `work`, pauses and runs it again, until it is cancelled. Until its end it is in `tasks`.

    An Outage or OSError is logged in one line, any other fault with its traceback; after the pause the work runs again.
    once: the task ends when the work has returned without a fault. woken: an event that ends a pause early when it is set.
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
    """Start a task that runs `work`, which must not run twice. A fault is logged with its traceback. Until its end it is in `tasks`."""
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
    """Cancel tasks that do not end within `after_s`, and wait until they have ended. Arguments that are None are ignored."""
    left = {task for task in tasks if task is not None}
    if left and after_s:
        _, left = await asyncio.wait(left, timeout=after_s)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


class Abandoned(Exception):
    """The caller of long work has gone."""


# Is done as soon as the caller of long work in a thread has gone.
_ABANDONMENT: ContextVar[Future[None] | None] = ContextVar("abandonment", default=None)
# The account that long work is for: it has a share of the threads.
ACCOUNT: ContextVar[str] = ContextVar("account", default="")


def proceed() -> None:
    """Raise Abandoned if the caller of this work has gone. Work of many steps calls it before each."""
    abandonment = _ABANDONMENT.get()
    if abandonment is not None and abandonment.done():
        raise Abandoned


def on_abandonment(end: Callable[[], object]) -> None:
    """Have `end` called as soon as the caller of this work goes."""
    abandonment = _ABANDONMENT.get()
    if abandonment is not None:
        abandonment.add_done_callback(lambda _: end())


class WorkPool:
    """Bounded slots for long work, with a share for each account.

    Work waits in order of arrival, passing only that of accounts that have used their share. Work that waits is dropped when its caller
    is cancelled; work in a thread holds its slot until it has really ended. Work for no account is limited by the pool alone.
    """

    def __init__(self, slots: int, share: int) -> None:
        self._slots, self._share = slots, share
        self._running: Counter[str] = Counter()
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    @property
    def load(self) -> int:
        """Number of works that hold a slot or wait for one."""
        return self._running.total() + len(self._waiting)

    async def run(self, work: Callable[[], T], account: str | None = None) -> T:
        """Run work in a thread for an account. If `account` is None, use the one in the context variable ACCOUNT."""
        account = ACCOUNT.get() if account is None else account
        await self._take(account)
        return await in_daemon_thread(work, lambda: self._release(account))

    @asynccontextmanager
    async def slot(self, account: str | None = None) -> AsyncIterator[None]:
        """Hold a slot for an account."""
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
    """Run long work in a daemon thread; call `ended` in the event loop when it has ended.

    A caller that is cancelled abandons the thread: it does not keep the process from ending, unlike one of an executor, and its work
    ends where it calls `proceed`.
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
