"""Deletes old rows by the table registry's rules, in batches that hardly delay other writers."""

from collections.abc import Callable
from functools import partial

from chatsvc.store import erasure, unanswered
from chatsvc.store.database import Connection, Database
from chatsvc.store.open_turns import IDEMPOTENCY_MS
from chatsvc.store.tables import CHILDREN_FIRST, old_rows

BATCH = erasure.BATCH

RULES = {table.name: table.retention for table in CHILDREN_FIRST if table.retention}
_OLD = {table.name: old_rows(table) for table in CHILDREN_FIRST if table.retention}
_DELETE = {
    table.name: f"DELETE FROM {table.name} WHERE ({', '.join(table.key)}) IN ({_OLD[table.name]})"
    for table in CHILDREN_FIRST
    if table.retention
}


async def expire(db: Database, table: str, before: int, now: int) -> set[str] | bool:
    """Delete a batch of a table's rows that are older than `before`. Return False once none is left; of conversations, their accounts."""
    if table == "conversations":
        return await db.write(lambda connection: _conversations(connection, before))
    unit = _UNITS.get(table)
    if unit is not None:
        return await db.write(partial(unit, before=before))
    # An idempotency record is of no use after a day, however long conversations are kept.
    limit = now - IDEMPOTENCY_MS + 1 if table == "idempotency_keys" else before
    return await db.write(lambda connection: connection.execute(_DELETE[table], (limit, BATCH)).rowcount == BATCH)


def _conversations(connection: Connection, before: int) -> set[str]:
    """Erase from old conversations; return their accounts, none once no old conversation is left."""
    accounts: set[str] = set()
    old, room = connection.execute(_OLD["conversations"], (before, BATCH)).fetchall(), BATCH
    while old and room > 0:
        (number,) = old[-1]
        account = connection.execute("SELECT account_id FROM conversations WHERE number = ?", (number,)).fetchone()
        erased = erasure.some_in(connection, number)
        accounts.update(account)
        room -= sum(erased)
        if erased.conversations:
            old.pop()
    return accounts


def _events(connection: Connection, before: int) -> bool:
    old = connection.execute(_OLD["webhook_events"], (before, BATCH)).fetchall()
    connection.executemany("DELETE FROM webhook_attempts WHERE event_number = ?", old)
    connection.executemany("DELETE FROM webhook_events WHERE number = ?", old)
    return len(old) == BATCH


def _askers(connection: Connection, before: int) -> bool:
    old = connection.execute(_OLD["unanswered_askers"], (before, BATCH)).fetchall()
    unanswered.forget_askers(connection, [number for (number,) in old])
    return len(old) == BATCH


_UNITS: dict[str, Callable[..., bool]] = {"webhook_events": _events, "unanswered_askers": _askers}
