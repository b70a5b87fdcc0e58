"""Egress ledger and TLS context of outbound connections.

The ledger counts connections by purpose, and refuses them if the configuration has `egress: none`. The TLS context trusts the system's root
certificates and, if configured, further ones.
"""

import errno
import re
import ssl
from collections import Counter
from pathlib import Path

from chatsvc.domain.channels import PLATFORMS

PURPOSES = ("model", "webhook", "acme", *PLATFORMS, "mail", "website")
# Bundles of Linux distributions, for an OpenSSL that was built to look elsewhere: the path is compiled in, and a binary moves.
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.\d+")


class EgressRefused(OSError):
    """Refusal of a connection by `egress: none`. It is an OSError because it is raised where sockets are opened."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "egress: none")


class Egress:
    """Ledger of one process. `allowed` is False for `egress: none`. `opened` and `refused` count connections by purpose."""

    def __init__(self, *, allowed: bool = True) -> None:
        self.allowed = allowed
        self.opened = Counter(dict.fromkeys(PURPOSES, 0))
        self.refused = Counter(dict.fromkeys(PURPOSES, 0))

    def check(self, purpose: str) -> None:
        """Check that a name lookup for `purpose` is permitted. If it is forbidden, count the refusal and raise EgressRefused."""
        if not self.allowed:
            self.refused[purpose] += 1
            raise EgressRefused

    def open(self, purpose: str) -> None:
        """Count a new socket for `purpose`. If it is forbidden, count the refusal and raise EgressRefused."""
        self.check(purpose)
        self.opened[purpose] += 1


def bundle() -> Path | None:
    """Return the path of the system's root certificates, or None if there is none."""
    return next((path for path in (Path(ssl.get_default_verify_paths().openssl_cafile), *map(Path, BUNDLES)) if path.is_file()), None)


def client_context(ca_file: Path | None = None) -> ssl.SSLContext:
    """Make a context for TLS 1.2 or later that verifies host names. Raises OSError (ssl.SSLError) for unreadable certificates.

    Environment variables have no effect: neither SSL_CERT_FILE nor SSL_CERT_DIR nor SSLKEYLOGFILE is read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    compiled_in = ssl.get_default_verify_paths()
    file, folder = Path(compiled_in.openssl_cafile), Path(compiled_in.openssl_capath)
    has_folder = folder.is_dir() and any(_HASHED_NAME.fullmatch(entry.name) for entry in folder.iterdir())
    roots = next((path for path in (file, *map(Path, () if has_folder else BUNDLES)) if path.is_file()), None)
    if roots or has_folder:
        context.load_verify_locations(roots, folder if has_folder else None)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
