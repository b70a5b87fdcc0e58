"""Knowledge of a bot: add files, whole or in pieces; list, search, export, write and remove entries; list changes and undo them."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from chatsvc import background
from chatsvc.domain import paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.knowledge_files.parsed import Gathering, KnowledgeFileError, ReadFile
from chatsvc.domain.models import Bot, ChangeContent, ChangeOrigin, Entry, KnowledgeChange, Synonyms
from chatsvc.domain.paging import ResultPage
from chatsvc.services.services import Services
from chatsvc.store import knowledge as stored
from chatsvc.store import knowledge_changes as changes
from chatsvc.store.bot_sync import FileChange

if TYPE_CHECKING:
    from chatsvc.engines import SearchResult
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

MOST_PIECES = 200  # shown at once; longer files are added as a whole
Upload = Callable[[], Sequence[tuple[str, bytes]]]  # read when it is its turn: uploads that wait are not in memory


class Addition(NamedTuple):
    """The files that one call added to a bot."""

    bot: str
    files: list[FileChange]


class QuestionResult(NamedTuple):
    """A question and its search result."""

    question: str
    result: SearchResult


def origin_of(services: Services, caller: Caller) -> ChangeOrigin:
    """Return the origin of a change that the caller makes now. It has a new id, the time, the actor and the interface used."""
    return ChangeOrigin(str(uuid.uuid4()), services.clock(), caller.actor, caller.via)


async def add(services: Services, caller: Caller, *, bot: Bot, files: Sequence[ReadFile]) -> Addition:
    """Add files, as `read_files` returns them, in one transaction. Each replaces a file of the same name. Raises `files_same_name`."""
    names = [file["name"] for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refusals.files_same_name(names=twice)
    added = [from_file(file) for file in files]
    gone = await stored.replace(services.db, bot.id, added, origin_of(services, caller))
    services.knowledge.invalidate(bot.id)
    done = [FileChange(file.name, len(file.entries), replaced) for file, replaced in zip(added, gone, strict=True)]
    return Addition(bot.id, done)


async def read_files(services: Services, chatbot: Bot, files: Sequence[tuple[str, bytes]] | Upload) -> list[ReadFile]:
    """Read files in a child process; the bot's language is the default. Raises `files_missing`, or Refused with all faults of all files."""
    from chatsvc.services.knowledge import file_reading

    def work() -> list[ReadFile]:
        given = files() if callable(files) else files
        if not given:
            raise refusals.files_missing()
        return file_reading.read_files(given, chatbot.language)

    return await services.file_readers.run(work, chatbot.account_id)


def from_file(file: ReadFile) -> stored.FromFile:
    """Convert a result of `read_files` to the type that the store takes. The entries get new ids."""
    entries = [Entry(str(uuid.uuid4()), question, tuple(alt), *others) for question, alt, *others, _ in file["entries"]]
    return stored.FromFile(file["name"], entries, [Synonyms(tuple(words), source) for words, source in file["synonyms"]])


async def list_all(services: Services, _: Caller, *, bot: Bot) -> list[Entry]:
    """List all entries of a bot."""
    return await stored.entries(services.db, bot.id)


async def show(services: Services, _: Caller, *, bot: Bot, entry: str) -> Entry:
    """Show one entry; raises `entry_not_found`."""
    present = (await stored.some(services.db, bot.id, [entry])).get(entry)
    if present is None:
        raise refusals.entry_not_found(entry=entry)
    return present


async def export(services: Services, _: Caller, *, bot: Bot) -> stored.Whole:
    """Export all entries and synonyms of a bot."""
    return await stored.whole(services.db, bot.id)


async def remove(services: Services, caller: Caller, *, bot: Bot, entry: str) -> Entry:
    """Remove one entry; raises `entry_not_found`."""
    gone = await stored.remove(services.db, bot.id, entry, origin_of(services, caller))
    services.knowledge.invalidate(bot.id)
    if gone is None:
        raise refusals.entry_not_found(entry=entry)
    return gone


