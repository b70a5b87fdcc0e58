"""`chatsvc channel`: set, list, pause, resume, remove, snippet."""

from base64 import b64encode
from typing import Any

import click

from chatsvc.cli.files import InputPath, open_input, read_secret
from chatsvc.cli.operations import POSITION, SET_CHANNEL, THEME, Called, command, group, operation, options
from chatsvc.cli.output import call, echo, show
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line
from chatsvc.platforms import PLATFORMS

_FILES = ("token", "app_secret", "verify_token")


channel = group("channel")


@command(
    channel,
    "set",
    "bot",
    click.argument("channel_name", type=SET_CHANNEL, metavar="CHANNEL"),
    *options(
        sites=["URL"],
        title="T",
        color="#RRGGBB",
        position=Called("SIDE", POSITION),
        launcher="T",
        theme=Called("THEME", THEME),
        logo=InputPath(may_be_empty=True),
        privacy_url="URL",
        phone_number_id="N",
        token_file=Called("F", InputPath()),
        app_secret_file=Called("F", InputPath()),
        verify_token_file=Called("F", InputPath()),
        monthly_limit=Called("N", click.IntRange(0)),
    ),
)
def set_(ctx: click.Context, /, bot: str, channel_name: str, as_json: bool, sites: tuple[str, ...], **given: Any) -> None:
    secrets: dict[str, Any] = {}
    for name in _FILES:
        if (file := given.pop(f"{name}_file")) is not None:
            secrets[name] = read_secret(file)
            if not secrets[name]:
                raise CommandError(f"{file} is empty")
    if given["logo"]:
        with open_input(given["logo"]) as logo:
            given["logo"] = b64encode(logo.read()).decode()
    done = call(ctx, "channel.set", bot=bot, channel=channel_name, sites=list(sites) or None, **secrets, **given)
    if done["warning"]:
        echo(f"warning: {done['warning']}", err=True)
    if done.get("callback_url") and not done["verified_at"] and not as_json:
        echo(f"callback: enter {done['callback_url']} with your verify token at Meta's", err=True)
        if not done["callback_url"].startswith("https://"):
            echo(f"warning: {PLATFORMS[channel_name].label} calls public https addresses alone: see server.public_url", err=True)
    show(done, as_json)


operation(channel, "channel.list", "bot", columns="channel state fault verified_at seen_at created_at updated_at")
operation(channel, "channel.pause", "bot", "channel CHANNEL")
operation(channel, "channel.resume", "bot", "channel CHANNEL")
operation(channel, "channel.remove", "bot", "channel CHANNEL", confirm="this deletes the channel with its tokens")
operation(channel, "channel.snippet", "bot", prints=lambda snippet: echo(one_line(snippet["snippet"])))
