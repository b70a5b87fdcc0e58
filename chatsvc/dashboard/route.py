"""Types of the dashboard's routes: the levels of access, and a route. The table is in routes.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from chatsvc.domain.actors import Role

if TYPE_CHECKING:
    from chatsvc.dashboard.page import Page
    from chatsvc.http.response import HttpResponse


class Access(IntEnum):
    """Least access to a page. From READER on it is the role in the account concerned; see Role.

    WAITING is a session that waits for the second factor, SIGNED_IN any complete session.
    """

    PUBLIC = -2
    WAITING = -1
    SIGNED_IN = 0
    READER = Role.READER
    EDITOR = Role.EDITOR
    OWNER = Role.OWNER
    ADMINISTRATOR = Role.ADMINISTRATOR


# The access levels of pages about one account.
ACCOUNT_ACCESS = (Access.READER, Access.EDITOR, Access.OWNER)


class Route(NamedTuple):
    """A route. A parameter named after a kind of record (`{bot}`) decides the account, and the page is 404 outside the scope.

    `access` decides who sees the page. What a POST may change is decided by its operation, which records a refusal for `audit`.
    """

    method: str
    template: str
    handler: Callable[[Page], Awaitable[HttpResponse]]
    access: Access
