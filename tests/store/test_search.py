"""The search in conversations: its terms, its pages, and that it finds what texts of any spelling hold."""

import itertools
import string
from unittest.mock import patch

import pytest

from chatsvc.domain.captures import Request
from chatsvc.domain.folding import fold_character
from chatsvc.domain.search_words import Matcher, Term, terms
from chatsvc.services.conversations.conversations import terms_of
from chatsvc.store import exchanges, search_queries
from chatsvc.store.captures import NewCapture
from chatsvc.store.database import Database
from chatsvc.store.search_queries import ConversationFilter
from tests.fakes import START
from tests.store.support import chat, furnish, new_exchange

pytestmark = pytest.mark.postgres


async def find(db: Database, query: str, **chosen: object) -> list[str]:
    """The visitors whose conversations match, over all pages of two."""
    visitors, after = list[str](), None
    while True:
        wanted = ConversationFilter(terms=terms_of(query), **chosen)  # type: ignore[arg-type]  # the names are those of the filter
        page = await search_queries.conversations(db, ["account"], wanted, 2, after)
        visitors += [conversation.user_id for conversation, _ in page.items]
        after = page.next
        if after is None:
            return visitors


async def test_words_are_found_by_their_beginnings_in_any_case_and_alphabet(db: Database) -> None:
    await furnish(db)
    await chat(db, user_id="v1", text="Yarın için RANDEVU alabilir miyim, Işıl? Москва 東京", at=START)
    await chat(db, user_id="v2", text="Do you deliver to Çiğli?", at=START + 10)
    for visitors, queries in (
        (["v1"], ("randev", "ISIL", "ışıl", "моск", "東")),
        (["v2"], ("cigli deliver", "do you deliver to", "you")),
        ([], ("cigli randevu", "andevu", "осква")),
        (["v2", "v1"], ("reply",)),
    ):
        for query in queries:
            assert await find(db, query) == visitors, query


async def test_a_visitor_is_found_by_name_address_number_and_user_id(db: Database) -> None:
    await furnish(db)
    request = Request("r", "contact", "new", "Call me", "Ayşe Yılmaz", "ayse.y@example.com", "+905321234567", "", START)
    captured = NewCapture(request, None, tell=False)
    await exchanges.record(db, new_exchange(user_id="customer-1042", text="hi")._replace(captured=captured))
    await chat(db, user_id="other", text="my number is 0212 555 44 33", at=START + 1)
    for query in ("yilmaz", "ayse.y@example.com", "0532 123 45 67", "+90 532 123 45 67", "5321234", "0532", "customer-1042", "AYŞE call"):
        assert await find(db, query) == ["customer-1042"], query
    assert await find(db, "+902125554433") == ["other"]
    assert await find(db, "", captured=True) == await find(db, "", user_id="customer-1042") == ["customer-1042"]
    assert await find(db, "", captured=True, user_id="other") == await find(db, "1042", status="waiting") == []


async def test_pages_follow_by_last_message_and_filters_hold(db: Database) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    for i in range(7):
        await chat(
            db, user_id=f"v{i}", text="word", at=START + i, bot_id="other" if i % 3 == 0 else "bot", channel="api" if i % 2 else "web"
        )
    await chat(db, user_id="v1", text="newest", at=START + 100)
    await furnish(db, "stranger", ("strange",))
    await chat(db, account_id="stranger", bot_id="strange", text="word")
    assert await find(db, "word") == ["v1", "v6", "v5", "v4", "v3", "v2", "v0"]
    assert await find(db, "word", oldest_first=True) == ["v0", "v2", "v3", "v4", "v5", "v6", "v1"]
    assert await find(db, "word", bot_id="other") == ["v6", "v3", "v0"]
    assert await find(db, "word", channel="web") == ["v6", "v4", "v2", "v0"]
    assert await find(db, "word newest") == ["v1"]


async def test_much_that_does_not_match_gives_short_pages_that_lead_on(db: Database) -> None:
    await furnish(db)
    for i in range(30):
        await chat(db, user_id=f"v{i}", text="needle" if i == 3 else "hay", at=START + i)
    for name, value in (("STEPS", (2, 3)), ("MOST_READ", 10)):
        with patch.object(search_queries, name, value), patch.object(search_queries, "STEPS", (2, 3)):
            page = await search_queries.conversations(db, None, ConversationFilter(terms=terms("needle")), 2)
            assert (page.items, page.next is None) == ([], False)
            assert await find(db, "needle") == ["v3"]


@pytest.mark.no_cover  # thousands of times the same lines
def test_no_spelling_of_a_letter_is_overlooked() -> None:
    """Each character that folds to letters or digits, alone, behind and before others, and with a mark between."""
    plain = set(string.ascii_lowercase + string.digits)
    for code in itertools.chain(range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000), range(0x1D400, 0x1D800)):
        folded = fold_character(chr(code))
        if folded and plain.issuperset(folded):
            for text, query in ((chr(code), folded), (f"7{chr(code)}\u0307z", f"7{folded}z"), (f"{chr(code)}x", f"{folded}x")):
                assert Matcher(terms(query)).matches(f"so ({text})"), (hex(code), text, query)


def test_a_term_within_a_word_or_of_another_number_does_not_match() -> None:
    for text, term in (("harness", Term("ness")), ("1042", Term("42")), ("first-70", Term("7", exact=True)), ("", Term("a"))):
        assert not Matcher([term]).matches(text)
    assert Matcher([]).matches("anything")
