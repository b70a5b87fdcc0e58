"""Queries of operators' sessions by token digest, passwords, second factors, recovery codes and failed attempts to sign in.

Attempts of the last 15 minutes are stored; the rules are in domain/passwords.py. Since strangers can cause these rows, an attempt that has
to wait writes none, and the oldest rows beyond MOST_FAILURES are deleted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatsvc.domain.operators import IDLE_MS, KNOWN_NETWORKS, SESSION_MS, Operator, OperatorSession, SignedIn, is_live
from chatsvc.domain.passwords import MOST_FAILURES, WINDOW_MS, SignInAttempt, delay_s, network
from chatsvc.domain.passwords import counted as counted_keys
from chatsvc.store import facts
from chatsvc.store.database import Connection, Database, assign, change_any, reads, writes
from chatsvc.store.operators import COLUMNS, find_in, link_in, operator_of

_SESSION = "id, operator_id, browser, address, created_at, last_seen_at, verified, account_id"
_OF_SESSION = ", ".join(f"s.{name}" for name in _SESSION.split(", "))
_SIGNED_IN = f"SELECT {_OF_SESSION}, {COLUMNS} FROM operator_sessions s CROSS JOIN operators o ON o.id = s.operator_id WHERE"
CHANGEABLE = frozenset({"last_seen_at", "address", "account_id", "to_show"})


@writes
def create(connection: Connection, session: OperatorSession, digest: bytes, password: str) -> bool:
    """Write a session, and delete expired ones. Return False if the password or the second factor has changed meanwhile."""
    # Else a password or second factor that changes meanwhile would leave a session behind that does not fit it.
    unchanged = "SELECT 1 FROM operators WHERE id = ? AND password IS ? AND CASE WHEN totp IS NULL THEN 1 ELSE 0 END = ?"
    if connection.execute(unchanged, (session.operator_id, password, session.verified)).fetchone() is None:
        return False
    _insert(connection, session, digest)
    return True


@reads
def find(connection: Connection, key: bytes | str) -> SignedIn | None:
    """Find a session by the digest of its token, or by its id, whether or not it has expired."""
    column, columns = "digest" if isinstance(key, bytes) else "id", len(OperatorSession._fields)
    row = connection.execute(f"{_SIGNED_IN} s.{column} = ?", (key,)).fetchone()
    return SignedIn(_session(row[:columns]), operator_of(row[columns:])) if row else None


@writes
def update(connection: Connection, session_id: str, changes: Mapping[str, object]) -> None:
    """Write the columns of a session that `changes` names. A new secret to show replaces an earlier secret that was not shown yet."""
    connection.execute(f"UPDATE operator_sessions SET {assign(changes, CHANGEABLE)} WHERE id = ?", (*changes.values(), session_id))


@writes
def take_to_show(connection: Connection, session_id: str, digest: bytes) -> bool:
    """Mark the secret that a session has to show as shown. Return False if it was shown before."""
    changed = connection.execute("UPDATE operator_sessions SET to_show = NULL WHERE id = ? AND to_show = ?", (session_id, digest))
    return changed.rowcount == 1


@reads
def live(connection: Connection, operator_id: str, now: int) -> list[OperatorSession]:
    """Read an operator's sessions that have not expired, newest first."""
    rows = connection.execute(f"SELECT {_SESSION} FROM operator_sessions WHERE operator_id = ? ORDER BY created_at DESC", (operator_id,))
    return [session for session in map(_session, rows) if is_live(session, now)]


@writes
def remove(connection: Connection, session_id: str, operator_id: str) -> OperatorSession | None:
    """Delete one session of an operator; return None if there is none."""
    row = connection.execute(
        f"DELETE FROM operator_sessions WHERE id = ? AND operator_id = ? RETURNING {_SESSION}", (session_id, operator_id)
    ).fetchone()
    return _session(row) if row else None


