"""Egress ledger. Counts outbound connections by purpose, and refuses them where the configuration says `egress: none`."""

import errno
from collections import Counter

from chatsvc.domain.channels import PLATFORMS

PURPOSES = ("model", "webhook", "acme", *PLATFORMS, "mail", "website")


class EgressRefused(OSError):
    """Refusal of a connection by `egress: none`. An OSError, as it is raised where sockets are opened."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "egress: none")


class Egress:
    """Ledger of one process; `allowed` is False for `egress: none`. `opened` and `refused` count connections by purpose."""

    def __init__(self, *, allowed: bool = True) -> None:
        self.allowed = allowed
        self.opened = Counter(dict.fromkeys(PURPOSES, 0))
        self.refused = Counter(dict.fromkeys(PURPOSES, 0))

    def check(self, purpose: str) -> None:
        """Permit a name lookup, or raise EgressRefused and count it."""
        if not self.allowed:
            self.refused[purpose] += 1
            raise EgressRefused

    def open(self, purpose: str) -> None:
        """Count a new socket, or raise EgressRefused."""
        self.check(purpose)
        self.opened[purpose] += 1
