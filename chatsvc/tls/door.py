"""The door that callers come in by: one TLS context for the listener's whole life, behind which certificates may change."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

ACME_TLS = "acme-tls/1"
_ASKED = b"\x0a" + ACME_TLS.encode()  # as it stands among the protocols that a ClientHello offers
_CLIENT_HELLO = 1


def _context(cert_file: str | Path | None = None, key_file: str | Path | None = None) -> ssl.SSLContext:
    """TLS 1.2 or later; raises OSError (ssl.SSLError) for files that cannot be used."""
    # Not create_default_context(): that one writes the keys of every connection to a file where the environment asks for it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    if cert_file is not None:
        # An empty pass phrase opens no locked key; without one, OpenSSL would ask for it on the terminal.
        context.load_cert_chain(cert_file, key_file, password="")
    return context


class Door:
    """Shows each new caller the certificate of the moment; those who are in already notice nothing of a change."""

    def __init__(self) -> None:
        self.context = _context()
        self.context.sni_callback = self._choose
        self._shown = self.context
        self._proofs: dict[str, ssl.SSLContext] = {}
        self._is_asked = False

    def show(self, cert_file: str | Path, key_file: str | Path | None = None) -> None:
        """Show this certificate (with its chain; the key may be in the same file) from now on.

        Raises OSError (ssl.SSLError) for files that cannot be used; then it is still the one before.
        """
        self._shown = _context(cert_file, key_file)

    def show_pem(self, pem: bytes) -> None:
        """The same with a certificate and its key that are in no file."""
        self._shown = _from_pem(pem)

    def prove(self, proofs: Mapping[str, bytes]) -> None:
        """Answer TLS-ALPN-01 (RFC 8737): the certificate with its key for each name that is asked about now."""
        self._proofs = {name: _from_pem(pem) for name, pem in proofs.items()}
        for context in self._proofs.values():
            context.set_alpn_protocols([ACME_TLS])
        # An authority that asks and a caller name the same host: only the protocol that is offered tells them apart, and of that
        # nothing but this hook knows before the certificate is chosen. It costs each handshake a little, so it is not always there.
        self.context._msg_callback = self._listen if proofs else None  # type: ignore[attr-defined]  # not in typeshed

    def _listen(self, _: object, direction: str, _version: object, _content: object, message: int, data: bytes) -> None:
        if direction == "read" and message == _CLIENT_HELLO:
            self._is_asked = _ASKED in data

    def _choose(self, caller: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        proof = self._proofs.get(name or "") if self._is_asked else None
        self._is_asked = False
        caller.context = proof or self._shown


def _from_pem(pem: bytes) -> ssl.SSLContext:
    # Python has OpenSSL read files alone; this one is in memory, so that a key that is stored nowhere is on no disk either.
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(pem)
        file.flush()
        return _context(f"/proc/self/fd/{file.fileno()}")
