"""Writes exchanges: a message and its reply with all that depends on them, atomically.

That is usage record, counters, allowance and idempotency record.
The exchanges of one batch are written table by table, with few statements and each counter once.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from chatsvc.domain.analytics import ENTRY
from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.channels import outbox_of
from chatsvc.store import captures, day_counts, open_turns
from chatsvc.store.database import Connection, Database, StoreUnavailable, Together, reads
from chatsvc.store.day_counts import DayCount
from chatsvc.store.open_turns import IDEMPOTENCY_MS, TurnLost


class Idempotency(NamedTuple):
    """Idempotency record: the digest of the request's fields, and the exchange as JSON."""

    key: str
    fingerprint: bytes
    exchange: str


class NewCapture(NamedTuple):
    """A captured request with its appointment. `tell`: the account's plan has webhooks; `sends_mail`: mail is set up."""

    request: Request
    appointment: Appointment | None
    tell: bool
    sends_mail: bool = False


class NewExchange(NamedTuple):
    """An exchange to write; `month` and `accepted_at` belong to the message, `replied_at` to the reply."""

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
    """Counts after the transaction."""

    month_used: int
    credits: int
    bot_used: int
    # Whether somebody has awaited the end of its open turn.
    awaited: bool = False


_Balance = tuple[int, int]  # an account's messages in a month, and its credits


def _conversations(connection: Connection, exchanges: list[NewExchange]) -> list[int]:
    """Insert or update the conversations of the exchanges; return their numbers."""
    # One row for a conversation: a statement may not change a row twice.
    merged: dict[tuple[str, str, str], list[Any]] = {}
    for x in exchanges:
        messages = 2 if x.stored is None else 1
        key = x.bot_id, x.channel, x.user_id
        row = merged.get(key)
        if row is None:
            merged[key] = [x.account_id, *key, x.replied_at, x.accepted_at, x.replied_at, x.dialogue, messages]
        else:
            row[4:] = max(row[4], x.replied_at), row[5], max(row[6], x.replied_at), x.dialogue, row[8] + messages
    ids = [str(uuid.uuid4()) for _ in merged]
    rows = [value for conversation_id, row in zip(ids, merged.values(), strict=True) for value in (conversation_id, *row)]
    # The time of the last message never decreases: a list must not show a conversation on two pages.
    written = list(
        connection.at_once(
            """
        INSERT INTO conversations (id, account_id, bot_id, channel, user_id,
            last_message_at, created_at, updated_at, dialogue, message_count) VALUES
        """,
            "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
            """
        ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
            last_message_at = max(conversations.last_message_at, excluded.last_message_at),
            updated_at = max(conversations.updated_at, excluded.updated_at),
            message_count = conversations.message_count + excluded.message_count,
            dialogue = excluded.dialogue
        RETURNING id, number, bot_id, channel, user_id
        """,
        )
    )
    numbers = {(bot_id, channel, user_id): number for _, number, bot_id, channel, user_id in written}
    # An existing conversation keeps its id.
    begun = {row[0] for row in written} & set(ids)
    new = Counter(tuple(row[:3]) for conversation_id, row in zip(ids, merged.values(), strict=True) if conversation_id in begun)
    for counted, count in new.items():
        connection.execute(
            """
            INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?, ?, ?, ?)
            ON CONFLICT (account_id, bot_id, channel) DO UPDATE SET
                conversations = conversation_counts.conversations + excluded.conversations
            """,
            (*counted, count),
        )
    return [numbers[x.bot_id, x.channel, x.user_id] for x in exchanges]


