"""Backup files of SQLite databases: create, examine, prepare and install them.

A backup is the database at one instant, with a trailer that describes and authenticates it:

    <database> {"format": 2, ...}\\n <SHA-256>\\n <HMAC-SHA-256>\\n <length of the trailer>\\n

Digest and tag cover every byte before them. The digest detects damage and needs no key. The tag, whose key is derived from the master
key, also detects changes made on purpose.
"""

import hashlib
import hmac
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from chatsvc import __version__
from chatsvc.domain import times
from chatsvc.store import channel_messages, mails, transfer
from chatsvc.store.copying import COUNT
from chatsvc.store.database import Connection, SchemaTooNew, StoreUnavailable
from chatsvc.store.facts import find_check
from chatsvc.store.folder import sync_names
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sessions import end_all
from chatsvc.store.sqlite.connection import open_reader
from chatsvc.store.sqlite.migrations import APPLICATION_ID, BASE, is_newer, migrate, newest, schema_fault, schema_version
from chatsvc.store.tables import TABLES
from chatsvc.store.webhooks import interrupt_all

_HIGHEST = {table.name: f"SELECT coalesce(max(number), 0) FROM {table.name}" for table in TABLES if table.key == ("number",)}
_CHANGES = {table.name: f"SELECT max({table.changed}) FROM {table.name}" for table in TABLES if table.changed}
# Purposes of keys that are derived from the master key.
_TAG, _KEY_ID = "backup tag", "backup key id"


FORMAT = 2
_CHUNK = 1 << 20  # bytes
_MOST_TRAILER = 1 << 16  # bytes of a trailer
_TRAILER = re.compile(rb"\A(\{.*\}\n)([0-9a-f]{64})\n([0-9a-f]{64})\n([0-9]{8})\n", re.ASCII)
_TRAILER_SIZE = 64 + 1 + 64 + 1 + 8 + 1  # bytes of all but the description


class Trailer(NamedTuple):
    """Trailer of a backup file. `size` is the size of the database before it, in bytes."""

    size: int
    about: dict[str, Any]
    digest: bytes
    tag: bytes


def append_trailer(file: Path, about: dict[str, Any], key: bytes) -> None:
    """Append the trailer to a database and flush it to the disk; raises OSError."""
    hashed, tagged = hashlib.sha256(), hmac.new(key, digestmod=hashlib.sha256)
    with file.open("rb+") as stream:
        while chunk := stream.read(_CHUNK):
            hashed.update(chunk)
            tagged.update(chunk)
        line = json.dumps({"format": FORMAT, **about}).encode() + b"\n"
        hashed.update(line)
        digest = hashed.hexdigest().encode() + b"\n"
        length = b"%08d\n" % (len(line) + _TRAILER_SIZE)
        # The length is at the end and comes first here: all that a reader takes from the trailer is authenticated.
        tagged.update(line + digest + length)
        stream.write(line + digest + tagged.hexdigest().encode() + b"\n" + length)
        stream.flush()
        os.fsync(stream.fileno())


def read_trailer(file: Path) -> Trailer | None:
    """Read the trailer of a backup. Return None if the file ends in no trailer of this format. Raises OSError."""
    whole = file.stat().st_size
    with file.open("rb") as stream:
        stream.seek(max(0, whole - _MOST_TRAILER))
        end = stream.read()
    if not re.fullmatch(rb"[0-9]{8}\n", end[-9:]):
        return None
    length = int(end[-9:])
    match = _TRAILER.fullmatch(end[-length:]) if length <= len(end) else None
    if match is None:
        return None
    try:
        about = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        return None
    return Trailer(whole - length, about, match[2], match[3])


def is_whole(file: Path, trailer: Trailer, key: bytes | None) -> tuple[bool, bool]:
    """Return whether the digest is correct, and whether the tag is correct for `key` (False without a key). Raises OSError."""
    hashed, tagged = hashlib.sha256(), hmac.new(key or b"", digestmod=hashlib.sha256)
    with file.open("rb") as stream:
        left = file.stat().st_size - _TRAILER_SIZE
        while left and (chunk := stream.read(min(left, _CHUNK))):
            hashed.update(chunk)
            tagged.update(chunk)
            left -= len(chunk)
        digest, _, length = (stream.read(size) for size in (65, 65, 9))
    tagged.update(digest + length)
    fits = hmac.compare_digest(hashed.hexdigest().encode(), trailer.digest)
    return fits, key is not None and hmac.compare_digest(tagged.hexdigest().encode(), trailer.tag)


