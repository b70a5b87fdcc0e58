"""Turns (messages that are being answered) when several processes share a store. Each reserves allowance, conversation and Idempotency-Key.

A row lasts as long as its turn, and is deleted in the transaction that records the turn's exchange. The rows of a
process that has ended are deleted, and its exchanges are not recorded any more. With a single process all this is in memory, and the
table is empty.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import errors
from chatsvc.domain.limiter import Allowance
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, reads, writes

IDEMPOTENCY_MS = DAY_MS
# Whether no earlier turn of the conversation is open. The sum hides the index of the numbers, which PostgreSQL might use: it leads
# through all turns that have ended since the last vacuum.
_IS_FIRST = "NOT EXISTS (SELECT 1 FROM open_turns e WHERE e.place = open_turns.place AND e.number + 0 < open_turns.number)"
# How long the outcome of a failed turn is kept for those who have joined it.
OUTCOME_MS = 60_000


class NewTurn(NamedTuple):
    """A turn to open. ConversationLocks sets `node`, the id of the process.

    `month` is the month of the message that the turn reserves. Without a message, `month` and `account_id` are None. `conversation` is
    the digest of the conversation whose lock the turn waits for, or None.
    """

    account_id: str | None
    begun_at: int
    month: str | None = None
    conversation: bytes | None = None
    key: str | None = None
    fingerprint: bytes | None = None
    node: str = ""


class OpenedTurn(NamedTuple):
    """An open turn. `is_first` is true if no earlier turn of its conversation is open."""

    number: int
    is_first: bool


class KnownKey(NamedTuple):
    """The Idempotency-Key was used before. `number` is that of the open turn with this key, or None if its exchange is recorded."""

    number: int | None
    fingerprint: bytes


class TurnLost(NamedTuple):
    """The turn was deleted because its process was considered dead. Nothing was written."""


@writes
def begin(connection: Connection, turn: NewTurn) -> OpenedTurn | KnownKey | None:
    """Open a turn, unless its key is known. Return None if its account has no message left; raises `account_not_found`."""
    allowance = _allowance(connection, turn.account_id)
    if allowance is None:
        raise errors.account_not_found()
    known = _known(connection, turn) if turn.key is not None else None
    if known is not None:
        return known
    return _open(connection, turn) if allowance.reserve(turn.month or "") else None


def _open(connection: Connection, turn: NewTurn) -> OpenedTurn:
    number, is_first = connection.execute(
        f"""
        INSERT INTO open_turns (node, account_id, month, place, key, fingerprint) VALUES (?, ?, ?, ?, ?, ?) RETURNING number, {_IS_FIRST}
        """,
        (turn.node, turn.account_id, turn.month, turn.conversation, turn.key, turn.fingerprint),
    ).fetchone()
    if not is_first:
        connection.execute("UPDATE open_turns SET awaited = 1 WHERE awaited = 0 AND place = ?", (turn.conversation,))
    return OpenedTurn(number, bool(is_first))


open_in_line = writes(_open)  # a turn without a message, which only waits for its conversation


def _known(connection: Connection, turn: NewTurn) -> KnownKey | None:
    row = connection.execute(
        "SELECT fingerprint FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?",
        (turn.account_id, turn.key, turn.begun_at - IDEMPOTENCY_MS),
    ).fetchone()
    if row:
        return KnownKey(None, *row)
    row = connection.execute(
        "UPDATE open_turns SET awaited = 1 WHERE account_id = ? AND key = ? AND ended_at IS NULL RETURNING number, fingerprint",
        (turn.account_id, turn.key),
    ).fetchone()
    return KnownKey(*row) if row else None


def _allowance(connection: Connection, account_id: str | None) -> Allowance | None:
    """Read an account's limit, credits and used messages, with those that open turns have reserved. Return None if it was deleted."""
    row = connection.execute(
        """
        SELECT a.messages_limit, a.message_credits,
            (SELECT json_group_object(u.month, u.messages_used) FROM allowances u WHERE u.account_id = a.id),
            (SELECT json_group_array(t.month) FROM open_turns t WHERE t.account_id = a.id AND t.month IS NOT NULL)
        FROM accounts a WHERE a.deleted_at IS NULL AND a.id = ?
        """,
        (account_id,),
    ).fetchone()
    if row is None:
        return None
    limit, credits, used, months = row
    allowance = Allowance(limit, credits, json.loads(used))
    allowance.reserved = Counter(json.loads(months))
    return allowance


@reads
def is_first(connection: Connection, number: int) -> bool | None:
    """Return whether the turn is the first open one of its conversation, or None if the turn is not open."""
    row = connection.execute(f"SELECT {_IS_FIRST} FROM open_turns WHERE number = ?", (number,)).fetchone()
    return bool(row[0]) if row else None


@reads
def in_line(connection: Connection, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the given digests whose conversations have an open turn."""
    return {digest for digest in digests if connection.execute("SELECT 1 FROM open_turns WHERE place = ?", (digest,)).fetchone()}


@reads
def joined(connection: Connection, number: int) -> tuple[bool, str | None]:
    """Return whether a turn is still open. Also return the outcome that was stored when it ended, or None."""
    row = connection.execute("SELECT ended_at, outcome FROM open_turns WHERE number = ?", (number,)).fetchone()
    return (row[0] is None, row[1]) if row else (False, None)


@writes
def end(connection: Connection, number: int, now: int, outcome: str | None = None) -> bool:
    """End a turn without an exchange, and release what it has reserved. Return whether a request has waited for its end.

    An `outcome` is stored for the requests that wait for this turn.
    """
    connection.execute("DELETE FROM open_turns WHERE ended_at <= ?", (now - OUTCOME_MS,))
    if outcome is None:
        return bool(delete(connection, number))
    row = connection.execute(
        "UPDATE open_turns SET month = NULL, place = NULL, outcome = ?, ended_at = ? WHERE number = ? RETURNING awaited",
        (outcome, now, number),
    ).fetchone()
    return bool(row and row[0])


def delete(connection: Connection, number: int) -> bool | None:
    """Delete a turn within a unit. Return whether a request has waited for its end, or None if the turn was not open."""
    row = connection.execute("DELETE FROM open_turns WHERE number = ? RETURNING awaited", (number,)).fetchone()
    return bool(row[0]) if row else None
