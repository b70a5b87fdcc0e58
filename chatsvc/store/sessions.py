"""Queries of operators' sessions by token digest, passwords, second factors and recovery codes."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from chatsvc.domain.operators import IDLE_MS, KNOWN_NETWORKS, SESSION_MS, Operator, OperatorSession, SignedIn
from chatsvc.domain.passwords import network
from chatsvc.store import facts
from chatsvc.store.database import Connection, Cursor, reads, writes
from chatsvc.store.operators import find_in, link_in

_SESSION = "id, operator_id, browser, address, created_at, last_seen_at, verified, account_id"
_INSERT = f"INSERT INTO operator_sessions (digest, {_SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Else a password or second factor that changes meanwhile would leave a session behind that does not fit it.
_UNCHANGED = "SELECT 1 FROM operators WHERE id = ? AND password IS ? AND CASE WHEN totp IS NULL THEN 1 ELSE 0 END = ?"


@writes
def create(connection: Connection, session: OperatorSession, digest: bytes, password: str) -> bool:
    """Write a session, and delete expired ones. Return False if password hash or second factor are no longer those it was made for."""
    if connection.execute(_UNCHANGED, (session.operator_id, password, session.verified)).fetchone() is None:
        return False
    _insert(connection, session, digest)
    return True


@reads
def find(connection: Connection, digest: bytes) -> SignedIn | None:
    """Find a session by the digest of its token, whether or not it has expired."""
    return _signed_in(connection, connection.execute(f"SELECT {_SESSION} FROM operator_sessions WHERE digest = ?", (digest,)))


@reads
def find_by_id(connection: Connection, session_id: str) -> SignedIn | None:
    """Find a session by its id, whether or not it has expired."""
    return _signed_in(connection, connection.execute(f"SELECT {_SESSION} FROM operator_sessions WHERE id = ?", (session_id,)))


@writes
def see(connection: Connection, session_id: str, now: int, address: str) -> None:
    """Write when and from where a session was last used."""
    connection.execute("UPDATE operator_sessions SET last_seen_at = ?, address = ? WHERE id = ?", (now, address, session_id))


@writes
def set_to_show(connection: Connection, session_id: str, digest: bytes) -> None:
    """Write the digest of the secret that a session has to show. An earlier one is not shown any more."""
    connection.execute("UPDATE operator_sessions SET to_show = ? WHERE id = ?", (digest, session_id))


@writes
def take_to_show(connection: Connection, session_id: str, digest: bytes) -> bool:
    """Use up the secret that a session has to show. Return False if it was shown before."""
    changed = connection.execute("UPDATE operator_sessions SET to_show = NULL WHERE id = ? AND to_show = ?", (session_id, digest))
    return changed.rowcount == 1


@writes
def choose_account(connection: Connection, session_id: str, account_id: str) -> None:
    """Write the account chosen in a session."""
    connection.execute("UPDATE operator_sessions SET account_id = ? WHERE id = ?", (account_id, session_id))


@reads
def of_operator(connection: Connection, operator_id: str) -> list[OperatorSession]:
    """Read an operator's sessions, newest first, expired ones too."""
    rows = connection.execute(f"SELECT {_SESSION} FROM operator_sessions WHERE operator_id = ? ORDER BY created_at DESC", (operator_id,))
    return [_session(row) for row in rows]


@writes
def remove(connection: Connection, session_id: str, operator_id: str) -> OperatorSession | None:
    """Delete one session of an operator; return None if there is none."""
    row = connection.execute(
        f"DELETE FROM operator_sessions WHERE id = ? AND operator_id = ? RETURNING {_SESSION}", (session_id, operator_id)
    ).fetchone()
    return _session(row) if row else None


@writes
def verify(connection: Connection, session: OperatorSession, digest: bytes, old_id: str, step: int | None, code: bytes) -> bool:
    """Replace the session that waits for a second factor by a verified one. The code is used up.

    step: the time step of a TOTP code; None for the recovery code with the digest `code`. Return False if the code was used
    already or the waiting session has ended.
    """
    waits = connection.execute("SELECT 1 FROM operator_sessions WHERE id = ? AND verified = 0", (old_id,)).fetchone()
    if waits is None or not _use_code(connection, session.operator_id, step, code):
        return False
    connection.execute("DELETE FROM operator_sessions WHERE id = ?", (old_id,))
    _insert(connection, session, digest)
    return True


