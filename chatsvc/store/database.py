"""Database, connection and cursor of the store, units of work, and exceptions. store/sqlite/ and store/postgres/ implement them.

A unit reads one snapshot or writes in one transaction. If the transaction is lost, the unit is run again. So a unit must change nothing
but the database.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

from chatsvc.background import Outage
from chatsvc.domain.limiter import AccountVersion

if TYPE_CHECKING:
    from chatsvc.store.batches import BatchThread

log = logging.getLogger(__name__)

STORE_PAUSE_S = 1.0
LAST = 2**63 - 1  # behind the number of every row
P = ParamSpec("P")
T = TypeVar("T")


class Versioned(NamedTuple):
    """Result of a unit, with the version of an account that was read on the same snapshot."""

    result: Any
    version: AccountVersion


class Cursor(Protocol):
    """Result of a statement: its rows, and the number of changed rows."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """Connection of a driver, in a transaction or snapshot that the Database has begun."""

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Cursor: ...
    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


Unit = Callable[[Connection], T]


class StoreUnavailable(Outage):
    """The store cannot be used at the moment; nothing of the unit was written."""


class OtherMasterKey(StoreUnavailable):
    """The store belongs to another master key."""


class SchemaTooNew(Exception):
    """The database has the schema of a newer chatsvc and must not be opened."""


class StoreFault(Exception):
    """A statement failed through a fault of the program; nothing of the unit was written. Its cause is the driver's own error."""


class ConstraintViolated(StoreFault):
    """A row conflicts with another one, or refers to one that does not exist."""


class ProcessNotices(Protocol):
    """Notices between the processes that share one store. A notice is not stored: it is lost if no process listens."""

    def send(self, *message: object) -> None:
        """Send a message to all other processes as soon as possible; nobody waits for it."""
        ...

    def listen(self, heard: Callable[[list[Any]], None], missed: Callable[[], None]) -> None:
        """Call `heard` with each message of other processes. Call `missed` at the beginning and whenever messages may have been lost."""
        ...


class Database(ABC):
    """A database, which runs units of work. A unit is a plain function of the connection; it must not store the connection.

    One thread writes, and others read. A process of the command line has no reading threads, so its writing thread also reads.
    `fault` is the reason why nothing can be written, or None. `node` is the id of this process, or None if it is the only one. `replaced`
    is set when this process has to end, because a newer version or another master key is in force.
    """

    node: str | None = None

    def __init__(self, writer: "BatchThread", readers: "list[BatchThread]") -> None:
        self.writer, self.readers = writer, readers
        self.fault: str | None = None
        self.replaced = asyncio.Event()
        self.is_closed = False

    def check(self) -> None:  # noqa: B027  # a database may have nothing to look at
        """Set `fault` while the database cannot be used."""

    def check_usable(self, *, writes: bool = True) -> None:
        """Raise StoreUnavailable if the store cannot be read or, with `writes`, if it cannot be written."""
        if self.is_closed:
            raise StoreUnavailable("the store is closed")
        if writes and self.fault:
            raise StoreUnavailable(self.fault)

    async def read(self, unit: Callable[Concatenate[Connection, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run `unit(connection, ...)` on one consistent snapshot; raises StoreUnavailable and StoreFault."""
        self.check_usable(writes=False)
        return await min(self.readers[1:] or [self.writer], key=attrgetter("load")).run(unit, *arguments, **named)

    async def read_quickly(self, unit: Callable[Concatenate[Connection, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run a unit that reads little, as `read` does. It does not wait for long reads."""
        self.check_usable(writes=False)
        return await (self.readers[0] if self.readers else self.writer).run(unit, *arguments, **named)

    async def write(self, unit: Callable[Concatenate[Connection, P], T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Run `unit(connection, ...)` in a transaction and return once it is durable.

        Raises StoreUnavailable, StoreFault and the unit's exception. Callers go on in the order of the commits. A unit is run even if its
        caller was cancelled.
        """
        self.check_usable()
        return await self.writer.run(unit, *arguments, **named)

    @abstractmethod
    async def size(self) -> int:
        """Return the size of the store in bytes; raises StoreUnavailable."""

    @abstractmethod
    def fill_backup(self, file: Any) -> None:
        """Copy a snapshot of the store into a new SQLite database, while others write. It may be called in any thread."""

    @abstractmethod
    async def purge(self) -> None:
        """Remove all traces of deleted rows from the files, while writers wait; raises StoreUnavailable."""

    @abstractmethod
    async def close(self) -> None:
        """Run the queued units and close the database."""


Operation = Callable[Concatenate[Database, P], Coroutine[Any, Any, T]]


def reads(unit: Callable[Concatenate[Connection, P], T]) -> Operation[P, T]:
    """Turn a reading unit into an operation: a coroutine function that takes the database in place of the connection."""
    return _operation("read", unit)


def quick(unit: Callable[Concatenate[Connection, P], T]) -> Operation[P, T]:
    """Turn a unit that reads little into an operation, which does not wait for long reads."""
    return _operation("read_quickly", unit)


def writes(unit: Callable[Concatenate[Connection, P], T]) -> Operation[P, T]:
    """Turn a writing unit into an operation, which runs in one transaction."""
    return _operation("write", unit)


def _operation(method: str, unit: Callable[Concatenate[Connection, P], T]) -> Operation[P, T]:
    @wraps(unit)
    def operation(db: Database, /, *arguments: P.args, **named: P.kwargs) -> Coroutine[Any, Any, T]:
        result: Coroutine[Any, Any, T] = getattr(db, method)(unit, *arguments, **named)
        return result

    return operation


async def change_any(db: Database, find: str, values: Sequence[Any], change: str, change_values: Sequence[Any] | None = None) -> int:
    """Run the statement `change` only if the query `find` returns a row. Return the number of changed rows.

    Without the query, each call would cost a sync of the disk.
    """
    if not await db.read(lambda connection: connection.execute(find, values).fetchone()):
        return 0
    return await db.write(lambda connection: connection.execute(change, values if change_values is None else change_values).rowcount)


async def until_written(write: Callable[[], Awaitable[None]], stops: Callable[[], bool], what: str) -> None:
    """Call `write` again while the store is unavailable. Raise StoreUnavailable once `stops` returns true. `what` is a word for the log."""
    while True:
        try:
            return await write()
        except StoreUnavailable as fault:
            if stops():
                raise
            log.error("outcomes of %s wait: %s", what, fault)
            await asyncio.sleep(STORE_PAUSE_S)


def assign(changes: Mapping[str, object], changeable: frozenset[str]) -> str:
    """Make the SET clause for `changes`. Their names become SQL, so only the columns in `changeable` are accepted."""
    if not changes.keys() <= changeable:
        raise ValueError(f"these cannot be changed: {', '.join(sorted(changes.keys() - changeable))}")
    return ", ".join(map("{} = ?".format, changes))
