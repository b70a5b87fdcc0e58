"""Server TLS context whose certificate can be replaced while the listener runs, and a loader of certificate files."""

import asyncio
import logging
import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from chatsvc.domain.errors import CommandError

log = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0
ACME_TLS = "acme-tls/1"
_ASKED = b"\x0a" + ACME_TLS.encode()  # its encoding in the protocol list of a ClientHello
_CLIENT_HELLO = 1


def _context(cert_file: str | Path | None = None, key_file: str | Path | None = None) -> ssl.SSLContext:
    """Make a server context for TLS 1.2 or later. Raise OSError (ssl.SSLError) if the files are unusable."""
    # Not create_default_context(), which writes session keys to a file if SSLKEYLOGFILE is set.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    if cert_file is not None:
        # Without a pass phrase OpenSSL would ask for one on the terminal; an empty one fails instead.
        context.load_cert_chain(cert_file, key_file, password="")
    return context


class ServerTls:
    """TLS context that selects the current certificate at each handshake. A change does not affect established connections."""

    def __init__(self) -> None:
        self.context = _context()
        self.context.sni_callback = self._select_context
        self._current = self.context
        self._proofs: dict[str, ssl.SSLContext] = {}
        self._is_challenge = False

    def use_files(self, cert_file: str | Path, key_file: str | Path | None = None) -> None:
        """Use this certificate, with its chain, for new connections. The key may be in the same file.

        If the files are unusable, raise OSError (ssl.SSLError) and continue to use the previous certificate.
        """
        self._current = _context(cert_file, key_file)

    def use_pem(self, pem: bytes) -> None:
        """Use a certificate and key from memory for new connections; see use_files."""
        self._current = _from_pem(pem)

    def set_challenges(self, proofs: Mapping[str, bytes]) -> None:
        """Set the certificate and key that answer each name's TLS-ALPN-01 challenge (RFC 8737). An empty mapping ends all challenges."""
        self._proofs = {name: _from_pem(pem) for name, pem in proofs.items()}
        for context in self._proofs.values():
            context.set_alpn_protocols([ACME_TLS])
        # The authority and a client name the same host: only the offered protocol tells them apart. The ssl module has no public way to
        # it: sni_callback gets the name alone, and selected_alpn_protocol() is known only after the certificate was selected. This hook
        # costs each handshake a little, so it is set while challenges are pending.
        self.context._msg_callback = self._watch_client_hello if proofs else None  # type: ignore[attr-defined]  # noqa: SLF001

    def _watch_client_hello(self, _: object, direction: str, _version: object, _content: object, message: int, data: bytes) -> None:
        if direction == "read" and message == _CLIENT_HELLO:
            self._is_challenge = _ASKED in data

    def _select_context(self, caller: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        proof = self._proofs.get(name or "") if self._is_challenge else None
        self._is_challenge = False
        caller.context = proof or self._current


def _from_pem(pem: bytes) -> ssl.SSLContext:
    # OpenSSL loads certificates from files only; this one is in memory, so that the key reaches no disk.
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(pem)
        file.flush()
        return _context(f"/proc/self/fd/{file.fileno()}")


class CertificateFiles:
    """Loader of a certificate and its key from files. It loads them into `server_tls` at the start and after each change."""

    def __init__(self, server_tls: ServerTls, cert_file: Path, key_file: Path) -> None:
        self._server_tls, self._files = server_tls, (cert_file, key_file)
        self._name = f"the certificate {cert_file} or its key {key_file}"
        self._seen: object = None

    def open(self) -> None:
        """Load the files for the first time. Raise CommandError if they cannot be used."""
        if fault := self._load():
            raise CommandError(f"{self._name} cannot be used: {fault}")

    def look(self) -> None:
        """Load the files again if they have changed. If they are unusable, log this once and continue with the previous certificate."""
        if self._seen == self._state():
            return
        if fault := self._load():
            log.error("%s changed and cannot be used, the one before stays in force: %s", self._name, fault)
        else:
            log.info("%s changed: new connections get the new one", self._name)

    async def run(self) -> None:
        """Check the files periodically, until the task is cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()

    def _load(self) -> str | None:
        """Load the files. Return the reason why they cannot be used, or None if they were loaded."""
        self._seen = self._state()
        try:
            self._server_tls.use_files(*self._files)
        except OSError as fault:
            return fault.strerror or str(fault)
        return None

    def _state(self) -> list[tuple[int, ...]]:
        """Return metadata of the files that changes when a file is replaced or written. Symbolic links are followed."""
        states: list[tuple[int, ...]] = []
        for file in self._files:
            with suppress(OSError):
                status = file.stat()
                states.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        return states
