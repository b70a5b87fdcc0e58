"""A bot's knowledge, for the administrator: files added, entries listed, searched and removed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from chatsvc.domain import shapes
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Entry
from chatsvc.domain.shapes import Json
from chatsvc.store import knowledge as stored
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services


async def add(services: Services, *, bot: str, files: Sequence[Sequence[str]]) -> Json:
    """Add files, each a name and its text; a name that was added before is replaced by what it holds now.

    All files are read before anything is written; raises Refused with every fault of them.
    """
    from chatsvc.domain.knowledge_files import KnowledgeFileError, parse_file

    _, chatbot = await bots.resolve(services, bot)
    names = [name for name, _ in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Refused(f"two files have the same name, by which a file is replaced later: {', '.join(twice)}")
    try:
        parsed = await services.offload(lambda: {name: parse_file(name, text, chatbot.language) for name, text in files})
    except KnowledgeFileError as fault:
        raise Refused(str(fault)) from None
    added = {
        name: [Entry(str(uuid.uuid4()), e.question, e.alt, e.answer, e.language, name) for e in entries] for name, entries in parsed.items()
    }
    done: list[Json] = []
    for name, new in added.items():
        gone = await stored.replace_source(
            services.db, chatbot.id, source=name, added=new, now=services.clock(), applied=lambda _: services.library.changed(chatbot.id)
        )
        done.append({"source": name, "entries": len(new), "replaced": gone})
    return {"bot": chatbot.id, "entries": sum(len(new) for new in added.values()), "files": done}


async def list_all(services: Services, *, bot: str) -> list[Json]:
    """All entries of a bot."""
    _, chatbot = await bots.resolve(services, bot)
    return [shapes.entry(entry) for entry in await stored.entries(services.db, chatbot.id)]


async def remove(services: Services, *, bot: str, entry: str) -> Json:
    """Take one entry out."""
    _, chatbot = await bots.resolve(services, bot)
    gone = await stored.remove(services.db, chatbot.id, entry, lambda _: services.library.changed(chatbot.id))
    if gone is None:
        raise Refused(f"the bot has no entry {entry}")
    return shapes.entry(gone)


async def search(services: Services, *, bot: str, questions: Sequence[str]) -> list[Json]:
    """What the bot's knowledge has for each question, and what the knowledge engine would do with it."""
    _, chatbot = await bots.resolve(services, bot)
    index = await services.library.of(chatbot)
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
