"""Builders of commands and their parameters. The completions of a parameter are looked up only when Tab is pressed.

A command that is one administrative operation has its parameters as arguments and prints its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from chatsvc.cli.main import CatalogueCommand, CatalogueGroup, CatalogueOption
from chatsvc.cli.output import call, call_all, echo, load_config, show
from chatsvc.domain.channels import POSITIONS, SETTABLE, THEMES
from chatsvc.domain.models import APPOINTMENT_STATUSES, CHANNELS, REQUEST_STATUSES, SUBSCRIPTION_STATUSES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Offer = Callable[[click.Context, str], Iterable[tuple[str, str | None]]]


class Offered(click.types.StringParamType):
    """A parameter type for a text that Tab completes. The operation itself checks the text."""

    def __init__(self, name: str, offer: Offer) -> None:
        self.name = name
        self._offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions of the word `incomplete`, or an empty list if they cannot be determined."""
        del param
        try:
            return completions(self._offer(ctx, incomplete))
        except Exception:  # noqa: BLE001  # whatever it is: a message would land in the line that is being typed
            return []


def word(name: str, *words: str) -> Offered:
    """Make a parameter type that completes a few fixed words."""
    return Offered(name, lambda _, begin: ((text, None) for text in words if text.startswith(begin)))


def setting(name: str, field: str, *more: str) -> Offered:
    """Make a parameter type that completes names from the configuration, such as names of tiers or plans."""
    return Offered(name, lambda ctx, begin: ((text, None) for text in (*getattr(load_config(ctx), field), *more) if text.startswith(begin)))


def id_of(name: str, operation: str) -> Offered:
    """Make a parameter type that completes ids which the running service lists.

    Ids are completed by their beginning, or if none fits, by a part of the record's name.
    """

    def offer(ctx: click.Context, incomplete: str) -> list[tuple[str, str | None]]:
        from chatsvc.control import client

        # Where no service runs, the command would do the work itself: make a folder, migrate. Pressing Tab must not.
        running = client.connect(load_config(ctx).data_dir)
        if running is None:
            return []
        running.close()
        rows = [(row["id"], row["name"] or "") for row in call_all(ctx, operation)]
        return [row for row in rows if row[0].startswith(incomplete)] or [row for row in rows if incomplete.casefold() in row[1].casefold()]

    return Offered(name, offer)


@dataclass
class Called:
    """A parameter type that the help shows under another name."""

    metavar: str
    kind: click.ParamType[Any]


def completions(words: Iterable[tuple[str, str | None]]) -> list[CompletionItem[Any]]:
    from click.shell_completion import CompletionItem

    from chatsvc.domain.escaping import one_line

    # A name may hold what a terminal obeys, and the shell prints it.
    return [CompletionItem(one_line(text), help=about and one_line(about)) for text, about in words]


ACCOUNT = id_of("id", "account.list")
BOT = id_of("bot", "bot.list")
KEY = id_of("key", "key.list")
TIER = setting("tier", "models")
PLAN = setting("plan", "plans", "none")
HANDLING = word("handling", "waiting", "operator")
CHANNEL = word("channel", *CHANNELS)
SET_CHANNEL = word("channel", *SETTABLE)
POSITION, THEME = word("position", *POSITIONS, ""), word("theme", *THEMES, "")
EVENT = word("event", "request.created", "appointment.created")
SUBSCRIPTION = word("status", *SUBSCRIPTION_STATUSES)
REQUEST_STATUS = word("status", *REQUEST_STATUSES)
APPOINTMENT_STATUS = word("status", *APPOINTMENT_STATUSES)

Decorator = Callable[[Any], Any]
# Types of arguments; others are texts.
_ARGUMENTS: dict[str, Any] = {"account": ACCOUNT, "bot": BOT, "channel": SET_CHANNEL, "key": KEY}


def group(name: str, key: str = "") -> CatalogueGroup:
    new_group = CatalogueGroup(name)
    new_group.key = key or name.replace("-", "_")
    return new_group


def option(*names: str, **attributes: Any) -> Decorator:
    return click.option(*names, cls=CatalogueOption, **attributes)