@writes
def verify(connection: Connection, session: OperatorSession, digest: bytes, old_id: str, step: int | None, code: bytes) -> bool:
    """Replace the session that waits for a second factor by a verified session. The code cannot be used again.

    `step` is the time step of a TOTP code, or None for the recovery code with the digest `code`. Return False if the code was used
    already, or if the waiting session has ended.
    """
    waits = connection.execute("SELECT 1 FROM operator_sessions WHERE id = ? AND verified = 0", (old_id,)).fetchone()
    if waits is None:
        return False
    if step is None:
        used = connection.execute("DELETE FROM recovery_codes WHERE operator_id = ? AND digest = ?", (session.operator_id, code))
    else:
        used = connection.execute("UPDATE operators SET totp_used = ?1 WHERE id = ?2 AND totp_used < ?1", (step, session.operator_id))
    if not used.rowcount:
        return False
    connection.execute("DELETE FROM operator_sessions WHERE id = ?", (old_id,))
    _insert(connection, session, digest)
    return True


@writes
def set_password(connection: Connection, old: str, new: str, session: OperatorSession, digest: bytes) -> bool:
    """Replace an operator's password hash, end all their sessions and begin `session`. Return False if the hash is no longer `old`."""
    operator_id, now = session.operator_id, session.created_at
    changed = connection.execute(
        "UPDATE operators SET password = ?, updated_at = ? WHERE id = ? AND password IS ?", (new, now, operator_id, old)
    )
    if not changed.rowcount:
        return False
    for table in ("operator_links", "operator_sessions"):
        connection.execute(f"DELETE FROM {table} WHERE operator_id = ?", (operator_id,))
    _insert(connection, session, digest)
    return True


@writes
def use_link(
    connection: Connection, link: bytes, password: str, name: str | None, session: OperatorSession, digest: bytes
) -> Operator | None:
    """Use a set-up link: write password hash and name, end all sessions, and begin `session`. The link cannot be used again.

    A link that was not mailed ends the second factor too. Return None if the link was used or has expired.
    """
    now = session.created_at
    link_row = link_in(connection, link, now)
    if link_row is None or link_row[0].id != session.operator_id:
        return None
    operator = link_row.operator
    connection.execute("UPDATE operators SET password = ?, name = ?, updated_at = ? WHERE id = ?", (password, name, now, operator.id))
    if not link_row.mailed:
        _end_second_factor(connection, operator.id, now)
    for table in ("operator_links", "operator_sessions"):
        connection.execute(f"DELETE FROM {table} WHERE operator_id = ?", (operator.id,))
    _insert(connection, session, digest)
    return find_in(connection, operator.id)


@writes
def offer_second_factor(connection: Connection, operator_id: str, seal: Callable[[bytes], bytes]) -> None:
    """Store the secret of a new second factor. It is not in force before `confirm_second_factor`.

    `seal` gets the check value of the master key within the transaction, and returns the sealed secret.
    """
    connection.execute("UPDATE operators SET totp_offered = ? WHERE id = ?", (seal(facts.check_in(connection)), operator_id))


@writes
def confirm_second_factor(connection: Connection, operator_id: str, offered: bytes, step: int, codes: Sequence[bytes], now: int) -> bool:
    """Switch the offered second factor on, and write digests of recovery codes. Return False if another secret was offered meanwhile."""
    changed = connection.execute(
        "UPDATE operators SET totp = totp_offered, totp_offered = NULL, totp_used = ?, updated_at = ? WHERE id = ? AND totp_offered IS ?",
        (step, now, operator_id, offered),
    )
    if not changed.rowcount:
        return False
    connection.execute("DELETE FROM recovery_codes WHERE operator_id = ?", (operator_id,))
    connection.executemany("INSERT INTO recovery_codes VALUES (?, ?)", [(operator_id, code) for code in codes])
    return True


def _end_second_factor(connection: Connection, operator_id: str, now: int) -> None:
    connection.execute(
        "UPDATE operators SET totp = NULL, totp_offered = NULL, totp_used = 0, updated_at = ? WHERE id = ?", (now, operator_id)
    )
    connection.execute("DELETE FROM recovery_codes WHERE operator_id = ?", (operator_id,))


end_second_factor = writes(_end_second_factor)


