"""Notifications to systemd: ready, alive, stopping (sd_notify(3))."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class Supervisor:
    """Notification socket of the process that started the service. `env` is the environment, which names the socket."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        address = env.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        micros = env.get("WATCHDOG_USEC", "")
        is_ours = env.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        # Half of what is allowed, as systemd recommends.
        self.every_s = int(micros) / 2_000_000 if self._address and micros.isdecimal() and is_ours else None

    def notify(self, state: str) -> None:
        """Send one message, such as "READY=1"; a supervisor that does not listen is no fault."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notified:
                notified.sendto(state.encode(), self._address)
        except OSError:
            pass
