"""The schema: its steps whole or not at all, its version recorded, a newer one left alone."""

import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.sqlite import migrations
from chatsvc.store.sqlite.connection import open_writer
from chatsvc.store.sqlite.migrations import APPLICATION_ID, BASE, MIGRATIONS, OLDEST, conversion, migrate, newest
from tests.store.conftest import KEY, Open
from tests.store.support import rows

pytestmark = pytest.mark.sqlite

# Later steps as they might come; the last one changes what an earlier one made.
LATER = (
    "CREATE TABLE second (a INTEGER) STRICT; INSERT INTO second VALUES (1)",
    "CREATE TABLE third (a INTEGER) STRICT; INSERT INTO third SELECT a + 1 FROM second",
    "ALTER TABLE second ADD COLUMN b TEXT; UPDATE second SET b = 'new'",
)
STEPS = (*MIGRATIONS, *LATER)
NEWEST = newest()


def version(path: Path) -> int:
    """The schema's version in the file."""
    number = rows(path, "PRAGMA user_version")[0][0]
    assert isinstance(number, int)
    return number


def schema(path: Path) -> list[tuple[object, ...]]:
    """All tables and indexes."""
    return rows(path, "SELECT name, sql FROM sqlite_master ORDER BY name")


async def test_a_fresh_database_has_all_steps_and_opening_again_changes_nothing(open_db: Open, path: Path) -> None:
    await (await open_db(path)).close()
    before = [*schema(path), *rows(path, "PRAGMA schema_version")]
    await (await open_db(path)).close()
    assert [*schema(path), *rows(path, "PRAGMA schema_version")] == before
    assert version(path) == NEWEST
    assert rows(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_later_steps_are_added_to_what_is_there(open_db: Open, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = await open_db(path)
    await db.write(lambda connection: connection.execute("INSERT INTO store_facts VALUES ('kept', x'00')").rowcount)
    await db.close()
    monkeypatch.setattr(migrations, "MIGRATIONS", STEPS)
    await (await open_db(path)).close()
    assert version(path) == NEWEST + 3
    assert rows(path, "SELECT * FROM second") == [(1, "new")]
    assert rows(path, "SELECT * FROM third") == [(2,)]
    assert rows(path, "SELECT name FROM store_facts") == [("kept",)]


async def test_a_newer_schema_is_refused_and_left_as_it_is(open_db: Open, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", STEPS)
        await (await open_db(path)).close()
    before = schema(path)
    with pytest.raises(SchemaTooNew, match=f"schema version {NEWEST + 3}, this program knows {NEWEST}: install the newer chatsvc again"):
        await open_db(path)
    assert schema(path) == before
    assert version(path) == NEWEST + 3


@pytest.mark.parametrize(
    "broken",
    ["CREATE TABLE half (a); CREATE TABLE half (a)", "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1)", "CREATE TABLE half (a); x"],
)
def test_a_step_that_fails_half_way_leaves_everything_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    open_writer(path, KEY).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, LATER[0], broken))
    with pytest.raises(sqlite3.OperationalError):
        open_writer(path, KEY)
    assert version(path) == NEWEST
    assert not {"half", "second"} & {name for name, _ in schema(path)}
    monkeypatch.setattr(migrations, "MIGRATIONS", STEPS)
    open_writer(path, KEY).close()
    assert version(path) == NEWEST + 3


KILLED = """
import os, signal, sqlite3, sys
from chatsvc.store.sqlite import migrations
path, at = sys.argv[1], int(sys.argv[2])
steps = sys.argv[3:]
statements = 0
def count(text):
    global statements
    statements += 1
    if statements == at:
        os.kill(os.getpid(), signal.SIGKILL)
migrations.MIGRATIONS = (*migrations.MIGRATIONS, *steps)
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.set_trace_callback(count)
migrations.migrate(connection)
print(statements)
"""


def test_a_migration_killed_at_any_statement_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(path: Path, at: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", KILLED, path, str(at), *LATER], capture_output=True, text=True, check=False)

    whole = tmp_path / "whole.db"
    statements = int(run(whole, -1).stdout)
    monkeypatch.setattr(migrations, "MIGRATIONS", STEPS)
    # The last statements are the later steps; of the first step's many, a few.
    for at in (2, 10, *range(statements - 18, statements + 1, 2)):
        path = tmp_path / f"killed at {at}.db"
        assert run(path, at).returncode == -signal.SIGKILL
        reached = version(path)
        tables = {name for name, _ in schema(path)}
        assert tables == {name for name, _ in expected(reached, tmp_path)}
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            migrate(connection)
        assert schema(path) == schema(whole)
        assert version(path) == NEWEST + 3
        assert rows(path, "SELECT * FROM second") == [(1, "new")]
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def expected(reached: int, folder: Path) -> list[tuple[object, ...]]:
    """The schema of a version."""
    path = folder / f"{reached}.db"
    if not path.exists():
        with closing(sqlite3.connect(path)) as connection:
            for script in (migrations.schema(), *STEPS)[: max(0, reached - BASE + 1)]:
                connection.executescript(script)
    return schema(path)


def test_every_foreign_key_has_an_index_that_begins_with_its_column(path: Path) -> None:
    """Else SQLite searches the whole table of children for each parent that is deleted."""
    open_writer(path, KEY).close()
    tables = [name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    keys = {(table, column) for table in tables for _, _, _, column, *_ in rows(path, f"PRAGMA foreign_key_list({table})")}
    assert ("messages", "conversation") in keys
    indexed = set()
    for table in tables:
        for _, index, *_ in rows(path, f"PRAGMA index_list({table})"):
            indexed.add((table, rows(path, f"PRAGMA index_info({index})")[0][2]))
        # A single INTEGER PRIMARY KEY is the table's own order, which is no index of its own.
        indexed |= {
            (table, column)
            for _, column, kind, _, _, position in rows(path, f"PRAGMA table_info({table})")
            if (kind, position) == ("INTEGER", 1)
        }
    assert keys <= indexed


def test_every_table_is_strict(path: Path) -> None:
    open_writer(path, KEY).close()
    tables = rows(path, "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'")
    assert len(tables) >= 10
    assert [name for name, strict in tables if not strict] == []


def as_of(path: Path, version: int) -> None:
    """Take back what the conversion has added since a version."""
    with closing(sqlite3.connect(path)) as connection:
        for step in reversed([*conversion(), *MIGRATIONS][version - OLDEST :]):
            for index in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", step):
                connection.execute(f"DROP INDEX {index}")
            for index in re.findall(r"DROP INDEX (\w+)", step):
                connection.execute(f"CREATE INDEX {index} ON audit_records (number)")
            for table in re.findall(r"DROP TABLE (\w+)", step):
                connection.execute(f"CREATE TABLE {table} (word TEXT) STRICT")
            for table, column in reversed(re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", step)):
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute(f"PRAGMA user_version={version}")


@pytest.mark.parametrize("earlier", range(OLDEST, BASE))
def test_a_store_from_before_the_first_release_gets_the_schema_of_a_new_one(path: Path, tmp_path: Path, earlier: int) -> None:
    open_writer(path, KEY).close()
    as_of(path, earlier)
    assert rows(path, "SELECT count(*) FROM pragma_table_info('sites') WHERE name = 'attempts'") == [(int(earlier >= 47),)]
    with closing(open_writer(path, KEY)) as connection:
        assert migrations.schema_fault(connection, NEWEST) is None
    assert list(path.parent.glob(f"before-upgrade-from-{earlier}.backup"))


def test_a_store_that_is_too_old_is_refused_with_what_to_do(path: Path) -> None:
    open_writer(path, KEY).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={OLDEST - 1}")
    with pytest.raises(StoreUnavailable, match="export its accounts with that version and import them here"):
        open_writer(path, KEY)
