"""`chatsvc request` and `chatsvc appointment`: list, set."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import APPOINTMENT_STATUS, BOT, REQUEST_STATUS

REQUEST_COLUMNS = ("id", "request_type", "status", "visitor_name", "visitor_email", "visitor_phone", "message", "created_at")
APPOINTMENT_COLUMNS = ("id", "status", "appointment_date", "appointment_time", "visitor_name", "visitor_email", "visitor_phone", "message")


def _given(given: dict[str, Any]) -> dict[str, Any]:
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
    click.option("--note", metavar="TEXT", help='A note for the team; "" removes it.'),
    click.option("--assignee", metavar="EMAIL", help='The operator in charge; "" removes it.'),
    arguments=_given,
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
    click.option("--note", metavar="TEXT", help='A note for the team; "" removes it.'),
    click.option("--assignee", metavar="EMAIL", help='The operator in charge; "" removes it.'),
    arguments=_given,
)
