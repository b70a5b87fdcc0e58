"""`chatsvc request` and `chatsvc appointment`: list, set."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.output import call, call_all, json_option, show
from chatsvc.cli.words import APPOINTMENT_STATUS, BOT, REQUEST_STATUS

REQUEST_COLUMNS = ("id", "request_type", "status", "visitor_name", "visitor_email", "visitor_phone", "message", "created_at")
APPOINTMENT_COLUMNS = ("id", "status", "appointment_date", "appointment_time", "visitor_name", "visitor_email", "visitor_phone", "message")


@click.group()
def request() -> None:
    """List captured requests and set their status."""


@request.command("list")
@click.argument("bot", type=BOT)
@json_option
@click.pass_context
def list_requests(ctx: click.Context, bot: str, as_json: bool) -> None:
    """List a bot's requests, newest first.

    Shows the visitor's wish, and the name, e-mail address and telephone number that the visitor typed.

    \b
    Examples:
      chatsvc request list 6f1c...
      chatsvc request list 6f1c... --json
    """
    show(call_all(ctx, "request.list", bot=bot), as_json, REQUEST_COLUMNS)


@request.command("set")
@click.argument("request_id", metavar="ID")
@click.option("--status", type=REQUEST_STATUS, help="new, in_progress, done or dismissed.")
@click.option("--note", metavar="TEXT", help='A note for the team; "" removes it.')
@click.option("--assignee", metavar="EMAIL", help='The operator in charge; "" removes it.')
@json_option
@click.pass_context
def set_request(ctx: click.Context, /, request_id: str, as_json: bool, **changes: str | None) -> None:
    """Set the status of a request, a note, and the operator in charge.

    ID is the request's id from `request list`.

    \b
    Examples:
      chatsvc request set 90be... --status in_progress
      chatsvc request set 90be... --assignee ada@example.com --note "call back on Monday"
    """
    show(call(ctx, "request.set", request=request_id, **_given(changes)), as_json)


def _given(changes: dict[str, str | None]) -> dict[str, Any]:
    if all(value is None for value in changes.values()):
        raise click.UsageError("nothing to change: give --status, --note or --assignee")
    return changes


@click.group()
def appointment() -> None:
    """List captured appointments and set their status."""


@appointment.command("list")
@click.argument("bot", type=BOT)
@json_option
@click.pass_context
def list_appointments(ctx: click.Context, bot: str, as_json: bool) -> None:
    """List a bot's appointments, newest first; times are in the bot's time zone.

    Shows the name, e-mail address and telephone number that the visitor typed.

    \b
    Examples:
      chatsvc appointment list 6f1c...
      chatsvc appointment list 6f1c... --json
    """
    show(call_all(ctx, "appointment.list", bot=bot), as_json, APPOINTMENT_COLUMNS)


@appointment.command("set")
@click.argument("appointment_id", metavar="ID")
@click.option("--status", type=APPOINTMENT_STATUS, help="pending, confirmed, canceled or done.")
@click.option("--note", metavar="TEXT", help='A note for the team; "" removes it.')
@click.option("--assignee", metavar="EMAIL", help='The operator in charge; "" removes it.')
@json_option
@click.pass_context
def set_appointment(ctx: click.Context, /, appointment_id: str, as_json: bool, **changes: str | None) -> None:
    """Set the status of an appointment, a note, and the operator in charge.

    ID is the appointment's id from `appointment list`. The visitor is not notified. Note and operator are those of its request too.

    \b
    Examples:
      chatsvc appointment set 90be... --status confirmed
    """
    show(call(ctx, "appointment.set", appointment=appointment_id, **_given(changes)), as_json)
