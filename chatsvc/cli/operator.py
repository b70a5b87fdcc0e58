"""`chatsvc operator`: add, list, set, link, sessions, remove."""

from __future__ import annotations

from typing import Any

from chatsvc.cli.operations import group, operation, option, options
from chatsvc.cli.words import ACCOUNT, Word

COLUMNS = ("email", "name", "admin", "roles", "set_up", "second_factor", "created_at")
SESSION_COLUMNS = ("id", "browser", "address", "created_at", "last_seen_at")
ROLE = Word("role", "reader", "editor", "owner", "none")
LANGUAGE = Word("L", "tr", "en")
NOTICE = Word("N", "waiting", "request", "appointment", "webhook", "none")


def _keep(made: dict[str, Any]) -> str | None:
    return "Keep the link now: it is not shown again." if made["link"] is not None else None


def _flat(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "roles": " ".join(f"{held['account']} {held['role']}" for held in one["roles"])}


operator = group("operator")

operation(
    operator,
    "operator.add",
    "email",
    *options(admin=bool, account=ACCOUNT, role=ROLE, name="NAME", language=LANGUAGE),
    told=_keep,
)
operation(
    operator, "operator.list", *options(account=ACCOUNT), columns=COLUMNS, pages=True, shown=lambda found: [_flat(one) for one in found]
)
operation(
    operator,
    "operator.set",
    "email",
    *options(account=ACCOUNT, role=ROLE, notices=[NOTICE], name="NAME", language=LANGUAGE, timezone="ZONE"),
    option("--admin/--no-admin", default=None),
    arguments=lambda given: {**given, "notices": list(given["notices"]) or None},
)
operation(operator, "operator.link", "email", told=_keep)
operation(operator, "operator.sessions", "email", columns=SESSION_COLUMNS)
operation(operator, "operator.remove", "email")
