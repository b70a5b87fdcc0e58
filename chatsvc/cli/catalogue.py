"""Commands, groups and options whose help is in `translations/commands.yaml`, which is read when it is shown."""

from typing import Any

import click

from chatsvc.translations import COMMAND_LINE, has, template


def _leave(_: object, __: str | None) -> None:
    """Keep the help of the catalogue: click sets the one that its caller gave."""


def _command_help(command: Any) -> str:
    r"""Read the help of a command. A line `\b` keeps the line breaks of its paragraph."""
    return template(COMMAND_LINE, f"commands.{command.key}").rstrip("\n").replace("\\b", "\b")


def _option_help(option: Any) -> str:
    own = f"commands.{option.key} {option.opts[-1] if option.opts[-1].startswith('--') else option.opts[0]}"
    return template(COMMAND_LINE, own if has(own) else f"commands.{own.rpartition(' ')[2]}")


class CatalogueCommand(click.Command):
    """A command with its help in the catalogue under `key`."""

    key = operation = ""
    help = property(_command_help, _leave)


class CatalogueGroup(click.Group):
    """A group of commands with its help in the catalogue under `key`."""

    key = ""
    help = property(_command_help, _leave)


class CatalogueOption(click.Option):
    """An option with its help in the catalogue, under the key of its command and its own name."""

    key = ""
    help = property(_option_help, _leave)
