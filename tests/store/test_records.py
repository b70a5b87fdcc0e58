"""Records written together: an exchange with all its counts, and an account's complete deletion."""

import asyncio
import random
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from chatsvc.domain.analytics import UsageRow, UsageTotals
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.domain.times import DAY_MS
from chatsvc.store import accounts, bots, conversations, day_counts, exchanges, knowledge, unanswered
from chatsvc.store.database import Database
from tests.fakes import START
from tests.store.conftest import Open
from tests.store.support import chat, dump, furnish, new_bot, new_exchange, origin, rows

pytestmark = pytest.mark.postgres


async def test_an_exchange_writes_both_messages_the_usage_and_every_count(db: Database, path: Path) -> None:
    await furnish(db)
    assert await chat(db, text="first", key="k") == exchanges.Counts(month_used=1, credits=0, bot_used=1)
    assert await chat(db, text="second", at=START + 1000) == exchanges.Counts(month_used=2, credits=0, bot_used=2)
    assert rows(path, "SELECT role, content, created_at FROM messages ORDER BY number") == [
        ("user", "first", START),
        ("assistant", "reply to first", START + 5),
        ("user", "second", START + 1000),
        ("assistant", "reply to second", START + 1005),
    ]
    assert rows(path, "SELECT message_count, created_at, last_message_at, updated_at FROM conversations") == [
        (4, START, START + 1005, START + 1005)
    ]
    assert rows(path, "SELECT tokens, cost_micro_usd, created_at FROM usage_records ORDER BY number") == [
        (12, 34, START),
        (12, 34, START + 1000),
    ]
    assert rows(path, "SELECT month, messages_used FROM allowances") == [("2026-11", 2)]
    assert rows(path, "SELECT messages_used FROM bots") == [(2,)]
    assert rows(path, "SELECT conversations FROM conversation_counts") == [(1,)]


async def test_the_time_of_the_last_message_never_goes_back(db: Database, path: Path) -> None:
    await furnish(db)
    await chat(db, at=START)
    await chat(db, at=START - DAY_MS)
    assert rows(path, "SELECT last_message_at, updated_at, created_at, message_count FROM conversations") == [
        (START + 5, START + 5, START, 4)
    ]


async def test_credits_pay_for_what_the_plan_does_not_and_never_go_below_none(db: Database) -> None:
    await furnish(db)
    await accounts.update(db, "account", {"messages_limit": 1, "message_credits": 2})
    counts = [await chat(db) for _ in range(4)]
    assert [(count.month_used, count.credits) for count in counts if count] == [(1, 2), (2, 1), (3, 0), (4, 0)]
    december = await chat(db, month="2026-12")
    assert december == exchanges.Counts(1, 0, 5)


@pytest.mark.parametrize("bot", ["bot", "no such bot"])
async def test_nothing_is_written_for_an_account_or_a_bot_that_is_gone(db: Database, path: Path, bot: str) -> None:
    await furnish(db)
    if bot == "bot":
        await accounts.delete(db, "account", START)
    before = dump(path)
    assert await chat(db, bot_id=bot, key="k") is None
    assert dump(path) == before


async def test_an_idempotency_key_is_kept_for_a_day_and_old_ones_go_as_new_ones_come(db: Database, path: Path) -> None:
    await furnish(db)
    for i in range(20):
        await chat(db, key=f"old {i:02}", at=START + i)
    answer = await exchanges.answered(db, "account", "old 03", START + 3 + DAY_MS - 1)
    assert answer == exchanges.Idempotency("old 03", b"digest of the fields", '{"reply": "reply to hello"}')
    assert await exchanges.answered(db, "account", "old 03", START + 3 + DAY_MS) is None
    assert await exchanges.answered(db, "someone else", "old 03", START + 3) is None
    for i in range(3):
        await chat(db, key=f"new {i}", at=START + 2 * DAY_MS)
    assert rows(path, "SELECT key FROM idempotency_keys ORDER BY key") == [("new 0",), ("new 1",), ("new 2",)]


async def test_a_key_that_has_run_out_may_be_used_again(db: Database, path: Path) -> None:
    await furnish(db)
    await chat(db, key="again", text="yesterday")
    await chat(db, key="again", text="today", at=START + DAY_MS)
    assert rows(path, "SELECT key, exchange FROM idempotency_keys") == [("again", '{"reply": "reply to today"}')]


