"""`chatsvc mail`: list the mails of the installation, and send a test mail."""

from __future__ import annotations

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.output import call, json_option, show
from chatsvc.cli.words import Word
from chatsvc.domain.errors import CommandError
from chatsvc.domain.mails import SENT, STATES

COLUMNS = ("id", "created_at", "kind", "causes", "recipient", "state", "attempts", "error", "status_code", "answer")
STATE = Word("state", *STATES)


@click.group()
def mail() -> None:
    """Mails to operators and visitors: what was sent, what waits, and why."""


operation(
    mail,
    "mail.list",
    click.option("--status", type=STATE, metavar="STATE", help=f"Only mails in this state: {', '.join(STATES)}."),
    click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Maximum number of records."),
    columns=COLUMNS,
    pages=True,
)


@mail.command()
@click.argument("email")
@json_option
@click.pass_context
def test(ctx: click.Context, email: str, as_json: bool) -> None:
    """Send a test mail now and show the outcome; exit status 1 when it failed.

    The server is the one under `notices.smtp` in the configuration.

    \b
    Examples:
      chatsvc mail test selin@example.com
    """
    sent = call(ctx, "mail.test", email=email)
    show(sent, as_json)
    if sent["state"] != SENT:
        told = f": {sent['status_code']} {sent['answer']}" if sent["status_code"] else ""
        raise CommandError(f"the mail was not sent: {sent['error']}{told}")
