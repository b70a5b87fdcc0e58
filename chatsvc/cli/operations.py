"""Commands that are one administrative operation: their parameters are its arguments, and its result is what they print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from chatsvc.cli.output import call, call_all, echo, json_option, show
from chatsvc.translations import COMMAND_LINE, template

Decorator = Callable[[Any], Any]


class OperationCommand(click.Command):
    """A command whose help is in `translations/commands.yaml`, which is read when it is shown."""

    operation = ""

    def _read(self) -> str:
        """Read the help. A line `\\b` keeps the line breaks of its paragraph."""
        return template(COMMAND_LINE, f"commands.{self.operation.replace('.', '_')}").rstrip("\n").replace("\\b", "\b")

    def _leave(self, _: str | None) -> None:
        """Keep the help of the catalogue: click sets the one that its caller gave."""

    help = property(_read, _leave)


class Confirm:
    """The option --yes, without which a command is refused; `reason` says what would be gone."""

    def __init__(self, reason: str, what: str) -> None:
        self.reason = reason
        self.option = click.option("--yes", is_flag=True, help=f"Confirm the {what}.")


def operation(
    group: click.Group | str,
    name: str,
    *parameters: Decorator,
    columns: Sequence[str] = (),
    pages: bool = False,
    confirm: Confirm | None = None,
    arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    shown: Callable[[Any], Any] | None = None,
    told: Callable[[Any], str | None] | None = None,
    prints: Callable[[Any], None] | None = None,
    ends: Callable[[Any], None] | None = None,
) -> click.Command:
    """Make a command of the operation `name`, whose last part names it in its group. One without a group gets its own name.

    columns: those of a list's table. pages: the operation lists page by page, at most --limit items where the command has that option.
    arguments: makes the operation's arguments from the options. shown: makes from the result what is shown where JSON is not asked for.
    told: a sentence on standard error beside the result. prints: writes the result where it is neither table nor fields. ends: raises
    CommandError where the command has failed though the operation was done.
    """

    def run(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
        if confirm is not None and not given.pop("yes"):
            raise click.UsageError(f"{confirm.reason}: add --yes")
        given = arguments(given) if arguments else {key: value for key, value in given.items() if value is not False}
        result = call_all(ctx, name, most=given.pop("limit", None), **given) if pages else call(ctx, name, **given)
        if prints and not as_json:
            prints(result)
        else:
            show(shown(result) if shown and not as_json else result, as_json, columns)
        if told and not as_json and (sentence := told(result)):
            echo(sentence, err=True)
        if ends:
            ends(result)

    function = json_option(click.pass_context(run))
    for parameter in reversed((*parameters, confirm.option) if confirm else parameters):
        function = parameter(function)
    called = group if isinstance(group, str) else name.rpartition(".")[2]
    command = click.command(called, cls=OperationCommand)(function)
    command.operation = name
    if isinstance(group, click.Group):
        group.add_command(command)
    return command
