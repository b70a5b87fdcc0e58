"""Queries of bots' knowledge: read, add, replace, change and remove entries and synonyms.

They are read in the order of their addition. Each change is recorded in store/knowledge_changes.py, which has the history.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from chatsvc.domain.knowledge_changes import ChangeOrigin
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.store import knowledge_changes as changes
from chatsvc.store.database import Connection, Database, quick, reads, writes
from chatsvc.store.knowledge_changes import Rows, StoredEntry, StoredSynonyms

_ONE_ENTRY = f"{changes.SELECT_ENTRIES} WHERE bot_id = ? AND id = ?"
_ALL_ENTRIES = f"{changes.SELECT_ENTRIES} WHERE bot_id = ? ORDER BY number"
_SOME_ENTRIES = f"{changes.SELECT_ENTRIES} WHERE id IN (SELECT value FROM json_each(?)) AND +bot_id = ?"
_KEPT = """
    WHERE bot_id = ? AND coalesce(file, '') NOT IN (SELECT value FROM json_each(?))
        AND coalesce(source, '') NOT IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_ENTRIES_KEPT = changes.SELECT_ENTRIES + _KEPT
_SYNONYMS_KEPT = f"SELECT words, source FROM knowledge_synonyms {_KEPT}"
_BY_NAME = "WHERE bot_id = ? AND file = ? ORDER BY number"
_ENTRIES_BY_NAME = f"{changes.SELECT_ENTRIES} {_BY_NAME}"
_SYNONYMS_BY_NAME = f"{changes.SELECT_SYNONYMS} {_BY_NAME}"
_OF_FILE = """
    WHERE number IN (SELECT number FROM {0} WHERE bot_id = ?1 AND file = ?2
        UNION SELECT number FROM {0} WHERE bot_id = ?1 AND source IN (SELECT value FROM json_each(?3))) ORDER BY number
"""
_ENTRIES_OF_FILE = changes.SELECT_ENTRIES + _OF_FILE.format("knowledge_entries")
_SYNONYMS_OF_FILE = changes.SELECT_SYNONYMS + _OF_FILE.format("knowledge_synonyms")


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
    """Entries and synonyms of a bot, as they are or before or after a change."""

    entries: Sequence[Entry]
    synonyms: Sequence[Synonyms]


def _entries(connection: Connection, bot_id: str) -> list[Entry]:
    rows = connection.execute(_ALL_ENTRIES, (bot_id,))
    return [row.entry for row in changes.entries_of(rows)]


entries = reads(_entries)


@reads
def find(connection: Connection, bot_id: str, entry_id: str) -> Entry | None:
    rows = changes.entries_of(connection.execute(_ONE_ENTRY, (bot_id, entry_id)))
    return rows[0].entry if rows else None


async def large(db: Database, least: int) -> list[str]:
    """List the bots with at least so many entries, those with the most first."""
    statement = "SELECT bot_id FROM knowledge_entries GROUP BY bot_id HAVING COUNT(*) >= ? ORDER BY COUNT(*) DESC, bot_id"
    return await db.read(lambda connection: [bot_id for (bot_id,) in connection.execute(statement, (least,))])


