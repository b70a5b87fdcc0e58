"""A backup: the database as it was at one instant, in one file that is a SQLite database itself, with a table that says what it is.

The table `backup` holds when it was made, by which version, how many rows each table had, the digest of the whole file and, only
where it was asked for, the master key.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from chatsvc.store.database import StoreUnavailable, connect
from chatsvc.store.facts import check_in
from chatsvc.store.folder import sync_names
from chatsvc.store.migrations import APPLICATION_ID, is_newer, migrate, schema_version
from chatsvc.store.tables import TABLES
from chatsvc.store.webhooks import interrupt_all

FORMAT = 1
_DIGEST = "chatsvc-backup-sha256:"
_CHUNK = 1 << 20
COUNTS = {table.name: f"SELECT count(*) FROM {table.name}" for table in TABLES}
_CHANGES = {table.name: f"SELECT max({table.changed}) FROM {table.name}" for table in TABLES if table.changed}


@dataclass
class Backup:
    """What a backup says of itself, and what was found wrong with it; `made_at` is Unix milliseconds.

    `check` tells which master key its secrets are sealed with; `master_key` is that key, where the backup holds it.
    """

    made_at: int = 0
    chatsvc_version: str = ""
    schema_version: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    check: bytes = b""
    master_key: bytes | None = field(default=None, repr=False)
    faults: list[str] = field(default_factory=list)


def create(database: Path, target: Path, *, made_at: int, version: str, master_key: bytes | None = None) -> Backup:
    """Write a backup of the database to `target`, which must not be there yet, while others go on writing; raises StoreUnavailable.

    A crash leaves at most a file whose name ends in `.part`.
    """
    draft = target.with_name(target.name + ".part")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        made = Backup(made_at, version, master_key=master_key)
        with closing(connect(database, writes=False)) as source, closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            # In one step, so that nobody's writing makes it begin anew; they write on meanwhile.
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            made.schema_version, made.counts = schema_version(copy), _counts(copy)
            placeholder = _DIGEST + os.urandom(32).hex()
            _describe(copy, made, placeholder)
        _seal(draft, placeholder)
        # Not over a file that has come meanwhile.
        os.link(draft, target)
        sync_names(target.parent)
    except FileExistsError:
        raise StoreUnavailable(f"{target} is there already: a backup overwrites nothing") from None
    except (OSError, sqlite3.Error) as fault:
        raise StoreUnavailable(f"the backup {target} cannot be written: {_why(fault)}") from fault
    finally:
        draft.unlink(missing_ok=True)
    return made


def examine(file: Path, scratch: Path) -> Backup:
    """Restore a backup to the file `scratch`, bring it up to date there and look for faults; `faults` is empty where it is whole.

    Raises StoreUnavailable where `file` cannot be read or `scratch` cannot be written.
    """
    found = Backup()
    try:
        _copy(file, scratch)
        with closing(sqlite3.connect(scratch, isolation_level=None)) as copy:
            _look(copy, file, found)
    except OSError as fault:
        raise StoreUnavailable(f"{file} cannot be examined: {_why(fault)}") from fault
    except (sqlite3.Error, KeyError, TypeError, ValueError) as fault:
        # SQLite finds much of what is damaged, not all: a text that is no text is read without complaint.
        why = fault if isinstance(fault, sqlite3.Error) else "what it says of itself cannot be read"
        found.faults.append(f"it is no backup, or a damaged one: {why}")
    return found


def _look(copy: sqlite3.Connection, file: Path, found: Backup) -> None:
    if copy.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        found.faults.append("it is not a backup of chatsvc")
        return
    facts = dict(copy.execute("SELECT name, value FROM backup"))
    if facts.get("format") != FORMAT:
        found.faults.append("it was made by a newer chatsvc, or it is no backup")
        return
    told = json.loads(facts["about"])
    found.made_at, found.chatsvc_version, found.counts = told["made_at"], told["chatsvc_version"], told["counts"]
    found.schema_version, found.master_key = schema_version(copy), facts.get("master_key")
    if _digest(file, facts["digest"]) != facts["digest"]:
        found.faults.append("it has been changed since it was made")
    problems = [row[0] for row in copy.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    problems += [f"a row of {row[0]} refers to nothing" for row in copy.execute("PRAGMA foreign_key_check").fetchmany(10)]
    found.faults += [f"damaged: {problem}" for problem in problems]
    if not problems and _counts(copy) != found.counts:
        found.faults.append("it does not hold as many rows as when it was made")
    if is_newer(copy):
        found.faults.append("a newer chatsvc made it: install that one to restore it")
    elif not found.faults:
        migrate(copy)
        found.check = check_in(copy)


def unpack(file: Path, target: Path, now: int) -> None:
    """Write the database in a backup to `target`, whole or not at all, over what is there; raises StoreUnavailable.

    Webhook events that were pending may have been sent since: they count as interrupted, and nothing is sent again by itself.
    """
    draft = target.with_name(target.name + ".restored")
    try:
        _copy(file, draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            # The master key may be in it.
            copy.execute("PRAGMA secure_delete=ON")
            copy.execute("DROP TABLE backup")
            migrate(copy)
            copy.execute("BEGIN")
            interrupt_all(copy, now)
            copy.execute("COMMIT")
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())
        for name in ("-wal", "-shm"):
            target.with_name(target.name + name).unlink(missing_ok=True)
        draft.replace(target)
        sync_names(target.parent)
    except (OSError, sqlite3.Error) as fault:
        raise StoreUnavailable(f"{target} cannot be written: {_why(fault)}") from fault
    finally:
        draft.unlink(missing_ok=True)


def last_change(database: Path) -> int:
    """When something last happened in a database, in Unix milliseconds; 0 where nothing has. Raises StoreUnavailable."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            if is_newer(connection):
                raise StoreUnavailable(f"{database} was written by a newer chatsvc")
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            moments = [connection.execute(_CHANGES[name]).fetchone()[0] for name in _CHANGES if name in there]
    except sqlite3.Error as fault:
        raise StoreUnavailable(f"{database} cannot be read: {fault}") from fault
    return max((moment or 0 for moment in moments), default=0)


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {name: connection.execute(COUNTS[name]).fetchone()[0] for name in COUNTS if name in there}


