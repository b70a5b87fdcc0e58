"""History of changes to bots' knowledge: record, list and undo changes.

The rows before and after each change are stored compressed. For each bot the newest changes are stored, at most MOST_CHANGES with
MOST_BYTES together. The history names operators, like the audit log, and is therefore left out of an account's export.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from chatsvc.domain.actors import Actor
from chatsvc.domain.models import ChangeContent, ChangeOrigin, Entry, KnowledgeChange
from chatsvc.store.database import LAST, Connection, quick, reads, writes

MOST_CHANGES = 500
MOST_BYTES = 16 * 1024 * 1024  # compressed; the newest change is kept however large it is
_MOST_TITLE = 200  # characters
_COLUMNS = "id, at, actor_kind, actor_id, actor_name, via, kind, title, entries_before, entries_after, undone"


@quick
def last(connection: Connection, bot_id: str) -> tuple[int, int]:
    """Return row number and time (ms) of the last change of a bot's knowledge. Return 0 and LAST if no change is recorded."""
    row = connection.execute("SELECT number, at FROM knowledge_changes WHERE bot_id = ? ORDER BY number DESC LIMIT 1", (bot_id,)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, LAST)


class StoredEntry(NamedTuple):
    """Row of an entry: row number, entry, its knowledge file, and time of creation (ms). Row numbers give the order of entries."""

    number: int
    entry: Entry
    file: str | None
    created_at: int


class StoredSynonyms(NamedTuple):
    """Row of a group of synonyms."""

    words: tuple[str, ...]
    source: str
    file: str


class Rows(NamedTuple):
    """Rows of a bot's knowledge, before or after a change."""

    entries: Sequence[StoredEntry] = ()
    synonyms: Sequence[StoredSynonyms] = ()


class NotUndoable(Exception):
    """A change cannot be undone, because it is undone already or a later change affects the same entries."""


_ENTRY_COLUMNS = "number, id, question, alt, answer, language, source, file, created_at"
_ENTRIES = f"SELECT {_ENTRY_COLUMNS} FROM knowledge_entries"
_SYNONYMS = "SELECT words, source, file FROM knowledge_synonyms"
_SELECT_BY_ID = f"{_ENTRIES} WHERE id IN (SELECT value FROM json_each(?2)) AND +bot_id = ?1"
# Which rows of the bot ?1: all of them; those that the files ?2 with the sources ?3 (JSON) replace; or all but these.
ALL, REPLACED, LEFT = "all", "replaced", "left"
_CONDITIONS = {
    ALL: "bot_id = ?1",
    REPLACED: """
        number IN (SELECT number FROM {table} WHERE bot_id = ?1 AND file IN (SELECT value FROM json_each(?2))
            UNION SELECT number FROM {table} WHERE bot_id = ?1 AND source IN (SELECT value FROM json_each(?3)))
    """,
    LEFT: """
        bot_id = ?1 AND coalesce(file, '') NOT IN (SELECT value FROM json_each(?2))
            AND coalesce(source, '') NOT IN (SELECT value FROM json_each(?3))
    """,
}
_SELECT_ENTRIES, _SELECT_SYNONYMS = (
    {which: f"{select} WHERE {condition.format(table=table)} ORDER BY number" for which, condition in _CONDITIONS.items()}
    for select, table in ((_ENTRIES, "knowledge_entries"), (_SYNONYMS, "knowledge_synonyms"))
)


def read_rows(connection: Connection, bot_id: str, which: str, *names: Iterable[str]) -> Rows:
    """Read a bot's rows in the order in which they were added. `which` is ALL, REPLACED or LEFT; `names` are the files and the sources."""
    values = bot_id, *(json.dumps(list(some)) for some in names)
    groups = connection.execute(_SELECT_SYNONYMS[which], values).fetchall()
    return Rows(
        _entries(connection.execute(_SELECT_ENTRIES[which], values)),
        [StoredSynonyms(tuple(json.loads(words)), source, file) for words, source, file in groups],
    )


def entries_by_id(connection: Connection, bot_id: str, ids: Iterable[str]) -> dict[str, StoredEntry]:
    """Read the entries of a bot that have the given ids, and return their rows by id."""
    rows = _entries(connection.execute(_SELECT_BY_ID, (bot_id, json.dumps(list(ids)))))
    return {row.entry.id: row for row in rows}


def _entries(rows: Iterable[tuple[Any, ...]]) -> list[StoredEntry]:
    return [
        StoredEntry(number, Entry(entry_id, question, tuple(json.loads(alt)), answer, language, source), file, created_at)
        for number, entry_id, question, alt, answer, language, source, file, created_at in rows
    ]


