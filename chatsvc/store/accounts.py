"""Queries of accounts, with their monthly allowances: create, list, read, change and delete; and of API keys (help/interface.md 3.1).

Deletion only marks an account; `sweep` removes its records in batches. An imported account is invisible until `arrive` is called.
Only the digests of keys are stored.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from chatsvc.domain.models import Account, ApiKey, Bot
from chatsvc.store.bots import BOT_OF_ACCOUNT, bots_from_json
from chatsvc.store.database import Connection, assign, quick, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, SOME_ACCOUNTS, Accounts, listed
from chatsvc.store.tables import CHILDREN_FIRST, IMPORTING, deletion

_COLUMNS = "id, name, plan, subscription_status, messages_limit, message_credits, created_at, updated_at"
CHANGEABLE = frozenset({"name", "plan", "subscription_status", "messages_limit", "message_credits", "updated_at"})


class Holding(NamedTuple):
    """An account with the data that the running service caches: its bots, and its used and reserved messages.

    `used` has the number of messages used in each month, `held` the number that open turns in the store have reserved.
    """

    account: Account
    bots: list[Bot]
    used: dict[str, int]
    held: dict[str, int]


@writes
def create(connection: Connection, account: Account) -> None:
    """Write a new account."""
    connection.execute(f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", account)


@reads
def page(
    connection: Connection, accounts: Accounts, month: str, limit: int, after: tuple[int, str] | None = None
) -> list[tuple[Account, int]]:
    """Read accounts, oldest first, each with the number of messages that it used in `month`.

    `after` has the creation time and the id of the last account of the previous page.
    """
    rows = connection.execute(
        f"""
        SELECT {_COLUMNS}, coalesce((SELECT messages_used FROM allowances WHERE account_id = id AND month = ?2), 0) FROM accounts
        WHERE deleted_at IS NULL AND (created_at, id) > (?3, ?4) AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1)))
        ORDER BY created_at, id LIMIT ?5
        """,
        (listed(accounts), month, *(after or (-1, "")), limit),
    )
    return [(Account(*row[:-1]), row[-1]) for row in rows]


@reads
def choices(connection: Connection, accounts: Accounts, chosen: str | None, limit: int) -> dict[str, Account]:
    """Return accounts to choose from, by their ids: the `limit` oldest accounts, and the account `chosen`."""
    among = f"SELECT {_COLUMNS} FROM accounts WHERE deleted_at IS NULL AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1)))"
    rows = connection.execute(
        f"""
        SELECT * FROM ({among} ORDER BY created_at, id LIMIT ?3) page UNION SELECT * FROM ({among} AND id = ?2) page
        ORDER BY created_at, id
        """,
        (listed(accounts), chosen, limit),
    )
    return {row[0]: Account(*row) for row in rows}


@reads
def count(connection: Connection, accounts: Accounts) -> int:
    """Count the accounts in the scope `accounts` (None for all accounts)."""
    statement = "SELECT count(*) FROM accounts WHERE deleted_at IS NULL AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1)))"
    return int(connection.execute(statement, (listed(accounts),)).fetchone()[0])


def holding(connection: Connection, account_id: str) -> Holding | None:
    """Read an account with its bots, its used messages and its reserved messages, within a unit."""
    # One statement: where other processes write, it runs for each request.
    row = connection.execute(
        f"""
        SELECT {_COLUMNS}, (SELECT json_group_array(json_array({BOT_OF_ACCOUNT})) FROM bots b WHERE b.account_id = accounts.id),
            (SELECT json_group_object(u.month, u.messages_used) FROM allowances u WHERE u.account_id = accounts.id),
            (SELECT json_group_array(h.month) FROM open_turns h WHERE h.account_id = accounts.id AND h.month IS NOT NULL)
        FROM accounts WHERE id = ?1 AND deleted_at IS NULL
        """,
        (account_id,),
    ).fetchone()
    if row is None:
        return None
    *account, bots, used, held = row
    return Holding(Account(*account), bots_from_json(bots), json.loads(used), Counter(json.loads(held)))


hold = writes(holding)  # behind the writes that were queued before it


def holding_and_key(connection: Connection, account_id: str, digest: bytes | None) -> tuple[Holding | None, ApiKey | None]:
    """Read an account, and the key with this digest, within a unit."""
    return holding(connection, account_id), key_in(connection, digest) if digest is not None else None


@writes
def update(connection: Connection, account_id: str, changes: Mapping[str, object]) -> Account | None:
    """Write the fields named in `changes` and return the changed account. Return None if there is no such account."""
    assignments = assign(changes, CHANGEABLE)
    row = connection.execute(
        f"UPDATE accounts SET {assignments} WHERE id = ? AND deleted_at IS NULL RETURNING {_COLUMNS}", (*changes.values(), account_id)
    ).fetchone()
    return Account(*row) if row else None


@writes
def delete(connection: Connection, account_id: str, now: int) -> bool:
    """Mark the account as deleted; `sweep` removes its records later. Return False if there is no such account."""
    done = connection.execute("UPDATE accounts SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL", (now, account_id))
    connection.execute("UPDATE api_keys SET label = NULL, prefix = '', last_used_at = NULL WHERE account_id = ?", (account_id,))
    return done.rowcount == 1


@writes
def arrive(connection: Connection, account_id: str) -> bool:
    """Make a completely imported account visible. Return False if no import of this account is under way."""
    done = connection.execute("UPDATE accounts SET deleted_at = NULL WHERE id = ? AND deleted_at = ?", (account_id, IMPORTING))
    return done.rowcount == 1


@writes
def abandon_imports(connection: Connection, account_id: str | None = None) -> None:
    """Mark abandoned imports as deleted, so that `sweep` removes their records. Without an id, mark those of all accounts."""
    connection.execute("UPDATE accounts SET deleted_at = 1 WHERE deleted_at = ? AND id = coalesce(?, id)", (IMPORTING, account_id))


_DELETIONS = tuple(deletion(table) for table in CHILDREN_FIRST if table.owner)
_SWEEP_BATCH = 1000  # rows: small enough not to delay other writers


@writes
def sweep(connection: Connection) -> bool:
    """Delete one batch of the records of deleted accounts. Return False once no deleted account is left."""
    row = connection.execute("SELECT id FROM accounts WHERE deleted_at <> ? LIMIT 1", (IMPORTING,)).fetchone()
    if row is None:
        return False
    for statement in _DELETIONS:
        if connection.execute(statement, (row[0], _SWEEP_BATCH)).rowcount >= _SWEEP_BATCH:
            break
    return True


_KEY = "id, account_id, label, prefix, created_at, expires_at, revoked_at, last_used_at"

_OF_KEY = ", ".join(f"k.{name}" for name in _KEY.split(", "))
_OF_SOME = f"{SOME_ACCOUNTS} CROSS JOIN api_keys k ON k.account_id = o.id"
_OF_ALL = "api_keys k CROSS JOIN accounts o ON o.id = k.account_id AND o.deleted_at IS NULL"


@writes
def create_key(connection: Connection, key: ApiKey, digest: bytes) -> None:
    """Write a new API key. `digest` is the digest of the secret key."""
    connection.execute(f"INSERT INTO api_keys (digest, {_KEY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (digest, *key))


def key_in(connection: Connection, digest: bytes) -> ApiKey | None:
    """Find the key with this digest within a unit, even if the key is revoked or expired."""
    row = connection.execute(f"SELECT {_KEY} FROM api_keys WHERE digest = ?", (digest,)).fetchone()
    return ApiKey(*row) if row else None


find_key = quick(key_in)


@reads
def page_of_keys(connection: Connection, accounts: Accounts, limit: int, after: tuple[int, str] | None = None) -> list[ApiKey]:
    """Read API keys, oldest first, without those of deleted accounts. `after` is time and id of the last key of the previous page."""
    owned = _OF_ALL if accounts is None else _OF_SOME
    rows = connection.execute(
        f"SELECT {_OF_KEY} FROM {owned} WHERE (k.created_at, k.id) > (?2, ?3) ORDER BY k.created_at, k.id LIMIT ?4",
        (listed(accounts), *(after or (-1, "")), limit),
    )
    return [ApiKey(*row) for row in rows]


@writes
def revoke_key(connection: Connection, key_id: str, accounts: Accounts, now: int) -> ApiKey | None:
    """Revoke a key of these accounts (None for all). A key that was revoked before keeps its time. Return None if there is no such key."""
    revoke = f"UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?3 AND {ACCOUNT_IN_SCOPE} RETURNING {_KEY}"
    row = connection.execute(revoke, (listed(accounts), now, key_id)).fetchone()
    return ApiKey(*row) if row else None


@writes
def note_use(connection: Connection, uses: Mapping[str, int]) -> None:
    """Store when keys were last used. `uses` maps a key's id to the time in milliseconds."""
    rows = [(instant, key_id) for key_id, instant in uses.items()]
    connection.executemany("UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?", rows)
