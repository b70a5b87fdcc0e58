"""Commands that are operations alone: `key`, `saved-reply`, `mail`, `request`, `appointment`, `audit` and `nodes`."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import ACCOUNT, APPOINTMENT_STATUS, BOT, KEY, REQUEST_STATUS, Word
from chatsvc.domain.errors import CommandError
from chatsvc.domain.mails import SENT, STATES

KEY_COLUMNS = ("id", "name", "prefix", "status", "created_at", "expires_at", "last_used_at")


@click.group()
def key() -> None:
    """Create, list and revoke API keys."""


operation(
    key,
    "key.create",
    click.option("--account", type=ACCOUNT, metavar="ID", help="The owner; optional when there is only one account."),
    click.option("--name", metavar="LABEL", help="A label to recognise the key by."),
    click.option("--expires", metavar="TIME", help="2027-01-31 or 2027-01-31T18:00, UTC; else it does not expire."),
    told=lambda _: "Keep the key now: it is not shown again.",
)
operation(
    key,
    "key.list",
    click.option("--account", type=ACCOUNT, metavar="ID", help="Only the keys of this account."),
    columns=KEY_COLUMNS,
    pages=True,
)
operation(key, "key.revoke", click.argument("key", type=KEY, metavar="KEY_ID"))


OF_ACCOUNT = click.option("--account", type=ACCOUNT, metavar="ID", help="The account; optional when there is only one.")


@click.group()
def saved_reply() -> None:
    """Manage the texts that operators insert into their messages."""


operation(saved_reply, "saved_reply.list", OF_ACCOUNT, columns=("name", "text"))
operation(saved_reply, "saved_reply.set", click.argument("name"), click.argument("text"), OF_ACCOUNT)
operation(saved_reply, "saved_reply.remove", click.argument("name"), OF_ACCOUNT)


MAIL_COLUMNS = ("id", "created_at", "kind", "causes", "recipient", "state", "attempts", "error", "status_code", "answer")
STATE = Word("state", *STATES)


def _end(sent: dict[str, Any]) -> None:
    if sent["state"] != SENT:
        told = f": {sent['status_code']} {sent['answer']}" if sent["status_code"] else ""
        raise CommandError(f"the mail was not sent: {sent['error']}{told}")


@click.group()
def mail() -> None:
    """Mails to operators and visitors: what was sent, what waits, and why."""


operation(
    mail,
    "mail.list",
    click.option("--status", type=STATE, metavar="STATE", help=f"Only mails in this state: {', '.join(STATES)}."),
    click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Maximum number of records."),
    columns=MAIL_COLUMNS,
    pages=True,
)
operation(mail, "mail.test", click.argument("email"), ends=_end)


REQUEST_COLUMNS = ("id", "request_type", "status", "visitor_name", "visitor_email", "visitor_phone", "message", "created_at")
APPOINTMENT_COLUMNS = ("id", "status", "appointment_date", "appointment_time", "visitor_name", "visitor_email", "visitor_phone", "message")


CHANGES = (
    click.option("--note", metavar="TEXT", help='A note for the team; "" removes it.'),
    click.option("--assignee", metavar="EMAIL", help='The operator in charge; "" removes it.'),
)


def _change(given: dict[str, Any]) -> dict[str, Any]:
    if not any(given[name] is not None for name in ("status", "note", "assignee")):
        raise click.UsageError("nothing to change: give --status, --note or --assignee")
    return given


@click.group()
def request() -> None:
    """List captured requests and set their status."""


operation(request, "request.list", click.argument("bot", type=BOT), columns=REQUEST_COLUMNS, pages=True)
operation(
    request,
    "request.set",
    click.argument("request", metavar="ID"),
    click.option("--status", type=REQUEST_STATUS, help="new, in_progress, done or dismissed."),
    *CHANGES,
    arguments=_change,
)


@click.group()
def appointment() -> None:
    """List captured appointments and set their status."""


operation(appointment, "appointment.list", click.argument("bot", type=BOT), columns=APPOINTMENT_COLUMNS, pages=True)
operation(
    appointment,
    "appointment.set",
    click.argument("appointment", metavar="ID"),
    click.option("--status", type=APPOINTMENT_STATUS, help="pending, confirmed, canceled or done."),
    *CHANGES,
    arguments=_change,
)


audit = operation(
    "audit",
    "audit",
    click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Maximum number of records."),
    click.option("--since", metavar="TIME", help="Only acts since then (2026-11-20T08:00, UTC)."),
    columns=("at", "uid", "operation", "outcome", "ids"),
    pages=True,
    shown=lambda acts: [{**act, "ids": " ".join(f"{name} {id_}" for name, id_ in act["ids"].items())} for act in acts],
)


nodes = operation("nodes", "node.list", columns=("id", "since", "listen", "version"))
