"""Writers of a bot's knowledge; reading the file returns the same entries."""

from collections.abc import Iterator, Sequence

from chatsvc.domain.escaping import BYTE_ORDER_MARK, row, to_json
from chatsvc.domain.knowledge_files.markdown import escaped, escaped_question
from chatsvc.domain.knowledge_files.parsed import one_line
from chatsvc.domain.knowledge_files.rows import COLUMNS, together
from chatsvc.domain.models import Entry, Synonyms


def _jsonl(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield _line({"synonyms": group.words, "source": group.source})
    for entry in entries:
        yield _line(entry._asdict())


def _line(value: object) -> str:
    return to_json(value) + "\n"


def _csv(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + row(*COLUMNS)
    for group in synonyms:
        yield row("", "", "", "", group.source, together([", ".join(group.words)]))
    for entry in entries:
        yield row(entry.question, together(entry.alt), entry.answer, entry.language, entry.source or "", "")


def _markdown(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield f"synonyms: {one_line(', '.join(group.words))}\n"
    for nth, entry in enumerate(entries):
        yield "\n" if nth or synonyms else ""
        yield question(entry.question, entry.alt, entry.language)
        yield f"\n{escaped(entry.answer)}\n"


def question(text: str, alt: Sequence[str], language: str) -> str:
    """Format the lines of an entry above its answer, in Markdown; line breaks become blanks."""
    phrasings = "".join(f"alt: {one_line(phrasing)}\n" for phrasing in alt)
    return f"## {escaped_question(one_line(text))}\n{phrasings}language: {one_line(language)}\n"


# Functions that yield the parts of a file.
FORMS = {"jsonl": _jsonl, "csv": _csv, "markdown": _markdown}
