"""`chatsvc licenses`: licences of chatsvc and of the software it contains."""

from __future__ import annotations

import click

from chatsvc.cli.output import echo, json_option, show


@click.command()
@click.option("--full", is_flag=True, help="Print the texts of the licences.")
@json_option
def licenses(full: bool, as_json: bool) -> None:
    """List the third-party software in this installation with its licences.

    In the binary, this includes Python and the system's libraries.

    \b
    Examples:
      chatsvc licenses
      chatsvc licenses --full | less
    """
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
