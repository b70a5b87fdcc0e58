"""A real authority for the tests: Debian's pebble with its name server, on ports of their own."""

import asyncio
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from aiohttp import ClientSession, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from chatsvc.tls.certificates import self_signed

PROGRAMS = ("pebble", "pebble-challtestsrv")
PATIENCE_S = 20


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Pebble:
    """A running authority: its directory, whom to trust to reach it, and the ports on which it asks for proofs."""

    directory: str
    ca_file: Path
    management: str
    https_port: int
    http_port: int

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        with urlopen(f"{self.management}/roots/0", context=context, timeout=PATIENCE_S) as answer:  # noqa: S310  # its own address
            return ssl.create_default_context(cadata=answer.read().decode())


@contextmanager
def pebble(folder: Path, *, validity_s: int = 3600, **environment: str) -> Iterator[Pebble]:
    """Run it until the end; certificates are good for `validity_s`."""
    ca_file, key_file = folder / "pebble.pem", folder / "pebble-key.pem"
    for file, pem in zip((ca_file, key_file), self_signed(["127.0.0.1"], days=1), strict=True):
        file.write_bytes(pem)
    port, management, dns, names, https, http = (free_port() for _ in range(6))
    settings: dict[str, Any] = {
        "listenAddress": f"127.0.0.1:{port}",
        "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(ca_file),
        "privateKey": str(key_file),
        "httpPort": http,
        "tlsPort": https,
        "certificateValidityPeriod": validity_s,
    }
    config = folder / "pebble.json"
    config.write_text(json.dumps({"pebble": settings}))
    server = ["pebble-challtestsrv", "-dns01", f"127.0.0.1:{dns}", "-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""]
    commands = (
        [*server, "-management", f"127.0.0.1:{names}"],
        ["pebble", "-config", str(config), "-dnsserver", f"127.0.0.1:{dns}"],
    )
    env = {**os.environ, "PEBBLE_VA_NOSLEEP": "1", **environment}
    with (folder / "pebble.log").open("wb") as log:
        running = [subprocess.Popen(command, stdout=log, stderr=log, env=env) for command in commands]
        try:
            for awaited in (port, management, names):
                _await_listener(awaited)
            yield Pebble(f"https://127.0.0.1:{port}/dir", ca_file, f"https://127.0.0.1:{management}", https, http)
        finally:
            for process in running:
                process.kill()
                process.wait()


def is_installed() -> bool:
    """Whether the authority can be run here."""
    return all(map(shutil.which, PROGRAMS))


def _await_listener(port: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nobody listens on {port}")


class Here(AbstractResolver):
    """Every name is this machine's."""

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)]

    async def close(self) -> None:
        """See AbstractResolver."""


def session(tls: ssl.SSLContext, *, kept: bool = True) -> ClientSession:
    """A client that finds every name on this machine; `kept`: connections are used again."""
    return ClientSession(connector=TCPConnector(ssl=tls, resolver=Here(), force_close=not kept, family=socket.AF_INET))


async def shown(port: int, name: str, tls: ssl.SSLContext | None = None) -> bytes:
    """The certificate (DER) that a new caller gets to see; verified where there is `tls`."""
    if tls is None:
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
    try:
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        assert isinstance(certificate, bytes)
        return certificate
    finally:
        writer.transport.abort()
