"""Self-signed certificate for the webhook receiver of `chatsvc demo`."""

from __future__ import annotations

from pathlib import Path


def make(folder: Path, address: str) -> tuple[Path, Path]:
    """A self-signed certificate for an IP address, good for a day, and its key. Both PEM files in `folder`."""
    from chatsvc.tls.certificates import self_signed

    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    for file, pem in zip((cert_file, key_file), self_signed([address], days=1), strict=True):
        file.write_bytes(pem)
    return cert_file, key_file
