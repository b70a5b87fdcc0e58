"""Processes of an installation."""

from typing import NamedTuple


class ServiceNode(NamedTuple):
    """A process that works on the store. `since`: when it began (Unix milliseconds); `listen`: its address, empty for a command."""

    id: str
    since: int
    listen: str
    version: str
