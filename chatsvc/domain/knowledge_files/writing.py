"""A bot's knowledge written as a file, such that reading it gives the same entries again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from chatsvc.domain.knowledge_files.markdown import escaped, escaped_question
from chatsvc.domain.knowledge_files.table import COLUMNS, row, together
from chatsvc.domain.models import Entry, Synonyms


def write(form: str, entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    """The parts of a file in one of `FORMS`."""
    return FORMS[form](entries, synonyms)


def _jsonl(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield json.dumps({"synonyms": group.words, "source": group.source}, ensure_ascii=False) + "\n"
    for entry in entries:
        yield json.dumps(entry._asdict(), ensure_ascii=False) + "\n"


def _csv(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    yield row(*COLUMNS)
    for group in synonyms:
        yield row("", "", "", "", group.source, together([", ".join(group.words)]))
    for entry in entries:
        yield row(entry.question, together(entry.alt), entry.answer, entry.language, entry.source or "", "")


def _markdown(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield f"synonyms: {', '.join(group.words)}\n"
    for nth, entry in enumerate(entries):
        yield "\n" if nth or synonyms else ""
        yield question(entry.question, entry.alt, entry.language)
        yield f"\n{escaped(entry.answer)}\n"


def question(text: str, alt: Sequence[str], language: str) -> str:
    """The lines of an entry above its answer, in Markdown."""
    return "".join([f"## {escaped_question(text)}\n", *(f"alt: {one}\n" for one in alt), f"language: {language}\n"])


FORMS = {"jsonl": _jsonl, "csv": _csv, "markdown": _markdown}
