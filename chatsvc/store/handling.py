"""Queries for the hand-off of conversations between the bot and people, and for notices to the team's group.

If the team answers a notice in its group, the digest of the notice's message finds the conversation. A scope (`accounts`) is None for all
accounts. A conversation outside of the scope raises `conversation_not_found`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.models import BOT, OPERATOR, WAITING, Conversation, Message
from chatsvc.domain.times import MINUTE_MS
from chatsvc.store import day_counts, mail_notices
from chatsvc.store.channel_messages import NoticeSentence, say
from chatsvc.store.conversations import MESSAGE_COLUMNS, OF_A_PAGE, owned, update
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.owners import Accounts


class Handler(NamedTuple):
    """The person who handles a conversation. `id` is the operator's, or None for a local user of the command line."""

    id: str | None
    name: str


def _check(conversation: Conversation, handler: Handler, *, yes: bool) -> None:
    """Raise `conversation_taken` if another person has the conversation, unless `yes` is true. Local users are compared by name."""
    holder = Handler(conversation.operator_id, conversation.operator_name or "")
    is_own = holder == handler if handler.id is None else holder.id == handler.id
    if conversation.handling == OPERATOR and not is_own and not yes:
        raise refusals.conversation_taken(conversation=conversation.id, operator=holder.name or "?")


def _take(connection: Connection, conversation: Conversation, number: int, taken_at: int, handler: Handler) -> Conversation:
    """Give a conversation to a person. Turns that wait for the bot's reply are settled: a reply that comes later is dropped."""
    connection.execute("UPDATE messages SET pending = NULL WHERE conversation = ? AND pending = 1", (number,))
    if conversation.handling == BOT:
        day_counts.add(connection, conversation.chatbot_id, taken_at, {"handed_over": 1})
    taken = {"handling": OPERATOR, "handling_since": taken_at, "operator_id": handler.id, "operator_name": handler.name or None}
    assigned = {"assignee": handler.id} if handler.id else {}
    return update(connection, number, **taken, **assigned, missed_at=None, updated_at=max(conversation.updated_at, taken_at))


def _free(connection: Connection, number: int, **changes: object) -> Conversation:
    nobody = dict.fromkeys(("handling_since", "operator_id", "operator_name", "missed_at", "waiting_since"))
    return update(connection, number, handling=BOT, **nobody, **changes)


@writes
def take(connection: Connection, accounts: Accounts, conversation_id: str, handler: Handler, now: int, *, yes: bool) -> Conversation:
    """Give a conversation to a person. Raise `conversation_taken` if another person has it, unless `yes` is true."""
    conversation, number = owned(connection, accounts, conversation_id)
    _check(conversation, handler, yes=yes)
    return _take(connection, conversation, number, now, handler)


class AlreadyWritten(Exception):
    """The message with this key was written before."""


class OperatorMessage(NamedTuple):
    """A message that an operator wrote, and its conversation."""

    conversation: Conversation
    message: Message


