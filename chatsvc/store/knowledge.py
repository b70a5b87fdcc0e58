"""Knowledge of bots: entries and synonyms, in the order of their addition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from chatsvc.domain.entries import PackedEntries
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.store.database import Connection, Database

_COLUMNS = "id, question, alt, answer, language, source"


class FromFile(NamedTuple):
    """Content of one file; an entry or a group of synonyms may name another source."""

    name: str
    entries: Sequence[Entry]
    synonyms: Sequence[Synonyms] = ()

    @property
    def sources(self) -> list[str]:
        """List all sources that are named, the file first."""
        named = [self.name, *(entry.source or self.name for entry in self.entries), *(group.source for group in self.synonyms)]
        return list(dict.fromkeys(named))


class Whole(NamedTuple):
    """All entries and synonyms of a bot."""

    entries: Sequence[Entry]
    synonyms: list[Synonyms]


def _entry(row: tuple[str, str, str, str, str, str | None]) -> Entry:
    entry_id, question, alt, answer, language, source = row
    return Entry(entry_id, question, tuple(json.loads(alt)), answer, language, source)


def _entries(connection: Connection, bot_id: str) -> Iterator[Entry]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM knowledge_entries WHERE bot_id = ? ORDER BY number", (bot_id,))
    return map(_entry, rows)


async def entries(db: Database, bot_id: str) -> list[Entry]:
    """List all entries of a bot."""
    return await db.read(lambda connection: list(_entries(connection, bot_id)))


async def large(db: Database, least: int) -> list[str]:
    """List the bots with at least so many entries, those with the most first."""
    found = "SELECT bot_id FROM knowledge_entries GROUP BY bot_id HAVING COUNT(*) >= ? ORDER BY COUNT(*) DESC, bot_id"
    return await db.read(lambda connection: [bot_id for (bot_id,) in connection.execute(found, (least,))])


async def whole(db: Database, bot_id: str) -> Whole:
    """Read all entries and synonyms of a bot."""

    def unit(connection: Connection) -> Whole:
        groups = connection.execute("SELECT words, source FROM knowledge_synonyms WHERE bot_id = ? ORDER BY number", (bot_id,))
        return Whole(PackedEntries(_entries(connection, bot_id)), [Synonyms(tuple(json.loads(words)), source) for words, source in groups])

    return await db.read(unit)


async def kept(db: Database, bot_id: str, files: Sequence[str], sources: Sequence[str]) -> Whole:
    """Read the entries and synonyms that `replace` would keep, given the names of files and all sources."""
    of_bot = """
        WHERE bot_id = ? AND file NOT IN (SELECT value FROM json_each(?))
            AND coalesce(source, '') NOT IN (SELECT value FROM json_each(?)) ORDER BY number
    """
    values = bot_id, json.dumps(files), json.dumps(sources)

    def unit(connection: Connection) -> Whole:
        entries = map(_entry, connection.execute(f"SELECT {_COLUMNS} FROM knowledge_entries {of_bot}", values))
        groups = connection.execute(f"SELECT words, source FROM knowledge_synonyms {of_bot}", values)
        return Whole(list(entries), [Synonyms(tuple(json.loads(words)), source) for words, source in groups])

    return await db.read(unit)


async def replace(db: Database, bot_id: str, files: Sequence[FromFile], now: int, applied: Callable[[list[int]], None]) -> list[int]:
    """Replace the entries and synonyms of the given files and of their sources.

    Atomic for all files; returns the number of deleted entries for each.
    """
    entry_rows = [
        (e.id, bot_id, e.question, json.dumps(e.alt, ensure_ascii=False), e.answer, e.language, e.source or file.name, file.name, now)
        for file in files
        for e in file.entries
    ]
    group_rows = [
        (bot_id, json.dumps(group.words, ensure_ascii=False), group.source, file.name) for file in files for group in file.synonyms
    ]
    before = [(file.name, [(bot_id, source) for source in file.sources]) for file in files]

    def unit(connection: Connection) -> list[int]:
        gone = []
        for name, sources in before:
            count = connection.execute("DELETE FROM knowledge_entries WHERE bot_id = ? AND file = ?", (bot_id, name)).rowcount
            count += connection.executemany("DELETE FROM knowledge_entries WHERE bot_id = ? AND source = ?", sources).rowcount
            connection.execute("DELETE FROM knowledge_synonyms WHERE bot_id = ? AND file = ?", (bot_id, name))
            connection.executemany("DELETE FROM knowledge_synonyms WHERE bot_id = ? AND source = ?", sources)
            gone.append(count)
        connection.executemany(
            """
            INSERT INTO knowledge_entries (id, bot_id, question, alt, answer, language, source, file, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            entry_rows,
        )
        connection.executemany("INSERT INTO knowledge_synonyms (bot_id, words, source, file) VALUES (?, ?, ?, ?)", group_rows)
        return gone

    return await db.write(unit, applied)


async def remove(db: Database, bot_id: str, entry_id: str, applied: Callable[[Entry | None], None]) -> Entry | None:
    """Delete one entry and return it; None if the bot has none with this id."""

    def unit(connection: Connection) -> Entry | None:
        row = connection.execute(
            f"DELETE FROM knowledge_entries WHERE bot_id = ? AND id = ? RETURNING {_COLUMNS}", (bot_id, entry_id)
        ).fetchone()
        return _entry(row) if row else None

    return await db.write(unit, applied)
