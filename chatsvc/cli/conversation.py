"""`chatsvc conversation`: list, show."""

from __future__ import annotations

import click

from chatsvc.cli.output import call, json_option, show

COLUMNS = ("id", "channel", "user_id", "visitor_name", "message_count", "last_message_at")


@click.group()
def conversation() -> None:
    """Conversations with their messages."""


@conversation.command("list")
@click.option("--bot", metavar="ID", help="Only the conversations of this bot.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many, newest first.")
@json_option
@click.pass_context
def list_(ctx: click.Context, bot: str | None, limit: int, as_json: bool) -> None:
    """List conversations, newest first."""
    show(call(ctx, "conversation.list", bot=bot, limit=limit), as_json, COLUMNS)


@conversation.command("show")
@click.argument("conversation_id", metavar="ID")
@click.option("--message-limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="How many messages, the newest.")
@json_option
@click.pass_context
def show_(ctx: click.Context, conversation_id: str, message_limit: int, as_json: bool) -> None:
    """Show a conversation with its newest messages."""
    found = call(ctx, "conversation.show", conversation=conversation_id, message_limit=message_limit)
    if as_json:
        show(found, True)
        return
    messages = found.pop("messages")
    show(found, False)
    for message in messages:
        click.echo(f"\n{message['created_at']}  {message['role']}\n{message['content']}")
