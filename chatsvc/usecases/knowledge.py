"""Knowledge of a bot: add files, list, search, export and remove entries."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.store import knowledge as stored
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services

if TYPE_CHECKING:
    from chatsvc.engines import SearchResult


class AddedFile(NamedTuple):
    """A file that was added: its name, its entries, and how many earlier ones they replaced."""

    source: str
    entries: int
    replaced: int


class Addition(NamedTuple):
    """The files that one call added to a bot."""

    bot: str
    files: list[AddedFile]


class WholeKnowledge(NamedTuple):
    """All entries and synonyms of a bot, with its language."""

    language: str
    entries: Sequence[Entry]
    synonyms: Sequence[Synonyms]


class QuestionResult(NamedTuple):
    """A question and what the index found for it."""

    question: str
    result: SearchResult


async def add(services: Services, caller: Caller, *, bot: str, files: Sequence[dict[str, Any]]) -> Addition:
    """Add the contents of files, as `file_reading.read_files` returns them, in one transaction.

    Entries of an earlier file of the same name are replaced; raises `files_same_name` for two files of one name.
    """
    _, chatbot = await bots.resolve(services, caller, bot)
    names = [file["name"] for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refusals.files_same_name(names=twice)
    added = [from_file(file) for file in files]
    gone = await stored.replace(services.db, chatbot.id, added, services.clock(), lambda _: services.knowledge.invalidate(chatbot.id))
    done = [AddedFile(file.name, len(file.entries), replaced) for file, replaced in zip(added, gone, strict=True)]
    return Addition(chatbot.id, done)


def from_file(file: dict[str, Any]) -> stored.FromFile:
    """Return the entries, with new ids, and synonyms of a file as `file_reading` read it."""
    entries = [(question, tuple(alt), answer, language, source) for question, alt, answer, language, source, _ in file["entries"]]
    return stored.FromFile(
        file["name"],
        [Entry(str(uuid.uuid4()), *values) for values in entries],
        [Synonyms(tuple(words), source) for words, source in file["synonyms"]],
    )


async def list_all(services: Services, caller: Caller, *, bot: str) -> list[Entry]:
    """List all entries of a bot."""
    _, chatbot = await bots.resolve(services, caller, bot)
    return await stored.entries(services.db, chatbot.id)


async def export(services: Services, caller: Caller, *, bot: str) -> WholeKnowledge:
    """Export all entries and synonyms of a bot."""
    _, chatbot = await bots.resolve(services, caller, bot)
    entries, synonyms = await stored.whole(services.db, chatbot.id)
    return WholeKnowledge(chatbot.language, entries, synonyms)


async def remove(services: Services, caller: Caller, *, bot: str, entry: str) -> Entry:
    """Remove one entry; raises `entry_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    gone = await stored.remove(services.db, chatbot.id, entry, lambda _: services.knowledge.invalidate(chatbot.id))
    if gone is None:
        raise refusals.entry_not_found(entry=entry)
    return gone


async def search(services: Services, caller: Caller, *, bot: str, questions: Sequence[str]) -> list[QuestionResult]:
    """Search a bot's knowledge for each question, as the knowledge engine does."""
    _, chatbot = await bots.resolve(services, caller, bot)
    index = await services.knowledge.of(chatbot)
    return [QuestionResult(question, index.search(question, explain=True)) for question in questions]
