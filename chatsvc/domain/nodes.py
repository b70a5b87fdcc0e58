"""Processes of an installation: one works, others stand by."""

from __future__ import annotations

from typing import NamedTuple

WORKING, STANDBY = "working", "standby"


class ServiceNode(NamedTuple):
    """A process of `chatsvc serve`. `since`: when its state began (Unix milliseconds); `listen`: its address, or that to come."""

    id: str
    state: str
    since: int
    listen: str
    version: str
