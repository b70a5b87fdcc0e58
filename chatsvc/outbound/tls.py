"""TLS context of outbound connections, with the system's root certificates and, where given, further ones."""

import re
import ssl
from pathlib import Path

# Bundles of Linux distributions, for an OpenSSL that was built to look elsewhere: the path is compiled in, and a binary moves.
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.\d+")


def bundle() -> Path | None:
    """Find the file of the system's root certificates."""
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
    bundle = next((path for path in (file, *map(Path, () if has_folder else BUNDLES)) if path.is_file()), None)
    if bundle or has_folder:
        context.load_verify_locations(bundle, folder if has_folder else None)
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