def _describe(copy: sqlite3.Connection, made: Backup, digest: str) -> None:
    about = {name: value for name, value in asdict(made).items() if name in ("made_at", "chatsvc_version", "counts")}
    copy.execute("CREATE TABLE backup (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID")
    rows: list[tuple[str, object]] = [("format", FORMAT), ("about", json.dumps(about)), ("digest", digest)]
    if made.master_key:
        rows.append(("master_key", made.master_key))
    copy.executemany("INSERT INTO backup VALUES (?, ?)", rows)


def _seal(draft: Path, placeholder: str) -> None:
    """Write the file's digest over the placeholder."""
    digest = _digest(draft, placeholder)
    with draft.open("rb+") as stream:
        stream.seek(_place(draft, placeholder))
        stream.write(digest.encode())
        stream.flush()
        os.fsync(stream.fileno())


def _place(file: Path, held: str) -> int:
    before, kept = 0, b""
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            kept += chunk
            at = kept.find(held.encode())
            if at >= 0:
                return before + at
            before += len(kept) - len(held)
            kept = kept[-len(held) :]
    raise OSError(f"{file} is not what was written")


def _digest(file: Path, held: str) -> str:
    """The digest of a file, in which the digest `held` that it holds itself counts as nothing."""
    hashed, size, kept = hashlib.sha256(), len(held), b""
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            kept = (kept + chunk).replace(held.encode(), b"0" * size)
            hashed.update(kept[:-size])
            kept = kept[-size:]
    hashed.update(kept)
    return _DIGEST + hashed.hexdigest()


def _copy(file: Path, target: Path) -> None:
    with file.open("rb") as source, os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as copied:
        while chunk := source.read(_CHUNK):
            copied.write(chunk)


def _why(fault: Exception) -> str:
    return fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)


def close_up(database: Path) -> None:
    """Bring what the write-ahead log still holds into the database, so that it is one file; raises StoreUnavailable."""
    try:
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as fault:
        raise StoreUnavailable(f"{database} cannot be closed: {fault}") from fault
