"""Caches of one of several processes: what another one writes counts at once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatsvc.domain import keys as key_rules
from chatsvc.domain.limiter import AccountVersion
from chatsvc.domain.models import ApiKey, Entry
from chatsvc.engines import Knowledge
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
from chatsvc.store import accounts, bots, knowledge
from chatsvc.store.database import Database
from chatsvc.store.postgres.group_commit import PostgresDatabase
from tests.fakes import START
from tests.postgres import Postgres, open_store
from tests.store.support import chat, furnish, new_bot, origin
from tests.tables import json_rows


@pytest.fixture
async def on_postgres(postgres: Postgres, tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    with postgres.in_use():
        opened = await open_store(tmp_path / "chatsvc.db")
        assert isinstance(opened, PostgresDatabase)
        await furnish(opened)
        yield opened
        await opened.close()


async def test_a_key_and_its_account_are_kept_until_the_account_changes(on_postgres: PostgresDatabase) -> None:
    db, secret = on_postgres, key_rules.generate()
    cache = AccountCache(db, db.versioned)
    assert await cache.key(secret) == (None, None)
    await accounts.create_key(db, ApiKey("key", "account", None, "csk_", START, None, None, None), key_rules.digest(secret))
    key, state = await cache.key(secret)
    assert key is not None
    assert state is not None
    assert cache.confirm(state, await version(db))
    reads: list[object] = []
    cache._versioned = reads.append  # type: ignore[assignment]  # nothing is read any more
    assert await cache.key(secret) == (key, state)
    cache._versioned = db.versioned
    # Of another process.
    for change in (
        lambda: accounts.update(db, "account", {"plan": "starter"}),
        lambda: bots.update(db, new_bot(), lambda _: {"active": False}, START),
        lambda: accounts.revoke_key(db, "key", None, START),
    ):
        await change()
        assert not cache.confirm(state, await version(db))
        key, state = await cache.key(secret)
        assert key is not None
        assert state is not None
        assert cache.confirm(state, await version(db))
    assert (state.account.plan, state.bots["bot"].active, key.revoked_at) == ("starter", False, START)
    await accounts.delete(db, "account", START)
    assert not cache.confirm(state, await version(db))
    key, state = await cache.key(secret)
    assert (key is None, state) == (False, None)
    assert await cache.key(secret[:-1]) == (None, None)


async def test_counts_are_kept_until_a_conversation_changes(on_postgres: PostgresDatabase) -> None:
    db = on_postgres
    cache = AccountCache(db, db.versioned)
    state = await cache.account("account")
    assert state is not None
    assert cache.confirm(state, await version(db))
    assert await cache.counted(state) is state
    before = await version(db)
    await chat(db)
    await chat(db)
    after = await version(db)
    assert (after.settings, after.activity > before.activity) == (before.settings, True)
    assert cache.confirm(state, after)
    # A request that took its slot before is not answered from older pages either.
    assert cache.confirm(state, before)
    counted = await cache.counted(state)
    assert (counted.allowance.used, counted.bots["bot"].messages_used) == ({"2026-11": 2}, 2)
    assert await cache.counted(counted) is counted


@pytest.mark.parametrize(("statement", "grows"), json_rows("services/settings_changes"))
async def test_each_change_of_settings_makes_a_new_version_and_no_count_does(
    on_postgres: PostgresDatabase, statement: str, grows: bool
) -> None:
    before = await version(on_postgres)
    await on_postgres.write(lambda connection: connection.execute(statement))
    after = await version(on_postgres)
    assert (after.settings > before.settings, after.activity) == (grows, before.activity)


async def test_a_change_of_knowledge_makes_a_new_version(on_postgres: PostgresDatabase) -> None:
    before = await version(on_postgres)
    entry = Entry("another", "another question", (), "another answer", "en", "")
    await knowledge.replace(on_postgres, "bot", [knowledge.FromFile("another.md", [entry], [])], origin())
    assert (await version(on_postgres)).settings > before.settings


async def version(db: PostgresDatabase) -> AccountVersion:
    return (await db.versioned("account", lambda _: None)).version


def questions(knowledge: Knowledge) -> set[str]:
    return {entry.question for entry in knowledge.entries}


@pytest.mark.postgres
async def test_an_index_is_kept_until_the_knowledge_changes(db: Database) -> None:
    cache, bot = KnowledgeCache(db, shared=True), new_bot()
    first = await cache.of(bot)
    assert await cache.of(bot) is first
    entry = Entry("another", "another question", (), "another answer", "en", "")
    await knowledge.replace(db, "bot", [knowledge.FromFile("another.md", [entry], [])], origin())
    second = await cache.of(bot)
    assert second is not first
    assert "another question" in questions(second)
    assert await cache.of(bot) is second
    # With the version of the account nothing is read until that grows.
    assert await cache.of(bot, 1) is second
    await knowledge.replace(db, "bot", [knowledge.FromFile("another.md", [], [])], origin())
    assert await cache.of(bot, 1) is second
    assert "another question" not in questions(await cache.of(bot, 2))
    # A bot without any change has an index too.
    await bots.create(db, new_bot("new"), 10)
    assert questions(await cache.of(new_bot("new"))) == set()
