"""Connections of aiohttp's clients that pass the gate of all outbound ones, before a name is looked up and where the socket is made."""

from __future__ import annotations

import re
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import TCPConnector, ThreadedResolver

from chatsvc.domain.egress import Egress

if TYPE_CHECKING:
    from aiohttp import AddrInfoType
    from aiohttp.abc import ResolveResult

# Where Linux distributions keep their roots, for a Python whose OpenSSL was built to look elsewhere (a binary moved from another one).
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def system_tls() -> ssl.SSLContext:
    """TLS 1.2 or later against the system's certificates, whatever the environment names; raises OSError where they cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Those built in: set_default_verify_paths() would ask SSL_CERT_FILE and SSL_CERT_DIR first.
    built_in = ssl.get_default_verify_paths()
    file, folder = Path(built_in.openssl_cafile), Path(built_in.openssl_capath)
    in_folder = folder.is_dir() and any(re.fullmatch(r"[0-9a-f]{8}\.\d+", entry.name) for entry in folder.iterdir())
    bundle = next((place for place in (file, *map(Path, () if in_folder else BUNDLES)) if place.is_file()), None)
    if bundle or in_folder:
        context.load_verify_locations(bundle, folder if in_folder else None)
    return context


class _Resolver(ThreadedResolver):
    """The system's names, where any may be asked for."""

    def __init__(self, egress: Egress, purpose: str) -> None:
        super().__init__()
        self._egress, self._purpose = egress, purpose

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """See AbstractResolver; raises EgressRefused."""
        self._egress.check(self._purpose)
        return await super().resolve(host, port, family)


class OutboundConnector(TCPConnector):
    """A connector whose connections serve `purpose`, one of domain.egress.PURPOSES; `options` are TCPConnector's."""

    def __init__(self, egress: Egress, purpose: str, **options: Any) -> None:
        def make_socket(info: AddrInfoType) -> socket.socket:
            # Here too, since an address is asked of no resolver.
            egress.open(purpose)
            return socket.socket(*info[:3])

        super().__init__(resolver=_Resolver(egress, purpose), socket_factory=make_socket, **options)