async def put(
    services: Services,
    caller: Caller,
    *,
    bot: Bot,
    question: str,
    answer: str,
    alt: Sequence[str] = (),
    language: str | None = None,
    entry: str | None = None,
) -> Entry:
    """Create an entry, or change the entry whose id is `entry`.

    Without `language` a changed entry keeps its language, and a new entry gets its text's language, or the bot's. Raises
    `entry_not_found`, and `entry_invalid` with all faults.
    """
    written = draft(bot, question, answer, alt, language)
    if entry is None:
        created = await stored.create(services.db, bot.id, written._replace(id=str(uuid.uuid4())), origin_of(services, caller))
        services.knowledge.invalidate(bot.id)
        return created

    def edited(before: Entry) -> Entry:
        return written._replace(id=before.id, source=before.source, language=written.language if language else before.language)

    return await _edit(services, caller, bot, entry, edited)


async def _edit(services: Services, caller: Caller, chatbot: Bot, entry: str, edit: Callable[[Entry], Entry]) -> Entry:
    changed = await stored.update(services.db, chatbot.id, entry, edit, origin_of(services, caller))
    services.knowledge.invalidate(chatbot.id)
    if changed is None:
        raise refusals.entry_not_found(entry=entry)
    return changed


def draft(bot: Bot, question: str, answer: str, alt: Sequence[str], language: str | None) -> Entry:
    """Make an entry without an id. Its texts are checked like the texts of a file. Raises `entry_invalid`.

    The `line` of a fault is the position of the phrasing in `alt`, from 1.
    """
    from chatsvc.language.language_detection import guess

    gathering = Gathering("")
    for text in (question, answer, *alt):
        gathering.text(0, text)
    tag = gathering.language(0, language) if language else guess(f"{question} {answer}")
    phrasings = [(line, text) for line, text in enumerate(alt, start=1) if text.strip()]
    gathering.entry(0, question, phrasings, answer, tag or bot.language)
    try:
        (entry,) = gathering.done("nothing").entries
    except KnowledgeFileError as error:
        raise refusals.entry_invalid(faults=[asdict(fault) for fault in error.faults]) from None
    return Entry("", entry.question, entry.alt, entry.answer, entry.language)


async def add_phrasings(services: Services, caller: Caller, chatbot: Bot, entry: str, phrasings: Sequence[str]) -> Entry:
    """Add phrasings that an entry does not have yet; raises `entry_not_found`."""

    from chatsvc.language.folding import fold

    def edited(before: Entry) -> Entry:
        known = {fold(phrasing) for phrasing in (before.question, *before.alt)}
        new = {fold(phrasing): phrasing for phrasing in phrasings if fold(phrasing) not in known}
        return before._replace(alt=(*before.alt, *new.values()))

    return await _edit(services, caller, chatbot, entry, edited)


async def history(
    services: Services, _: Caller, *, bot: Bot, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[KnowledgeChange]:
    """List the changes to a bot's knowledge, newest first."""
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number)
    rows = await changes.page(services.db, bot.id, limit + 1, *(position or ()))
    page = paging.page_of(rows, limit, lambda row: paging.position(row[1]))
    return ResultPage([change for change, _ in page.items], page.next)


async def show_change(services: Services, _: Caller, *, bot: Bot, change: str) -> ChangeContent:
    """Show a change with the entries before and after it; raises `change_not_found`."""
    content = await changes.find(services.db, bot.id, change)
    if content is None:
        raise refusals.change_not_found(change=change)
    return content


async def undo(services: Services, caller: Caller, *, bot: Bot, change: str) -> ChangeContent:
    """Undo a change by a new change, and return the new change. Raises `change_not_found` and `change_not_undoable`."""
    origin = origin_of(services, caller)
    try:
        done = await changes.undo(services.db, bot.id, change, origin)
    except changes.NotUndoable:
        raise refusals.change_not_undoable(change=change) from None
    if not done:
        raise refusals.change_not_found(change=change)
    services.knowledge.invalidate(bot.id)
    return await show_change(services, caller, bot=bot, change=origin.id)


async def search(services: Services, _: Caller, *, bot: Bot, questions: Sequence[str]) -> list[QuestionResult]:
    """Search a bot's knowledge for each question, as the knowledge engine does."""
    index = cast("KnowledgeIndex", await services.knowledge.of(bot))

    def searched(question: str) -> QuestionResult:
        background.proceed()
        return QuestionResult(question, index.search(question, explain=True))

    return await services.offload(lambda: [searched(question) for question in questions])


class Piece(NamedTuple):
    """A part of a source text that becomes one entry. `before` is the source's present entry with the same question, or None."""

    question: str
    answer: str
    language: str
    alt: tuple[str, ...] = ()
    before: Entry | None = None

    @property
    def state(self) -> str:
        return "new" if self.before is None else "same" if self.before.answer == self.answer else "changed"


