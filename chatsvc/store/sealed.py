"""Seals all stored secrets anew for another master key, in one transaction.

Also names the row to which a secret is bound. store/sealing.py has the encryption.
"""

from collections.abc import Callable

from chatsvc.store import facts
from chatsvc.store.database import Connection, writes
from chatsvc.store.master_key import MasterKey
from chatsvc.store.tables import TABLES

# Purpose of the key, table, SELECT and UPDATE of each column with sealed secrets.
_STATEMENTS = [
    (
        rule.purpose,
        table.name,
        f"SELECT {rule.row}, {column} FROM {table.name} WHERE {column} IS NOT NULL",
        f"UPDATE {table.name} SET {column} = ? WHERE {rule.row} = ?",
    )
    for table in TABLES
    if (rule := table.sealed)
    for column in rule.columns
]


def row_name(table: str, key: str) -> str:
    """Name the row to which a secret is bound by its encryption."""
    return f"{table}/{key}"


@writes
def reseal(connection: Connection, keys: MasterKey, check: bytes, change: Callable[[str, str, bytes], bytes | None]) -> tuple[int, int]:
    """Seal all secrets for the master key with this check value, in one transaction. Raises OtherMasterKey.

    keys: those that `change` opens secrets with. Another process may have changed the store's key since it was read.
    `change` gets purpose, row and sealed secret and returns it sealed anew, or None. Returns how many it sealed and how many not.
    """
    keys.of(facts.check_in(connection))
    sealed, unusable = 0, 0
    for purpose, table, select, update in _STATEMENTS:
        secrets = connection.execute(select).fetchall()
        sealed_anew = [(new, key) for key, old in secrets if (new := change(purpose, row_name(table, key), old)) is not None]
        connection.executemany(update, sealed_anew)
        sealed, unusable = sealed + len(sealed_anew), unusable + len(secrets) - len(sealed_anew)
    connection.execute("UPDATE store_facts SET value = ? WHERE name = ?", (check, facts.CHECK))
    return sealed, unusable
