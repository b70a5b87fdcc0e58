"""`chatsvc mail`: list the mails of the installation, and send a test mail."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.operations import operation
from chatsvc.cli.words import Word
from chatsvc.domain.errors import CommandError
from chatsvc.domain.mails import SENT, STATES

COLUMNS = ("id", "created_at", "kind", "causes", "recipient", "state", "attempts", "error", "status_code", "answer")
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
    columns=COLUMNS,
    pages=True,
)
operation(mail, "mail.test", click.argument("email"), ends=_end)
