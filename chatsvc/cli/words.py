"""Shell completion of arguments. The candidates for each kind, looked up only when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES
from chatsvc.domain.models import CHANNELS, SUBSCRIPTION_STATUSES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from chatsvc.config import Config


class Word(click.types.StringParamType):
    """A word of a few that are known. Which are right is for the operation to say, in its own words."""

    def __init__(self, name: str, *words: str) -> None:
        self.name = name
        self._words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the completions of a word; none where they cannot be determined."""
        del param
        try:
            return list(self._offered(ctx, incomplete))
        except Exception:  # noqa: BLE001  # whatever it is: a message would land in the line that is being typed
            return []

    def _offered(self, _: click.Context, incomplete: str) -> Iterable[CompletionItem[Any]]:
        return _items((word, None) for word in self._words if word.startswith(incomplete))


class Setting(Word):
    """A name that the configuration gives: a tier, a plan."""

    def __init__(self, name: str, field: str, *more: str) -> None:
        super().__init__(name, *more)
        self._field = field

    def _offered(self, ctx: click.Context, incomplete: str) -> Iterable[CompletionItem[Any]]:
        names = (*getattr(_config(ctx), self._field), *self._words)
        return _items((name, None) for name in names if name.startswith(incomplete))


class Id(Word):
    """An id that the running service can list. By the beginning of the id; or, where that fits none, by a part of the name."""

    def __init__(self, name: str, operation: str) -> None:
        super().__init__(name)
        self._operation = operation

    def _offered(self, ctx: click.Context, incomplete: str) -> Iterable[CompletionItem[Any]]:
        from chatsvc.cli.output import call_all
        from chatsvc.control import client

        config = _config(ctx)
        # Where no service runs, the command would do the work itself: make a folder, migrate. Pressing Tab must not.
        running = client.connect(config.data_dir)
        if running is None:
            return []
        running.close()
        rows = [(row["id"], row["name"] or "") for row in call_all(ctx, self._operation)]
        begun = [row for row in rows if row[0].startswith(incomplete)]
        return _items(begun or [row for row in rows if incomplete.casefold() in row[1].casefold()])


@dataclass
class Called:
    """A type with another name in the help."""

    metavar: str
    kind: click.ParamType[Any]


def _items(words: Iterable[tuple[str, str | None]]) -> list[CompletionItem[Any]]:
    from click.shell_completion import CompletionItem

    from chatsvc.domain.terminal import one_line

    # A name may hold what a terminal obeys, and the shell prints it.
    return [CompletionItem(one_line(word), help=text and one_line(text)) for word, text in words]


def _config(ctx: click.Context) -> Config:
    from chatsvc.cli.main import load_config

    # The command itself, which takes over -c, does not run here.
    root = ctx.find_root()
    root.obj = root.params.get("config_file")
    config: Config = load_config(ctx)
    return config


ACCOUNT = Id("id", "account.list")
BOT = Id("bot", "bot.list")
KEY = Id("key", "key.list")
TIER = Setting("tier", "models")
PLAN = Setting("plan", "plans", "none")
HANDLING = Word("handling", "waiting", "operator")
CHANNEL = Word("channel", *CHANNELS)
SET_CHANNEL = Word("channel", "web", "telegram", "whatsapp")
EVENT = Word("event", "request.created", "appointment.created")
SUBSCRIPTION = Word("status", *SUBSCRIPTION_STATUSES)
REQUEST_STATUS = Word("status", *REQUEST_STATUSES)
APPOINTMENT_STATUS = Word("status", *APPOINTMENT_STATUSES)