async def test_the_kept_counts_of_conversations_are_those_that_are_there(db: Database, path: Path) -> None:
    dice = random.Random(7)
    await furnish(db, "account", ("a", "b", "c"))
    await furnish(db, "other", ("d",))
    for i in range(150):
        bot = dice.choice("abcd")
        owner = "other" if bot == "d" else "account"
        await chat(db, bot_id=bot, account_id=owner, user_id=f"v{dice.randrange(25)}", channel=dice.choice(["api", "web"]), at=START + i)
    everything = rows(path, "SELECT id, account_id, bot_id, channel FROM conversations ORDER BY last_message_at DESC, number DESC")
    for owner, bot_id in (("account", None), ("account", "a"), ("account", "c"), ("other", None), ("other", "d")):
        for channel in (None, "api", "web", "whatsapp", "no such channel"):
            items, *rest = await conversations.page(db, owner, 100_000, bot_id=bot_id, channel=channel)
            wanted = [row[0] for row in everything if row[1] == owner and bot_id in (None, row[2]) and channel in (None, row[3])]
            assert [conversation.id for conversation in items] == wanted
            assert rest == [len(wanted), None]


async def test_a_bot_past_the_plans_number_is_not_written(db: Database) -> None:
    await furnish(db, "account", ("a", "b"))
    assert await bots.create(db, new_bot("c"), 2) is None
    assert await bots.create(db, new_bot("c"), 3) == new_bot("c")


@pytest.mark.parametrize("name", ["id", "account_id", "number", "messages_used = 0, name"])
async def test_only_the_settings_of_a_bot_can_be_changed(db: Database, name: str) -> None:
    await furnish(db)
    with pytest.raises(ValueError, match="cannot be changed"):
        await bots.update(db, new_bot(), lambda _: {name: 1}, START)
    with pytest.raises(ValueError, match="cannot be changed"):
        await accounts.update(db, "account", {name: 1})


async def add(db: Database, name: str, *questions: tuple[str, str], synonyms: Sequence[Synonyms] = ()) -> int:
    """Add a file of questions, each with its source; the number of entries that went."""
    entries = [Entry(str(uuid.uuid4()), question, (), "answer", "en", source) for question, source in questions]
    return (await knowledge.replace(db, "bot", [knowledge.FromFile(name, entries, synonyms)], origin()))[0]


async def test_a_name_that_was_added_before_is_replaced_with_all_its_entries(db: Database) -> None:
    await furnish(db)
    assert await add(db, "faq.md", ("a", "faq.md"), ("b", "faq.md")) == 0
    assert await add(db, "faq.md", ("c", "faq.md")) == 2
    assert [e.question for e in await knowledge.entries(db, "bot")] == ["question of bot", "c"]


async def test_what_comes_from_a_source_replaces_what_came_from_it_whatever_the_file(db: Database) -> None:
    await furnish(db)
    await add(db, "faq.md", ("a", "faq.md"), ("b", "faq.md"))
    assert await add(db, "export.jsonl", ("a", "faq.md"), ("x", "https://a.example")) == 2
    assert await add(db, "export.jsonl", ("y", "https://b.example")) == 2
    assert await add(db, "faq.md", ("c", "faq.md")) == 0
    assert [(e.question, e.source) for e in (await knowledge.entries(db, "bot"))[1:]] == [("y", "https://b.example"), ("c", "faq.md")]


async def test_synonyms_go_with_the_file_that_they_came_from(db: Database) -> None:
    await furnish(db)
    first, second = Synonyms(("towel", "havlu"), "faq.md"), Synonyms(("bike", "bicycle"), "faq.md")
    await add(db, "faq.md", ("a", "faq.md"), synonyms=[first])
    await add(db, "faq.md", ("a", "faq.md"), synonyms=[second])
    assert (await knowledge.whole(db, "bot")).synonyms[1:] == [second]
    assert (await knowledge.whole(db, "another bot")).synonyms == []


async def test_a_question_in_vain_is_kept_once_and_counted(db: Database) -> None:
    await furnish(db)
    assert await unanswered.clear(db, "bot") == 1
    for at, folded in enumerate(["a", "b", "b", "a", "b"]):
        await unanswered.note(db, "bot", unanswered.AskedQuestion(folded, f"{folded} {at}", "en"), START + at)
    await unanswered.note(db, "no such bot", unanswered.AskedQuestion("a", "a", "en"), START)
    asked = await unanswered.most_frequent(db, "account")
    assert [wording[2:5] for wording in asked] == [("b 1", "en", 3), ("a 0", "en", 2)]
    assert await unanswered.most_frequent(db, "account", bot_id="no such bot") == []
    assert await unanswered.clear(db, "bot", asked[1].group_id) == 1
    assert await unanswered.clear(db, "bot") == 1
    assert await unanswered.most_frequent(db, "account") == []


async def test_of_too_many_questions_in_vain_the_rarest_and_oldest_go(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unanswered, "MOST_KEPT", 10)
    monkeypatch.setattr(unanswered, "_CLEAN_EVERY", 1)
    await furnish(db)
    await unanswered.clear(db, "bot")
    for _ in range(2):
        await unanswered.note(db, "bot", unanswered.AskedQuestion("often", "often", "en"), START)
    for at in range(199):
        await unanswered.note(db, "bot", unanswered.AskedQuestion(f"once {at}", f"once {at}", "en", ("api", "v")), START + at)
    questions = [row.question for row in await unanswered.most_frequent(db, "account")]
    assert questions[0] == "often"
    assert questions[1:] == [f"once {at}" for at in range(198, 198 - len(questions) + 1, -1)]
    assert len(questions) == 10


