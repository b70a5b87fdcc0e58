"""Account scopes in SQL, and the lookup of the account that a record belongs to."""

import json
from collections.abc import Sequence

from chatsvc.store.database import Connection, reads

Accounts = Sequence[str] | None

# FROM clauses: the accounts `o` and the bots `b` of a scope, of which ?1 is the JSON array of ids where it is not all accounts.
SOME_ACCOUNTS = "json_each(?1) s CROSS JOIN accounts o ON o.id = s.value AND o.deleted_at IS NULL"
ALL_ACCOUNTS = "(SELECT id FROM accounts WHERE deleted_at IS NULL) o"
SOME_BOTS = f"{SOME_ACCOUNTS} CROSS JOIN bots b ON b.account_id = o.id"
ALL_BOTS = f"{ALL_ACCOUNTS} CROSS JOIN bots b ON b.account_id = o.id"
ONE_BOT = "(SELECT id, number FROM bots WHERE id = ?2) b"
# Conditions on a row with the column account_id, or bot_id, in the scope ?1.
ACCOUNT_IN_SCOPE = """
    EXISTS (SELECT 1 FROM accounts o WHERE o.id = account_id AND o.deleted_at IS NULL
        AND (?1 IS NULL OR o.id IN (SELECT value FROM json_each(?1))))
"""
BOT_IN_SCOPE = f"EXISTS (SELECT 1 FROM bots b WHERE b.id = bot_id AND {ACCOUNT_IN_SCOPE})"
_IN_SCOPE = "o.deleted_at IS NULL AND (?2 IS NULL OR o.id IN (SELECT value FROM json_each(?2)))"
_OF_BOT = f"JOIN bots b ON b.id = r.bot_id JOIN accounts o ON o.id = b.account_id WHERE r.id = ?1 AND {_IN_SCOPE}"
_OWNED = f"JOIN accounts o ON o.id = r.account_id WHERE r.id = ?1 AND {_IN_SCOPE}"
_OWNER = {
    "account": f"SELECT o.id FROM accounts o WHERE o.id = ?1 AND {_IN_SCOPE}",
    "bot": f"SELECT o.id FROM bots r {_OWNED}",
    "key": f"SELECT o.id FROM api_keys r {_OWNED}",
    "conversation": f"SELECT o.id FROM conversations r {_OWNED}",
    "request": f"SELECT o.id FROM requests r {_OF_BOT}",
    "appointment": f"SELECT o.id FROM appointments r {_OF_BOT}",
    "site": f"SELECT o.id FROM sites r {_OF_BOT}",
    "attempt": f"SELECT o.id FROM webhook_attempts r {_OF_BOT}",
}
KINDS = frozenset(_OWNER)


def listed(accounts: Accounts) -> str | None:
    """Return a scope as the parameter of a statement: a JSON array of ids, or None for all accounts."""
    return None if accounts is None else json.dumps(list(accounts))


@reads
def account_of(connection: Connection, kind: str, record_id: str, accounts: Accounts) -> str | None:
    """Look up the account of a record among `accounts` (None for all). Return None if there is no such record."""
    row = connection.execute(_OWNER[kind], (record_id, listed(accounts))).fetchone()
    return row[0] if row else None
