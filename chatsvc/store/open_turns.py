"""Turns being answered by several processes: each row holds allowance, conversation and Idempotency-Key.

A row lasts as long as its turn, and is deleted in the transaction that records the turn's exchange. One of a process that ended goes with
that process, and then its exchange is not recorded any more. With one process all this is in memory, and the table is empty.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain.allowance import Allowance
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, Database, Together, reads

IDEMPOTENCY_MS = DAY_MS
# Whether no earlier turn of the conversation of {0} is open. The sum hides the index of the numbers, which PostgreSQL may take else: it
# leads through all turns that have ended since the last vacuum.
_IS_FIRST = "NOT EXISTS (SELECT 1 FROM open_turns e WHERE e.place = {0}.place AND e.number + 0 < {0}.number)"
_RETURNING = f" RETURNING number, {_IS_FIRST.format('open_turns')}"
_FIRST_OF_T = _IS_FIRST.format("t")
# How long the outcome of a failed turn is kept for those who have joined it.
OUTCOME_MS = 60_000


class NewTurn(NamedTuple):
    """A turn to open at `at`, by the process `node`.

    account_id: None where it needs no account. month: that of the message whose allowance it holds; None where it holds none.
    place: digest of the conversation for which it waits in line; None where it is not in line.
    """

    node: str
    account_id: str | None
    at: int
    month: str | None = None
    place: bytes | None = None
    key: str | None = None
    fingerprint: bytes | None = None


class OpenedTurn(NamedTuple):
    """An open turn. `is_first`: no earlier one of its conversation is open."""

    number: int
    is_first: bool


class KnownKey(NamedTuple):
    """The Idempotency-Key was used before. `number` is the open turn under it, None where its exchange is recorded."""

    number: int | None
    fingerprint: bytes


class AllowanceSpent(NamedTuple):
    """No message is left; nothing was written."""


class AccountGone(NamedTuple):
    """The account was deleted; nothing was written."""


Opening = OpenedTurn | KnownKey | AllowanceSpent | AccountGone


class TurnLost(NamedTuple):
    """The turn went with its process, which was taken for dead. Nothing was written."""


class TurnEnd(NamedTuple):
    """End of a turn without an exchange. `outcome` is kept for those who have joined it, None for nothing to keep."""

    number: int
    at: int
    outcome: str | None = None


class JoinedState(NamedTuple):
    """State of a turn that was joined. Open, ended with an outcome, or gone (both None)."""

    is_open: bool
    outcome: str | None


async def begin(db: Database, turn: NewTurn) -> Opening:
    """Open a turn, unless its key is known or its account has no message left."""
    return await db.write(Together(_open, turn))


def _open(connection: Connection, turns: list[NewTurn]) -> list[Opening]:
    """Open turns in order; the result is that of opening them one by one."""
    allowances = _allowances(connection, list({turn.account_id for turn in turns if turn.account_id is not None}))
    keys = {(turn.account_id, turn.key) for turn in turns if turn.key is not None}
    if len(keys) < sum(turn.key is not None for turn in turns):
        # A later one joins an earlier one, which has to be there.
        return [opening for turn in turns for opening in _open_new(connection, [turn], allowances)]
    return _open_new(connection, turns, allowances)


def _open_new(connection: Connection, turns: list[NewTurn], allowances: Mapping[str, Allowance]) -> list[Opening]:
    """Open turns whose keys differ."""
    refused = [_refusal(connection, turn, allowances) for turn in turns]
    opened = iter(_insert(connection, [turn for turn, refusal in zip(turns, refused, strict=True) if refusal is None]))
    return [next(opened) if refusal is None else refusal for refusal in refused]


def _refusal(connection: Connection, turn: NewTurn, allowances: Mapping[str, Allowance]) -> Opening | None:
    allowance = allowances.get(turn.account_id or "")
    if allowance is None and turn.account_id is not None:
        return AccountGone()
    known = _known(connection, turn) if turn.key is not None else None
    if known is not None:
        return known
    if turn.month is not None and (allowance is None or allowance.reserve(turn.month) is None):
        return AllowanceSpent()
    return None


def _insert(connection: Connection, turns: list[NewTurn]) -> list[OpenedTurn]:
    values = [value for turn in turns for value in (turn.node, turn.account_id, turn.month, turn.place, turn.key, turn.fingerprint)]
    rows = connection.at_once(
        "INSERT INTO open_turns (node, account_id, month, place, key, fingerprint) VALUES ",
        "(?, ?, ?, ?, ?, ?)",
        values,
        _RETURNING,
    )
    opened: list[OpenedTurn] = []
    taken: set[bytes] = set()
    for (number, is_first), turn in zip(sorted(rows), turns, strict=True):
        # PostgreSQL does not see the turns of the same statement.
        opened.append(OpenedTurn(number, bool(is_first) and turn.place not in taken))
        taken |= {turn.place} if turn.place is not None else set()
    waited_for: list[Any] = list({turn.place for turn, opened_turn in zip(turns, opened, strict=True) if not opened_turn.is_first})
    connection.at_once("UPDATE open_turns SET awaited = 1 WHERE awaited = 0 AND place IN (", "?", waited_for, ")")
    return opened


def _known(connection: Connection, turn: NewTurn) -> KnownKey | None:
    row = connection.execute(
        "SELECT fingerprint FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?",
        (turn.account_id, turn.key, turn.at - IDEMPOTENCY_MS),
    ).fetchone()
    if row:
        return KnownKey(None, *row)
    row = connection.execute(
        "UPDATE open_turns SET awaited = 1 WHERE account_id = ? AND key = ? AND ended_at IS NULL RETURNING number, fingerprint",
        (turn.account_id, turn.key),
    ).fetchone()
    return KnownKey(*row) if row else None


def _allowances(connection: Connection, account_ids: list[str]) -> dict[str, Allowance]:
    """Read the counts of accounts, with what their open turns hold. Without those that are gone."""
    rows = connection.at_once(
        """
        SELECT a.id, a.messages_limit, a.message_credits,
            (SELECT json_group_object(u.month, u.messages_used) FROM allowances u WHERE u.account_id = a.id),
            (SELECT json_group_array(t.month) FROM open_turns t WHERE t.account_id = a.id AND t.month IS NOT NULL)
        FROM accounts a WHERE a.deleted_at IS NULL AND a.id IN (
        """,
        "?",
        account_ids,
        ")",
    )
    allowances = {}
    for account_id, limit, credits, used, months in rows:
        allowances[account_id] = Allowance(limit, credits, json.loads(used))
        allowances[account_id].reserved = Counter(json.loads(months))
    return allowances


@reads
def in_order(connection: Connection, numbers: Iterable[int]) -> dict[int, bool]:
    """Return those of the turns that are open.

    The value says whether no earlier turn of the conversation holds one up.
    """
    wanted = json.dumps(list(numbers))
    rows = connection.execute(
        f"""
        SELECT t.number, {_FIRST_OF_T}
        FROM open_turns t WHERE t.number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))
        """,
        (wanted,),
    )
    return {number: bool(is_first) for number, is_first in rows}


@reads
def in_line(connection: Connection, places: Sequence[bytes]) -> set[bytes]:
    """Return those of the conversations that have an open turn."""
    return {place for place in places if connection.execute("SELECT 1 FROM open_turns WHERE place = ?", (place,)).fetchone()}


@reads
def joined(connection: Connection, number: int) -> JoinedState:
    row = connection.execute("SELECT ended_at, outcome FROM open_turns WHERE number = ?", (number,)).fetchone()
    return JoinedState(row[0] is None, row[1]) if row else JoinedState(False, None)


async def end(db: Database, turn: TurnEnd) -> bool:
    """End a turn without an exchange, which gives back what it holds. One that has ended already stays ended.

    Returns whether somebody has awaited its end.
    """
    return await db.write(Together(_end, turn))


def _end(connection: Connection, ends: list[TurnEnd]) -> list[bool]:
    connection.execute("DELETE FROM open_turns WHERE ended_at <= ?", (max(end.at for end in ends) - OUTCOME_MS,))
    awaited = delete(connection, [end.number for end in ends if end.outcome is None])
    for end in ends:
        if end.outcome is not None:
            row = connection.execute(
                "UPDATE open_turns SET month = NULL, place = NULL, outcome = ?, ended_at = ? WHERE number = ? RETURNING awaited",
                (end.outcome, end.at, end.number),
            ).fetchone()
            awaited[end.number] = bool(row and row[0])
    return [awaited.get(end.number, False) for end in ends]


def delete(connection: Connection, numbers: list[int]) -> dict[int, bool]:
    """Delete turns within a unit. Return those that were open, and whether somebody has awaited their end."""
    values: list[Any] = numbers
    rows = connection.at_once("DELETE FROM open_turns WHERE number IN (", "?", values, ") RETURNING number, awaited")
    return {number: bool(awaited) for number, awaited in rows}


def delete_of(connection: Connection, node: str) -> None:
    """Delete the turns of a process that has ended, within a unit."""
    connection.execute("DELETE FROM open_turns WHERE node = ?", (node,))