@writes
def reply(
    connection: Connection,
    accounts: Accounts,
    conversation_id: str,
    sentence: NoticeSentence,
    handler: Handler,
    key: bytes | None = None,
    mail_to: str | None = None,
    *,
    yes: bool = False,
    takes: bool = True,
) -> OperatorMessage:
    """Store a person's message, and give the conversation to that person unless `takes` is False. See `take` for `yes`.

    A local user writes in the name of the operator who has the conversation. `key` is the digest that identifies the message; a known key
    raises AlreadyWritten. The message is mailed to `mail_to` if the visitor does not read it.
    """
    conversation, number = owned(connection, accounts, conversation_id)
    if key is not None:
        if connection.execute("SELECT 1 FROM incoming_keys WHERE digest = ?", (key,)).fetchone():
            raise AlreadyWritten
        values = key, conversation.chatbot_id, sentence.created_at
        connection.execute("INSERT INTO incoming_keys (digest, bot_id, created_at) VALUES (?, ?, ?)", values)
    if handler.id is None and conversation.handling == OPERATOR and takes and not yes:
        handler = Handler(conversation.operator_id, conversation.operator_name or handler.name)
    else:
        _check(conversation, handler, yes=yes or not takes)
    delivery = None if conversation.channel == "api" else sentence.delivery
    written = say(connection, number, sentence._replace(delivery=delivery), OPERATOR, handler.name)
    day_counts.note_response(connection, number, sentence.created_at, handler.id)
    if mail_to is not None:
        mail_notices.note_answer(connection, conversation.chatbot_id, number, mail_to, sentence.created_at)
    message = connection.execute(f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE number = ?", (written,)).fetchone()
    if takes:
        conversation = _take(connection, conversation, number, sentence.created_at, handler)
    return OperatorMessage(conversation, Message(*message))


@writes
def release(
    connection: Connection, accounts: Accounts, conversation_id: str, sentence: NoticeSentence | None, handler: Handler, *, yes: bool
) -> Conversation:
    """Give a conversation back to the bot. On a channel, the visitor gets `sentence`.

    Raise `conversation_taken` if another operator has the conversation, unless `yes` is true or the handler is a local user.
    """
    conversation, number = owned(connection, accounts, conversation_id)
    if conversation.handling == BOT:
        return conversation
    _check(conversation, handler, yes=yes or handler.id is None)
    if conversation.channel != "api" and sentence is not None:
        say(connection, number, sentence)
    return _free(connection, number)


@writes
def settle(connection: Connection, accounts: Accounts, conversation_id: str, settled_at: int, handler: Handler) -> Conversation:
    """Set a conversation aside as done, and let the bot handle it. Raise `conversation_taken` if it is another operator's."""
    conversation, number = owned(connection, accounts, conversation_id)
    _check(conversation, handler, yes=handler.id is None)
    return _free(connection, number, set_aside_at=max(settled_at, conversation.last_message_at), set_aside_until=None)


_LAST_WORDS = """
    coalesce((SELECT m.content FROM messages m WHERE m.conversation = c.number AND m.role = 'user' ORDER BY m.number DESC LIMIT 1), '')
"""


@reads
def overdue(connection: Connection, now: int, limit: int) -> list[tuple[str, str, Conversation]]:
    """List conversations that nobody took in time, or whose operators do not write any more.

    Each conversation comes with its account and the visitor's last message.
    """
    rows = connection.execute(
        f"""
        SELECT c.account_id, {_LAST_WORDS}, {OF_A_PAGE}
        FROM conversations c INDEXED BY conversations_handed_off CROSS JOIN bots b ON b.id = c.bot_id
        WHERE c.handling <> 'bot' AND c.handling_since <=
            ?1 - {MINUTE_MS} * CASE c.handling WHEN '{WAITING}' THEN b.hand_off_wait ELSE b.hand_off_return END
        LIMIT ?2
        """,
        (now, limit),
    )
    return [(account_id, words, Conversation(*conversation)) for account_id, words, *conversation in rows]


@writes
def give_back(connection: Connection, overdue: Conversation, sentence: NoticeSentence) -> bool:
    """Return an overdue conversation to the bot. On a channel, the visitor gets `sentence`. Return False if its handling has changed."""
    row = connection.execute(
        """
        UPDATE conversations SET handling = 'bot', handling_since = NULL, waiting_since = NULL, operator_id = NULL, operator_name = NULL,
            missed_at = CASE WHEN handling = 'waiting' THEN ?4 ELSE missed_at END
        WHERE id = ?1 AND handling = ?2 AND handling_since = ?3 RETURNING number, bot_id
        """,
        (overdue.id, overdue.handling, overdue.handling_since, sentence.created_at),
    ).fetchone()
    if row is None:
        return False
    if overdue.handling == WAITING:
        day_counts.add(connection, row[1], sentence.created_at, {"missed": 1})
    if overdue.channel != "api":
        say(connection, row[0], sentence)
    return True


class TeamNotice(NamedTuple):
    """A waiting visitor about whom the team was not notified yet, with the visitor's last message.

    `bot` and `language` are the bot's name and language.
    """

    conversation: int
    since: int
    conversation_id: str
    account_id: str
    channel: str
    words: str
    bot: str
    language: str | None


@reads
def untold(connection: Connection, limit: int) -> list[TeamNotice]:
    """List the waiting visitors about whom the team was not notified yet. Those who have waited longest come first."""
    rows = connection.execute(
        f"""
        SELECT c.number, c.handling_since, c.id, c.account_id, c.channel, {_LAST_WORDS}, b.name, b.language
        FROM conversations c INDEXED BY conversations_handed_off CROSS JOIN bots b ON b.id = c.bot_id
        CROSS JOIN accounts a ON a.id = b.account_id AND a.deleted_at IS NULL
        WHERE c.handling <> 'bot' AND c.handling = '{WAITING}' AND c.handling_since IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM team_notices n WHERE n.conversation = c.number AND n.since = c.handling_since)
        ORDER BY c.handling_since LIMIT ?
        """,
        (limit,),
    )
    return [TeamNotice(*row) for row in rows]


@writes
def note_told(connection: Connection, notices: Sequence[TeamNotice], digest: bytes | None) -> None:
    """Store that one message notified the team of these waiting visitors. Visitors who were erased meanwhile are left out."""
    insert = """
        INSERT INTO team_notices (conversation, since, digest) SELECT number, ?, ? FROM conversations WHERE number = ?
        ON CONFLICT DO NOTHING
    """
    connection.executemany(insert, [(notice.since, digest, notice.conversation) for notice in notices])


@reads
def of_notice(connection: Connection, digest: bytes) -> list[tuple[str, str, str | None]]:
    """Return account, conversation and bot's language of each visitor named in a notice. `digest` identifies the notice's message."""
    rows = connection.execute(
        """
        SELECT c.account_id, c.id, b.language FROM team_notices n JOIN conversations c ON c.number = n.conversation
        JOIN bots b ON b.id = c.bot_id WHERE n.digest = ? ORDER BY n.conversation
        """,
        (digest,),
    )
    return rows.fetchall()
