"""Incoming messages: the limit on conversations that begin in a day."""

from pathlib import Path

import pytest

from chatsvc.domain.channels import NewMessage, TooManyConversations
from chatsvc.domain.times import DAY_MS
from chatsvc.store import channel_messages
from chatsvc.store.database import Database
from tests.fakes import START
from tests.store.support import furnish, in_database, rows

pytestmark = pytest.mark.postgres

BOTS = {"a1": "a"}


def message(bot: str, user: str, key: str, *, day: int = 0, most: int | None = None, at: int = START) -> NewMessage:
    """A message of a visitor."""
    text, host = f"text {key}", f"{user}.example"
    return NewMessage(BOTS[bot], bot, "web", user, text, f"{user} {key}", at + day * DAY_MS, host, most_new=most)


def test_the_limit_of_a_day_counts_conversations_that_begin_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "chatsvc.db"

    async def work(db: Database) -> list[str]:
        await furnish(db, "a", ["a1"])
        texts = []
        for m in (
            message("a1", "v1", "k1", most=2),
            message("a1", "v1", "k2", most=2),
            message("a1", "v2", "k1", most=2),
            message("a1", "v3", "k1", most=2),
            message("a1", "v1", "k3", most=2),
            message("a1", "v3", "k1", day=1, most=2),
        ):
            try:
                texts.append("erased" if await channel_messages.store(db, [m]) == [None] else "stored")
            except TooManyConversations:
                texts.append("refused")
        return texts

    assert in_database(path, work) == ["stored"] * 3 + ["refused", "stored", "stored"]
    assert rows(path, "SELECT conversations, begun FROM conversation_counts") == [(3, 1)]
