"""Commands that show something: `config show`, `usage`, `licenses`."""

import click

from chatsvc.cli.main import load_config
from chatsvc.cli.operations import command, group, options
from chatsvc.cli.output import call, echo, show
from chatsvc.cli.words import BOT
from chatsvc.domain.terminal import one_line

config = group("config")


@command(config, "show")
def show_config(ctx: click.Context, as_json: bool) -> None:
    from chatsvc.config.shown import as_document, as_yaml

    loaded = load_config(ctx)
    document = as_document(loaded)
    if as_json:
        show({"config": str(loaded.path) if loaded.path else None, **document}, True)
    else:
        echo(f"# {(loaded.path and one_line(loaded.path)) or 'no file: everything is the default'}\n{as_yaml(document)}", nl=False)


@command(None, "usage", "[account]", *options(days=(click.IntRange(1, 90), 30), quality=bool, bot=BOT))
def usage(ctx: click.Context, account: str | None, days: int, quality: bool, bot: str | None, as_json: bool) -> None:
    if bot is not None and not quality:
        raise click.UsageError("--bot needs --quality")
    if quality:
        found = call(ctx, "usage.quality", account=account, bot=bot, days=days)
    else:
        found = call(ctx, "usage", account=account, days=days)
        if sent := call(ctx, "usage.whatsapp", account=account):
            found["whatsapp"] = sent
    show(found, as_json)


@command(None, "licenses", *options(full=bool))
def licenses(full: bool, as_json: bool) -> None:
    from chatsvc.services.operations.licenses import installed

    found = [{**one._asdict(), "license": one.license or "see its text"} for one in installed()]
    if as_json:
        show(found, True)
        return
    if not full:
        show(found, False, ("name", "version", "license"))
        return
    for one in found:
        text = str(one["text"]).replace("\f", "").expandtabs()
        echo(f"{'=' * 80}\n{one['name']} {one['version'] or ''}  ({one['license']})\n{'=' * 80}\n{text}\n")
