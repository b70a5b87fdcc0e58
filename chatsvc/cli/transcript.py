"""Conversations as text, written piece by piece as their pages come: JSON, a conversation a line (JSONL), a message a line (CSV)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

Part = dict[str, Any]
COLUMNS = (
    *("conversation_id", "chatbot_id", "channel", "user_id", "session_id", "visitor_name", "visitor_email"),
    *("message_id", "role", "content", "created_at"),
)
# What spreadsheets run as a formula when a stranger's text begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(form: str, pages: Iterable[list[Part]]) -> Iterator[str]:
    """The text of all pages in `form`: json, jsonl or csv."""
    return _csv(pages) if form == "csv" else _json(pages, as_array=form == "json")


def _json(pages: Iterable[list[Part]], *, as_array: bool) -> Iterator[str]:
    """Each conversation as GET /conversations/{id} has it (SPEC.md 2.4), with all its messages."""
    before = "[\n" if as_array else ""
    told = False
    for page in pages:
        for part in page:
            if part["begins"]:
                head = {**part["conversation"], "message_count": part["message_count"]}
                yield f'{before}{_dumps(head)[:-1]}, "messages": ['
                told = False
            if part["messages"]:
                yield (", " if told else "") + ", ".join(map(_dumps, part["messages"]))
                told = True
            if part["ends"]:
                yield '], "messages_truncated": false}' + ("" if as_array else "\n")
                before = ",\n" if as_array else ""
    if as_array:
        yield "[]\n" if before == "[\n" else "\n]\n"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _csv(pages: Iterable[list[Part]]) -> Iterator[str]:
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    for page in pages:
        for part in page:
            for message in part["messages"]:
                one = part["conversation"]
                values = (one["id"], *(one[name] for name in COLUMNS[1:7]), *(message[n] for n in ("id", "role", "content", "created_at")))
                lines.writerow(_harmless(value) for value in values)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _harmless(value: str | None) -> str | None:
    return f"'{value}" if value and value.startswith(FORMULA) else value
