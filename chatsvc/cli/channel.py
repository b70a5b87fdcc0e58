"""`chatsvc channel`: set, list, pause, resume, remove, snippet."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import click

from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.operations import Confirm, operation
from chatsvc.cli.output import call, echo, json_option, show
from chatsvc.cli.words import BOT, SET_CHANNEL
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line

COLUMNS = ("channel", "state", "fault", "verified_at", "seen_at", "created_at", "updated_at")
_FILES = ("token", "app_secret", "verify_token")


class LogoPath(InputPath):
    """The click type of a logo's file, or "" for none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Open the file, unless there is none."""
        return value if value == "" else super().convert(value, param, ctx)


@click.group()
def channel() -> None:
    """Manage a bot's channels: web widget, Telegram, WhatsApp."""


@channel.command("set")
@click.argument("bot", type=BOT)
@click.argument("channel_name", type=SET_CHANNEL, metavar="CHANNEL")
@click.option("--site", "sites", multiple=True, metavar="URL", help="web: a site that may embed the widget; any-link: the page /chat/BOT.")
@click.option("--title", metavar="T", help="web: the heading; the default is the bot's name.")
@click.option("--color", metavar="#RRGGBB", help="web: the colour of the button and the heading.")
@click.option("--logo", type=LogoPath(), metavar="FILE", help='web: a PNG, JPEG or WebP picture of at most 64 KiB; "" takes it away.')
@click.option("--privacy-url", metavar="URL", help="web: the address of your privacy notice.")
@click.option("--phone-number-id", metavar="N", help="whatsapp: the id of the phone number.")
@click.option("--token-file", type=InputPath(), metavar="F", help="telegram, whatsapp: the file with the access token.")
@click.option("--app-secret-file", type=InputPath(), metavar="F", help="whatsapp: the file with the app secret.")
@click.option(
    "--verify-token-file", type=InputPath(), metavar="F", help="whatsapp: the file with the token of the callback's verification."
)
@click.option(
    "--monthly-limit", type=click.IntRange(0), metavar="N", help="whatsapp: the largest number of replies in a month, else any number."
)
@json_option
@click.pass_context
def set_(ctx: click.Context, /, bot: str, channel_name: str, as_json: bool, sites: tuple[str, ...], **given: Any) -> None:
    """Set a channel of a bot, or change its settings.

    CHANNEL is web, telegram or whatsapp. A channel is on once it is set. Options that are not given change nothing; given sites replace
    the list, and --site "" empties it: then nobody may embed the widget. The token of a platform is confirmed by a call: a refused one is
    not kept; where the platform cannot be reached, the channel is set with a warning. Tokens are stored encrypted and never shown again.

    For telegram: write /newbot to @BotFather in Telegram, answer its questions, save the token that it gives you in a file, and name the
    file. No public address is needed.

    For whatsapp: in your app at developers.facebook.com the page "WhatsApp > API Setup" shows the id of the phone number; the token is that
    of a system user with the permissions whatsapp_business_messaging and whatsapp_business_management; "App settings > Basic" shows the
    app secret; the verify token is a text of your choice. Afterwards enter the printed callback address and that text under "WhatsApp >
    Configuration", and subscribe to messages (and to smb_message_echoes, where a phone uses the number too). The address must be https.

    \b
    Examples:
      chatsvc channel set 6f1c... web --site https://shop.example.com --color "#336699"
      chatsvc channel set 6f1c... web --site any-link --logo logo.png
      chatsvc channel set 6f1c... telegram --token-file token
      chatsvc channel set 6f1c... whatsapp --phone-number-id 1055 --token-file t --app-secret-file s --verify-token-file v
    """
    secrets: dict[str, Any] = {name: _secret(given.pop(f"{name}_file")) for name in _FILES}
    if given["logo"]:
        given["logo"] = b64encode(given["logo"].read_bytes()).decode()
    done = call(ctx, "channel.set", bot=bot, channel=channel_name, sites=list(sites) or None, **secrets, **given)
    if done["warning"]:
        echo(f"warning: {done['warning']}", err=True)
    if done.get("callback_url") and not done["verified_at"] and not as_json:
        echo(f"callback: enter {done['callback_url']} with your verify token at Meta's", err=True)
        if not done["callback_url"].startswith("https://"):
            echo("warning: WhatsApp calls public https addresses alone: see server.public_url", err=True)
    show(done, as_json)


def _secret(file: InputFile | None) -> str | None:
    """Return the secret in a file; raises CommandError for an empty one."""
    if file is None:
        return None
    secret = file.read_bytes().decode("utf-8", "replace").strip()
    if not secret:
        raise CommandError(f"{file} is empty")
    return secret


operation(channel, "channel.list", click.argument("bot", type=BOT), columns=COLUMNS)
operation(channel, "channel.pause", click.argument("bot", type=BOT), click.argument("channel", type=SET_CHANNEL, metavar="CHANNEL"))
operation(channel, "channel.resume", click.argument("bot", type=BOT), click.argument("channel", type=SET_CHANNEL, metavar="CHANNEL"))
operation(
    channel,
    "channel.remove",
    click.argument("bot", type=BOT),
    click.argument("channel", type=SET_CHANNEL, metavar="CHANNEL"),
    confirm=Confirm("this deletes the channel with its tokens", "removal"),
)


@channel.command()
@click.argument("bot", type=BOT)
@json_option
@click.pass_context
def snippet(ctx: click.Context, bot: str, as_json: bool) -> None:
    """Print the line of HTML that embeds the widget.

    Put it into the pages of the sites that `channel set` names, anywhere in the body.

    \b
    Examples:
      chatsvc channel snippet 6f1c...
    """
    made = call(ctx, "channel.snippet", bot=bot)
    if as_json:
        show(made, True)
    else:
        echo(one_line(made["snippet"]))
