"""Caches of one of several processes: what another one writes counts at once."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatsvc.domain import keys as key_rules
from chatsvc.domain.channels import WEB, Channel
from chatsvc.domain.models import ApiKey, Entry
from chatsvc.engines import Knowledge
from chatsvc.store import accounts, bots, facts, keys, knowledge
from chatsvc.store import channels as stored_channels
from chatsvc.store.conversations import NO_HISTORY
from chatsvc.store.database import Database
from chatsvc.store.master_key import MasterKey
from chatsvc.usecases.channel_secrets import VISITORS, new_web_secrets, seal
from chatsvc.usecases.conversation_locks import HoldRequest
from chatsvc.usecases.shared_caches import SharedAccounts, SharedChannels, SharedKnowledge
from chatsvc.usecases.shared_turns import SharedTurns
from tests.fakes import START
from tests.postgres import open_store
from tests.store.support import chat, furnish, ignore, new_bot, origin

pytestmark = pytest.mark.postgres


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """A store with an account and a bot."""
    opened = await open_store(tmp_path / "chatsvc.db")
    await furnish(opened)
    yield opened
    await opened.close()


async def test_a_key_counts_and_ceases_to_count_from_the_next_request_on(db: Database) -> None:
    cache, secret = SharedAccounts(db), key_rules.generate()
    assert await cache.key(secret) is None
    await keys.create(db, ApiKey("key", "account", None, "csk_", START, None, None, None), key_rules.digest(secret))
    found = await cache.key(secret)
    assert found is not None
    assert found.revoked_at is None
    await keys.revoke(db, "key", None, START, ignore)
    revoked = await cache.key(secret)
    assert revoked is not None
    assert revoked.revoked_at == START
    assert await cache.key(secret[:-1]) is None


async def test_an_account_is_as_the_store_has_it(db: Database) -> None:
    cache = SharedAccounts(db)
    before = await cache.account("account")
    assert before is not None
    before.requests.in_flight += 1
    before.pages["list"] = b"rendered"
    await chat(db)
    await accounts.update(db, "account", {"plan": "starter"}, ignore)
    assert await SharedTurns(db, "another", lambda: START).reserve(HoldRequest("account", before.allowance, "2026-11", START))
    after = await cache.account("account")
    assert after is not None
    assert cache.cached("account") is after
    assert (after.account.plan, after.allowance.used, after.allowance.reserved) == ("starter", {"2026-11": 1}, {"2026-11": 1})
    assert (after.bots["bot"].messages_used, after.pages, after.requests.in_flight) == (1, {}, 1)
    await accounts.delete(db, "account", START, ignore)
    assert await cache.account("account") is None
    assert cache.cached("account") is None


async def test_no_history_is_kept(db: Database) -> None:
    histories = SharedAccounts(db).histories
    histories.put(("bot", "api", "visitor"), NO_HISTORY, 0, histories.generation)
    assert histories.pop(("bot", "api", "visitor"), 0) is None


def questions(found: Knowledge) -> set[str]:
    """The questions of an index."""
    return {entry.question for entry in found.entries}


async def test_an_index_is_kept_until_the_knowledge_changes(db: Database) -> None:
    cache, bot = SharedKnowledge(db), new_bot()
    first = await cache.of(bot)
    assert await cache.of(bot) is first
    entry = Entry("another", "another question", (), "another answer", "en", "")
    await knowledge.replace(db, "bot", [knowledge.FromFile("another.md", [entry], [])], origin(), ignore)
    second = await cache.of(bot)
    assert second is not first
    assert "another question" in questions(second)
    assert await cache.of(bot) is second
    # A bot without any change has an index too.
    await bots.create(db, new_bot("new"), 10, ignore)
    assert questions(await cache.of(new_bot("new"))) == set()


async def test_channels_are_as_the_store_has_them(db: Database) -> None:
    key = MasterKey(secrets.token_bytes(32))
    await facts.belongs_to(db, key)
    cache = SharedChannels(db, key)
    assert await cache.of_bot("bot") == {}
    channel = Channel("channel", "bot", WEB, "active", {}, None, START, START)
    await stored_channels.put(db, channel, lambda *_: seal(key, "channel", json.dumps(new_web_secrets())))
    (found,) = (await cache.of_bot("bot")).values()
    assert (found.channel.id, set(found.secrets)) == ("channel", {VISITORS})
    await stored_channels.remove(db, channel)
    assert await cache.of_bot("bot") == {}