@dataclass
class Backup:
    """Description of a backup, and the faults that were found; `made_at` is in Unix milliseconds.

    `check` is the check value of the master key that its secrets are sealed with.
    `master_key` is that key, if the backup contains it.
    `authenticated` is true if the tag is correct for one of the known master keys.
    `by_own_key` is true if the tag is correct only for the key in the backup itself: then anybody can have made the backup.
    """

    made_at: int = 0
    chatsvc_version: str = ""
    schema_version: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    check: bytes = b""
    master_key: bytes | None = field(default=None, repr=False)
    authenticated: bool = False
    by_own_key: bool = False
    faults: list[str] = field(default_factory=list)


class _Faulty(Exception):
    """A backup cannot be restored; the arguments are its faults."""


Write = Callable[[sqlite3.Connection], None]


def copy_file(database: Path, copy: sqlite3.Connection) -> None:
    """Copy a SQLite database into a new one, while others write."""
    with closing(open_reader(database)) as source:
        # In one step: writes in between would make it start again.
        source.backup(copy)


def copy_rows(read: Callable[[Connection], Mapping[str, int]], copy: sqlite3.Connection) -> None:
    """Make a database from the rows that `read` inserts. `read` returns the last number of each table."""
    copy.execute("PRAGMA secure_delete=ON")
    migrate(copy)
    copy.execute("BEGIN")
    last = read(copy)
    # No number is given again that a row had, in tables that promise it.
    for (name,) in copy.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'").fetchall():
        copy.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
        copy.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last.get(name, 0)))
    copy.execute("COMMIT")


