"""Logging to standard error, with one line for each event and the X-Request-Id of its request.

The operating system stores and rotates the log.
"""

from __future__ import annotations

import logging
import sys
import time
from contextvars import ContextVar

from chatsvc.domain import escaping

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

TEXT = "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"
ACCESS = logging.getLogger("chatsvc.access")


def _with_request(record: logging.LogRecord) -> bool:
    record.request_id = request_id.get() or "-"
    return True


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    """Log an exception that Python cannot raise, such as an exception in a destructor."""
    log = logging.getLogger("chatsvc")
    if fault.exc_type is UnicodeDecodeError and isinstance(fault.object, bytes):
        # `ssl` reports an invalid host name in a handshake in this way. Anybody can send one, with any content.
        log.info("a handshake was refused: it asks for a host whose name is not ASCII")
        return
    log.error("unexpected fault in %s", type(fault.object).__name__, exc_info=fault.exc_value)


class TextFormatter(logging.Formatter):
    """Formatter that writes an event for people. Further lines are indented, and control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as text; see logging.Formatter."""
        return escaping.escape(super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """Formatter that writes an event as a JSON object: time, level, logger, `request_id`, message, its `fields` and its exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as text; see logging.Formatter."""
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
        # ASCII only: neither a lone surrogate nor the terminal's encoding can make a line fail.
        return escaping.to_json(line, ensure_ascii=True, default=str)


def set_up(form: str = "auto", level: str = "info", *, access: bool = False) -> bool:
    """Send the log of chatsvc and its libraries to standard error. Return whether the log is JSON.

    `form` is `text`, `json`, or `auto`, which is text on a terminal and JSON otherwise. `level` is the level of chatsvc's own events;
    libraries log warnings and errors. If `access` is true, each request is logged.
    """
    sys.unraisablehook = _unraisable
    as_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_with_request)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter(TEXT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, getattr(logging, level.upper())))
    logging.getLogger("chatsvc").setLevel(level.upper())
    # The access log has its own setting, so the level does not apply.
    ACCESS.setLevel(logging.INFO if access else logging.CRITICAL)
    logging.captureWarnings(True)
    return as_json
