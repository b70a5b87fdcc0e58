"""The schema of both stores and its migrations. `migrate` applies them to SQLite; store/postgres/migrations.py translates them."""

import re
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from chatsvc.store.database import SchemaTooNew, StoreUnavailable

APPLICATION_ID = 0x63686174  # "chat"
# Version of schema.sql. A released migration is never edited; each adds one to the version.
BASE = 58
MIGRATIONS: tuple[str, ...] = ()
# The first step of conversion.sql leads from schema version OLDEST, the last one to BASE.
OLDEST = 44


@cache
def schema() -> str:
    """Return the statements that make the tables of version BASE."""
    return Path(__file__).with_name("schema.sql").read_text("utf-8")


def conversion() -> list[str]:
    """Return the migration steps for stores that are older than the first release."""
    return re.split(r"^-- \d+: .*$", Path(__file__).with_name("conversion.sql").read_text("utf-8"), flags=re.MULTILINE)[1:]


def newest() -> int:
    """Return the version of the schema that this program works with."""
    return BASE + len(MIGRATIONS)


def steps_from(version: int) -> list[str]:
    """Return the scripts that migrate from `version` (0 for an empty database) to the newest. Raises SchemaTooNew and StoreUnavailable."""
    if version > newest():
        raise SchemaTooNew(f"the database has schema version {version}, this program knows {newest()}: install the newer chatsvc again")
    if version == 0:
        return [schema(), *MIGRATIONS]
    if version < OLDEST:
        raise StoreUnavailable(
            f"the database has schema version {version}, from a test version of chatsvc that is too old to be converted: "
            "export its accounts with that version and import them here"
        )
    return [*conversion(), *MIGRATIONS][version - OLDEST :]


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema; 0 for a new database."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_newer(connection: sqlite3.Connection) -> bool:
    """Return whether the schema is that of a later version."""
    return schema_version(connection) > newest()


def schema_fault(connection: sqlite3.Connection, version: int) -> str | None:
    """Compare a database with the schema of `version`, which is at least BASE. Return the first difference, or None."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID or schema_version(connection) != version:
        return "application_id or user_version"
    with closing(sqlite3.connect(":memory:")) as pattern:
        for step in (schema(), *MIGRATIONS[: version - BASE]):
            pattern.executescript(step)
        expected, actual = _statements(pattern), _statements(connection)
    different = sorted(f"{kind} {name}" for kind, name, *_ in expected ^ actual)
    return different[0] if different else None


def _statements(connection: sqlite3.Connection) -> set[tuple[str, str, str, str | None]]:
    """Return the statements of the schema, without the quotes and blanks by which a converted store may differ."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {(kind, name, table, sql and "".join(sql.replace('"', "").split())) for kind, name, table, sql in rows}


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to the newest version in one transaction, which a fault rolls back. Raises SchemaTooNew and StoreUnavailable."""
    steps = steps_from(schema_version(connection))
    if not steps:
        return
    # executescript() would commit whatever is open before it runs, so the transaction begins in the script.
    script = ";".join(["BEGIN IMMEDIATE", *steps, f"PRAGMA application_id={APPLICATION_ID}", f"PRAGMA user_version={newest()}"])
    try:
        connection.executescript(script)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
