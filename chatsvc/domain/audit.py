"""Records of the audit log (DECISIONS.md section 6)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from chatsvc.domain.actors import Actor


class AuditRecord(NamedTuple):
    """An administrative operation: time in milliseconds, caller, account and ids concerned.

    `outcome` is "done", "refused" or "failed"; None while it runs, and for good after a crash.
    `number` is 0 until the record is stored. `own` is true where operators change what is theirs alone: session, password, language.
    A refused act that is tried again within ten minutes has one record, with the `times`.
    """

    at: int
    actor: Actor
    via: str
    account_id: str | None
    operation: str
    ids: Mapping[str, str]
    outcome: str | None = None
    number: int = 0
    times: int = 1
    own: bool = False


class Unchanged(NamedTuple):
    """Result of an operation that changed nothing, and needs no record."""

    result: Any