def options(**kinds: Any) -> tuple[Decorator, ...]:
    """Make an option for each name. Its kind is a type, bool for a flag, or a string, which is the metavar of a text.

    A list of one kind makes an option that may be given several times. A pair is the kind and the default of an option.
    """
    return tuple(_of_kind(name, kind) for name, kind in kinds.items())


def _of_kind(name: str, kind: Any) -> Decorator:
    attributes: dict[str, Any] = {}
    names = [f"--{name.replace('_', '-')}"]
    if isinstance(kind, tuple):
        kind, attributes["default"] = kind
        attributes["show_default"] = True
    if isinstance(kind, list):
        (kind,), attributes["multiple"] = kind, True
        names = [names[0].removesuffix("s"), name]
    if isinstance(kind, Called):
        attributes["metavar"], kind = kind.metavar, kind.kind
    attributes |= {"is_flag": True, "default": None} if kind is bool else {"metavar": kind} if isinstance(kind, str) else {"type": kind}
    return option(*names, **attributes)


def _argument(text: str) -> Decorator:
    """Make a command's argument from its description: `name`, `name METAVAR`, or `[name]` for an optional argument."""
    name, _, metavar = text.partition(" ")
    required, name = not name.startswith("["), name.strip("[]")
    return click.argument(name, type=_ARGUMENTS.get(name, str), required=required, metavar=metavar or None)


def command(parent: click.Group | None, name: str, *parameters: Decorator | str, key: str = "", json: bool = True) -> Decorator:
    """Return a decorator that turns a function into a command. The command has the option --json unless `json` is False.

    If the first parameter of the function is `ctx`, it gets click's context.
    """

    def make(function: Callable[..., Any]) -> CatalogueCommand:
        callback: Any = click.pass_context(function) if function.__code__.co_varnames[:1] == ("ctx",) else function
        shared = [option("--json", "as_json", is_flag=True)] if json else []
        for parameter in reversed([*parameters, *shared]):
            callback = (_argument(parameter) if isinstance(parameter, str) else parameter)(callback)
        new_command = click.command(name, cls=CatalogueCommand)(callback)
        new_command.key = key or (f"{parent.key}_{name}" if isinstance(parent, CatalogueGroup) else name).replace("-", "_")
        for declared in new_command.params:
            if isinstance(declared, CatalogueOption):
                declared.key = new_command.key
        if parent is not None:
            parent.add_command(new_command)
        return new_command

    return make


def operation(
    parent: click.Group | str,
    name: str,
    *parameters: Decorator | str,
    columns: str = "",
    pages: bool = False,
    confirm: str = "",
    arguments: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    shown: Callable[[Any], Any] | None = None,
    hint: Callable[[Any], str | None] | None = None,
    prints: Callable[[Any], None] | None = None,
    ends: Callable[[Any], None] | None = None,
) -> CatalogueCommand:
    """Make a command that calls an operation. The last part of the operation's name is the command's name in its group.

    `columns` are the table columns of a list. `pages` is true if the operation lists page by page; an option --limit then limits the items.
    `confirm` is the reason why the command needs --yes. `arguments` converts the options to the operation's arguments. `shown` converts
    the result for output without --json. `hint` returns a sentence for standard error. `prints` writes a result that is neither table
    nor fields. `ends` raises CommandError if the operation was performed but its result means failure.
    """

    def run(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
        if confirm and not given.pop("yes"):
            raise click.UsageError(f"{confirm}: add --yes")
        given = arguments(given) if arguments else given
        result = call_all(ctx, name, most=given.pop("limit", None), **given) if pages else call(ctx, name, **given)
        if prints and not as_json:
            prints(result)
        else:
            show(shown(result) if shown and not as_json else result, as_json, columns.split())
        if hint and not as_json and (sentence := hint(result)):
            echo(sentence, err=True)
        if ends:
            ends(result)

    confirmed = options(yes=bool) if confirm else ()
    called, within = (parent, None) if isinstance(parent, str) else (name.rpartition(".")[2], parent)
    new_command: CatalogueCommand = command(within, called, *parameters, *confirmed, key=name.replace(".", "_"))(run)
    new_command.operation = name
    return new_command
