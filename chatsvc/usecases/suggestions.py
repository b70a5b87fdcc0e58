"""Selects suggested questions of a bot, which visitors see before their first message.

They are those of recent replies, else the first ones of the knowledge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chatsvc.domain.language import primary
from chatsvc.domain.models import Bot
from chatsvc.store import channel_messages as stored

if TYPE_CHECKING:
    from chatsvc.usecases.services import Services

SUGGESTIONS = 3
_LONGEST_SUGGESTION = 80


async def most_asked(services: Services, bot: Bot, language: str) -> list[str]:
    """Return the questions of the entries of most recent replies. Without replies, the first ones of the knowledge."""
    knowledge = await services.knowledge.of(bot)
    fitting = {
        entry.id: entry.question
        for entry in knowledge.entries
        if primary(entry.language) == language and len(entry.question) <= _LONGEST_SUGGESTION
    }
    counts: Counter[str] = Counter()
    for evidence in await stored.recent_evidence(services.db, bot.id):
        counts.update(_answering(json.loads(evidence), fitting))
    chosen = [entry for entry, _ in counts.most_common(SUGGESTIONS)]
    chosen += [entry for entry in fitting if entry not in chosen][: SUGGESTIONS - len(chosen)]
    return list(dict.fromkeys(fitting[entry] for entry in chosen))


def _answering(evidence: dict[str, object], fitting: Sequence[str] | dict[str, str]) -> list[str]:
    """Return the entry that a reply came from, if it is among the fitting ones."""
    entries = evidence.get("entries")
    if evidence.get("decision") == "ask" or not isinstance(entries, list) or not entries or not isinstance(entries[0], dict):
        return []
    first = str(entries[0].get("id"))
    return [first] if first in fitting else []
