"""Callers of administrative operations: actor, scope and front end, and records of what they did."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple


class Role(IntEnum):
    """Roles of an operator in an account, each with the permissions of lower ones. ADMINISTRATOR is the role over the installation."""

    READER = 1
    EDITOR = 2
    OWNER = 3
    ADMINISTRATOR = 4


class Actor(NamedTuple):
    """Identity in the audit log. `kind` is "user" (a local user by uid), "operator" or "key"."""

    kind: str
    id: str
    name: str


class Scope(NamedTuple):
    """Accounts that a caller may see, with the role in each. `roles` is None for an administrator, who sees all accounts."""

    roles: Mapping[str, Role] | None

    def role(self, account_id: str) -> Role | None:
        """Return the caller's role in an account, or None if the account is outside the scope."""
        return Role.ADMINISTRATOR if self.roles is None else self.roles.get(account_id)

    def includes(self, account_id: str | None) -> bool:
        return account_id is not None and (self.roles is None or account_id in self.roles)

    def at_least(self, role: Role) -> Scope:
        """Return the scope reduced to the accounts in which the caller has this role or a higher one."""
        if self.roles is None:
            return self
        return Scope({account_id: has for account_id, has in self.roles.items() if has >= role})

    @property
    def accounts(self) -> list[str] | None:
        """Return the ids of the accounts in the scope, or None for all accounts."""
        return None if self.roles is None else list(self.roles)

    @property
    def only_account(self) -> str | None:
        """Return the account's id if the scope has exactly one account, or None."""
        return next(iter(self.roles)) if self.roles is not None and len(self.roles) == 1 else None


EVERYTHING = Scope(None)


class Caller(NamedTuple):
    """Actor and scope of an administrative call. `via` is the front end, "cli" or "web", `session` an operator's session."""

    actor: Actor
    scope: Scope
    via: str
    session: str | None = None


# A visitor of the login page.
ANONYMOUS = Caller(Actor("operator", "", ""), Scope({}), "web")


class SettingChange(NamedTuple):
    """A setting that an operation has changed: its path, and its values before and after, which are "" if unset."""

    path: str
    before: str
    after: str


class AuditRecord(NamedTuple):
    """An administrative operation: its time in milliseconds, the caller, and the account and ids concerned.

    `outcome` is "done", "refused" or "failed"; it is None while the operation runs, and remains None after a crash.
    `number` is 0 until the record is stored. `own` is true if operators change their own session, password or language.
    Within ten minutes, equal operations in a row share one record, and so do repeated refusals. `times` counts them.
    """

    recorded_at: int
    actor: Actor
    via: str
    account_id: str | None
    operation: str
    ids: Mapping[str, str]
    outcome: str | None = None
    number: int = 0
    times: int = 1
    own: bool = False
    changes: tuple[SettingChange, ...] = ()


class Unchanged(NamedTuple):
    """Result of an operation that changed nothing. Such an operation is not recorded in the audit log."""

    result: Any
