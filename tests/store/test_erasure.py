"""Erasure of a conversation in small batches. Nothing readable stays in the files."""

import asyncio
import json
import random
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.models import Exchange
from chatsvc.domain.webhooks import PostResult, Webhook
from chatsvc.store import conversations, deliveries, erasure, exchanges, facts, webhooks
from chatsvc.store.captures import NewCapture
from chatsvc.store.database import Connection, Database, StoreUnavailable
from chatsvc.store.erasure import Erased
from chatsvc.store.exchanges import Idempotency
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite import group_commit
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from tests.fakes import START
from tests.store.support import chat, dump, furnish, new_exchange, rows

SECRET = "Seltenes Wort"
EVENTS = ("request.created", "appointment.created")


async def say(db: Database, user_id: str, text: str, *, bot: str = "bot", captured: bool = False, at: int = START) -> None:
    """An exchange with an Idempotency-Key, and perhaps a capture whose events are pending."""
    request = Request(str(uuid.uuid4()), "appointment", "new", text, text, f"{user_id}@example.com", None, "", at)
    appointment = Appointment(str(uuid.uuid4()), request, "pending", "2026-11-21", "10:30", at, at)
    exchange = Exchange(bot, user_id, "api", text, f"reply to {text}", at)
    new = new_exchange(bot, user_id=user_id, text=text, at=at)._replace(
        idempotency=Idempotency(uuid.uuid4().hex, b"digest", json.dumps(exchange._asdict())),
        dialogue=f"note of {text}",
        captured=NewCapture(request, appointment, tell=True) if captured else None,
    )
    assert await exchanges.record(db, new)


async def hook(db: Database) -> None:
    """Let the bot tell of everything."""
    await facts.belongs_to(db, MasterKey(bytes(32)))
    await webhooks.put(db, Webhook("bot", "https://hooks.example.com/", EVENTS, b"", START, START), lambda _: b"sealed")


async def erase(db: Database, user_id: str, bot: str | None = None) -> Erased:
    total = Erased()
    positions = await erasure.conversations(db, user_id, bot)
    for position in positions:
        while (some := await erasure.some_of(db, position)) is not None:
            total = total.plus(some)
    for bot_id in {bot_id for bot_id, *_ in positions}:
        await erasure.forget_answers(db, user_id, bot_id, START + 10_000)
    return total


def attempted(event: webhooks.Event, delivery_id: str, _: Webhook) -> tuple[bytes, str]:
    return event.data.encode(), delivery_id


async def begin(db: Database, room: int) -> list[deliveries.Sending]:
    """Record attempts for the bot's next events."""

    def unit(connection: Connection) -> list[deliveries.Sending]:
        events = deliveries.pending(connection, "bot", room)
        return deliveries.begin(connection, "bot", events, START, deliveries.Terms(frozenset({"enterprise"}), attempted, None))

    return await db.write(unit)


def readable(path: Path, text: str) -> list[str]:
    """The database's files that hold the text, plain or as JSON."""
    forms = (text.encode(), json.dumps(text)[1:-1].encode())
    return [file.name for file in path.parent.iterdir() if any(form in file.read_bytes() for form in forms)]


async def test_a_visitor_goes_with_everything_and_the_others_keep_theirs(db: Database, path: Path) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    await hook(db)
    for visitor in ("stays", "goes"):
        for bot in ("bot", "other"):
            await say(db, visitor, f"{visitor} to {bot}", bot=bot, captured=True)
    await begin(db, 3)
    before = dump(path)
    assert await erase(db, "goes") == Erased(conversations=2, messages=4, requests=2, appointments=2, events=2, attempts=1)
    after = dump(path)
    assert not [line for line in after if "goes" in line]
    # What was not the visitor's is there as it was, but for the numbers of conversations.
    assert {line for line in before if "stays" in line} <= set(after)
    assert {line.split('"')[1] for line in set(after) - set(before)} - {"chatsvc_versions"} == {"conversation_counts"}
    assert rows(path, "SELECT bot_id, conversations FROM conversation_counts") == [("bot", 1), ("other", 1)]
    assert rows(path, "SELECT count(*) FROM usage_records") == [(4,)]
    assert rows(path, "SELECT messages_used FROM allowances") == [(4,)]
    items, total, _ = await conversations.page(db, "account", 10)
    assert ([item.user_id for item in items], total) == (["stays", "stays"], 2)


