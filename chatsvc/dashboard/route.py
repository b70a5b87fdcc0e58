"""A route of the dashboard. The table is in routes.py."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from aiohttp.web import Response

from chatsvc.dashboard.access import Access
from chatsvc.dashboard.page import Page


class Route(NamedTuple):
    """A route. A parameter named after a kind of record (`{bot}`) decides the account, and the page is 404 outside the scope.

    `access` decides who sees the page. What a POST may change is decided by its operation, which records a refusal for `audit`.
    """

    method: str
    template: str
    handler: Callable[[Page], Awaitable[Response]]
    access: Access
