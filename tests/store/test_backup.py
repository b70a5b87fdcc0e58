"""What a backup counts, and what it keeps of an upgrade."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chatsvc.store import backup, migrations
from chatsvc.store.database import StoreUnavailable, connect
from chatsvc.store.migrations import MIGRATIONS
from tests.store.support import rows

STEP = "CREATE TABLE later (a INTEGER) STRICT"


def test_an_upgrade_backs_up_first(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(connect(path, writes=True)) as connection:
        connection.execute("INSERT INTO store_facts (name, value) VALUES ('master_key_check', x'00')")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, STEP))
    connect(path, writes=True).close()
    (kept,) = path.parent.glob("before-upgrade-*.backup")
    found = backup.examine(kept, tmp_path / "scratch")
    assert (found.faults, found.schema_version) == ([], len(MIGRATIONS))


def test_whatever_bytes_of_a_backup_are_damaged_it_is_told_as_such(path: Path, tmp_path: Path) -> None:
    with closing(connect(path, writes=True)) as connection:
        connection.execute("INSERT INTO store_facts (name, value) VALUES ('master_key_check', x'00')")
    whole, damaged = tmp_path / "whole.backup", tmp_path / "damaged.backup"
    backup.create(path, whole, made_at=1, version="1")
    content, chance = whole.read_bytes(), random.Random(1)
    about = content.index(b'"made_at"')
    for number in range(60):
        bytes_ = bytearray(content)
        # Half of them where it says what it is, which is little of the file.
        for _ in range(chance.choice((1, 20))):
            place = about + chance.randrange(-40, 200) if number % 2 else chance.randrange(len(content))
            bytes_[place] ^= 1 << chance.randrange(8)
        damaged.write_bytes(bytes_)
        assert backup.examine(damaged, tmp_path / f"scratch {number}").faults


def test_an_upgrade_that_cannot_back_up_does_not_begin(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(path, writes=True).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, STEP))

    def full(*_: object, **__: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(backup, "create", full)
    with pytest.raises(StoreUnavailable, match="disk is full"):
        connect(path, writes=True)
    assert rows(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


def test_a_failed_upgrade_can_be_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(path, writes=True).close()
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, "no SQL"))
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            connect(path, writes=True)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, STEP))
    connect(path, writes=True).close()
    assert rows(path, "PRAGMA user_version") == [(len(MIGRATIONS) + 1,)]
