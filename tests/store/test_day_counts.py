"""Counts of days: written with what they count, kept by erasure, filled in for existing stores, and summed up for a period."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from chatsvc.domain.analytics import Quality, ResponseTimes, response_times
from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.channels import NewMessage
from chatsvc.domain.times import DAY_MS, start_of_day
from chatsvc.store import channel_messages, day_counts, erasure, exchanges, handling, incoming_messages, retention
from chatsvc.store.channel_messages import NoticeSentence
from chatsvc.store.database import Connection, Database
from chatsvc.store.exchanges import NewCapture
from chatsvc.store.handling import Handler
from chatsvc.store.postgres.dialect import translate_schema
from chatsvc.store.sqlite.migrations import MIGRATIONS
from tests.fakes import START
from tests.postgres import RUNNING
from tests.store.support import chat, furnish, new_exchange, rows

pytestmark = pytest.mark.postgres

TODAY = start_of_day(START)
ECE = Handler("operator", "Ece")


async def of_days(db: Database, days: int = 1, bot: str | None = None) -> day_counts.PeriodCounts:
    """The counts of the last days."""
    return await day_counts.of_period(db, "account", bot, TODAY - (days - 1) * DAY_MS, days * DAY_MS)


async def capture(db: Database, user_id: str) -> None:
    """Write an exchange with a request and an appointment."""
    request = Request(str(uuid.uuid4()), "appointment", "new", "a bicycle", "Ece", None, None, "", START)
    appointment = Appointment(str(uuid.uuid4()), request, "pending", "2026-11-21", "10:30", START, START)
    new = new_exchange(user_id=user_id)._replace(captured=NewCapture(request, appointment, tell=False), entry="e1")
    assert await exchanges.record(db, new)


async def wait(db: Database, at: int) -> str:
    """Let a visitor of the widget wait for a person."""
    message = NewMessage("account", "bot", "web", "visitor", "A person, please", str(uuid.uuid4()), at, "", None, None)
    stored = await incoming_messages.store(db, message)
    assert stored is not None
    assert await channel_messages.settle(db, stored.number, NoticeSentence("One moment.", at, None), "waiting")
    return stored.conversation_id


async def answer(db: Database, conversation: str, at: int) -> None:
    """Let a person write to a visitor."""
    assert await handling.reply(db, None, conversation, NoticeSentence("Hello!", at, None), lambda _: ECE)


async def test_exchanges_captures_and_questions_are_counted_by_day_and_bot(db: Database) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    await capture(db, "first")
    await chat(db, at=START - DAY_MS)
    await chat(db, bot_id="other")
    counts = await of_days(db, 2)
    # `furnish` asked each bot a question in vain.
    assert counts.rows == {
        (TODAY, "bot"): Quality(answered=1, unanswered=1, requests=1, appointments=1, tokens=12, cost_micro_usd=34),
        (TODAY, "other"): Quality(answered=1, unanswered=1, tokens=12, cost_micro_usd=34),
        (TODAY - DAY_MS, "bot"): Quality(answered=1, tokens=12, cost_micro_usd=34),
    }
    alone = await of_days(db, bot="bot")
    assert alone.rows.keys() == {(TODAY, "bot")}
    assert alone.before == {"bot": Quality(answered=1, tokens=12, cost_micro_usd=34)}


async def test_a_thumb_that_turns_is_counted_once(db: Database, path: Path) -> None:
    await furnish(db)
    await chat(db, channel="web")
    ((message,),) = rows(path, "SELECT id FROM messages WHERE role = 'assistant'")
    seen = []
    for thumb in ("up", "up", "down", None, "down"):
        assert await channel_messages.rate(db, ("bot", "web", "visitor"), str(message), thumb)
        counts = (await of_days(db)).rows[TODAY, "bot"]
        seen.append((counts.up, counts.down))
    assert seen == [(1, 0), (1, 0), (0, 1), (0, 0), (0, 1)]
    assert not await channel_messages.rate(db, ("bot", "web", "somebody else"), str(message), "up")


async def test_a_hand_over_and_the_first_words_of_a_person_are_counted_once(db: Database) -> None:
    await furnish(db)
    found = await wait(db, START)
    assert await handling.take(db, None, found, ECE, START + 20_000, lambda _: None)
    await answer(db, found, START + 90_000)
    await answer(db, found, START + 400_000)
    counts = await of_days(db)
    assert (counts.rows[TODAY, "bot"].handed_over, counts.responses) == (1, {90: 1})
    # Given back before anybody wrote, then taken without having been waited for.
    assert await handling.release(db, None, found, lambda _: None)
    await wait(db, START + 500_000)
    assert await handling.release(db, None, found, lambda _: None)
    await answer(db, found, START + 900_000)
    counts = await of_days(db)
    assert (counts.rows[TODAY, "bot"].handed_over, counts.responses) == (3, {90: 1})


async def test_erasure_keeps_the_counts_and_retention_deletes_old_ones(db: Database, path: Path) -> None:
    await furnish(db)
    await capture(db, "first")
    before = rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name")
    for place in await erasure.conversations(db, "first", None):
        while await erasure.some_of(db, place) is not None:
            pass
    assert rows(path, "SELECT count(*) FROM conversations") == [(0,)]
    assert rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name") == before
    assert not await retention.expire(db, "day_counts", TODAY, START)
    assert rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name") == before
    await retention.expire(db, "day_counts", TODAY + 1, START)
    assert rows(path, "SELECT count(*) FROM day_counts") == [(0,)]


async def test_the_entries_that_answered_most_stand_first_and_deleted_ones_nowhere(db: Database, path: Path) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    entries = {str(bot): str(entry) for entry, bot in rows(path, "SELECT id, bot_id FROM knowledge_entries")}
    for bot, times in (("bot", 1), ("other", 2)):
        for number in range(times):
            await exchanges.record(db, new_exchange(bot, user_id=f"{number}")._replace(entry=entries[bot]))
    await exchanges.record(db, new_exchange()._replace(entry="deleted since"))
    used = (await of_days(db)).entries
    assert [(one.bot_id, one.entry_id, one.question, one.times) for one in used] == [
        ("other", entries["other"], "question of other", 2),
        ("bot", entries["bot"], "question of bot", 1),
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({}, ResponseTimes(0, None, None)),
        ({60: 1}, ResponseTimes(1, 60, 60)),
        ({60: 1, 120: 1}, ResponseTimes(2, 90, 120)),
        ({10: 5, 20: 4, 900: 1}, ResponseTimes(10, 15, 20)),
        ({10: 5, 20: 3, 900: 2}, ResponseTimes(10, 15, 900)),
    ],
)
def test_quantiles_of_response_times(seconds: dict[int, int], expected: ResponseTimes) -> None:
    assert response_times(seconds) == expected


FILLED = """
    INSERT INTO accounts VALUES ('account', 'n', NULL, 'active', 1, 0, 0, 0, NULL, NULL);
    INSERT INTO bots (id, account_id, name, model, created_at, updated_at, timezone, country, language)
        VALUES ('bot', 'account', 'n', 'offline', 0, 0, 'UTC', 'TR', 'tr');
    INSERT INTO conversations (number, id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count,
        handling, handling_since) VALUES (1, 'c', 'account', 'bot', 'web', 'u', 0, 0, 0, 5, 'waiting', 77);
    INSERT INTO usage_records (account_id, bot_id, created_at, tokens, cost_micro_usd)
        VALUES ('account', 'bot', 86400001, 5, 7), ('account', 'bot', 172799999, 5, 7), ('account', 'bot', 172800000, 0, 0),
            ('account', 'deleted', 172800000, 1, 1);
    INSERT INTO requests (id, bot_id, conversation, request_type, status, message, source_page_host, created_at, updated_at)
        VALUES ('r', 'bot', 1, 'other', 'new', 'm', '', 86400001, 0);
    INSERT INTO messages (conversation, id, role, content, created_at, evidence, feedback)
        VALUES (1, 'm1', 'assistant', 'a', 86400001, '{"entries": [{"id": "e1"}, {"id": "e2"}], "decision": "answer"}', 'up'),
            (1, 'm2', 'assistant', 'a', 86400001, '{"entries": [{"id": "e1", "score": 2}], "decision": null}', 'up'),
            (1, 'm3', 'assistant', 'a', 86400001, '{"entries": [{"id": "e2", "score": 2}], "decision": "ask"}', 'down'),
            (1, 'm4', 'operator', 'a', 86400001, NULL, NULL), (1, 'm5', 'operator', 'a', 86400002, NULL, NULL),
            (1, 'm6', 'assistant', 'a', 86400001, '{"entries": [], "decision": "abstain"}', NULL);
    INSERT INTO unanswered_questions (number, bot_id, folded, question, language, times, first_asked_at, last_asked_at, masked)
        VALUES (1, 'bot', 'q', 'q', 'tr', 3, 0, 172800000, 1);
    INSERT INTO unanswered_askers (question, bot_id, channel, user_id, wording, times, last_asked_at)
        VALUES (1, 'bot', 'web', 'u', 'q', 2, 86400001);
"""


async def test_a_store_of_an_earlier_version_is_counted(db: Database, path: Path) -> None:
    steps = [translate_schema(42 + place, step) if RUNNING else step for place, step in enumerate(MIGRATIONS[41:43])]
    earlier = f"DROP TABLE day_counts; ALTER TABLE conversations DROP COLUMN waiting_since; {FILLED}"

    def unit(connection: Connection) -> None:
        for statement in "".join([earlier, *steps]).split(";")[:-1]:
            connection.execute(statement)

    await db.write(unit)
    assert rows(path, "SELECT name, day / 86400000, item, times FROM day_counts ORDER BY name, day, item") == [
        ("answered", 1, "", 2),
        ("answered", 2, "", 1),
        ("cost_micro_usd", 1, "", 14),
        ("down", 1, "", 1),
        ("entry", 1, "e1", 2),
        ("handed_over", 1, "", 1),
        ("requests", 1, "", 1),
        ("tokens", 1, "", 10),
        ("unanswered", 1, "", 2),
        ("unanswered", 2, "", 1),
        ("up", 1, "", 2),
    ]
    assert rows(path, "SELECT waiting_since FROM conversations") == [(77,)]
