"""The search index: filled from the queue, searched, and erased without a trace."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from chatsvc.domain.captures import Request
from chatsvc.domain.search_words import CAPTURED, Term, terms
from chatsvc.services.conversations.search import terms_of, words_of
from chatsvc.store import accounts, exchanges, search, search_queries, search_terms
from chatsvc.store.database import Database
from chatsvc.store.exchanges import NewCapture
from chatsvc.store.search_queries import ConversationFilter
from tests.fakes import START
from tests.store.support import chat, dump, furnish, new_exchange, rows
from tests.store.test_erasure import erase, readable

pytestmark = pytest.mark.postgres


async def index(db: Database) -> None:
    """Work off the whole queue."""
    while await search.index(db, words_of):
        pass


async def find(db: Database, query: str, *, bot: str | None = None, channel: str | None = None) -> list[str]:
    """The visitors whose conversations match, newest first, over all pages of two."""
    found, after = [], None
    while True:
        page = await search_queries.conversations(db, ["account"], ConversationFilter(bot, channel, terms_of(query)), 2, after)
        found += [conversation.user_id for conversation, _ in page.rows]
        after = page.next
        if after is None:
            return found


@pytest.fixture(params=["rare", "frequent"], autouse=True)
def _both_ways(request: pytest.FixtureRequest) -> object:
    """Search by a rare word's entries, and along the conversations as for frequent words."""
    with patch.object(search_terms, "RARE", 2_000 if request.param == "rare" else 0):
        yield


async def test_words_are_found_by_their_beginnings_in_any_case_and_alphabet(db: Database) -> None:
    await furnish(db)
    await chat(db, user_id="v1", text="Yarın için RANDEVU alabilir miyim, Işıl?", at=START)
    await chat(db, user_id="v2", text="Do you deliver to Çiğli?", at=START + 10)
    await index(db)
    assert await find(db, "randev") == ["v1"]
    assert await find(db, "ISIL") == await find(db, "ışıl") == ["v1"]
    assert await find(db, "cigli deliver") == ["v2"]
    assert await find(db, "cigli randevu") == []
    assert await find(db, "andevu") == []
    # Stop words of messages are not indexed, and count only where there is nothing else.
    assert await find(db, "do you deliver to") == ["v2"]
    assert await find(db, "you") == []
    # The bot's replies are searched as well.
    assert await find(db, "reply") == ["v2", "v1"]


async def test_a_visitor_is_found_by_name_address_number_and_user_id(db: Database) -> None:
    await furnish(db)
    request = Request("r", "contact", "new", "Call me", "Ayşe Yılmaz", "ayse.y@example.com", "+905321234567", "", START)
    captured = NewCapture(request, None, tell=False)
    await exchanges.record(db, new_exchange(user_id="customer-1042", text="hi")._replace(captured=captured))
    await chat(db, user_id="other", text="my number is 0212 555 44 33", at=START + 1)
    await index(db)
    for query in ("yilmaz", "ayse.y@example.com", "0532 123 45 67", "+90 532 123 45 67", "5321234", "0532", "customer-1042", "AYŞE call"):
        assert await find(db, query) == ["customer-1042"], query
    assert await find(db, "+902125554433") == ["other"]
    both = ConversationFilter(terms=[Term(CAPTURED, exact=True)])
    assert [one.user_id for one, _ in (await search_queries.conversations(db, None, both, 10)).rows] == ["customer-1042"]