def change(
    connection: Connection,
    bot_id: str,
    origin: ChangeOrigin,
    kind: str,
    before: Rows,
    after: Rows,
    *,
    files: Sequence[str] = (),
    undoes: int | None = None,
) -> None:
    """Replace the rows `before` by the rows `after`, record the change, and delete the oldest changes beyond the limits.

    An entry keeps its number, and so its position in the order, if the number is free. An entry with number 0 becomes the last one.
    `files` are the names of the files that the change replaces as a whole. `undoes` is the number of the change that this one undoes.
    """
    connection.executemany("DELETE FROM knowledge_entries WHERE bot_id = ? AND id = ?", [(bot_id, row.entry.id) for row in before.entries])
    connection.executemany(
        "DELETE FROM knowledge_synonyms WHERE bot_id = ? AND words = ? AND source = ? AND file = ?",
        [(bot_id, json.dumps(group.words, ensure_ascii=False), group.source, group.file) for group in before.synonyms],
    )
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM knowledge_entries").fetchone()
    free = count(last + 1)
    after = after._replace(entries=[row if row.number else row._replace(number=next(free)) for row in after.entries])
    connection.executemany(
        f"""
        INSERT INTO knowledge_entries (bot_id, {_ENTRY_COLUMNS})
        VALUES (?1, CASE WHEN EXISTS (SELECT 1 FROM knowledge_entries WHERE number = ?2) THEN NULL ELSE ?2 END,
            ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        """,
        [
            (bot_id, number, e.id, e.question, json.dumps(e.alt, ensure_ascii=False), e.answer, e.language, e.source, file, created_at)
            for number, e, file, created_at in after.entries
        ],
    )
    connection.executemany(
        "INSERT INTO knowledge_synonyms (bot_id, words, source, file) VALUES (?, ?, ?, ?)",
        [(bot_id, json.dumps(group.words, ensure_ascii=False), group.source, group.file) for group in after.synonyms],
    )
    concerned = [*after.entries, *before.entries]
    title = ", ".join(files) or (concerned[0].entry.question if concerned else "")
    connection.execute(
        f"""
        INSERT INTO knowledge_changes (bot_id, {_COLUMNS}, files, undoes, replaced)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)
        """,
        (
            *(bot_id, origin.id, origin.changed_at, *origin.actor, origin.via, kind, title[:_MOST_TITLE]),
            *(len(before.entries), len(after.entries), json.dumps(list(files)), undoes),
            zlib.compress(json.dumps([before, after], ensure_ascii=False).encode(), 1),
        ),
    )
    connection.execute(
        """
        DELETE FROM knowledge_changes WHERE number IN (
            SELECT number FROM (
                SELECT number, row_number() OVER (ORDER BY number DESC) AS place,
                    sum(length(replaced)) OVER (ORDER BY number DESC) AS bytes
                FROM knowledge_changes WHERE bot_id = ?) page
            WHERE place > ? OR (place > 1 AND bytes > ?))
        """,
        (bot_id, MOST_CHANGES, MOST_BYTES),
    )


def _unpacked(packed: bytes) -> list[Rows]:
    versions = []
    for entries, synonyms in json.loads(zlib.decompress(packed)):
        rows = [StoredEntry(number, Entry(*entry)._replace(alt=tuple(entry[2])), *others) for number, entry, *others in entries]
        versions.append(Rows(rows, [StoredSynonyms(tuple(words), *others) for words, *others in synonyms]))
    return versions


_CHANGE = f"{_COLUMNS}, (SELECT u.id FROM knowledge_changes u WHERE u.number = c.undoes)"


def _change(row: tuple[Any, ...]) -> KnowledgeChange:
    change_id, changed_at, kind_of_actor, actor_id, actor_name, via, kind, title, before, after, undone, undoes, _ = row
    origin = ChangeOrigin(change_id, changed_at, Actor(kind_of_actor, actor_id, actor_name), via)
    return KnowledgeChange(origin, kind, title, before, after, bool(undone), undoes)


@reads
def page(connection: Connection, bot_id: str, limit: int, after: int = LAST) -> list[tuple[KnowledgeChange, int]]:
    """Read changes to a bot's knowledge with their row numbers, newest first. Only changes with a number below `after` are read."""
    sql = f"SELECT {_CHANGE}, c.number FROM knowledge_changes c WHERE c.bot_id = ? AND c.number < ? ORDER BY c.number DESC LIMIT ?"
    return [(_change(row), row[-1]) for row in connection.execute(sql, (bot_id, after, limit))]


@reads
def find(connection: Connection, bot_id: str, change_id: str) -> ChangeContent | None:
    """Read a change with the entries before and after it."""
    sql = f"SELECT {_CHANGE}, c.replaced FROM knowledge_changes c WHERE c.bot_id = ? AND c.id = ?"
    if (row := connection.execute(sql, (bot_id, change_id)).fetchone()) is None:
        return None
    return ChangeContent(_change(row), *([entry_row.entry for entry_row in rows.entries] for rows in _unpacked(row[-1])))


@writes
def undo(connection: Connection, bot_id: str, change_id: str, origin: ChangeOrigin) -> bool:
    """Undo a change by a new change, which restores the rows before it. Return False if there is no such change. Raises NotUndoable.

    NotUndoable is raised if the entries have changed since. It is also raised if a later change, which is still valid, has replaced a file
    of these rows: they would exist twice. Undoing an undo makes the original change valid again.
    """
    row = connection.execute(
        "SELECT number, kind, undone, undoes, files, replaced FROM knowledge_changes WHERE bot_id = ? AND id = ?", (bot_id, change_id)
    ).fetchone()
    if row is None:
        return False
    number, kind, undone, undoes, text, packed = row
    before, after = _unpacked(packed)
    files = json.loads(text)
    present = entries_by_id(connection, bot_id, {entry_row.entry.id for entry_row in (*before.entries, *after.entries)})
    named = {*files, *(entry_row.file for entry_row in before.entries if entry_row.file)}
    overwriting = connection.execute(
        """
        SELECT 1 FROM knowledge_changes c, json_each(c.files) f WHERE c.bot_id = ?1 AND c.number > ?2 AND c.undone = 0
            AND NOT (c.kind = 'undo' AND c.undoes > ?2) AND f.value IN (SELECT value FROM json_each(?3)) LIMIT 1
        """,
        (bot_id, number, json.dumps(sorted(named))),
    ).fetchone()
    if undone or overwriting or {(row.entry, row.file) for row in present.values()} != {(row.entry, row.file) for row in after.entries}:
        raise NotUndoable
    connection.execute("UPDATE knowledge_changes SET undone = 1 WHERE number = ?", (number,))
    if kind == "undo":
        connection.execute("UPDATE knowledge_changes SET undone = 0 WHERE number = ?", (undoes,))
    change(connection, bot_id, origin, "undo", after, before, files=files, undoes=number)
    return True
