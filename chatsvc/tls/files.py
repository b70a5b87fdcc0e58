"""A certificate in files of the operator's: taken up again when they change."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from chatsvc.domain.errors import CommandError
from chatsvc.tls.door import Door

log = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0


class CertificateFiles:
    """Shows the certificate at `door`, and whatever takes its place."""

    def __init__(self, door: Door, cert_file: Path, key_file: Path) -> None:
        self._door, self._files = door, (cert_file, key_file)
        self._seen: object = None

    def open(self) -> None:
        """Take the files up for the first time; raises CommandError where they cannot be used."""
        self._seen = self._state()
        try:
            self._door.show(*self._files)
        except OSError as fault:
            raise CommandError(f"{self._named()} cannot be used: {fault.strerror or fault}") from None

    def look(self) -> None:
        """Take the files up again if they have changed; what cannot be used is told once, and the one before stays in force."""
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._door.show(*self._files)
        except OSError as fault:
            log.error("%s changed and cannot be used, the one before stays in force: %s", self._named(), fault.strerror or fault)
        else:
            log.info("%s changed: new connections get the new one", self._named())

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def _named(self) -> str:
        return f"the certificate {self._files[0]} or its key {self._files[1]}"

    def _state(self) -> object:
        """What differs when a file has been replaced or written, of what lies behind any links."""
        return [self._stat(file) for file in self._files]

    @staticmethod
    def _stat(file: Path) -> tuple[int, ...] | None:
        try:
            found = file.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
