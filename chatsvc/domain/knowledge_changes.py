"""Changes to a bot's knowledge, as its history keeps them."""

from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain.actors import Actor
from chatsvc.domain.models import Entry

KINDS = ("add", "create", "change", "remove", "undo")


class ChangeOrigin(NamedTuple):
    """Id, time (milliseconds) and author of a change. `via` is the front end, "cli" or "web"."""

    id: str
    at: int
    actor: Actor
    via: str


class KnowledgeChange(NamedTuple):
    """A change of the history.

    `title` is the question of the only entry concerned, or the names of the files. `before` and `after` count the entries that were
    replaced and those that replaced them. `undone`: it was taken back. `undoes`: the id of the change that this one takes back.
    """

    origin: ChangeOrigin
    kind: str
    title: str
    before: int
    after: int
    undone: bool = False
    undoes: str | None = None


class ChangeContent(NamedTuple):
    """A change with the entries before and after it."""

    change: KnowledgeChange
    before: Sequence[Entry]
    after: Sequence[Entry]
