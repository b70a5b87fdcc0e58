"""The connection that writes: opened after the checks and the migration of the schema."""

import sqlite3
from pathlib import Path

from chatsvc import __version__
from chatsvc.domain.times import now_ms
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite.connection import open_connection
from chatsvc.store.sqlite.migrations import APPLICATION_ID, is_older, migrate, schema_version


def open_writer(path: Path, key: MasterKey | None = None) -> sqlite3.Connection:
    """Open the connection that writes, with the settings that durability depends on, and migrate the schema.

    key: authenticates the backup that is made before a migration; without it such a database is refused. Raises StoreUnavailable.
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
    """Raise StoreUnavailable where a restore was cut off after it had renamed the database. A new one would hide it."""
    replaced = [] if path.exists() else sorted(file.name for file in path.parent.glob(f"{path.name}.replaced-*"))
    if replaced:
        raise StoreUnavailable(
            f"{path} is not there, but {replaced[-1]} is: a restore was interrupted. Run `chatsvc backup restore` again, "
            "or rename that file back"
        )


def _check_is_ours(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnavailable for the database of another program."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise StoreUnavailable(f"{path} is another program's database: move it away, or put a backup of chatsvc's in its place")


def _back_up_before_upgrade(connection: sqlite3.Connection, path: Path, key: MasterKey | None) -> None:
    """Make a backup before a newer version changes the schema; raises StoreUnavailable."""
    if not is_older(connection):
        return
    if key is None:
        raise StoreUnavailable(f"{path} is of an earlier version, and without its master key no backup can be made before the upgrade")

    # Imported here, for one start in a version: commands start faster without it.
    from chatsvc.store.sqlite import backup

    backup_file = path.with_name(f"before-upgrade-from-{schema_version(connection)}.backup")
    # An earlier one is of an upgrade that failed.
    backup_file.unlink(missing_ok=True)
    backup.create(backup.of_file(path), backup_file, key, made_at=now_ms(), version=__version__)
