"""`chatsvc client`: a client of the interface in one file, for Python or JavaScript."""

import json
from importlib import resources

import click

from chatsvc.cli.operations import command, group
from chatsvc.cli.output import show
from chatsvc.domain.errors import PROBLEMS, RETRYABLE_REASONS

client = group("client")


def source(language: str) -> str:
    """Return a client's text with the codes and reasons that are worth repeating; `language` is "python" or "js"."""
    file = resources.files("chatsvc.samples").joinpath({"python": "client.py.txt", "js": "client.js.txt"}[language])
    codes = [problem.code for problem in PROBLEMS.values() if problem.retryable]
    text = file.read_text("utf-8")
    for mark, names in (("@codes@", codes), ("@reasons@", RETRYABLE_REASONS)):
        text = text.replace(f'"{mark}"', ", ".join(map(json.dumps, names)))
    return text


def _print(language: str, as_json: bool) -> None:
    if as_json:
        show({"language": language, "text": source(language)}, True)
    else:
        click.echo(source(language).encode(), nl=False)


@command(client, "python")
def python_client(as_json: bool) -> None:
    _print("python", as_json)


@command(client, "js")
def js_client(as_json: bool) -> None:
    _print("js", as_json)
