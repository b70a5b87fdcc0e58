"""Writes exchanges: a message and its reply, in one transaction with all that depends on them.

The transaction also writes the usage record, the counters, the allowance and the idempotency record.
"""

import uuid
from functools import partial
from typing import NamedTuple

from chatsvc.domain.analytics import ENTRY
from chatsvc.domain.channels import outbox_of
from chatsvc.domain.models import Exchange
from chatsvc.store import captures, day_counts, open_turns
from chatsvc.store.captures import NewCapture
from chatsvc.store.database import Connection, Database, StoreUnavailable, reads
from chatsvc.store.open_turns import IDEMPOTENCY_MS, TurnLost


class Idempotency(NamedTuple):
    """Idempotency record: the digest of the request's fields, and the exchange as JSON."""

    key: str
    fingerprint: bytes
    exchange: str


class NewExchange(NamedTuple):
    """An exchange to write. `month` and `accepted_at` belong to the message; the exchange's `created_at` belongs to the reply."""

    exchange: Exchange
    account_id: str
    accepted_at: int
    month: str
    tokens: int
    cost_micro_usd: int
    idempotency: Idempotency | None
    dialogue: str | None = None
    captured: NewCapture | None = None
    evidence: str | None = None
    # The entry that the reply came from first.
    entry: str | None = None
    # Number of the visitor's message where its channel has stored it before, and the delivery state of the reply.
    stored: int | None = None
    delivery: str | None = None
    # Buttons of the reply, JSON.
    choices: str | None = None
    # Number of the open turn that ends with it, where several processes work.
    turn: int | None = None
    # Whether the reply counts as an answer.
    is_answer: bool = True


class Counts(NamedTuple):
    """Counts after an exchange was written: messages used in the month, message credits, and messages of the bot."""

    month_used: int
    credits: int
    bot_used: int
    # Whether somebody has awaited the end of its open turn.
    awaited: bool = False


def write(connection: Connection, x: NewExchange) -> Counts | TurnLost | None:
    """Write an exchange within a unit. Return TurnLost if its turn is no longer open. Otherwise return the same as `record`."""
    exchange = x.exchange
    bot_id, channel = exchange.chatbot_id, exchange.channel
    row = connection.execute(
        """
        SELECT a.messages_limit, a.message_credits, b.timezone FROM bots b JOIN accounts a ON a.id = b.account_id
        WHERE a.deleted_at IS NULL AND b.id = ?
        """,
        (bot_id,),
    ).fetchone()
    awaited = open_turns.delete(connection, x.turn) if x.turn is not None else False
    if awaited is None:
        return TurnLost()
    if row is None:
        return None
    limit, credits, zone = row
    if x.stored is not None:
        # Its turn is settled now, unless it was before, or an operator has taken its conversation over.
        handling = connection.execute(
            """
            UPDATE messages SET pending = NULL WHERE pending = 1 AND number = ?
            RETURNING (SELECT handling FROM conversations WHERE number = conversation)
            """,
            (x.stored,),
        ).fetchone()
        if handling != ("bot",):
            return None
    connection.execute(
        "INSERT INTO usage_records (account_id, bot_id, channel, created_at, tokens, cost_micro_usd) VALUES (?, ?, ?, ?, ?, ?)",
        (x.account_id, bot_id, channel, x.accepted_at, x.tokens, x.cost_micro_usd),
    )
    count_bot = "UPDATE bots SET messages_used = messages_used + 1 WHERE id = ? RETURNING messages_used"
    (bot_used,) = connection.execute(count_bot, (bot_id,)).fetchone()
    (month_used,) = connection.execute(
        """
        INSERT INTO allowances (account_id, month, messages_used) VALUES (?, ?, 1)
        ON CONFLICT (account_id, month) DO UPDATE SET messages_used = allowances.messages_used + 1 RETURNING messages_used
        """,
        (x.account_id, x.month),
    ).fetchone()
    conversation_id = str(uuid.uuid4())
    # The time of the last message never decreases: a list must not show a conversation on two pages.
    known_id, number = connection.execute(
        """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id,
            last_message_at, created_at, updated_at, dialogue, message_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?6, ?8, ?9)
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            last_message_at = max(conversations.last_message_at, excluded.last_message_at),
            updated_at = max(conversations.updated_at, excluded.updated_at),
            message_count = conversations.message_count + excluded.message_count,
            dialogue = excluded.dialogue
        RETURNING id, number
        """,
        (
            *(conversation_id, x.account_id, bot_id, channel, exchange.user_id, exchange.created_at, x.accepted_at, x.dialogue),
            2 if x.stored is None else 1,
        ),
    ).fetchone()
    if known_id == conversation_id:
        connection.execute(
            """
            INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?, ?, ?, 1)
            ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET conversations = conversation_counts.conversations + 1
            """,
            (x.account_id, bot_id, channel),
        )
    message = (number, str(uuid.uuid4()), "user", exchange.message, x.accepted_at, None, None, None, None)
    outbox = outbox_of(channel, bot_id, x.delivery)
    reply = (number, str(uuid.uuid4()), "assistant", exchange.reply, exchange.created_at, x.evidence, x.delivery, outbox, x.choices)
    connection.executemany(
        """
        INSERT INTO messages (conversation, id, role, content, created_at, evidence, delivery, outbox, choices)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [message, reply] if x.stored is None else [reply],
    )
    counted = {"answered": int(x.is_answer), "tokens": x.tokens, "cost_micro_usd": x.cost_micro_usd}
    day_counts.add(connection, bot_id, x.accepted_at, counted, zone=zone)
    if x.entry is not None:
        day_counts.add(connection, bot_id, x.accepted_at, {ENTRY: 1}, x.entry, zone)
    if x.captured:
        captures.write(connection, bot_id, number, x.captured)
    if x.idempotency:
        connection.execute(
            """
            DELETE FROM idempotency_keys WHERE (account_id, key) IN
                (SELECT account_id, key FROM idempotency_keys WHERE created_at <= ? LIMIT 8)
            """,
            (x.accepted_at - IDEMPOTENCY_MS,),
        )
        connection.execute(
            """
            INSERT INTO idempotency_keys (account_id, key, fingerprint, exchange, created_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (account_id, key) DO UPDATE SET
                fingerprint = excluded.fingerprint, exchange = excluded.exchange, created_at = excluded.created_at
            """,
            (x.account_id, *x.idempotency, x.accepted_at),
        )
    if month_used > limit and credits > 0:
        credits -= 1
        connection.execute("UPDATE accounts SET message_credits = ? WHERE id = ?", (credits, x.account_id))
    return Counts(month_used, credits, bot_used, awaited)


async def record(db: Database, exchange: NewExchange) -> Counts | None:
    """Write an exchange and return the new counts. Raises StoreUnavailable if another process has taken over its turn.

    Return None and write nothing if its account or bot has been deleted, or if its turn needs no reply any more.
    """
    written = await db.write(partial(write, x=exchange))
    if isinstance(written, TurnLost):
        raise StoreUnavailable("the other processes had taken this one for dead, and its turn has ended")
    return written


@reads
def answered(connection: Connection, account_id: str, key: str, now: int) -> Idempotency | None:
    """Find the idempotency record of a key within the last 24 hours."""
    row = connection.execute(
        "SELECT key, fingerprint, exchange FROM idempotency_keys WHERE account_id = ? AND key = ? AND created_at > ?",
        (account_id, key, now - IDEMPOTENCY_MS),
    ).fetchone()
    return Idempotency(*row) if row else None
