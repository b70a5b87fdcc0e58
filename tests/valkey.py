"""A real Valkey or Redis server for the tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from chatsvc.coordination.connection import ValkeyTarget
from tests.postgres import WITH_PARENT


def program() -> str | None:
    """Find the server's program; Debian's package has the one or the other."""
    return shutil.which("valkey-server") or shutil.which("redis-server")


def require_program() -> None:
    """Skip the test where there is no server. With CHATSVC_NEEDS_VALKEY, as in CI, it fails."""
    if program() is None:
        reason = "neither Valkey nor Redis is on this machine (apt-get install redis-server)"
        if os.environ.get("CHATSVC_NEEDS_VALKEY"):
            pytest.fail(reason)
        pytest.skip(reason)


def free_port() -> int:
    """Find a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class ValkeyServer:
    """A running server without a password or with one; nothing of it outlives a restart."""

    def __init__(self, *options: str, password: str | None = None) -> None:
        self.port, self.password = free_port(), password
        self._options = [*options, *(["--requirepass", password] if password else [])]
        self.folder = Path(tempfile.mkdtemp(prefix="chatsvc-valkey-"))
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers."""
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*WITH_PARENT, program() or "valkey-server", *arguments, *self._options], stdout=log, stderr=log
            )
        for _ in range(200):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self.process
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}"

    def target(self, prefix: str) -> ValkeyTarget:
        """Return the address for the keys of one installation."""
        return ValkeyTarget(self.url, prefix, self.password)

    def end(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Let it accept connections and answer nothing, as a peer behind a cut line."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        shutil.rmtree(self.folder)
