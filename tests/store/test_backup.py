"""Backups of a database: authenticated to the last bit, compared with the schema, and made before an upgrade."""

import hashlib
import random
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from chatsvc.domain.refusals import Refused
from chatsvc.store.copying import compare
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.facts import belongs_to
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite import backup, migrations
from chatsvc.store.sqlite.backup import Backup
from chatsvc.store.sqlite.connection import open_writer
from chatsvc.store.sqlite.migrations import BASE, newest
from tests import tables
from tests.store.conftest import KEY
from tests.store.support import furnish, in_database, rows

pytestmark = pytest.mark.sqlite

STEP = "CREATE TABLE later (a INTEGER) STRICT"
RAW = KEY.in_force


@pytest.fixture
def whole(path: Path, tmp_path: Path) -> Path:
    """A backup of a small store."""

    async def fill(db: Database) -> None:
        await belongs_to(db, KEY)
        await furnish(db)

    in_database(path, fill)
    file = tmp_path / "whole.backup"
    copy = backup.create(partial(backup.copy_file, path), file, KEY, made_at=1)
    assert copy.counts["bots"] == 1
    return file


def examined(file: Path, *keys: bytes, contained: bool = True) -> Backup:
    with file.open("rb") as source:
        return backup.examine(source, file.with_name("scratch"), list(keys), contained=contained)


def test_a_backup_is_authenticated_with_its_key_and_told_apart_without(whole: Path) -> None:
    examination = examined(whole, b"x" * 32, RAW)
    assert (examination.faults, examination.authenticated, examination.check) == ([], True, KEY.check)
    for keys in ([], [b"x" * 32]):
        examination = examined(whole, *keys)
        assert (examination.faults, examination.authenticated) == ([], False)


def test_a_backup_that_contains_its_key_is_checked_with_it_unless_another_is_asked_for(whole: Path, path: Path) -> None:
    file = whole.with_name("with key")
    backup.create(partial(backup.copy_file, path), file, KEY, made_at=1, with_master_key=True)
    assert examined(file).authenticated
    assert not examined(file, b"x" * 32, contained=False).authenticated


def test_whatever_bit_of_a_backup_is_changed_it_is_refused(whole: Path) -> None:
    content, chance = whole.read_bytes(), random.Random(1)
    trailer = backup.read_trailer(whole)
    assert trailer
    # Every byte of the trailer, and some of the database before it.
    places = [*range(trailer.size, len(content)), *(chance.randrange(trailer.size) for _ in range(100))]
    damaged = whole.with_name("damaged")
    for position in places:
        changed = bytearray(content)
        changed[position] ^= 1 << chance.randrange(8)
        damaged.write_bytes(changed)
        assert examined(damaged, RAW).faults, position


@pytest.mark.parametrize("size", [0, 1, 100, 4096])
def test_a_backup_that_was_cut_off_or_made_longer_is_refused(whole: Path, size: int) -> None:
    content = whole.read_bytes()
    for changed in (content[: len(content) - 1 - size], content + b"x" * (size + 1), content[size + 1 :], content[:size]):
        whole.write_bytes(changed)
        assert examined(whole, RAW).faults


def without_trailer(file: Path) -> dict[str, object]:
    """Cut the trailer off a backup, and return its description."""
    trailer = backup.read_trailer(file)
    assert trailer
    file.write_bytes(file.read_bytes()[: trailer.size])
    return {name: value for name, value in trailer.about.items() if name != "format"}


def forged(file: Path, *statements: str) -> None:
    """Change the database in a backup and write a trailer that fits, but for the tag."""
    about = without_trailer(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    backup.append_trailer(file, about, MasterKey(b"x" * 32)("backup tag"))


@pytest.mark.parametrize("statement", [pytest.param(statement, id=what) for what, statement in tables.rows("store/forgeries")])
def test_what_was_forged_without_the_key_is_refused_even_where_nobody_has_the_key(whole: Path, statement: str) -> None:
    forged(whole, statement)
    examination = examined(whole)
    assert examination.faults
    assert not examination.authenticated


@pytest.mark.parametrize("made_at", [10**30, float("inf"), "now", None])
def test_a_forged_time_is_a_fault_of_the_backup(whole: Path, made_at: object) -> None:
    backup.append_trailer(whole, {**without_trailer(whole), "made_at": made_at}, b"")
    assert examined(whole).faults == ["it is no backup, or a damaged one: its description cannot be read"]


def test_a_schema_whose_text_alone_was_changed_is_refused(whole: Path) -> None:
    change = "UPDATE sqlite_master SET sql = replace(sql, 'message_credits >= 0', 'message_credits >  0') WHERE name = 'accounts'"
    forged(whole, "PRAGMA writable_schema=ON", change)
    assert "schema" in examined(whole).faults[0]


def test_a_change_of_a_value_shows_with_the_key_alone(whole: Path) -> None:
    forged(whole, "UPDATE accounts SET message_credits = 1000000")
    assert examined(whole).faults == []
    assert examined(whole, RAW).faults == ["it has been changed since it was made"]


def test_a_backup_of_an_earlier_version_is_told_as_such(whole: Path) -> None:
    without_trailer(whole)
    (fault,) = examined(whole, RAW).faults
    assert "earlier chatsvc" in fault


def test_the_digest_is_that_of_all_before_it(whole: Path) -> None:
    content = whole.read_bytes()
    before, digest, _, _, _ = content[:-139], *content[-139:].split(b"\n")
    assert hashlib.sha256(before).hexdigest().encode() == digest


def test_an_upgrade_backs_up_first(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_database(path, lambda db: belongs_to(db, KEY))
    monkeypatch.setattr(migrations, "MIGRATIONS", (STEP,))
    with pytest.raises(StoreUnavailable, match="master key"):
        open_writer(path)
    open_writer(path, KEY).close()
    (earlier,) = path.parent.glob("before-upgrade-*.backup")
    examination = examined(earlier, RAW)
    assert (examination.faults, examination.schema_version, examination.authenticated) == ([], BASE, True)


def test_an_upgrade_that_cannot_back_up_does_not_begin(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_writer(path).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (STEP,))

    def full(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(backup, "create", full)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        open_writer(path, KEY)
    assert rows(path, "PRAGMA user_version") == [(BASE,)]


def test_a_failed_upgrade_can_be_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_writer(path).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", ("no SQL",))
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            open_writer(path, KEY)
    monkeypatch.setattr(migrations, "MIGRATIONS", (STEP,))
    open_writer(path, KEY).close()
    assert rows(path, "PRAGMA user_version") == [(newest(),)]


def test_a_copy_that_differs_is_refused(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    for database in (path, other):
        in_database(database, furnish)
    with backup.opened(path) as source, closing(sqlite3.connect(other)) as target:
        target.execute("UPDATE accounts SET name = 'another'")
        with pytest.raises(Refused, match="store_copy_differs") as refused:
            compare(source, target, lambda *_: None)
    assert refused.value.facts == {"table": "accounts"}
