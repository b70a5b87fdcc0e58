"""JSONL reader: one entry a line, with the fields that `knowledge export` writes.

    {"question": "...", "alt": ["..."], "answer": "...", "language": "en", "source": "faq.md"}

`alt`, `language` and `source` may be left out; `id` is ignored. `synonyms` is a group (`["bike", "bicycle"]`) or a list of groups, in the
object of an entry or in an object of its own, with or without a `source`.
"""

import json

from chatsvc.domain.knowledge_files.parsed import MAX_SOURCE, Gathering, Parsed, lines_of, one_line

FIELDS = ("id", "question", "alt", "answer", "language", "source", "synonyms")


def parse_jsonl(text: str, default_language: str, source: str) -> Parsed:
    """Parse a file with a JSON object in each line; raises KnowledgeFileError with all of its faults."""
    gathering = Gathering(source, default_language=default_language)
    for number, line in enumerate(lines_of(text), start=1):
        try:
            value = json.loads(line, object_pairs_hook=_object) if line.strip() else None
        except json.JSONDecodeError as fault:
            gathering.fault(number, "no_json", fault=f"{fault.msg[0].lower()}{fault.msg[1:]}", character=fault.pos + 1)
        except RecursionError:
            gathering.fault(number, "json_too_deep")
        except ValueError as fault:
            gathering.fault(number, "unreadable", fault=str(fault))
        else:
            if isinstance(value, dict):
                _take(gathering, number, value)
            elif line.strip():
                gathering.fault(number, "no_object")
    return gathering.done("no_entry")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _take(gathering: Gathering, number: int, value: dict[str, object]) -> None:
    before = len(gathering.faults)
    if unknown := [name[:40] for name in value if name not in FIELDS]:
        gathering.fault(number, "fields_unknown", fields=", ".join(map(repr, unknown[:5])), known=list(FIELDS))
    source, question, answer, tag = (_text(gathering, number, value, name) for name in ("source", "question", "answer", "language"))
    if len(source) > MAX_SOURCE:
        gathering.fault(number, "source_too_long", length=len(source), most=MAX_SOURCE)
    language = gathering.language(number, tag) if tag else None
    alt, synonyms = _texts(gathering, number, value.get("alt"), "alt"), value.get("synonyms")
    is_list_of_groups = isinstance(synonyms, list) and synonyms and all(isinstance(group, list) for group in synonyms)
    for group in synonyms if isinstance(synonyms, list) and is_list_of_groups else [synonyms]:
        if words := _texts(gathering, number, group, "synonyms"):
            gathering.synonyms(number, words, one_line(source))
    alone = "synonyms" in value and not ({"question", "alt", "answer"} & value.keys())
    if len(gathering.faults) == before and not alone:
        gathering.entry(number, question, [(number, phrasing) for phrasing in alt], answer, language, source=one_line(source))


def _text(gathering: Gathering, number: int, value: dict[str, object], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str | None):
        gathering.fault(number, "field_no_text", field=name)
    if not isinstance(text, str):
        return ""
    gathering.text(number, text)
    return text


def _texts(gathering: Gathering, number: int, value: object, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        gathering.fault(number, "field_no_list", field=name)
        return []
    for text in value:
        gathering.text(number, text)
    return value
