"""Queries of operators: find, list, create, change and remove them, their roles and set-up links.

If a statement has an account scope, it is the parameter ?1. store/sessions.py has sessions, passwords and second factors.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Role
from chatsvc.domain.mails import INVITATION
from chatsvc.domain.operators import ROLES, Operator, UsableLink
from chatsvc.store import mail_notices
from chatsvc.store.database import Connection, assign, reads, writes
from chatsvc.store.owners import Accounts, listed

CHANGEABLE = frozenset({"name", "language", "timezone", "admin", "notices", "password", "totp", "totp_offered", "totp_used", "updated_at"})
# Roles in accounts that are being deleted or imported are not shown.
_ROLES = """
    (SELECT json_group_object(r.account_id, r.role) FROM operator_roles r
        CROSS JOIN accounts a ON a.id = r.account_id AND a.deleted_at IS NULL WHERE r.operator_id = o.id)
"""
COLUMNS = f"""
    o.id, o.email, o.name, o.language, o.timezone, o.admin, o.notices, o.password IS NOT NULL, o.totp IS NOT NULL, o.created_at,
    o.updated_at, {_ROLES}
"""
_FIND = f"SELECT {COLUMNS} FROM operators o WHERE"


class Credentials(NamedTuple):
    """An operator's password hash and sealed secrets. `totp_used` is the time step of the last TOTP code that was used.

    `known_networks` are those from which the operator has signed in; see domain.passwords.network.
    """

    password: str | None
    totp: bytes | None
    totp_offered: bytes | None
    totp_used: int
    known_networks: list[str]


class SetupLink(NamedTuple):
    """Digest, creation and expiry (in milliseconds) of a set-up link. Its use ends the second factor, unless the link was mailed."""

    digest: bytes
    created_at: int
    expires_at: int
    mailed: bool = False


def operator_of(row: Sequence[Any]) -> Operator:
    """Make an operator from the columns COLUMNS."""
    id_, email, name, language, timezone, admin, notices, is_set_up, second_factor, created_at, updated_at, held_roles = row
    roles = {account_id: ROLES[role] for account_id, role in json.loads(held_roles).items()}
    texts = tuple(json.loads(notices))
    return Operator(
        id_, email, name, language, timezone, bool(admin), texts, bool(is_set_up), bool(second_factor), created_at, updated_at, roles
    )


def find_in(connection: Connection, operator_id: str) -> Operator | None:
    """Find an operator by id within a unit."""
    row = connection.execute(f"{_FIND} o.id = ?", (operator_id,)).fetchone()
    return operator_of(row) if row else None


find_by_id = reads(find_in)


@reads
def find(connection: Connection, email: str) -> Operator | None:
    """Find an operator by e-mail address."""
    row = connection.execute(f"{_FIND} o.email = ?", (email,)).fetchone()
    return operator_of(row) if row else None


@reads
def credentials(connection: Connection, operator_id: str) -> Credentials | None:
    """Read an operator's password hash and sealed secrets."""
    row = connection.execute(
        "SELECT password, totp, totp_offered, totp_used, known_networks FROM operators WHERE id = ?", (operator_id,)
    ).fetchone()
    return Credentials(*row)._replace(known_networks=json.loads(row[4])) if row else None


@reads
def page(connection: Connection, accounts: Accounts, limit: int, after: tuple[int, str] | None = None) -> list[Operator]:
    """Read operators with a role in these accounts, oldest first. If `accounts` is None, read all operators."""
    rows = connection.execute(
        f"""
        SELECT {COLUMNS} FROM operators o
        WHERE (o.created_at, o.id) > (?2, ?3) AND (?1 IS NULL OR EXISTS (SELECT 1 FROM operator_roles m CROSS JOIN accounts n
            ON n.id = m.account_id AND n.deleted_at IS NULL
            WHERE m.operator_id = o.id AND m.account_id IN (SELECT value FROM json_each(?1))))
        ORDER BY o.created_at, o.id LIMIT ?4
        """,
        (listed(accounts), *(after or (-1, "")), limit),
    )
    return [operator_of(row) for row in rows]