@reads
def recovery_codes_left(connection: Connection, operator_id: str) -> int:
    """Count an operator's unused recovery codes."""
    return int(connection.execute("SELECT count(*) FROM recovery_codes WHERE operator_id = ?", (operator_id,)).fetchone()[0])


def end_all(connection: Connection) -> None:
    """End all sessions and set-up links after a restore. They may have been ended or used since the backup."""
    connection.execute("DELETE FROM operator_sessions")
    connection.execute("DELETE FROM operator_links")


def _insert(connection: Connection, session: OperatorSession, digest: bytes) -> None:
    now = session.created_at
    connection.execute("DELETE FROM operator_sessions WHERE created_at <= ? OR last_seen_at <= ?", (now - SESSION_MS, now - IDLE_MS))
    connection.execute(f"INSERT INTO operator_sessions (digest, {_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (digest, *session))
    if session.verified and session.address:
        (networks,) = connection.execute("SELECT known_networks FROM operators WHERE id = ?", (session.operator_id,)).fetchone()
        known = list(dict.fromkeys([network(session.address), *json.loads(networks)]))[:KNOWN_NETWORKS]
        connection.execute("UPDATE operators SET known_networks = ? WHERE id = ?", (json.dumps(known), session.operator_id))


def _session(row: Sequence[Any]) -> OperatorSession:
    session_row = OperatorSession(*row)
    return session_row._replace(verified=bool(session_row.verified))


async def begin_attempt(db: Database, email: str, address: str, now: int, *, is_known: bool = False) -> SignInAttempt | int:
    """Begin an attempt to sign in. It counts as failed until `passed` is called. After too many failures, return the seconds to wait.

    See domain.passwords.counted. Counting before the password is verified bounds attempts that run at the same time.
    """
    counted = counted_keys(email, address, is_known=is_known)

    def wait_s(connection: Connection) -> int:
        wait_ms = 0
        for key, allowed in counted.items():
            # A clock that was set back must not make anybody wait for long.
            failures, last = connection.execute(
                "SELECT count(*), max(at) FROM sign_in_failures WHERE key = ? AND at > ? AND at <= ?", (key, now - WINDOW_MS, now)
            ).fetchone()
            if failures:
                wait_ms = max(wait_ms, int(last) + delay_s(failures, allowed) * 1000 - now)
        return -(-wait_ms // 1000)

    def unit(connection: Connection) -> int:
        wait = wait_s(connection)
        if wait <= 0:
            connection.executemany("INSERT INTO sign_in_failures (key, at) VALUES (?, ?)", [(key, now) for key in counted])
            newest = "SELECT max(number) FROM sign_in_failures"
            connection.execute(f"DELETE FROM sign_in_failures WHERE number <= ({newest}) - ?", (MOST_FAILURES,))
        return wait

    wait = await db.read(wait_s)
    if wait <= 0:
        wait = await db.write(unit)
    return wait if wait > 0 else SignInAttempt(tuple(counted), now)


@writes
def passed(connection: Connection, attempt: SignInAttempt) -> None:
    """Note that a sign-in succeeded: delete all failures of its first key. For its other keys, which are shared, delete this attempt."""
    _withdraw(connection, attempt)
    connection.execute("DELETE FROM sign_in_failures WHERE key = ?", (attempt.keys[0],))


def _withdraw(connection: Connection, attempt: SignInAttempt) -> None:
    """Delete an attempt to sign in, so that it does not count as failed."""
    latest = "SELECT max(number) FROM sign_in_failures WHERE key = ? AND at = ?"
    connection.executemany(f"DELETE FROM sign_in_failures WHERE number = ({latest})", [(key, attempt.attempted_at) for key in attempt.keys])


withdraw = writes(_withdraw)


async def forget_failures(db: Database, now: int) -> None:
    """Delete failed attempts to sign in that are too old to delay a new attempt."""
    old = "FROM sign_in_failures WHERE at <= ?"
    await change_any(db, f"SELECT 1 {old} LIMIT 1", (now - WINDOW_MS,), f"DELETE {old}")
