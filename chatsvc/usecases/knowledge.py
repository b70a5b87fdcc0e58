"""A bot's knowledge, for the administrator: files added, entries listed, searched, exported and removed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from chatsvc.domain import shapes
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.domain.shapes import Json
from chatsvc.store import knowledge as stored
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services


async def add(services: Services, *, bot: str, files: Sequence[dict[str, Any]]) -> Json:
    """Add the contents of files, as `file_reading.read_files` returns them, in one transaction.

    Entries of an earlier file of the same name are replaced; raises Refused where two of these files have one name.
    """
    _, chatbot = await bots.resolve(services, bot)
    names = [file["name"] for file in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Refused(f"two files have the same name, by which a file is replaced later: {', '.join(twice)}")
    added = [_from_file(file) for file in files]
    gone = await stored.replace(services.db, chatbot.id, added, services.clock(), lambda _: services.knowledge.invalidate(chatbot.id))
    done = [{"source": file.name, "entries": len(file.entries), "replaced": replaced} for file, replaced in zip(added, gone, strict=True)]
    return {"bot": chatbot.id, "entries": sum(len(file.entries) for file in added), "files": done}


def _from_file(file: dict[str, Any]) -> stored.FromFile:
    entries = [(question, tuple(alt), answer, language, source) for question, alt, answer, language, source, _ in file["entries"]]
    return stored.FromFile(
        file["name"],
        [Entry(str(uuid.uuid4()), *values) for values in entries],
        [Synonyms(tuple(words), source) for words, source in file["synonyms"]],
    )


async def list_all(services: Services, *, bot: str) -> list[Json]:
    """All entries of a bot."""
    _, chatbot = await bots.resolve(services, bot)
    return [shapes.entry(entry) for entry in await stored.entries(services.db, chatbot.id)]


async def export(services: Services, *, bot: str) -> Json:
    """All that a bot knows, with its language: what is written to a file, and what is looked through for faults."""
    _, chatbot = await bots.resolve(services, bot)
    entries, synonyms = await stored.whole(services.db, chatbot.id)
    return {
        "language": chatbot.language,
        "entries": [shapes.entry(entry) for entry in entries],
        "synonyms": [group._asdict() for group in synonyms],
    }


async def remove(services: Services, *, bot: str, entry: str) -> Json:
    """Take one entry out."""
    _, chatbot = await bots.resolve(services, bot)
    gone = await stored.remove(services.db, chatbot.id, entry, lambda _: services.knowledge.invalidate(chatbot.id))
    if gone is None:
        raise Refused(f"the bot has no entry {entry}")
    return shapes.entry(gone)


async def search(services: Services, *, bot: str, questions: Sequence[str]) -> list[Json]:
    """What the bot's knowledge has for each question, and what the knowledge engine would do with it."""
    _, chatbot = await bots.resolve(services, bot)
    index = await services.knowledge.of(chatbot)
    found: list[Json] = []
    for question in questions:
        finding = index.search(question, explain=True)
        found.append(
            {
                "question": question,
                "language": finding.language,
                "decision": finding.decision,
                "confidence": round(finding.confidence, 4),
                "entries": [
                    {"id": hit.entry.id, "question": hit.entry.question, "score": round(hit.score, 4), "why": list(hit.why)}
                    for hit in finding.hits
                ],
            }
        )
    return found
