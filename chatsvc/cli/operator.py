"""`chatsvc operator`: add, list, set, link, sessions, remove."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT, Word

COLUMNS = ("email", "name", "admin", "roles", "set_up", "second_factor", "created_at")
SESSION_COLUMNS = ("id", "browser", "address", "created_at", "last_seen_at")
ROLE = Word("role", "reader", "editor", "owner", "none")
LANGUAGE = Word("language", "tr", "en")
NOTICE = Word("notice", "waiting", "request", "appointment", "webhook", "none")


def _keep(made: dict[str, Any]) -> str | None:
    return "Keep the link now: it is not shown again." if made["link"] is not None else None


def _flat(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "roles": " ".join(f"{held['account']} {held['role']}" for held in one["roles"])}


@click.group()
def operator() -> None:
    """Manage the people who sign in to the dashboard.

    An administrator sees every account and the system; others have a role in one or more accounts: reader (looks), editor (also answers
    requests and teaches the bots) or owner (everything of the account).
    """


operation(
    operator,
    "operator.add",
    click.argument("email"),
    click.option("--admin", is_flag=True, help="An administrator of the installation."),
    click.option("--account", type=ACCOUNT, metavar="ID", help="The account of the role; optional when there is only one account."),
    click.option("--role", type=ROLE, metavar="ROLE", help="reader, editor or owner."),
    click.option("--name", metavar="NAME", help="The operator's name, as visitors and colleagues see it."),
    click.option("--language", type=LANGUAGE, metavar="L", help="Language of the pages, tr or en; else the browser's."),
    told=_keep,
)
operation(
    operator,
    "operator.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="Only operators with a role in this account."),
    columns=COLUMNS,
    pages=True,
    shown=lambda found: [_flat(one) for one in found],
)
operation(
    operator,
    "operator.set",
    click.argument("email"),
    click.option("--account", type=ACCOUNT, metavar="ID", help="The account of the role; optional when there is only one account."),
    click.option("--role", type=ROLE, metavar="ROLE", help="reader, editor or owner; none takes the role away."),
    click.option(
        "--notice", "notices", multiple=True, type=NOTICE, metavar="N", help="Mail about: waiting, request, appointment, webhook; or none."
    ),
    click.option("--name", metavar="NAME", help="The operator's name, as visitors and colleagues see it."),
    click.option("--language", type=LANGUAGE, metavar="L", help="Language of the pages, tr or en."),
    click.option("--timezone", metavar="ZONE", help='Zone of the times on pages, such as Europe/London; "" for the bot\'s.'),
    click.option("--admin/--no-admin", default=None, help="Whether an administrator of the installation."),
    arguments=lambda given: {**given, "notices": list(given["notices"]) or None},
)
operation(operator, "operator.link", click.argument("email"), told=_keep)
operation(operator, "operator.sessions", click.argument("email"), columns=SESSION_COLUMNS)
operation(operator, "operator.remove", click.argument("email"))
