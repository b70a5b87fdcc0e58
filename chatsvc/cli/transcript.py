"""Export of conversations, streamed page by page. One JSON array, JSONL (a conversation a line) or CSV (a message a line)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from chatsvc.domain import terminal
from chatsvc.domain.spreadsheets import row

Part = dict[str, Any]
COLUMNS = (
    *("conversation_id", "chatbot_id", "channel", "user_id", "session_id", "visitor_name", "visitor_email"),
    *("message_id", "role", "content", "created_at", "visitor_phone"),
)


def write(form: str, pages: Iterable[list[Part]]) -> Iterator[str]:
    """Serialise all pages in `form`: json, jsonl or csv; control and invisible characters are escaped."""
    return _csv(pages) if form == "csv" else _json(pages, as_array=form == "json")


def _json(pages: Iterable[list[Part]], *, as_array: bool) -> Iterator[str]:
    """Serialise each conversation as GET /conversations/{id} has it (SPEC.md 2.4), with all its messages."""
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
    return terminal.escape_json(json.dumps(value, ensure_ascii=False))


def _csv(pages: Iterable[list[Part]]) -> Iterator[str]:
    yield row(*COLUMNS)
    for page in pages:
        for part in page:
            for message in part["messages"]:
                one = part["conversation"]
                values = (one["id"], *(one[name] for name in COLUMNS[1:7]), *(message[n] for n in ("id", "role", "content", "created_at")))
                values += (one.get("visitor_phone"),)
                yield row(*(value and _escaped(value) for value in values))


def _escaped(value: str) -> str:
    """Escape control and invisible characters; tabs and line feeds stay."""
    return "\t".join(map(terminal.escape, value.replace("\r\n", "\n").split("\t")))
