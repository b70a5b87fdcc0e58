"""A bot's own synonyms reach its search index."""

from collections.abc import Sequence
from typing import Any

import pytest

from chatsvc import background
from chatsvc.app import App
from chatsvc.domain.models import Entry
from chatsvc.services.knowledge import knowledge, knowledge_cache
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN

FAQ = "synonyms: peştamal, havlu\nsynonyms: oda, suit\n\n## Havlu var mı?\n\nVar."


async def test_the_synonyms_of_a_bot_reach_its_index_and_change_with_the_file(
    app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[tuple[str, ...]]] = []

    def index(entries: Sequence[Entry], language: str, synonyms: Sequence[Sequence[str]]) -> Any:
        built.append([tuple(group) for group in synonyms])
        return len(entries)

    monkeypatch.setattr(knowledge_cache, "KnowledgeIndex", index)
    bot = await caller.chatbot()
    for text in (FAQ, FAQ.replace("synonyms: oda, suit\n", "")):
        await knowledge.add(app.services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.md", text.encode())], "tr"))
        await app.services.knowledge.of(bot)
    both, single = [("peştamal", "havlu"), ("oda", "suit")], [("peştamal", "havlu")]
    assert built == [both, single]


async def test_only_a_large_knowledge_is_made_ready_before_somebody_asks(
    app: App, caller: Caller, make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await make_caller()
    monkeypatch.setattr(knowledge_cache, "LARGE", 3)
    for owner, questions in ((caller, 3), (other, 2)):
        text = "\n\n".join(f"## Question {number}?\n\nYes." for number in range(questions))
        await knowledge.add(app.services, ADMIN, bot=await owner.chatbot(), files=read_files([("faq.md", text.encode())], "tr"))
    library = KnowledgeCache(app.services.db)
    await library.warm(app.services.account_cache)
    monkeypatch.setattr(knowledge_cache, "KnowledgeIndex", lambda *_: "made when somebody asked")
    large = await caller.chatbot()
    small = await other.chatbot()
    assert len((await library.of(large)).entries) == 3
    assert str(await library.of(small)) == "made when somebody asked"


async def test_what_goes_wrong_beside_the_loop_is_told_to_who_waits() -> None:
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await background.in_daemon_thread(fails)
    assert await background.in_daemon_thread(lambda: 7) == 7
