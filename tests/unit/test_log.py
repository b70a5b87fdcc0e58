"""Lines of the log: text in a terminal, one JSON object elsewhere, with the request's id."""

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from chatsvc import log

EVENTS = logging.getLogger("chatsvc.somewhere")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Logging is one for the process; what was there before is put back."""
    root, ours = logging.getLogger(), logging.getLogger("chatsvc")
    before = root.handlers[:], root.level, ours.level, log.ACCESS.level
    yield
    logging.captureWarnings(False)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])
    log.ACCESS.setLevel(before[3])


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(log, "sys", SimpleNamespace(stderr=stream))
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_of_json_has_time_level_logger_request_and_message(stream: io.StringIO) -> None:
    assert log.set_up()
    token = log.request_id.set("00ff00ff00ff00ff")
    EVENTS.warning('%d "things"\nhappened, ş \ud800', 2)
    log.request_id.reset(token)
    EVENTS.info("another", extra={"fields": {"count": 3}})
    first, second = lines(stream)
    assert list(first) == ["time", "level", "logger", "request_id", "message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {
        "level": "warning",
        "logger": "chatsvc.somewhere",
        "request_id": "00ff00ff00ff00ff",
        "message": '2 "things"\nhappened, ş \ud800',
    }
    assert (second["level"], second["request_id"], second["count"]) == ("info", None, 3)
    record = logging.makeLogRecord({"msg": "x", "created": 1_795_176_868.1239})
    assert json.loads(log.JsonFormatter().format(record))["time"] == "2026-11-20T12:14:28.123Z"


def test_an_exception_is_one_line_with_all_of_its_traceback(stream: io.StringIO) -> None:
    log.set_up("json")
    try:
        raise LookupError("within")
    except LookupError:
        EVENTS.exception("it broke")
    (line,) = lines(stream)
    assert line["message"] == "it broke"
    assert line["exception"].startswith("Traceback (most recent call last):\n")
    assert line["exception"].endswith("LookupError: within")


@pytest.mark.parametrize(
    ("form", "stream_kind", "is_json"), [("auto", Screen, False), ("auto", io.StringIO, True), ("text", io.StringIO, False)]
)
def test_auto_is_text_in_a_terminal(monkeypatch: pytest.MonkeyPatch, form: str, stream_kind: type[io.StringIO], is_json: bool) -> None:
    screen = stream_kind()
    monkeypatch.setattr(log, "sys", SimpleNamespace(stderr=screen))
    assert log.set_up(form) == is_json
    EVENTS.info("hello")
    assert bool(re.fullmatch(r"\S+ \S+ INFO chatsvc\.somewhere \[-\] hello\n", screen.getvalue())) != is_json


@pytest.mark.parametrize(("level", "heard"), [("info", "iwe"), ("warning", "we"), ("error", "e")])
def test_the_level_is_that_of_our_own_events_and_libraries_are_heard_from_warnings_on(stream: io.StringIO, level: str, heard: str) -> None:
    access = level == "error"  # whatever the level
    log.set_up(level=level, access=access)
    log.ACCESS.info("a request")
    assert len(lines(stream)) == access
    for logger in (EVENTS, logging.getLogger("a.library")):
        logger.info("i")
        logger.warning("w")
        logger.error("e")
    levels = {
        name: "".join(line["message"] for line in lines(stream) if line["logger"] == name) for name in ("chatsvc.somewhere", "a.library")
    }
    assert levels == {"chatsvc.somewhere": heard, "a.library": heard.replace("i", "")}


def test_a_warning_of_a_library_is_a_line_too(stream: io.StringIO) -> None:
    log.set_up()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old ways", stacklevel=1)
    (line,) = lines(stream)
    assert line["logger"] == "py.warnings"
    assert "old ways" in line["message"]
