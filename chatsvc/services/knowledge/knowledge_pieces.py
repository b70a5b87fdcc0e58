"""Knowledge in pieces: a text or a file is split, looked at piece by piece, and imported as a source or as its new version."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.knowledge_files.parsed import Gathering, KnowledgeFileError
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import knowledge
from chatsvc.services.services import Services
from chatsvc.store import knowledge as stored
from chatsvc.store.bot_sync import FileChange

MOST_PIECES = 200  # shown at once; longer files are added as a whole


class Piece(NamedTuple):
    """A piece of a source, which becomes an entry. `before` is the entry that it changes, or is the same as."""

    question: str
    answer: str
    language: str
    alt: tuple[str, ...] = ()
    before: Entry | None = None

    @property
    def state(self) -> str:
        return "new" if self.before is None else "same" if self.before.answer == self.answer else "changed"


class Pieces(NamedTuple):
    """Pieces of a source beside its present version: `removed` are the entries that none of them stands for."""

    source: str
    pieces: Sequence[Piece]
    removed: Sequence[Entry]
    synonyms: Sequence[tuple[str, ...]] = ()

    @property
    def counts(self) -> Counter[str]:
        return Counter(piece.state for piece in self.pieces)


Upload = Callable[[], Sequence[tuple[str, bytes]]]  # read when it is its turn


async def split(services: Services, caller: Caller, *, bot: str, file: tuple[str, bytes] | Upload, source: str = "") -> Pieces:
    """Split a file (name and content) as an import would, beside the present entries of its source.

    `source` is the name under which it is imported, by default that of the file. Raises `files_invalid` and `too_many_pieces`.
    """
    _, chatbot = await bots.resolve(services, caller, bot)
    (read,) = await knowledge.read_files(services, chatbot, file if callable(file) else [file])
    entries: list[Any] = sorted(read["entries"], key=lambda entry: entry[5])  # as they stand in the text
    if len(entries) > MOST_PIECES:
        raise refusals.too_many_pieces(count=len(entries), most=MOST_PIECES)
    pieces = [Piece(question, answer, language, tuple(alt)) for question, alt, answer, language, *_ in entries]
    compared = await compare(services, caller, bot=bot, source=source or read["name"], pieces=pieces)
    return compared._replace(synonyms=[tuple(words) for words, _ in read["synonyms"]])


async def compare(services: Services, caller: Caller, *, bot: str, source: str, pieces: Sequence[Piece]) -> Pieces:
    """Find for each piece the present entry of its source with the same question."""
    _, chatbot = await bots.resolve(services, caller, bot)
    present: dict[str, list[Entry]] = {}
    for entry in await stored.entries(services.db, chatbot.id):
        if entry.source == source:
            present.setdefault(entry.question, []).append(entry)
    # Entries with the same question stand for each other in their order.
    compared = [piece._replace(before=present[piece.question].pop(0) if present.get(piece.question) else None) for piece in pieces]
    return Pieces(source, compared, [entry for left in present.values() for entry in left])


def joined(pieces: Sequence[Piece], indexes: set[int]) -> list[Piece]:
    """Join the pieces at some indexes with those above them."""
    result: list[Piece] = []
    for index, piece in enumerate(pieces):
        if index not in indexes or not result:
            result.append(piece)
            continue
        above = result[-1]
        text = piece.answer if piece.answer.startswith(piece.question) else f"{piece.question}\n{piece.answer}"
        result[-1] = above._replace(answer=f"{above.answer}\n\n{text}", alt=tuple(dict.fromkeys((*above.alt, *piece.alt))))
    return result


async def put(
    services: Services,
    caller: Caller,
    *,
    bot: str,
    source: str,
    pieces: Sequence[Piece],
    keep: Sequence[str] = (),
    synonyms: Sequence[tuple[str, ...]] = (),
) -> FileChange:
    """Import pieces as the entries of a source. Its earlier entries go, but for those of the ids in `keep`.

    A changed text keeps its id and its phrasings. Raises `files_invalid` with the faults of all pieces.
    """
    _, chatbot = await bots.resolve(services, caller, bot)
    gathering = Gathering(source, "piece", chatbot.language)
    for number, piece in enumerate(pieces, start=1):
        for text in (piece.question, piece.answer, *piece.alt):
            gathering.text(number, text)
        alt, language = [(number, phrasing) for phrasing in piece.alt], gathering.language(number, piece.language)
        gathering.entry(number, piece.question, alt, piece.answer, language, once=False)
    try:
        parsed = gathering.done("nothing").entries
    except KnowledgeFileError as error:
        faults = [{"file": source, "unit": error.unit, **asdict(fault)} for fault in error.faults]
        raise refusals.files_invalid(faults=faults) from None
    compared = await compare(services, caller, bot=bot, source=source, pieces=pieces)
    entries = [
        Entry(
            piece.before.id if piece.before else str(uuid.uuid4()),
            entry.question,
            tuple(dict.fromkeys((*(piece.before.alt if piece.before else ()), *entry.alt))),
            entry.answer,
            entry.language,
            source,
        )
        for piece, entry in zip(compared.pieces, parsed, strict=True)
    ]
    file = stored.FromFile(
        source, [*entries, *(entry for entry in compared.removed if entry.id in keep)], [Synonyms(words, source) for words in synonyms]
    )
    origin = knowledge.origin_of(services, caller)
    (replaced,) = await stored.replace(services.db, chatbot.id, [file], origin)
    services.knowledge.invalidate(chatbot.id)
    return FileChange(source, len(file.entries), replaced)


async def remove_source(services: Services, caller: Caller, *, bot: str, source: str) -> FileChange:
    """Remove all entries and synonyms of a source; raises `source_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    origin = knowledge.origin_of(services, caller)
    gone = await stored.remove_source(services.db, chatbot.id, source, origin)
    services.knowledge.invalidate(chatbot.id)
    if not gone:
        raise refusals.source_not_found(source=source)
    return FileChange(source, 0, gone)