@writes
def set_password(connection: Connection, old: str, new: str, session: OperatorSession, digest: bytes) -> bool:
    """Replace a password hash, end all sessions and begin `session`. Return False if the hash is no longer `old`."""
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
    """Use up a set-up link. Write password hash and name, end all sessions, and begin `session`.

    A link that was not mailed ends the second factor too. Return None if the link was used or has expired.
    """
    now = session.created_at
    link_row = link_in(connection, link, now)
    if link_row is None or link_row[0].id != session.operator_id:
        return None
    operator = link_row.operator
    connection.execute("UPDATE operators SET password = ?, name = ?, updated_at = ? WHERE id = ?", (password, name, now, operator.id))
    if not link_row.mailed:
        connection.execute("UPDATE operators SET totp = NULL, totp_offered = NULL, totp_used = 0 WHERE id = ?", (operator.id,))
        connection.execute("DELETE FROM recovery_codes WHERE operator_id = ?", (operator.id,))
    for table in ("operator_links", "operator_sessions"):
        connection.execute(f"DELETE FROM {table} WHERE operator_id = ?", (operator.id,))
    _insert(connection, session, digest)
    return find_in(connection, operator.id)


@writes
def offer_second_factor(connection: Connection, operator_id: str, seal: Callable[[bytes], bytes]) -> None:
    """Write a secret that is not in force yet. `seal` gets the check value of the master key within the transaction."""
    connection.execute("UPDATE operators SET totp_offered = ? WHERE id = ?", (seal(facts.check_in(connection)), operator_id))


@writes
def confirm_second_factor(connection: Connection, operator_id: str, offered: bytes, step: int, codes: Sequence[bytes], now: int) -> bool:
    """Switch the offered second factor on and write digests of recovery codes. Return False if another one was offered meanwhile."""
    changed = connection.execute(
        "UPDATE operators SET totp = totp_offered, totp_offered = NULL, totp_used = ?, updated_at = ? WHERE id = ? AND totp_offered IS ?",
        (step, now, operator_id, offered),
    )
    if not changed.rowcount:
        return False
    connection.execute("DELETE FROM recovery_codes WHERE operator_id = ?", (operator_id,))
    connection.executemany("INSERT INTO recovery_codes VALUES (?, ?)", [(operator_id, code) for code in codes])
    return True


@writes
def end_second_factor(connection: Connection, operator_id: str, now: int) -> None:
    """Switch the second factor off and delete its recovery codes."""
    connection.execute(
        "UPDATE operators SET totp = NULL, totp_offered = NULL, totp_used = 0, updated_at = ? WHERE id = ?", (now, operator_id)
    )
    connection.execute("DELETE FROM recovery_codes WHERE operator_id = ?", (operator_id,))


@reads
def recovery_codes_left(connection: Connection, operator_id: str) -> int:
    """Count an operator's unused recovery codes."""
    left: int = connection.execute("SELECT count(*) FROM recovery_codes WHERE operator_id = ?", (operator_id,)).fetchone()[0]
    return left


def end_all(connection: Connection) -> None:
    """End all sessions and set-up links, after a restore. They may have been ended or used since the backup."""
    connection.execute("DELETE FROM operator_sessions")
    connection.execute("DELETE FROM operator_links")


def _use_code(connection: Connection, operator_id: str, step: int | None, code: bytes) -> bool:
    if step is None:
        used = connection.execute("DELETE FROM recovery_codes WHERE operator_id = ? AND digest = ?", (operator_id, code))
    else:
        used = connection.execute("UPDATE operators SET totp_used = ?1 WHERE id = ?2 AND totp_used < ?1", (step, operator_id))
    return used.rowcount == 1


def _insert(connection: Connection, session: OperatorSession, digest: bytes) -> None:
    now = session.created_at
    connection.execute("DELETE FROM operator_sessions WHERE created_at <= ? OR last_seen_at <= ?", (now - SESSION_MS, now - IDLE_MS))
    connection.execute(_INSERT, (digest, *session))
    if session.verified and session.address:
        (networks,) = connection.execute("SELECT known_networks FROM operators WHERE id = ?", (session.operator_id,)).fetchone()
        known = list(dict.fromkeys([network(session.address), *json.loads(networks)]))[:KNOWN_NETWORKS]
        connection.execute("UPDATE operators SET known_networks = ? WHERE id = ?", (json.dumps(known), session.operator_id))


def _session(row: Sequence[Any]) -> OperatorSession:
    session_row = OperatorSession(*row)
    return session_row._replace(verified=bool(session_row.verified))


def _signed_in(connection: Connection, rows: Cursor) -> SignedIn | None:
    row = rows.fetchone()
    operator = find_in(connection, row[1]) if row else None
    return SignedIn(_session(row), operator) if operator else None