class Pieces(NamedTuple):
    """Preview of an import: the pieces of a file, each with the entry it replaces. `removed` are the entries that no piece replaces."""

    source: str
    pieces: Sequence[Piece]
    removed: Sequence[Entry]
    synonyms: Sequence[tuple[str, ...]] = ()

    @property
    def counts(self) -> Counter[str]:
        return Counter(piece.state for piece in self.pieces)


async def split(services: Services, caller: Caller, *, bot: Bot, file: tuple[str, bytes] | Upload, source: str = "") -> Pieces:
    """Split a file (name and content) into pieces, and compare them with the present entries of its source.

    `source` is the name under which the file is imported; it defaults to the file's name. Raises `files_invalid` and `too_many_pieces`.
    """
    (read,) = await read_files(services, bot, file if callable(file) else [file])
    entries: list[Any] = sorted(read["entries"], key=lambda entry: entry[5])  # in the order of the text
    if len(entries) > MOST_PIECES:
        raise refusals.too_many_pieces(count=len(entries), most=MOST_PIECES)
    pieces = [Piece(question, answer, language, tuple(alt)) for question, alt, answer, language, *_ in entries]
    compared = await compare_pieces(services, caller, bot=bot, source=source or read["name"], pieces=pieces)
    return compared._replace(synonyms=[tuple(words) for words, _ in read["synonyms"]])


async def compare_pieces(services: Services, _: Caller, *, bot: Bot, source: str, pieces: Sequence[Piece]) -> Pieces:
    """Compare pieces with the present entries of a source. `before` of each piece becomes the entry with the same question."""
    entries = await stored.entries(services.db, bot.id)

    def work() -> Pieces:
        present: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.source == source:
                present.setdefault(entry.question, []).append(entry)
        # Several pieces with the same question are matched with the entries in their order.
        compared = [piece._replace(before=present[piece.question].pop(0) if present.get(piece.question) else None) for piece in pieces]
        return Pieces(source, compared, [entry for left in present.values() for entry in left])

    return await services.offload(work)


def joined(pieces: Sequence[Piece], indexes: set[int]) -> list[Piece]:
    """Join each piece whose index is in `indexes` with the piece before it."""
    result: list[Piece] = []
    for index, piece in enumerate(pieces):
        if index not in indexes or not result:
            result.append(piece)
            continue
        above = result[-1]
        text = piece.answer if piece.answer.startswith(piece.question) else f"{piece.question}\n{piece.answer}"
        result[-1] = above._replace(answer=f"{above.answer}\n\n{text}", alt=tuple(dict.fromkeys((*above.alt, *piece.alt))))
    return result


async def import_pieces(
    services: Services,
    caller: Caller,
    *,
    bot: Bot,
    source: str,
    pieces: Sequence[Piece],
    keep: Sequence[str] = (),
    synonyms: Sequence[tuple[str, ...]] = (),
) -> FileChange:
    """Import pieces as the entries of a source. The source's other entries are deleted, except those whose ids are in `keep`.

    An entry whose answer changes keeps its id and its phrasings. Raises `files_invalid` with the faults of all pieces.
    """
    gathering = Gathering(source, "piece", bot.language)
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
    compared = await compare_pieces(services, caller, bot=bot, source=source, pieces=pieces)
    entries = []
    for piece, entry in zip(compared.pieces, parsed, strict=True):
        before = piece.before or Entry(str(uuid.uuid4()), "", (), "", "")
        phrasings = tuple(dict.fromkeys((*before.alt, *entry.alt)))
        entries.append(Entry(before.id, entry.question, phrasings, entry.answer, entry.language, source))
    entries += [entry for entry in compared.removed if entry.id in keep]
    file = stored.FromFile(source, entries, [Synonyms(words, source) for words in synonyms])
    (replaced,) = await stored.replace(services.db, bot.id, [file], origin_of(services, caller))
    services.knowledge.invalidate(bot.id)
    return FileChange(source, len(file.entries), replaced)


async def remove_source(services: Services, caller: Caller, *, bot: Bot, source: str) -> FileChange:
    """Remove all entries and synonyms of a source; raises `source_not_found`."""
    gone = await stored.remove_files(services.db, bot.id, [source], [source], origin_of(services, caller))
    services.knowledge.invalidate(bot.id)
    if not gone:
        raise refusals.source_not_found(source=source)
    return FileChange(source, 0, gone)
