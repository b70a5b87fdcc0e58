"""JSONL reader: one entry a line, with the fields that `knowledge export` writes.

    {"question": "...", "alt": ["..."], "answer": "...", "language": "en", "source": "faq.md"}

`alt`, `language` and `source` may be left out, `id` is not read. `synonyms` is a group (`["bike", "bicycle"]`) or a list of groups, beside
an entry or, with or without a `source`, on a line of its own.
"""

import json

from chatsvc.domain.knowledge_files.parsed import MAX_SOURCE, Gathering, Parsed, lines_of, one_line

FIELDS = ("id", "question", "alt", "answer", "language", "source", "synonyms")


def parse_jsonl(text: str, default_language: str, source: str) -> Parsed:
    """Read a file of JSON objects; raises KnowledgeFileError with all its faults."""
    found = Gathering(source, default_language=default_language)
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as fault:
            _report(found, number, fault)
            continue
        if isinstance(value, dict):
            _take(found, number, value)
        else:
            found.fault(number, "no_object")
    return found.done("no_entry")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ValueError("a field is there twice")
    return given


def _report(found: Gathering, number: int, fault: Exception) -> None:
    if isinstance(fault, json.JSONDecodeError):
        found.fault(number, "no_json", fault=f"{fault.msg[0].lower()}{fault.msg[1:]}", place=fault.pos + 1)
    elif isinstance(fault, RecursionError):
        found.fault(number, "json_too_deep")
    else:
        found.fault(number, "unreadable", fault=str(fault))


def _take(found: Gathering, number: int, value: dict[str, object]) -> None:
    before = len(found.faults)
    unknown = [name[:40] for name in value if name not in FIELDS]
    if unknown:
        found.fault(number, "fields_unknown", fields=", ".join(map(repr, unknown[:5])), known=list(FIELDS))
    source = _text(found, number, value, "source")
    if len(source) > MAX_SOURCE:
        found.fault(number, "source_too_long", length=len(source), most=MAX_SOURCE)
    question, answer = _text(found, number, value, "question"), _text(found, number, value, "answer")
    said = _text(found, number, value, "language")
    language = found.language(number, said) if said else None
    alt = _texts(found, number, value.get("alt"), "alt")
    for group in _groups(found, number, value.get("synonyms")):
        found.synonyms(number, group, one_line(source))
    alone = "synonyms" in value and not ({"question", "alt", "answer"} & value.keys())
    if len(found.faults) == before and not alone:
        found.entry(number, question, [(number, one) for one in alt], answer, language, source=one_line(source))


def _text(found: Gathering, number: int, value: dict[str, object], name: str) -> str:
    text = value.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        found.fault(number, "field_no_text", field=name)
        return ""
    found.text(number, text)
    return text


def _texts(found: Gathering, number: int, value: object, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        found.fault(number, "field_no_list", field=name)
        return []
    for one in value:
        found.text(number, one)
    return value


def _groups(found: Gathering, number: int, value: object) -> list[list[str]]:
    if isinstance(value, list) and value and all(isinstance(group, list) for group in value):
        return [_texts(found, number, group, "synonyms") for group in value]
    group = _texts(found, number, value, "synonyms")
    return [group] if group else []
