"""What the service connects to by itself: each connection has a purpose, is counted under it, and is refused where none may go out."""

from __future__ import annotations

import errno
from collections import Counter

PURPOSES = ("model", "webhook", "acme")


class EgressRefused(OSError):
    """The configuration allows no outbound connection (`egress: none`); an OSError, since it is raised where sockets are opened."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "egress: none")


class Egress:
    """The one gate of all outbound connections; `allowed` is False for `egress: none`. `opened` and `refused` count by purpose."""

    def __init__(self, *, allowed: bool = True) -> None:
        self.allowed = allowed
        self.opened = Counter(dict.fromkeys(PURPOSES, 0))
        self.refused = Counter(dict.fromkeys(PURPOSES, 0))

    def check(self, purpose: str) -> None:
        """Asked before a name is looked up; raises EgressRefused."""
        if not self.allowed:
            self.refused[purpose] += 1
            raise EgressRefused

    def open(self, purpose: str) -> None:
        """Asked before a socket is made; counts it, or raises EgressRefused."""
        self.check(purpose)
        self.opened[purpose] += 1