async def test_with_a_bot_named_what_the_others_have_stays(db: Database, path: Path) -> None:
    await furnish(db, bot_ids=("bot", "other"))
    for bot in ("bot", "other"):
        await say(db, "v", f"to {bot}", bot=bot)
    assert await erase(db, "v", "other") == Erased(conversations=1, messages=2)
    assert rows(path, "SELECT bot_id FROM conversations") == [("bot",)]
    assert [json.loads(str(row[0]))["chatbot_id"] for row in rows(path, "SELECT exchange FROM idempotency_keys")] == ["bot"]


async def test_answers_that_were_given_later_are_kept(db: Database, path: Path) -> None:
    await furnish(db)
    await say(db, "v", "before", at=START)
    await say(db, "v", "after", at=START + 2)
    await erasure.forget_answers(db, "v", "bot", START + 1)
    assert [json.loads(str(row[0]))["message"] for row in rows(path, "SELECT exchange FROM idempotency_keys")] == ["after"]


async def test_a_pending_event_of_an_erased_request_is_not_sent_and_one_under_way_leaves_nothing(db: Database, path: Path) -> None:
    await furnish(db)
    await hook(db)
    await say(db, "v", "call me", captured=True)

    (under_way,) = await begin(db, 1)
    assert await erase(db, "v") == Erased(1, 2, 1, 1, 2, 1)
    await db.write(lambda connection: deliveries.settle(connection, under_way.attempt_id, PostResult(True, 200, None, 1)))
    assert await begin(db, 10) == []
    assert rows(path, "SELECT (SELECT count(*) FROM webhook_events), (SELECT count(*) FROM webhook_attempts)") == [(0, 0)]


async def test_a_long_conversation_goes_in_batches_that_leave_its_count_right(
    db: Database, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH", 4)
    await furnish(db)
    for i in range(5):
        await say(db, "v", f"text {i}", captured=i < 2)
    (conversation,) = await erasure.conversations(db, "v", None)
    steps = []
    while (some := await erasure.some_of(db, conversation)) is not None:
        steps.append(some)
        counts = rows(path, "SELECT message_count, (SELECT count(*) FROM messages) FROM conversations")
        assert all(count == there for count, there in counts)
    assert steps == [Erased(requests=2, appointments=2), Erased(messages=4), Erased(messages=4), Erased(conversations=1, messages=2)]


@pytest.mark.sqlite
async def test_nothing_of_an_erased_visitor_can_be_read_in_any_file(db: Database, path: Path) -> None:
    """Moved rows leave copies on their old pages, which deleting does not overwrite."""
    await furnish(db)
    chance = random.Random(7)
    for i in range(800):
        if i % 25 == 0:
            await say(db, "secret visitor", SECRET * chance.randint(1, 40), captured=i % 100 == 0, at=START + i)
        else:
            await say(db, f"v{chance.randint(1, 200)}", "x" * chance.randint(10, 900), at=START + i)
    assert readable(path, SECRET) != []
    assert (await erase(db, "secret visitor")).messages == 64
    await db.purge()
    assert readable(path, SECRET) == []
    assert readable(path, "secret visitor") == []
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.sqlite
async def test_while_somebody_reads_for_long_the_purge_waits_and_writers_do_not(
    group: GroupCommitDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "EMPTY_LOG_PAUSE_S", 0.01)
    await furnish(group)
    await say(group, "v", SECRET)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        await erase(group, "v")
        purging = asyncio.create_task(group.purge())
        async with asyncio.timeout(20):
            assert await chat(group, user_id="other")
        assert not purging.done()
        reader.execute("COMMIT")
        await purging
    assert readable(path, SECRET) == []


@pytest.mark.sqlite
async def test_a_purge_that_readers_keep_from_its_end_says_so(
    group: GroupCommitDatabase, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "EMPTY_LOG_TRIES", 1)
    await furnish(group)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        await say(group, "v", SECRET)
        with pytest.raises(StoreUnavailable, match="reads for long"):
            await group.purge()
    assert await chat(group)


async def test_the_service_writes_on_while_it_purges_and_afterwards(group: GroupCommitDatabase, path: Path) -> None:
    await furnish(group)
    await say(group, "v", SECRET)
    await erase(group, "v")
    purging = asyncio.create_task(group.purge())
    for i in range(20):
        assert await chat(group, user_id=f"other {i}")
    await purging
    assert readable(path, SECRET) == []
    assert rows(path, "SELECT count(*) FROM messages") == [(40,)]
