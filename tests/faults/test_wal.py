"""The write-ahead log cut off anywhere, as a power failure does: the store opens on exactly the exchanges whose commits were whole."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from chatsvc.store.database import Database
from chatsvc.store.sqlite.connection import open_writer
from tests.crash.books import disagreements, threads
from tests.store.support import chat, furnish, in_database

pytestmark = pytest.mark.sqlite

CUTS = int(os.environ.get("CHATSVC_WAL", "18"))
EXCHANGES = 60
WAL_HEADER, FRAME_HEADER = 32, 24


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A database whose EXCHANGES exchanges are in its log alone, one commit each."""
    source, copy = tmp_path / "source", tmp_path / "crashed"
    source.mkdir()
    copy.mkdir()

    async def fill(db: Database) -> None:
        await furnish(db, bot_ids=("bot", "other"))
        await db.purge()
        await db.read(lambda connection: connection.execute("PRAGMA wal_autocheckpoint=0").fetchall())
        for number in range(EXCHANGES):
            # Long ones now and then, so that commits have from a few to many pages.
            text = f"message {number}" + " and so on" * (2000 if number % 7 == 0 else 1)
            await chat(db, bot_id=("bot", "other")[number % 2], user_id=f"visitor {number % 5}", text=text, key=f"key {number}")
        for name in ("chatsvc.db", "chatsvc.db-wal"):
            shutil.copy(source / name, copy / name)

    in_database(source / "chatsvc.db", fill)
    return copy


def commits(wal: bytes) -> list[int]:
    """The end of each commit. Frames are a header and a page; a commit's last header holds the database's size."""
    page = int.from_bytes(wal[8:12], "big")
    step = FRAME_HEADER + page
    return [at + step for at in range(WAL_HEADER, len(wal) - step + 1, step) if wal[at + 4 : at + 8] != bytes(4)]


def cuts(wal: bytes) -> Iterator[int]:
    """Lengths to cut the log to: around the ends of frames and of commits, within the header, and anywhere."""
    chance = random.Random(CUTS)
    step = FRAME_HEADER + int.from_bytes(wal[8:12], "big")
    ends = commits(wal)
    frames = range(WAL_HEADER, len(wal) + 1, step)
    yield from (0, 1, WAL_HEADER - 1, WAL_HEADER, WAL_HEADER + 1, len(wal))
    for _ in range(max(0, CUTS - 6) // 3 + 1):
        yield min(len(wal), chance.choice(ends) + chance.choice((-1, 0, 1)))
        yield max(0, chance.choice(frames) + chance.choice((-1, 0, 1)))
        yield chance.randrange(len(wal))


def test_a_log_that_is_cut_anywhere_leaves_a_prefix_of_the_exchanges_and_true_books(crashed: Path, tmp_path: Path) -> None:
    wal = (crashed / "chatsvc.db-wal").read_bytes()
    ends = commits(wal)
    assert len(ends) == EXCHANGES
    tried, seen = 0, set()
    for length in cuts(wal):
        folder = tmp_path / f"cut {tried}"
        folder.mkdir()
        file = folder / "chatsvc.db"
        shutil.copy(crashed / "chatsvc.db", file)
        (folder / "chatsvc.db-wal").write_bytes(wal[:length])
        holds_exactly(file, sum(end <= length for end in ends))
        seen.add(sum(end <= length for end in ends))
        shutil.rmtree(folder)
        tried += 1
    assert tried >= CUTS
    assert {0, EXCHANGES} <= seen
    print(f"{tried} logs cut, {len(seen)} different prefixes")  # noqa: T201


def holds_exactly(file: Path, count: int) -> None:
    """Only the first `count` exchanges exist, and the service can start on them."""
    with closing(open_writer(file)) as connection:
        there = [
            content.split(" and")[0]
            for (content,) in connection.execute("SELECT content FROM messages WHERE role = 'user' ORDER BY number")
        ]
        assert there == [f"message {number}" for number in range(count)]
        assert connection.execute("SELECT sum(messages_used) FROM bots").fetchone() == (count,)
        assert connection.execute("SELECT count(*) FROM idempotency_keys").fetchone() == (count,)
    assert disagreements(file) == []
    assert in_database(file, lambda db: chat(db, user_id="next", text="afterwards")) is not None
    assert len(list(chain(*threads(file).values()))) == count + 1


def test_a_frame_with_one_wrong_bit_ends_the_log_before_its_commit(crashed: Path, tmp_path: Path) -> None:
    wal = (crashed / "chatsvc.db-wal").read_bytes()
    ends = commits(wal)
    chance = random.Random(1)
    for number in range(4):
        folder = tmp_path / f"flipped {number}"
        shutil.copytree(crashed, folder)
        at = chance.randrange(WAL_HEADER + FRAME_HEADER, len(wal))
        (folder / "chatsvc.db-wal").write_bytes(wal[:at] + bytes([wal[at] ^ 1 << chance.randrange(8)]) + wal[at + 1 :])
        holds_exactly(folder / "chatsvc.db", sum(end <= at for end in ends))
