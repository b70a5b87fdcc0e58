"""Promises of every database: units are atomic, and faults are told apart."""

import asyncio
import resource
from pathlib import Path

import pytest

from chatsvc.store.database import Connection, Database, StoreFault, StoreUnavailable, Unit
from tests.store.conftest import Open
from tests.store.support import rows


def note(name: str, value: bytes = b"x") -> Unit[str]:
    """A unit that writes one fact and gives its name back."""

    def unit(connection: Connection) -> str:
        connection.execute("INSERT INTO store_facts (name, value) VALUES (?, ?)", (name, value))
        return name

    return unit


def names(connection: Connection) -> list[str]:
    """A unit that reads the names of all facts."""
    return [name for (name,) in connection.execute("SELECT name FROM store_facts ORDER BY name")]


async def test_what_a_unit_wrote_is_durable_and_read_again(db: Database, path: Path) -> None:
    assert await db.write(note("a")) == "a"
    assert await db.read(names) == ["a"]
    assert rows(path, "SELECT name FROM store_facts") == [("a",)]


async def test_a_unit_that_raises_is_undone_and_tells_what_it_raised(db: Database) -> None:
    def fails(connection: Connection) -> None:
        note("half")(connection)
        raise LookupError("of the unit's own")

    with pytest.raises(LookupError, match="of the unit's own"):
        await db.write(fails)
    assert await db.read(names) == []
    await db.write(note("after"))
    assert await db.read(names) == ["after"]


@pytest.mark.sqlite
async def test_a_write_that_the_system_refuses_at_the_commit_is_an_outage_that_leaves_nothing_behind_and_passes(db: Database) -> None:
    await db.write(note("before"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        with pytest.raises(StoreUnavailable):
            await db.write(note("too big", b"x" * 1_000_000))
        assert await db.read(names) == ["before"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    await db.write(note("after", b"x" * 1_000_000))
    assert await db.read(names) == ["after", "before"]


@pytest.mark.sqlite
async def test_a_file_that_may_not_be_written_any_more_is_an_outage(db: Database, path: Path) -> None:
    await db.write(note("before"))
    await db.write(lambda connection: connection.execute("PRAGMA query_only=ON").fetchall())
    with pytest.raises(StoreUnavailable, match="readonly"):
        await db.write(note("after"))
    assert rows(path, "SELECT name FROM store_facts") == [("before",)]


FAULTS_OF_OURS: dict[str, tuple[str, tuple[object, ...], type[Exception]]] = {
    "a constraint": ("INSERT INTO store_facts (name, value) VALUES (?, NULL)", ("a",), StoreFault),
    "a foreign key": ("INSERT INTO allowances VALUES (?, '2026-11', 1)", ("nobody",), StoreFault),
    "a type that STRICT refuses": ("INSERT INTO store_facts (name, value) VALUES (?, 1)", ("a",), StoreFault),
    "too few values": ("SELECT ?, ?", ("a",), StoreFault),
    "a misspelt column": ("SELECT nmae FROM store_facts WHERE name = ?", ("a",), StoreFault),
    "no SQL": ("SELCET ?", ("a",), StoreFault),
    "a lone surrogate": ("SELECT ?", ("\ud800",), UnicodeEncodeError),
    "a number too great": ("SELECT ?", (2**63,), OverflowError),
}


@pytest.mark.parametrize("fault", FAULTS_OF_OURS)
async def test_a_fault_of_ours_is_not_told_as_an_outage(db: Database, fault: str) -> None:
    sql, values, kind = FAULTS_OF_OURS[fault]

    def unit(connection: Connection) -> None:
        connection.execute(sql, values).fetchall()

    with pytest.raises(kind):
        await db.write(unit)
    if sql.startswith("SEL"):
        with pytest.raises(kind):
            await db.read(unit)
    await db.write(note("after"))


@pytest.mark.sqlite
@pytest.mark.parametrize(("folder", "fault"), [("", "not a database"), ("missing", "unable to open")])
async def test_what_is_no_database_cannot_be_opened(open_db: Open, path: Path, folder: str, fault: str) -> None:
    await asyncio.to_thread(path.write_bytes, b"This is a text that somebody put here. " * 100)
    with pytest.raises(StoreUnavailable, match=fault):
        await open_db(path.parent / folder / path.name)


def damage(path: Path) -> None:
    """Overwrite the pages that came after the schema's own: those of the facts."""
    used = rows(path, "SELECT count(*) FROM sqlite_master WHERE rootpage")[0][0]
    assert isinstance(used, int)
    raw = bytearray(path.read_bytes())
    first = (used + 12) * 4096
    raw[first:] = b"\xee" * (len(raw) - first)
    path.write_bytes(raw)


@pytest.mark.sqlite
async def test_a_damaged_database_is_an_outage(open_db: Open, path: Path) -> None:
    db = await open_db(path)
    for i in range(200):
        await db.write(note(f"fact {i}", b"x" * 500))
    await db.close()
    await asyncio.to_thread(damage, path)
    db = await open_db(path)
    with pytest.raises(StoreUnavailable, match="malformed"):
        await db.read(lambda connection: connection.execute("SELECT name, value FROM store_facts ORDER BY name").fetchall())
    await db.close()


@pytest.mark.sqlite
async def test_every_commit_reaches_the_disk_and_foreign_keys_hold(db: Database) -> None:
    def settings(connection: Connection) -> dict[str, object]:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas}

    assert await db.write(settings) == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


@pytest.mark.sqlite
async def test_after_closing_one_file_holds_everything(open_db: Open, path: Path) -> None:
    db = await open_db(path)
    await db.write(note("a"))
    await db.close()
    assert [file.name for file in path.parent.iterdir()] == ["chatsvc.db"]
    again = await open_db(path)
    assert await again.read(names) == ["a"]
    await again.close()
