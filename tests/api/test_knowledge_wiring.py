"""A bot's own synonyms reach its search, in the service and in a command by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import chatsvc.engines.knowledge
from chatsvc.app import App
from chatsvc.domain.models import Entry
from chatsvc.usecases import bots, knowledge, shared_library
from chatsvc.usecases.library import Library
from tests.conftest import Caller

FAQ = "synonyms: peştamal, havlu\nsynonyms: oda, suit\n\n## Havlu var mı?\n\nVar."


async def test_the_synonyms_of_a_bot_reach_its_index_and_change_with_the_file(
    app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[tuple[str, ...]]] = []

    def index(entries: Sequence[Entry], language: str, synonyms: Sequence[Sequence[str]]) -> Any:
        built.append([tuple(group) for group in synonyms])
        return len(entries)

    monkeypatch.setattr(shared_library, "KnowledgeIndex", index)
    monkeypatch.setattr(chatsvc.engines.knowledge, "KnowledgeIndex", index)
    _, bot = await bots.resolve(app.services, caller.bot)
    for text in (FAQ, FAQ.replace("synonyms: oda, suit\n", "")):
        await knowledge.add(app.services, bot=caller.bot, files=[("faq.md", text)])
        await app.services.library.of(bot)
        await Library(app.services.db).of(bot)
    both, one = [("peştamal", "havlu"), ("oda", "suit")], [("peştamal", "havlu")]
    assert built == [both, both, one, one]
