"""`chatsvc licenses`: licences of chatsvc and of the software it contains."""

from __future__ import annotations

from chatsvc.cli.operations import command, options
from chatsvc.cli.output import echo, show


@command(None, "licenses", *options(full=bool))
def licenses(full: bool, as_json: bool) -> None:
    from chatsvc.usecases.licenses import installed

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