@quick
def version(connection: Connection, bot_id: str) -> int:
    """Return the number of the latest change of a bot's knowledge, 0 without any."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM knowledge_changes WHERE bot_id = ?", (bot_id,)).fetchone()[0])


@reads
def whole(connection: Connection, bot_id: str) -> Whole:
    """Read all entries and synonyms of a bot."""
    groups = connection.execute("SELECT words, source FROM knowledge_synonyms WHERE bot_id = ? ORDER BY number", (bot_id,))
    return Whole(_entries(connection, bot_id), [Synonyms(tuple(json.loads(words)), source) for words, source in groups])


@reads
def kept(connection: Connection, bot_id: str, files: Sequence[str], sources: Sequence[str]) -> Whole:
    """Read the entries and synonyms that `replace` would keep. Given are names of files, and all sources."""
    values = bot_id, json.dumps(files), json.dumps(sources)
    rows = changes.entries_of(connection.execute(_ENTRIES_KEPT, values))
    groups = connection.execute(_SYNONYMS_KEPT, values)
    return Whole([row.entry for row in rows], [Synonyms(tuple(json.loads(words)), source) for words, source in groups])


def replace_within(connection: Connection, bot_id: str, files: Sequence[FromFile], origin: ChangeOrigin) -> list[int]:
    """Do what `replace` does, within a unit."""
    gone, entries, synonyms = [], list[StoredEntry](), list[StoredSynonyms]()
    for file in files:
        before = _rows_of_file(connection, bot_id, file)
        changes.delete(connection, bot_id, before)
        gone.append(len(before.entries))
        entries += before.entries
        synonyms += before.synonyms
    after = _rows(files, origin.at)
    after = after._replace(entries=numbered(connection, after.entries))
    changes.insert(connection, bot_id, after)
    changes.record(connection, bot_id, origin, "add", Rows(entries, synonyms), after, files=[file.name for file in files])
    return gone


replace = writes(replace_within)


def _rows(files: Sequence[FromFile], added_at: int) -> Rows:
    return Rows(
        [StoredEntry(0, e._replace(source=e.source or file.name), file.name, added_at) for file in files for e in file.entries],
        [StoredSynonyms(group.words, group.source, file.name) for file in files for group in file.synonyms],
    )


def differing(connection: Connection, bot_id: str, files: Sequence[FromFile]) -> list[FromFile]:
    """Return the files that `replace` would change, within a unit. Those that share a source with them are among them."""
    changed = [file for file in files if _content(_rows([file], 0)) != _content(_rows_by_name(connection, bot_id, file.name))]
    while more := [
        candidate for candidate in files if candidate not in changed and any(set(candidate.sources) & set(file.sources) for file in changed)
    ]:
        changed += more
    return [file for file in files if file in changed]


def _content(rows: Rows) -> tuple[list[Entry], list[StoredSynonyms]]:
    """Return what does not depend on when the rows were written."""
    return [row.entry._replace(id="") for row in rows.entries], list(rows.synonyms)


def _rows_by_name(connection: Connection, bot_id: str, name: str) -> Rows:
    return Rows(
        changes.entries_of(connection.execute(_ENTRIES_BY_NAME, (bot_id, name))),
        changes.synonyms_of(connection.execute(_SYNONYMS_BY_NAME, (bot_id, name))),
    )


def file_counts(connection: Connection, bot_id: str) -> dict[str, int]:
    """Count the entries of each file of a bot, within a unit."""
    rows = connection.execute("SELECT file, count(*) FROM knowledge_entries WHERE bot_id = ? AND file IS NOT NULL GROUP BY file", (bot_id,))
    return dict(sorted(rows.fetchall()))


def remove_files(connection: Connection, bot_id: str, names: Sequence[str], origin: ChangeOrigin) -> None:
    """Delete the entries and synonyms of files within a unit, and record the change."""
    rows_by_file = [_rows_by_name(connection, bot_id, name) for name in names]
    before = Rows([row for rows in rows_by_file for row in rows.entries], [row for rows in rows_by_file for row in rows.synonyms])
    changes.delete(connection, bot_id, before)
    changes.record(connection, bot_id, origin, "remove", before, Rows(), files=names)


@writes
def remove_source(connection: Connection, bot_id: str, source: str, origin: ChangeOrigin) -> int:
    """Delete the entries and synonyms of a source, and record the change. Return the number of entries."""
    before = _rows_of_file(connection, bot_id, FromFile(source, ()))
    if before.entries or before.synonyms:
        changes.delete(connection, bot_id, before)
        changes.record(connection, bot_id, origin, "remove", before, Rows(), files=[source])
    return len(before.entries)


def _rows_of_file(connection: Connection, bot_id: str, file: FromFile) -> Rows:
    """Read what a file replaces: the rows of its name and of its sources."""
    values = bot_id, file.name, json.dumps(file.sources)
    return Rows(
        changes.entries_of(connection.execute(_ENTRIES_OF_FILE, values)), changes.synonyms_of(connection.execute(_SYNONYMS_OF_FILE, values))
    )


def numbered(connection: Connection, rows: Iterable[StoredEntry]) -> list[StoredEntry]:
    """Number new rows behind all others."""
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM knowledge_entries").fetchone()
    return [row._replace(number=number) for number, row in enumerate(rows, start=last + 1)]


@writes
def remove(connection: Connection, bot_id: str, entry_id: str, origin: ChangeOrigin) -> Entry | None:
    """Delete one entry, record the change and return the entry. Return None if the bot has none with this id."""
    before = Rows(changes.entries_of(connection.execute(_ONE_ENTRY, (bot_id, entry_id))))
    if not before.entries:
        return None
    changes.delete(connection, bot_id, before)
    changes.record(connection, bot_id, origin, "remove", before, Rows())
    return before.entries[0].entry


@writes
def create(connection: Connection, bot_id: str, entry: Entry, origin: ChangeOrigin) -> Entry:
    """Insert one entry that comes from no file, and record the change."""
    after = Rows(numbered(connection, [StoredEntry(0, entry, None, origin.at)]))
    changes.insert(connection, bot_id, after)
    changes.record(connection, bot_id, origin, "create", Rows(), after)
    return entry


@writes
def update(
    connection: Connection,
    bot_id: str,
    entry_id: str,
    edit: Callable[[Entry], Entry],
    origin: ChangeOrigin,
) -> Entry | None:
    """Change one entry in its place and record the change. Return None if the bot has none with this id. An equal entry is no change."""
    before = Rows(changes.entries_of(connection.execute(_ONE_ENTRY, (bot_id, entry_id))))
    if not before.entries:
        return None
    row = before.entries[0]
    after = Rows([row._replace(entry=edit(row.entry))])
    if after != before:
        changes.delete(connection, bot_id, before)
        changes.insert(connection, bot_id, after)
        changes.record(connection, bot_id, origin, "change", before, after)
    return after.entries[0].entry


@reads
def some(connection: Connection, bot_id: str, entries: Sequence[str]) -> dict[str, Entry]:
    """Read some entries of a bot, by their ids."""
    rows = connection.execute(_SOME_ENTRIES, (json.dumps(list(entries)), bot_id))
    return {row.entry.id: row.entry for row in changes.entries_of(rows)}
