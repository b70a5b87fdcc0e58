"""`chatsvc request` and `chatsvc appointment`: list, set."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import APPOINTMENT_STATUS, BOT, REQUEST_STATUS

REQUEST_COLUMNS = ("id", "request_type", "status", "visitor_name", "visitor_email", "visitor_phone", "message", "created_at")
APPOINTMENT_COLUMNS = ("id", "status", "appointment_date", "appointment_time", "visitor_name", "visitor_email", "visitor_phone", "message")


@click.group()
def request() -> None:
    """Requests that bots have captured."""


@request.command("list")
@click.argument("bot", type=BOT)
@json_option
@click.pass_context
def list_requests(ctx: click.Context, bot: str, as_json: bool) -> None:
    """List a bot's requests, newest first.

    With each what the visitor wants, and the name, e-mail and telephone that the visitor has typed.

    \b
    Examples:
      chatsvc request list 6f1c...
      chatsvc request list 6f1c... --json
    """
    show(call(ctx, "request.list", bot=bot), as_json, REQUEST_COLUMNS)


@request.command("set")
@click.argument("request_id", metavar="ID")
@click.option("--status", type=REQUEST_STATUS, required=True, help="new, in_progress, done or dismissed.")
@json_option
@click.pass_context
def set_request(ctx: click.Context, request_id: str, status: str, as_json: bool) -> None:
    """Move a request on.

    ID is that of the request, as `request list` shows it.

    \b
    Examples:
      chatsvc request set 90be... --status in_progress
    """
    show(call(ctx, "request.set", request=request_id, status=status), as_json)


@click.group()
def appointment() -> None:
    """Appointments that bots have captured."""


@appointment.command("list")
@click.argument("bot", type=BOT)
@json_option
@click.pass_context
def list_appointments(ctx: click.Context, bot: str, as_json: bool) -> None:
    """List a bot's appointments, newest first; date and time are the bot's own.

    With each the name, e-mail and telephone that the visitor has typed.

    \b
    Examples:
      chatsvc appointment list 6f1c...
      chatsvc appointment list 6f1c... --json
    """
    show(call(ctx, "appointment.list", bot=bot), as_json, APPOINTMENT_COLUMNS)


@appointment.command("set")
@click.argument("appointment_id", metavar="ID")
@click.option("--status", type=APPOINTMENT_STATUS, required=True, help="pending, confirmed, canceled or done.")
@json_option
@click.pass_context
def set_appointment(ctx: click.Context, appointment_id: str, status: str, as_json: bool) -> None:
    """Move an appointment on.

    ID is that of the appointment, as `appointment list` shows it. The visitor is told nothing.

    \b
    Examples:
      chatsvc appointment set 90be... --status confirmed
    """
    show(call(ctx, "appointment.set", appointment=appointment_id, status=status), as_json)