async def test_usage_is_summed_over_the_newest_records_and_says_from_when(db: Database) -> None:
    await furnish(db)
    for i in range(10):
        await chat(db, at=START + i * DAY_MS)
    end = START + 20 * DAY_MS
    whole = await day_counts.usage_summary(db, "account", START, end, cap=10)
    first = START - START % DAY_MS
    days = [UsageRow(first + i * DAY_MS, "bot", "api", UsageTotals(1, 12, 34)) for i in range(10)]
    assert whole == (None, days)
    cut = await day_counts.usage_summary(db, "account", START, end, cap=4)
    assert cut == (START + 6 * DAY_MS, days[6:])
    assert (await day_counts.usage_summary(db, "account", START + 1, end, cap=9))[0] is None
    assert await day_counts.usage_summary(db, "someone else", START, end, cap=10) == (None, [])


SECRET = "unforgettable"


async def fill(db: Database, account_id: str, messages: int) -> None:
    """An account with bots, knowledge, keys and much said."""
    await furnish(db, account_id, (f"{account_id} bot 1", f"{account_id} bot 2"))
    for i in range(messages):
        exchange = new_exchange(
            f"{account_id} bot {1 + i % 2}",
            account_id,
            f"{account_id} visitor {i % 7}",
            at=START + i,
            text=f"{account_id} says {i}",
            key=f"{account_id} key {i}" if i % 3 == 0 else None,
        )
        await exchanges.record(db, exchange)


@pytest.mark.sqlite
async def test_nothing_is_left_of_a_deleted_account_but_the_digests_of_its_keys(
    open_db: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "_SWEEP_BATCH", 10)
    db = await open_db(path)
    await fill(db, "acme", 30)
    others = dump(path)
    await fill(db, SECRET, 60)
    digests = rows(path, "SELECT digest FROM api_keys WHERE account_id <> 'acme' ORDER BY digest")
    ids = [str(name) for (name,) in rows(path, "SELECT id FROM api_keys WHERE account_id <> 'acme'")]
    assert await accounts.delete(db, SECRET, START)
    assert not await accounts.delete(db, SECRET, START)
    assert await db.read(lambda connection: accounts.holding(connection, SECRET)) is None
    assert [account.id for account, _ in await accounts.page(db, None, "2026-11", 20)] == ["acme"]
    await accounts.note_use(db, dict.fromkeys(ids, START + 99))
    batches = 0
    while await accounts.sweep(db):
        batches += 1
    assert batches > 10
    left = [line for line in dump(path) if line not in others]
    assert len(left) == 2
    assert all(line.startswith('INSERT INTO "api_keys"') for line in left)
    assert (
        rows(
            path,
            "SELECT digest FROM api_keys WHERE account_id IS NULL AND label IS NULL AND prefix = '' AND last_used_at IS NULL ORDER BY 1",
        )
        == digests
    )
    assert [line for line in dump(path) if line in others] == others
    assert (await accounts.find_key(db, f"digest {SECRET} bot 1".encode())) is not None
    assert await accounts.page_of_keys(db, None, 10) == await accounts.page_of_keys(db, ["acme"], 10)
    assert await accounts.revoke_key(db, ids[0], None, START) is None
    await db.close()
    # Not in free pages of the file either. The digests of this test spell the name; real ones are hashes.
    raw = (await asyncio.to_thread(path.read_bytes)).replace(f"digest {SECRET}".encode(), b"")
    assert SECRET.encode() not in raw


@pytest.mark.sqlite
async def test_a_deletion_goes_in_small_batches_and_after_a_crash_on_at_the_next_start(
    open_db: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "_SWEEP_BATCH", 7)
    db = await open_db(path)
    await fill(db, "acme", 10)
    others = dump(path)
    await fill(db, SECRET, 40)
    await accounts.delete(db, SECRET, START)
    await db.close()
    before, swept = len(dump(path)), True
    while swept:
        db = await open_db(path)
        assert await db.read(lambda connection: accounts.holding(connection, SECRET)) is None
        assert await chat(db, bot_id=f"{SECRET} bot 1", account_id=SECRET) is None
        assert rows(path, "PRAGMA foreign_key_check") == []
        swept = await accounts.sweep(db)
        await db.close()
        # A batch of each of five tables at most, with the few rows that hang on the account itself.
        assert before - (before := len(dump(path))) <= 5 * 7 + 10
    assert [line for line in dump(path) if line not in others and SECRET in line.replace(f"digest {SECRET}", "")] == []
    assert set(others) <= set(dump(path))
