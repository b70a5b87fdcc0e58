"""Entry point of the command line. It imports one command, and prints every refusal in one line."""

from __future__ import annotations

import io
import os
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from chatsvc import __version__
from chatsvc.cli import CONFIG_FILE
from chatsvc.cli.refusals import sentence
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused
from chatsvc.translations import COMMAND_LINE, has, template

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The module and the name of each command, and its line in the list of commands.
COMMANDS = {
    "init": ("init:init", "Make a configuration, a data folder and a first account, bot and API key."),
    "serve": ("operation_commands:serve", "Run the service."),
    "demo": ("demo:demo", "Start a temporary instance with a sample bot that answers a real message."),
    "account": ("account:account", "Manage accounts: plan, allowance, subscription, export and import."),
    "bot": ("bot:bot", "Manage bots and their settings."),
    "channel": ("channel:channel", "Manage a bot's channels: web widget, Telegram, WhatsApp."),
    "key": ("operation_commands:key", "Create, list and revoke API keys."),
    "operator": (
        "operation_commands:operator",
        "Manage the people who sign in to the dashboard: roles, set-up links, sessions.",
    ),
    "knowledge": ("knowledge:knowledge", "Manage a bot's knowledge: add files, list, search, remove, check, export."),
    "webhook": ("webhook:webhook", "Manage webhooks and their deliveries."),
    "mail": ("operation_commands:mail", "List mails to operators and visitors, and send a test mail."),
    "backup": ("backup:backup", "Create, verify and restore backups."),
    "store": ("backup:store", "Copy the store from SQLite to PostgreSQL."),
    "master-key": ("backup:master_key", "Replace the master key."),
    "request": ("operation_commands:request", "List captured requests and set their status."),
    "appointment": ("operation_commands:appointment", "List captured appointments and set their status."),
    "conversation": ("conversation:conversation", "List, show, export and erase conversations."),
    "saved-reply": ("operation_commands:saved_reply", "Manage the texts that operators insert into their messages."),
    "parse": ("parse:parse", "Show the date, time and contact data found in a sentence."),
    "config": ("operation_commands:config", "Show the configuration in force."),
    "nodes": ("operation_commands:nodes", "List the processes of this service."),
    "doctor": ("doctor:doctor", "List the faults of this installation with their remedies."),
    "healthcheck": ("doctor:healthcheck", "Check whether the service is ready."),
    "licenses": ("operation_commands:licenses", "List third-party software with its licences."),
    "audit": ("operation_commands:audit", "List administrative acts."),
    "usage": ("operation_commands:usage", "Show messages, tokens and cost of an account."),
    "client": ("help:client", "Print a client of the interface in one file, for Python or JavaScript."),
    "help": ("help:manual", "List the topics of the manual, or show one."),
    "completion": ("help:completion", "Print the script for Tab completion."),
}


# Commands, groups and options have their help in `translations/commands.yaml`, which is read when it is shown.


def _leave(_: object, __: str | None) -> None:
    """Ignore the help text that click assigns. The help comes from translations/commands.yaml."""


def _command_help(command: Any) -> str:
    r"""Read the help of a command from translations/commands.yaml. A line `\b` keeps the line breaks of its paragraph."""
    return template(COMMAND_LINE, f"commands.{command.key}").rstrip("\n").replace("\\b", "\b")


def _option_help(option: Any) -> str:
    own = f"commands.{option.key} {option.opts[-1] if option.opts[-1].startswith('--') else option.opts[0]}"
    return template(COMMAND_LINE, own if has(own) else f"commands.{own.rpartition(' ')[2]}")


class CatalogueCommand(click.Command):
    """A click command with its help under `key` in translations/commands.yaml."""

    key = operation = ""
    help = property(_command_help, _leave)


class CatalogueGroup(click.Group):
    """A click group of commands with its help under `key` in translations/commands.yaml."""

    key = ""
    help = property(_command_help, _leave)


class CatalogueOption(click.Option):
    """A click option with its help in translations/commands.yaml, under the key of its command and its own name."""

    key = ""
    help = property(_option_help, _leave)


class Lazy(CatalogueGroup):
    """A click group that imports a command only when it is used."""

    key = "chatsvc"

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"chatsvc.cli.{module}"), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the commands that begin with the typed text, without importing any."""
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


chatsvc = Lazy(
    "chatsvc",
    params=[CatalogueOption(["-c", "--config", CONFIG_FILE], metavar="FILE")],
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, message="chatsvc %(version)s")(chatsvc)


def _known_refusal(fault: Exception) -> str | None:
    """Return the text of a fault that the user can correct, or None for an unexpected fault."""
    from chatsvc.config import ConfigError
    from chatsvc.control.client import Lost
    from chatsvc.store.database import SchemaTooNew, StoreUnavailable

    if isinstance(fault, Refused):
        return sentence(fault)
    if isinstance(fault, CommandError | ConfigError | StoreUnavailable | SchemaTooNew | Lost):
        return str(fault)
    if isinstance(fault, OSError):
        return f"{fault.filename}: {fault.strerror}" if fault.filename else str(fault)
    return None


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. The exit status is 0 for done, 1 for refused and 2 for wrong usage."""
    try:
        chatsvc.main(args=arguments, prog_name="chatsvc", standalone_mode=False)
    except click.ClickException as fault:
        from chatsvc.cli.output import echo

        # Wrong usage as click words it, which may quote a file name of somebody else's choice.
        wording = io.StringIO()
        fault.show(wording)
        usage, label, message = wording.getvalue().expandtabs(2).partition("Error: ")
        indented = message.rstrip("\n").replace("\n", "\n  ")
        echo(f"{usage}{label}{indented}", err=True)
        sys.exit(fault.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as fault:  # noqa: BLE001  # each one is shown: as a refusal, whole on request, or by its type
        from chatsvc.cli.output import echo

        text = _known_refusal(fault)
        if text is not None:
            # Further lines are indented: what a file name or a server's answer holds cannot look like a line of chatsvc's own.
            text = text.replace("\n", "\n  ")
        elif os.environ.get("CHATSVC_DEBUG"):
            text = "".join(traceback.format_exception(fault))
        else:
            text = f"an unexpected error occurred ({type(fault).__name__}); run again with CHATSVC_DEBUG=1 to see it whole"
        echo(f"chatsvc: {text}", err=True)
        sys.exit(1)
