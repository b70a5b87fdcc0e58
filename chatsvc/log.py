"""Logs: one line an event on standard error, each line of a request with its X-Request-Id."""

from __future__ import annotations

import logging
import sys
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class _WithRequest(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    """A fault that Python has nobody to give to."""
    log = logging.getLogger("chatsvc")
    if fault.exc_type is UnicodeDecodeError and isinstance(fault.object, bytes):
        # This is how `ssl` tells of a host name in a handshake that is no name; anybody can send one, and it holds what they like.
        log.info("a handshake was refused: it asks for a host whose name is not ASCII")
        return
    log.error("unexpected fault in %s", type(fault.object).__name__, exc_info=fault.exc_value)


def set_up() -> None:
    """Send what chatsvc and its libraries have to say to standard error."""
    sys.unraisablehook = _unraisable
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_WithRequest())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("chatsvc").setLevel(logging.INFO)