@writes
def create(connection: Connection, operator: Operator, link: SetupLink, sends_mail: bool) -> bool:
    """Write a new operator with roles and set-up link. With `sends_mail`, queue an invitation. Return False if the address is taken."""
    o = operator
    inserted = connection.execute(
        "INSERT INTO operators (id, email, name, language, admin, notices, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (email) DO NOTHING",
        (o.id, o.email, o.name, o.language, o.admin, json.dumps(o.notices), o.created_at, o.updated_at),
    )
    if not inserted.rowcount:
        return False
    _put_roles(connection, o.id, o.roles)
    _put_link(connection, o.id, link)
    if sends_mail:
        mail_notices.note_link(connection, INVITATION, o.email, o.created_at)
    return True


@writes
def change(connection: Connection, operator_id: str, changes: Mapping[str, object], roles: Mapping[str, Role | None]) -> Operator | None:
    """Write the fields named in `changes` and the roles (None removes one). Raise `last_administrator` if no administrator is left."""
    assignments = assign(changes, CHANGEABLE)
    connection.execute(f"UPDATE operators SET {assignments} WHERE id = ?", (*changes.values(), operator_id))
    _put_roles(connection, operator_id, roles)
    operator = find_in(connection, operator_id)
    if operator and changes.get("admin") is False:
        _check_administrator(connection, operator.email)
    return operator


@writes
def add_link(connection: Connection, operator_id: str, link: SetupLink) -> bool:
    """Replace an operator's set-up link; return False if the operator is gone."""
    if find_in(connection, operator_id) is None:
        return False
    _put_link(connection, operator_id, link)
    return True


def link_in(connection: Connection, digest: bytes, now: int) -> UsableLink | None:
    """Find a valid set-up link by its digest, within a unit."""
    sql = "SELECT operator_id, expires_at, mailed FROM operator_links WHERE digest = ? AND expires_at > ?"
    row = connection.execute(sql, (digest, now)).fetchone()
    operator = find_in(connection, row[0]) if row else None
    return UsableLink(operator, row[1], bool(row[2])) if operator else None


of_link = reads(link_in)


@writes
def remove(connection: Connection, operator_id: str) -> bool:
    """Delete an operator and their records. Return False if there is none. Raise `last_administrator` if no administrator is left."""
    for table in ("operator_sessions", "operator_links", "recovery_codes", "operator_roles", "mails", "conversation_views"):
        connection.execute(f"DELETE FROM {table} WHERE operator_id = ?", (operator_id,))
    row = connection.execute("DELETE FROM operators WHERE id = ? RETURNING admin, email", (operator_id,)).fetchone()
    if row and row[0]:
        _check_administrator(connection, row[1])
    return row is not None


def _put_roles(connection: Connection, operator_id: str, roles: Mapping[str, Role | None]) -> None:
    delete = "DELETE FROM operator_roles WHERE operator_id = ? AND account_id = ?"
    connection.executemany(delete, [(operator_id, account_id) for account_id in roles])
    connection.executemany(
        "INSERT INTO operator_roles (operator_id, account_id, role) VALUES (?, ?, ?)",
        [(operator_id, account_id, role.name.lower()) for account_id, role in roles.items() if role is not None],
    )


def _put_link(connection: Connection, operator_id: str, link: SetupLink) -> None:
    connection.execute("DELETE FROM operator_links WHERE operator_id = ?", (operator_id,))
    insert_link(connection, operator_id, link)


def insert_link(connection: Connection, operator_id: str, link: SetupLink) -> None:
    """Add a set-up link to the present ones, within a unit. If one link is used, all links of the operator become invalid."""
    values = link.digest, operator_id, link.created_at, link.expires_at, int(link.mailed)
    connection.execute("INSERT INTO operator_links (digest, operator_id, created_at, expires_at, mailed) VALUES (?, ?, ?, ?, ?)", values)


def _check_administrator(connection: Connection, email: str) -> None:
    if connection.execute("SELECT 1 FROM operators WHERE admin = 1 LIMIT 1").fetchone() is None:
        raise refusals.last_administrator(email=email)