async def test_pages_follow_by_beginning_and_filters_hold(db: Database) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    for i in range(7):
        await chat(
            db, user_id=f"v{i}", text="word", at=START + i, bot_id="other" if i % 3 == 0 else "bot", channel="api" if i % 2 else "web"
        )
    await index(db)
    # The words of a new message come into the index; on a single page the conversation comes to the front.
    await chat(db, user_id="v1", text="newest", at=START + 100)
    await index(db)
    assert await find(db, "word") == ["v6", "v5", "v4", "v3", "v2", "v1", "v0"]
    page = await search_queries.conversations(db, None, ConversationFilter(terms=terms_of("word")), 10)
    assert [one.user_id for one, _ in page.rows] == ["v1", "v6", "v5", "v4", "v3", "v2", "v0"]
    assert await find(db, "word", bot="other") == ["v6", "v3", "v0"]
    assert await find(db, "word", channel="web") == ["v6", "v4", "v2", "v0"]
    assert await find(db, "word newest") == ["v1"]
    await furnish(db, "stranger", ("strange",))
    await chat(db, account_id="stranger", bot_id="strange", text="word")
    await index(db)
    assert len(await find(db, "word")) == 7


async def test_a_frequent_word_beside_rare_hits_gives_short_pages_that_lead_on(db: Database) -> None:
    await furnish(db)
    for i in range(30):
        await chat(db, user_id=f"v{i}", text="needle" if i == 3 else "hay", at=START + i)
    await index(db)
    with patch.object(search_terms, "RARE", 0), patch.object(search_queries, "CHUNKS", (2, 3)):
        page = await search_queries.conversations(db, None, ConversationFilter(terms=terms("needle")), 2)
        assert (page.rows, page.next) != ([], None)
        assert await find(db, "needle") == ["v3"]


@pytest.mark.sqlite
async def test_an_erased_conversation_leaves_no_word(db: Database, path: Path) -> None:
    await furnish(db)
    await chat(db, user_id="stays", text="common words remain")
    before = [line for line in dump(path) if "search" in line]
    await chat(db, user_id="goes", text="common Geheimniskrämerei")
    await index(db)
    assert readable(path, "geheimniskramerei")
    await erase(db, "goes")
    await db.purge()
    assert readable(path, "geheimniskramerei") == []
    assert await find(db, "common") == ["stays"]
    assert before != []
    assert rows(path, "SELECT count(*) FROM search_words WHERE conversation NOT IN (SELECT number FROM conversations)") == [(0,)]
    # Erased before it was indexed.
    await chat(db, user_id="goes", text="unindexed")
    await erase(db, "goes")
    await index(db)
    assert (
        rows(path, "SELECT count(*) FROM search_queue")
        == rows(path, "SELECT count(*) FROM search_words WHERE word = 'unindexed'")
        == [(0,)]
    )


async def test_a_deleted_account_leaves_no_word_and_is_not_indexed_again(db: Database, path: Path) -> None:
    await furnish(db)
    await furnish(db, "other", ("bot of other",))
    await chat(db, text="indexed")
    await chat(db, text="kept", account_id="other", bot_id="bot of other")
    await index(db)
    await chat(db, text="queued", user_id="second")
    await accounts.delete(db, "account", START)
    await index(db)
    assert rows(path, "SELECT count(*) FROM search_words WHERE word = 'queued'") == [(0,)]
    while await accounts.sweep(db):
        pass
    assert {word for (word,) in rows(path, "SELECT word FROM search_words")} >= {"kept"}
    assert rows(path, "SELECT count(*) FROM search_words WHERE word = 'indexed'") == [(0,)]
    assert rows(path, "SELECT count(*) FROM search_documents") == [(1,)]


async def test_a_long_conversation_is_indexed_in_several_batches(db: Database, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MESSAGES", 4)
    await furnish(db)
    for i in range(5):
        await chat(db, text=f"word{i}", at=START + i)
    assert await search.index(db, words_of) == 1
    assert rows(path, "SELECT count(*) FROM search_queue") == [(1,)]
    assert await find(db, "word1") == ["visitor"]
    assert await find(db, "word4") == []
    await index(db)
    assert await find(db, "word4") == ["visitor"]
    monkeypatch.setattr(search, "MAX_WORDS", 1)
    await chat(db, text="beyond", at=START + 9)
    await index(db)
    assert await find(db, "beyond") == []