def last_numbers(connection: Connection) -> dict[str, int]:
    """Return for each table the highest number that a row has ever had."""
    highest = {name: connection.execute(_HIGHEST[name]).fetchone()[0] for name in _HIGHEST}
    return highest | dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database and read a snapshot of it. It must have the schema of this version. Raises SchemaTooNew and StoreUnavailable."""
    # A closed database has no log beside it, and reading must not make one.
    alone = "" if database.with_name(f"{database.name}-wal").exists() else "&immutable=1"
    with _connected(f"{database.absolute().as_uri()}?mode=ro{alone}", f"{database} cannot be read") as connection:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreUnavailable(f"{database} is not a database of chatsvc")
        if is_newer(connection):
            raise SchemaTooNew(f"a newer chatsvc has written {database}: install that one")
        if (version := schema_version(connection)) != newest():
            raise StoreUnavailable(f"{database} has schema version {version}, this chatsvc needs {newest()}: start the service on it once")
        connection.execute("BEGIN")
        yield connection


@contextmanager
def _connected(database: Path | str, problem: str) -> Iterator[sqlite3.Connection]:
    """Open a database by its path or URI. Raises StoreUnavailable with the text `problem` if SQLite fails."""
    try:
        with closing(sqlite3.connect(database, uri=isinstance(database, str), isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as fault:
        raise StoreUnavailable(f"{problem}: {fault}") from fault


def create(write: Write, target: Path, key: MasterKey, *, made_at: int, with_master_key: bool = False) -> Backup:
    """Write a backup of the database to the new file `target`, while others write. Raises StoreUnavailable.

    `write` fills the new database; see `copy_file` and `copy_rows`.
    A crash leaves at most a file whose name ends in `.part`.
    """
    draft = target.with_name(target.name + ".part")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        backup = Backup(made_at, __version__, authenticated=True)
        with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            write(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            backup.schema_version, backup.counts = schema_version(copy), _counts(copy)
            backup.check = find_check(copy) or key.check
        # The key of this snapshot, also while the master key is being rotated.
        key = key.of(backup.check)
        backup.master_key = key.in_force if with_master_key else None
        about = {"made_at": made_at, "chatsvc_version": __version__, "schema_version": backup.schema_version, "counts": backup.counts}
        secret = {"master_key": backup.master_key.hex()} if backup.master_key else {}
        append_trailer(draft, {**about, "key": key(_KEY_ID)[:8].hex(), **secret}, key(_TAG))
        # A link does not replace a file that has come in the meantime.
        os.link(draft, target)
        sync_names(target.parent)
    except FileExistsError:
        raise StoreUnavailable(f"{target} is there already: a backup overwrites nothing") from None
    except (OSError, sqlite3.Error) as fault:
        why = fault.strerror if isinstance(fault, OSError) and fault.strerror else fault
        raise StoreUnavailable(f"the backup {target} cannot be written: {why}") from fault
    finally:
        draft.unlink(missing_ok=True)
    return backup


def examine(source: IO[bytes], scratch: Path, keys: list[bytes], *, contained: bool = True) -> Backup:
    """Restore a backup to the file `scratch`, migrate it there and check it. `faults` is empty for an intact backup; raises OSError.

    `keys` are the master keys for its authentication. If `contained` is true, the key in the backup may authenticate it too; but only
    another key proves that nobody else has made the file.
    """
    backup = Backup()
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as copied:
            shutil.copyfileobj(source, copied)
        trailer = read_trailer(scratch)
        if trailer is None:
            raise _Faulty(
                "it does not end in the trailer of a backup: it is no backup, was cut off, or an earlier chatsvc made it, which did not"
                " authenticate backups (restore it with that version)"
            )
        _authenticate(scratch, trailer, keys, backup, contained=contained)
        os.truncate(scratch, trailer.size)
        with closing(sqlite3.connect(scratch, isolation_level=None)) as copy:
            _check(copy, backup)
    except _Faulty as faulty:
        backup.faults += faulty.args
    except (sqlite3.Error, KeyError, TypeError, ValueError, OverflowError) as fault:
        why = fault if isinstance(fault, sqlite3.Error) else "its description cannot be read"
        backup.faults.append(f"it is no backup, or a damaged one: {why}")
    return backup


def _authenticate(file: Path, trailer: Trailer, keys: list[bytes], backup: Backup, *, contained: bool) -> None:
    about = trailer.about
    carried = bytes.fromhex(about["master_key"]) if "master_key" in about else None
    known = [MasterKey(key) for key in (*keys, carried if contained else None) if key is not None]
    key = next((derive for derive in known if derive(_KEY_ID)[:8].hex() == about["key"]), None)
    backup.by_own_key = key is not None and key.in_force not in keys
    is_intact, backup.authenticated = is_whole(file, trailer, key(_TAG) if key else None)
    if not is_intact or (key is not None and not backup.authenticated):
        raise _Faulty("it has been changed since it was made")
    made_at = int(about["made_at"])
    times.with_millis(made_at)  # raises where it is no time: the trailer of a forged file may hold any number
    backup.made_at, backup.chatsvc_version, backup.counts = made_at, str(about["chatsvc_version"]), dict(about["counts"])
    backup.schema_version, backup.master_key = int(about["schema_version"]), carried


def _check(copy: sqlite3.Connection, backup: Backup) -> None:
    # No function that a changed schema names is called.
    copy.execute("PRAGMA trusted_schema=OFF")
    if is_newer(copy):
        raise _Faulty("a newer chatsvc made it: install that one to restore it")
    if backup.schema_version < BASE:
        raise _Faulty("a test version of chatsvc made it: restore it with that version, and start this one on the result")
    if (fault := schema_fault(copy, backup.schema_version)) is not None:
        raise _Faulty(f"its schema is not the one of chatsvc: {fault}")
    problems = [row[0] for row in copy.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    problems += [f"a row of {row[0]} refers to nothing" for row in copy.execute("PRAGMA foreign_key_check").fetchmany(10)]
    if problems:
        raise _Faulty(*(f"damaged: {problem}" for problem in problems))
    if _counts(copy) != backup.counts:
        raise _Faulty("it does not hold as many rows as when it was made")
    migrate(copy)
    backup.check = find_check(copy) or b""
    if backup.by_own_key and (fault := transfer.first_fault(copy, times.now_ms())) is not None:
        raise _Faulty(f"it holds a value that chatsvc has not written: {fault}")


def settle(scratch: Path, now: int) -> None:
    """Prepare an examined backup for use as the database. Raises StoreUnavailable.

    Webhook events that were pending may have been sent since: they count as interrupted and are not sent again. Sessions and
    set-up links that the backup contains are not valid any more.
    """
    with _connected(scratch, f"{scratch} cannot be written") as copy:
        copy.execute("BEGIN")
        interrupt_all(copy, now)
        channel_messages.interrupt_all(copy)
        mails.interrupt_all(copy, now)
        end_all(copy)
        copy.execute("COMMIT")


def install(scratch: Path, target: Path) -> None:
    """Replace the database by a settled backup, atomically. Raises OSError."""
    with scratch.open("rb+") as stream:
        os.fsync(stream.fileno())
    for name in ("-wal", "-shm"):
        target.with_name(target.name + name).unlink(missing_ok=True)
    scratch.replace(target)
    sync_names(target.parent)


def last_change(database: Path) -> int:
    """Return the time of the last change of a database in Unix milliseconds, or 0 if it is empty. Raises StoreUnavailable."""
    with _connected(f"file:{database}?mode=ro", f"{database} cannot be read") as connection:
        if is_newer(connection):
            raise StoreUnavailable(f"{database} was written by a newer chatsvc")
        moments = [connection.execute(_CHANGES[name]).fetchone()[0] for name in _CHANGES.keys() & _tables(connection)]
    return max((moment or 0 for moment in moments), default=0)


def close_up(database: Path) -> None:
    """Checkpoint the write-ahead log, so that the database is one file; raises StoreUnavailable."""
    with _connected(database, f"{database} cannot be closed") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    existing = _tables(connection)
    return {name: connection.execute(COUNT[name]).fetchone()[0] for name in COUNT if name in existing}


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
