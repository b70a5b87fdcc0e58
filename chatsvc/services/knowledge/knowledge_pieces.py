"""Knowledge in pieces: a text or a file is split, looked at piece by piece, and imported as a source or as its new version."""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from chatsvc.domain import refusals, websites
from chatsvc.domain.actors import Caller
from chatsvc.domain.knowledge_files.parsed import Gathering, KnowledgeFileError
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.domain.websites import SiteEntry
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import knowledge
from chatsvc.services.services import Services
from chatsvc.store import knowledge as stored
from chatsvc.store.bot_sync import FileChange

MOST_PIECES = 200  # shown at once; longer files are added as a whole
NEW, CHANGED, SAME = "new", "changed", "same"


class Piece(NamedTuple):
    """A piece of a source, which becomes an entry. `before` is the entry that it changes, or is the same as."""

    question: str
    answer: str
    language: str
    alt: tuple[str, ...] = ()
    state: str = NEW
    before: Entry | None = None


class Pieces(NamedTuple):
    """Pieces of a source beside its present version: `removed` are the entries that none of them stands for."""

    source: str
    pieces: Sequence[Piece]
    removed: Sequence[Entry]
    synonyms: Sequence[tuple[str, ...]] = ()

    @property
    def counts(self) -> Counter[str]:
        return Counter(one.state for one in self.pieces)


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
    """Compare pieces with the present entries of a source, as a draft of a website is compared with its entries."""
    _, chatbot = await bots.resolve(services, caller, bot)
    current = {one.id: one for one in await stored.entries(services.db, chatbot.id) if one.source == source}
    applied = _keyed([SiteEntry(source, "", one.question, one.answer, one.language, one.alt, one.id) for one in current.values()])
    new = _keyed([SiteEntry(source, "", one.question, one.answer, one.language, one.alt) for one in pieces])
    found = websites.difference(new, applied, current)
    known = {one.key: current[one.entry_id] for one in applied}
    changed = {one.key for _, one in found.changed}
    shown = [
        piece._replace(state=CHANGED if one.key in changed else SAME if one.key in known else NEW, before=known.get(one.key))
        for piece, one in zip(pieces, new, strict=True)
    ]
    return Pieces(source, shown, found.removed)


def _keyed(entries: Sequence[SiteEntry]) -> list[SiteEntry]:
    """Identify entries by their questions; the second one of a question gets its place."""
    seen: Counter[str] = Counter()
    keyed = []
    for one in entries:
        seen[one.question] += 1
        keyed.append(one._replace(key=f"{one.question}#{seen[one.question]}"))
    return keyed


def joined(pieces: Sequence[Piece], places: set[int]) -> list[Piece]:
    """Join the pieces at some places with those above them."""
    made: list[Piece] = []
    for place, piece in enumerate(pieces):
        if place not in places or not made:
            made.append(piece)
            continue
        above = made[-1]
        text = piece.answer if piece.answer.startswith(piece.question) else f"{piece.question}\n{piece.answer}"
        made[-1] = above._replace(answer=f"{above.answer}\n\n{text}", alt=tuple(dict.fromkeys((*above.alt, *piece.alt))))
    return made


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
    found = Gathering(source, "piece", chatbot.language)
    for place, one in enumerate(pieces, start=1):
        for text in (one.question, one.answer, *one.alt):
            found.text(place, text)
        found.entry(place, one.question, [(place, alt) for alt in one.alt], one.answer, found.language(place, one.language), once=False)
    try:
        parsed = found.done("nothing").entries
    except KnowledgeFileError as fault:
        raise refusals.files_invalid(faults=[{"file": source, "unit": fault.unit, **asdict(one)} for one in fault.faults]) from None
    compared = await compare(services, caller, bot=bot, source=source, pieces=pieces)
    entries = [
        Entry(
            piece.before.id if piece.before else str(uuid.uuid4()),
            one.question,
            tuple(dict.fromkeys((*(piece.before.alt if piece.before else ()), *one.alt))),
            one.answer,
            one.language,
            source,
        )
        for piece, one in zip(compared.pieces, parsed, strict=True)
    ]
    file = stored.FromFile(
        source, [*entries, *(one for one in compared.removed if one.id in keep)], [Synonyms(words, source) for words in synonyms]
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