def _messages(connection: Connection, exchanges: list[NewExchange], numbers: list[int]) -> None:
    rows: list[object] = []
    for x, number in zip(exchanges, numbers, strict=True):
        if x.stored is None:
            rows += number, str(uuid.uuid4()), "user", x.message, x.accepted_at, None, None, None, None
        rows += number, str(uuid.uuid4()), "assistant", x.reply, x.replied_at, x.evidence, x.delivery
        rows += outbox_of(x.channel, x.bot_id, x.delivery), x.choices
    begin = "INSERT INTO messages (conversation, id, role, content, created_at, evidence, delivery, outbox, choices) VALUES "
    connection.at_once(begin, "(?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _settled(connection: Connection, exchanges: list[NewExchange]) -> set[int]:
    """Settle the turns of messages that their channels have stored. Return those that still needed the bot's reply.

    Not among them: a turn that was settled before, or in a conversation that an operator took over meanwhile.
    """
    numbers = [x.stored for x in exchanges if x.stored is not None]
    rows = connection.at_once(
        "UPDATE messages SET pending = NULL WHERE pending = 1 AND number IN (",
        "?",
        numbers,
        ") RETURNING number, (SELECT handling FROM conversations WHERE number = conversation)",
    )
    return {number for number, handling in rows if handling == "bot"}


def _usage(connection: Connection, exchanges: list[NewExchange]) -> None:
    rows: list[object] = []
    for x in exchanges:
        rows += x.account_id, x.bot_id, x.channel, x.accepted_at, x.tokens, x.cost_micro_usd
    begin = "INSERT INTO usage_records (account_id, bot_id, channel, created_at, tokens, cost_micro_usd) VALUES "
    connection.at_once(begin, "(?, ?, ?, ?, ?, ?)", rows)


def _counted(x: NewExchange) -> Iterable[DayCount]:
    """List the counts that an exchange adds to its day."""
    for name, times in (("answered", int(x.is_answer)), ("tokens", x.tokens), ("cost_micro_usd", x.cost_micro_usd)):
        yield DayCount(x.bot_id, name, x.accepted_at, times=times)
    if x.entry is not None:
        yield DayCount(x.bot_id, ENTRY, x.accepted_at, x.entry)


def _keys(connection: Connection, exchanges: list[NewExchange]) -> None:
    keyed = [x for x in exchanges if x.idempotency]
    if not keyed:
        return
    connection.execute(
        """
        DELETE FROM idempotency_keys WHERE (account_id, key) IN
            (SELECT account_id, key FROM idempotency_keys WHERE created_at <= ? LIMIT ?)
        """,
        (max(x.accepted_at for x in keyed) - IDEMPOTENCY_MS, 8 * len(keyed)),
    )
    # The last one of a key counts.
    latest = {(x.account_id, x.idempotency.key): (*x.idempotency[1:], x.accepted_at) for x in keyed if x.idempotency}
    rows = [value for key, record in latest.items() for value in (*key, *record)]
    connection.at_once(
        "INSERT INTO idempotency_keys (account_id, key, fingerprint, exchange, created_at) VALUES ",
        "(?, ?, ?, ?, ?)",
        rows,
        """
        ON CONFLICT (account_id, key) DO UPDATE SET
            fingerprint = excluded.fingerprint, exchange = excluded.exchange, created_at = excluded.created_at
        """,
    )


def _increase(connection: Connection, exchanges: list[NewExchange]) -> Iterable[Any]:
    """Increase the counters of bots and of months, each once; return their new values, to be read later."""
    bots = connection.at_once(
        "UPDATE bots SET messages_used = messages_used + given.column2 FROM (VALUES ",
        "(CAST(? AS TEXT), CAST(? AS BIGINT))",
        list(chain(*Counter(x.bot_id for x in exchanges).items())),
        ") AS given WHERE id = given.column1 RETURNING id, messages_used",
    )
    months = connection.at_once(
        "INSERT INTO allowances (account_id, month, messages_used) VALUES ",
        "(?, ?, ?)",
        [value for month, count in Counter((x.account_id, x.month) for x in exchanges).items() for value in (*month, count)],
        """
        ON CONFLICT (account_id, month) DO UPDATE SET messages_used = allowances.messages_used + excluded.messages_used
        RETURNING account_id, month, messages_used
        """,
    )
    return chain(bots, months)


def _counts(connection: Connection, exchanges: list[NewExchange], accounts: dict[str, _Balance], increased: Iterable[Any]) -> list[Counts]:
    """Write the credits; return the counts after each exchange."""
    used = Counter({tuple(key): count for *key, count in increased})
    used.subtract(key for x in exchanges for key in ((x.bot_id,), (x.account_id, x.month)))
    spent: dict[str, int] = {}
    counts = []
    for x in exchanges:
        used[x.bot_id,] += 1
        used[x.account_id, x.month] += 1
        month_used = used[x.account_id, x.month]
        limit, credits = accounts[x.account_id]
        if month_used > limit and credits > 0:
            credits -= 1
            accounts[x.account_id] = limit, credits
            spent[x.account_id] = credits
        counts.append(Counts(month_used, credits, used[x.bot_id,]))
    for account_id, credits in spent.items():
        connection.execute("UPDATE accounts SET message_credits = ? WHERE id = ?", (credits, account_id))
    return counts


def _write(connection: Connection, exchanges: list[NewExchange]) -> list[Counts | TurnLost | None]:
    """Write exchanges in order; the result is that of writing them one by one.

    What does not depend on a result is executed before that is read: PostgreSQL takes it in one round trip.
    """
    begin = """
        SELECT b.id, a.id, a.messages_limit, a.message_credits FROM bots b JOIN accounts a ON a.id = b.account_id
        WHERE a.deleted_at IS NULL AND b.id IN (
    """
    balances = connection.at_once(begin, "?", list({x.bot_id for x in exchanges}), ")")
    open_turn = open_turns.delete(connection, [x.turn for x in exchanges if x.turn is not None])
    keys = list(balances)
    bots, accounts = {bot_id for bot_id, *_ in keys}, {account_id: (limit, credits) for _, account_id, limit, credits in keys}
    lost = [x.turn is not None and x.turn not in open_turn for x in exchanges]
    rest = [x for x, is_lost in zip(exchanges, lost, strict=True) if not is_lost]
    done = iter(_write_all(connection, [x for x in rest if x.bot_id in bots], open_turn, accounts))
    written = iter([next(done) if x.bot_id in bots else None for x in rest])
    return [TurnLost() if is_lost else next(written) for is_lost in lost]


def _write_all(
    connection: Connection, exchanges: list[NewExchange], awaited: Mapping[int, bool], accounts: dict[str, _Balance]
) -> list[Counts | None]:
    settled = _settled(connection, exchanges)
    wanted = [x.stored is None or x.stored in settled for x in exchanges]
    written = [x for x, is_wanted in zip(exchanges, wanted, strict=True) if is_wanted]
    _usage(connection, written)
    day_counts.add(connection, chain(*map(_counted, written)))
    increased = _increase(connection, written)
    numbers = _conversations(connection, written)
    _messages(connection, written, numbers)
    for x, number in zip(written, numbers, strict=True):
        if x.captured:
            c = x.captured
            captures.write(connection, x.bot_id, number, c.request, c.appointment, tell=c.tell, sends_mail=c.sends_mail)
    _keys(connection, written)
    counts = _counts(connection, written, accounts, increased)
    done = iter(c if x.turn is None else c._replace(awaited=awaited[x.turn]) for c, x in zip(counts, written, strict=True))
    return [next(done) if is_wanted else None for is_wanted in wanted]


async def record(db: Database, exchange: NewExchange) -> Counts | None:
    """Write an exchange. Return None and write nothing if its account or bot has been deleted or its turn needs no reply any more.

    Raises StoreUnavailable where another process has taken over its turn.
    """
    written = await db.write(Together(_write, exchange))
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
