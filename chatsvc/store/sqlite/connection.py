"""SQLite connections: opening with migration, transactions, purges, and translation of errors.

SQLite before 3.51.3 can corrupt a database in WAL mode when two connections write and checkpoint at the same instant. That cannot
happen here: the lock of the data folder (store/folder.py) admits one process, in which one connection writes and checkpoints; the
readers are `query_only` and never checkpoint.
"""

import sqlite3
from functools import partial
from pathlib import Path

from chatsvc.domain.times import now_ms
from chatsvc.store.database import ConstraintViolated, StoreFault, StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite.migrations import APPLICATION_ID, migrate, newest, schema_version

# Faults of the program, as opposed to errors of the machine (disk full, read-only, locked, damaged).
_OURS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError, sqlite3.NotSupportedError)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def translated(fault: BaseException, path: Path) -> BaseException:
    """Translate an error of the driver into StoreUnavailable, StoreFault or ConstraintViolated. Others are returned as they are."""
    if not isinstance(fault, sqlite3.Error):
        return fault
    # SQLITE_ERROR is a statement that it cannot parse or resolve.
    is_ours = isinstance(fault, _OURS) or getattr(fault, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    if isinstance(fault, sqlite3.DatabaseError) and not is_ours:
        return outage(fault, path)
    fault_of_store = ConstraintViolated(str(fault)) if isinstance(fault, sqlite3.IntegrityError) else StoreFault(str(fault))
    fault_of_store.__cause__ = fault
    return fault_of_store


def outage(fault: sqlite3.Error, path: Path, action: str = "") -> StoreUnavailable:
    """Convert an error to a StoreUnavailable whose text says what to do. `action` describes what failed."""
    if getattr(fault, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
        text = f"{path} is damaged ({fault}): stop the service, move {path}* into another folder, and put a backup back"
    else:
        text = f"{action}: {fault}" if action else str(fault)
    fault_of_store = StoreUnavailable(text)
    fault_of_store.__cause__ = fault
    return fault_of_store


def open_connection(path: Path) -> sqlite3.Connection:
    """Open a connection with the settings that all connections of the store have."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute("PRAGMA busy_timeout=5000")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.create_function("clock_ms", 0, now_ms)
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that writes nothing and makes no checkpoint; raises sqlite3.Error."""
    connection = open_connection(path)
    try:
        # Lists read pages all over the file, more than the 2 MB that SQLite caches by default.
        connection.execute("PRAGMA cache_size=-8192")
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA wal_autocheckpoint=0")
    except BaseException:
        connection.close()
        raise
    return connection


def open_writer(path: Path, key: MasterKey | None = None) -> sqlite3.Connection:
    """Open the connection that writes, with the settings that durability depends on, and migrate the schema.

    `key` authenticates the backup that is made before a migration. Without it, a database that needs a migration is refused. Raises
    StoreUnavailable.
    """
    _check_is_not_replaced(path)
    connection = open_connection(path)
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        _check_is_ours(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA journal_size_limit=67108864")
        # Set explicitly, since builds differ: deleted rows are overwritten, not left in free pages.
        connection.execute("PRAGMA secure_delete=ON")
        _back_up_before_upgrade(connection, path, key)
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_is_not_replaced(path: Path) -> None:
    """Raise StoreUnavailable if a restore was interrupted after it renamed the database. A new database would hide the renamed one."""
    replaced = [] if path.exists() else sorted(file.name for file in path.parent.glob(f"{path.name}.replaced-*"))
    if replaced:
        raise StoreUnavailable(
            f"{path} is not there, but {replaced[-1]} is: a restore was interrupted. Run `chatsvc backup restore` again, "
            "or rename that file back"
        )


def _check_is_ours(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise StoreUnavailable(f"{path} is another program's database: move it away, or put a backup of chatsvc's in its place")


def _back_up_before_upgrade(connection: sqlite3.Connection, path: Path, key: MasterKey | None) -> None:
    version = schema_version(connection)
    if not 0 < version < newest():
        return
    if key is None:
        raise StoreUnavailable(f"{path} is of an earlier version, and without its master key no backup can be made before the upgrade")

    # Imported here, for one start in a version: commands start faster without it.
    from chatsvc.store.sqlite import backup

    backup_file = path.with_name(f"before-upgrade-from-{version}.backup")
    # An earlier one is of an upgrade that failed.
    backup_file.unlink(missing_ok=True)
    backup.create(partial(backup.copy_file, path), backup_file, key, made_at=now_ms())


def purge(connection: sqlite3.Connection) -> bool:
    """Rewrite the database and truncate its log; return False if a reader prevented the truncation.

    `secure_delete` overwrites deleted rows, but not the copies that stay in the free space of a page when rows move to another page.
    """
    # Else the whole copy would be in memory.
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store=MEMORY")
    return empty_log(connection)


def empty_log(connection: sqlite3.Connection) -> bool:
    """Checkpoint the write-ahead log and truncate it. Return False if a reader prevents that."""
    # Writers wait for this, so it gives up soon; the caller tries again.
    connection.execute("PRAGMA busy_timeout=100")
    try:
        busy: int = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    finally:
        connection.execute("PRAGMA busy_timeout=5000")
    return not busy
