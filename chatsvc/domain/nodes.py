"""Processes of an installation."""

from __future__ import annotations

from typing import NamedTuple


class ServiceNode(NamedTuple):
    """A process that works on the store. `since`: when it began (Unix milliseconds); `listen`: its address, empty for a command."""

    id: str
    since: int
    listen: str
    version: str
