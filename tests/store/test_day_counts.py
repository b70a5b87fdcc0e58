"""Counts of days: written with what they count, kept by erasure, filled in for existing stores, and summed up for a period."""

import uuid
from pathlib import Path

import pytest

from chatsvc.domain.analytics import Quality, ResponseTimes, response_times
from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.channels import NewMessage
from chatsvc.domain.times import DAY_MS, start_of_day
from chatsvc.store import channel_messages, day_counts, erasure, exchanges, handling
from chatsvc.store.captures import NewCapture
from chatsvc.store.channel_messages import NoticeSentence
from chatsvc.store.database import Database
from chatsvc.store.handling import Handler
from tests.fakes import START
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
    (stored,) = await channel_messages.store(db, [message])
    assert stored is not None
    assert await channel_messages.settle(db, stored.number, NoticeSentence("One moment.", at, None), "waiting")
    return stored.conversation_id


async def answer(db: Database, conversation: str, at: int) -> None:
    """Let a person write to a visitor."""
    assert await handling.reply(db, None, conversation, NoticeSentence("Hello!", at, None), ECE)


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


@pytest.mark.parametrize(("hour", "day"), [(20.9, 0), (21, 1)])
async def test_days_are_those_of_the_clock_where_the_bot_is(db: Database, hour: float, day: int) -> None:
    await furnish(db)  # a bot in Istanbul, three hours ahead
    await chat(db, at=TODAY + int(hour * 3_600_000))
    counts = await day_counts.of_period(db, "account", None, TODAY, 2 * DAY_MS)
    assert {key for key, quality in counts.rows.items() if quality.answered} == {(TODAY + day * DAY_MS, "bot")}


async def test_a_visitor_to_whom_nobody_comes_is_counted(db: Database) -> None:
    await furnish(db)
    await wait(db, START)
    for _, _, overdue in await handling.overdue(db, START + DAY_MS, 10):
        assert await handling.give_back(db, overdue, NoticeSentence("Nobody is here.", START, None))
    assert (await of_days(db)).rows[TODAY, "bot"].missed == 1


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
    waits = await wait(db, START)
    assert await handling.take(db, None, waits, ECE, START + 20_000, yes=False)
    await answer(db, waits, START + 90_000)
    await answer(db, waits, START + 400_000)
    counts = await of_days(db)
    assert (counts.rows[TODAY, "bot"].handed_over, counts.responses) == (1, {"90 operator": 1})
    # Given back before anybody wrote, then taken without having been waited for.
    assert await handling.release(db, None, waits, None, ECE, yes=False)
    await wait(db, START + 500_000)
    assert await handling.release(db, None, waits, None, ECE, yes=False)
    await answer(db, waits, START + 900_000)
    counts = await of_days(db)
    assert (counts.rows[TODAY, "bot"].handed_over, counts.responses) == (3, {"90 operator": 1})


async def test_erasure_keeps_the_counts_and_retention_deletes_old_ones(db: Database, path: Path) -> None:
    await furnish(db)
    await capture(db, "first")
    before = rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name")
    for conversation in await erasure.conversations(db, "first", None):
        while await erasure.some_of(db, conversation) is not None:
            pass
    assert rows(path, "SELECT count(*) FROM conversations") == [(0,)]
    assert rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name") == before
    assert not await erasure.expire(db, "day_counts", TODAY, START)
    assert rows(path, "SELECT name, day, item, times FROM day_counts ORDER BY name") == before
    await erasure.expire(db, "day_counts", TODAY + 1, START)
    assert rows(path, "SELECT count(*) FROM day_counts") == [(0,)]


async def test_the_entries_that_answered_most_stand_first_and_deleted_ones_nowhere(db: Database, path: Path) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    entries = {str(bot): str(entry) for entry, bot in rows(path, "SELECT id, bot_id FROM knowledge_entries")}
    for bot, times in (("bot", 1), ("other", 2)):
        for number in range(times):
            await exchanges.record(db, new_exchange(bot, user_id=f"{number}")._replace(entry=entries[bot]))
    await exchanges.record(db, new_exchange()._replace(entry="deleted since"))
    used = (await of_days(db)).entries
    assert [(use.bot_id, use.entry_id, use.question, use.times) for use in used] == [
        ("other", entries["other"], "question of other", 2),
        ("bot", entries["bot"], "question of bot", 1),
    ]


@pytest.mark.parametrize(
    ("responses", "expected"),
    [
        ({}, ResponseTimes(0, None, None)),
        ({"60": 1}, ResponseTimes(1, 60, 60)),
        ({"60": 1, "120 ece": 1}, ResponseTimes(2, 90, 120)),
        ({"10": 3, "10 ece": 2, "20": 4, "900": 1, "forged": 9}, ResponseTimes(10, 15, 20)),
        ({"10": 5, "20": 3, "900": 2}, ResponseTimes(10, 15, 900)),
    ],
)
def test_quantiles_of_response_times(responses: dict[str, int], expected: ResponseTimes) -> None:
    assert response_times(responses) == expected


def test_response_times_of_a_person_are_those_of_his_own_replies() -> None:
    assert response_times({"60 ece": 2, "90 can": 1, "900": 1}, "ece") == ResponseTimes(2, 60, 60)
