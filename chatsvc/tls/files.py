"""Certificate files of the operator, loaded again when they change."""

import asyncio
import logging
from pathlib import Path

from chatsvc.domain.errors import CommandError
from chatsvc.tls.server_tls import ServerTls

log = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0


class CertificateFiles:
    """Loads a certificate and its key into `server_tls`, and again after each change."""

    def __init__(self, server_tls: ServerTls, cert_file: Path, key_file: Path) -> None:
        self._server_tls, self._files = server_tls, (cert_file, key_file)
        self._seen: object = None

    def open(self) -> None:
        """Load the files for the first time; raises CommandError where they cannot be used."""
        self._seen = self._state()
        try:
            self._server_tls.use_files(*self._files)
        except OSError as fault:
            raise CommandError(f"{self._named()} cannot be used: {fault.strerror or fault}") from None

    def look(self) -> None:
        """Load the files again if they have changed. Unusable ones are logged once and the previous certificate stays."""
        state = self._state()
        if state == self._seen:
            return
        self._seen = state
        try:
            self._server_tls.use_files(*self._files)
        except OSError as fault:
            log.error("%s changed and cannot be used, the one before stays in force: %s", self._named(), fault.strerror or fault)
        else:
            log.info("%s changed: new connections get the new one", self._named())

    async def run(self) -> None:
        """Check periodically, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def _named(self) -> str:
        return f"the certificate {self._files[0]} or its key {self._files[1]}"

    def _state(self) -> object:
        """Return what changes when a file is replaced or written; links are followed."""
        return [self._stat(file) for file in self._files]

    @staticmethod
    def _stat(file: Path) -> tuple[int, ...] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
