"""Logs: one line an event on standard error, each line of a request with its X-Request-Id. Keeping and rotating them is the system's."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextvars import ContextVar

from chatsvc.domain import terminal

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

TEXT = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
ACCESS = logging.getLogger("chatsvc.access")


class _WithRequest(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    """A fault that Python has nobody to give to."""
    log = logging.getLogger("chatsvc")
    if fault.exc_type is UnicodeDecodeError and isinstance(fault.object, bytes):
        # This is how `ssl` tells of a host name in a handshake that is no name; anybody can send one, and it holds what they like.
        log.info("a handshake was refused: it asks for a host whose name is not ASCII")
        return
    log.error("unexpected fault in %s", type(fault.object).__name__, exc_info=fault.exc_value)


class TextFormatter(logging.Formatter):
    """One line an event for people; further lines are indented, and control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        return terminal.escape(super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, request_id, message, what the event brought as `fields`, and the exception, whole."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        second, milli = divmod(int(record.created * 1000), 1000)
        line: dict[str, object] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{milli:03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": request_id.get(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # ASCII alone: neither a half character nor the terminal's encoding can make a line fail.
        return terminal.escape_json(json.dumps(line, default=str))


def set_up(form: str = "auto", level: str = "info", *, access: bool = False) -> bool:
    """Send what chatsvc and its libraries have to say to standard error; True where that is JSON.

    `form` is text, json, or auto: text where a terminal reads it. `level` is that of chatsvc's own events; libraries are heard
    from warnings on. `access`: a line a request.
    """
    sys.unraisablehook = _unraisable
    as_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_WithRequest())
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter(TEXT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, getattr(logging, level.upper())))
    logging.getLogger("chatsvc").setLevel(level.upper())
    # What was asked for by itself is not a matter of the level.
    ACCESS.setLevel(logging.INFO if access else logging.CRITICAL)
    logging.captureWarnings(True)
    return as_json
