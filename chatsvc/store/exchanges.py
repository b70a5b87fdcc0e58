"""One message and its reply, written whole or not at all: messages, usage record, counters, allowance and idempotency key."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.times import DAY_MS
from chatsvc.store import captures
from chatsvc.store.database import Database


class Idempotency(NamedTuple):
    """What is kept of a request under its Idempotency-Key: the digest of its fields, and the answer as JSON."""

    key: str
    fingerprint: bytes
    exchange: str


class NewCapture(NamedTuple):
    """What was captured; `tell` says whether the account's plan has webhooks."""

    request: Request
    appointment: Appointment | None
    tell: bool


class NewExchange(NamedTuple):
    """What one answered message writes; `month` and `accepted_at` are those of the message, `replied_at` that of the reply."""

    account_id: str
    bot_id: str
    channel: str
    user_id: str
    message: str
    reply: str
    accepted_at: int
    replied_at: int
    month: str
    tokens: int
    cost_micro_usd: int
    idempotency: Idempotency | None
    dialogue: str | None = None
    captured: NewCapture | None = None


class Counts(NamedTuple):
    """The counts as the transaction left them."""

    month_used: int
    credits: int
    bot_used: int


IDEMPOTENCY_MS = DAY_MS
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}


def _id() -> str:
    """A random UUID (version 4); uuid.uuid4() takes nearly three times as long, and a message needs three."""
    h = os.urandom(16).hex()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"


def _conversation(connection: sqlite3.Connection, x: NewExchange) -> int:
    # The time of the last message never goes back, so that a record that has been paged past is not met again.
    number, count = connection.execute(
        """
        INSERT INTO conversations
            (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count, dialogue)
        VALUES (?1, ?2, ?3, ?4, ?5, ?7, ?6, ?7, 2, ?8)
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            last_message_at = max(last_message_at, excluded.last_message_at),
            updated_at = max(updated_at, excluded.updated_at),
            message_count = message_count + 2,
            dialogue = excluded.dialogue
        RETURNING number, message_count
        """,
        (_id(), x.account_id, x.bot_id, x.channel, x.user_id, x.accepted_at, x.replied_at, x.dialogue),
    ).fetchone()
    if count == 2:
        connection.execute(
            """
            INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?, ?, ?, 1)
            ON CONFLICT DO UPDATE SET conversations = conversations + 1
            """,
            (x.account_id, x.bot_id, x.channel),
        )
    return int(number)


def _charge(connection: sqlite3.Connection, x: NewExchange, limit: int, credits: int) -> tuple[int, int]:
    (used,) = connection.execute(
        """
        INSERT INTO allowances (account_id, month, messages_used) VALUES (?, ?, 1)
        ON CONFLICT DO UPDATE SET messages_used = messages_used + 1 RETURNING messages_used
        """,
        (x.account_id, x.month),
    ).fetchone()
    if used > limit and credits > 0:
        credits -= 1
        connection.execute("UPDATE accounts SET message_credits = ? WHERE id = ?", (credits, x.account_id))
    return used, credits


def _unit(connection: sqlite3.Connection, x: NewExchange) -> Counts | None:
    account = connection.execute(
        "SELECT messages_limit, message_credits FROM accounts WHERE id = ? AND deleted_at IS NULL", (x.account_id,)
    ).fetchone()
    if account is None:
        return None
    number = _conversation(connection, x)
    connection.executemany(
        "INSERT INTO messages (conversation, id, role, content, created_at) VALUES (?, ?, ?, ?, ?)",
        (
            (number, _id(), "user", x.message, x.accepted_at),
            (number, _id(), "assistant", x.reply, x.replied_at),
        ),
    )
    connection.execute(
        "INSERT INTO usage_records (account_id, bot_id, created_at, tokens, cost_micro_usd) VALUES (?, ?, ?, ?, ?)",
        (x.account_id, x.bot_id, x.accepted_at, x.tokens, x.cost_micro_usd),
    )
    (bot_used,) = connection.execute(
        "UPDATE bots SET messages_used = messages_used + 1 WHERE id = ? RETURNING messages_used", (x.bot_id,)
    ).fetchone()
    if x.captured:
        captures.write(connection, x.bot_id, number, x.captured.request, x.captured.appointment, tell=x.captured.tell)
    if x.idempotency:
        connection.execute(
            """
            DELETE FROM idempotency_keys WHERE (account_id, key) IN
                (SELECT account_id, key FROM idempotency_keys WHERE created_at <= ? LIMIT 8)
            """,
            (x.accepted_at - IDEMPOTENCY_MS,),
        )
        connection.execute(
            "INSERT OR REPLACE INTO idempotency_keys (account_id, key, fingerprint, exchange, created_at) VALUES (?, ?, ?, ?, ?)",
            (x.account_id, *x.idempotency, x.accepted_at),
        )
    return Counts(*_charge(connection, x, *account), bot_used)


async def record(db: Database, exchange: NewExchange, applied: Callable[[Counts | None], None]) -> Counts | None:
    """Write an exchange; None, with nothing written, where its account has been deleted meanwhile."""
    return await db.write(lambda connection: _unit(connection, exchange), applied)


async def answered(db: Database, account_id: str, key: str, now: int) -> Idempotency | None:
    """What was answered under an Idempotency-Key within the last 24 hours."""

    def unit(connection: sqlite3.Connection) -> Idempotency | None:
        row = connection.execute(
            "SELECT key, fingerprint, exchange FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?",
            (account_id, key, now - IDEMPOTENCY_MS),
        ).fetchone()
        return Idempotency(*row) if row else None

    return await db.read(unit)
