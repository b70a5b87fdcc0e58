"""Search index of conversations: queues changed ones and indexes their words, in batches.

Each conversation has a document of words, and an inverted table has the words. store/search_queries.py searches.

A conversation is queued in the transaction that changes it; `index` works the queue off in the background, and each batch is one
transaction, so a crash loses nothing. Not FTS5: before SQLite 3.42 it keeps deleted words in its segments, and PostgreSQL has none.
"""

import json
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.tables import IMPORTING

BATCH = 25  # conversations
MESSAGES = 40  # of a conversation in a batch
MAX_WORDS = 5_000  # of a conversation


class QueuedText(NamedTuple):
    """Text of a conversation that the index lacks, for the function that finds its words.

    contents: new messages. captures: new requests, each (message, name, e-mail, phone). addresses: the visitor's on WhatsApp.
    """

    user_id: str
    visitor_name: str | None
    visitor_email: str | None
    contents: list[str]
    captures: list[tuple[str, str | None, str | None, str | None]]
    addresses: list[str]


WordsOf = Callable[[QueuedText], Iterable[str]]


class _Queued(NamedTuple):
    """A queued conversation with its document; `live` is false once its account is being deleted."""

    conversation: int
    bot: int | None
    live: bool
    user_id: str
    visitor_name: str | None
    visitor_email: str | None
    words: str | None
    message: int
    request: int
    messages: list[tuple[int, str]]
    requests: list[tuple[int, str, str | None, str | None, str | None]]
    addresses: list[str]


# As one text: fetching a row releases the interpreter lock and acquires it again.
_QUEUED = f"""
    SELECT json_group_array(json_array(page.conversation, b.number,
        EXISTS (SELECT 1 FROM accounts a WHERE a.id = c.account_id AND coalesce(a.deleted_at, {IMPORTING}) = {IMPORTING}),
        c.user_id, coalesce(c.visitor_name, '') || ' ' || coalesce(c.visitor_phone, ''), c.visitor_email,
        d.words, coalesce(d.message, 0), coalesce(d.request, 0),
        json((SELECT json_group_array(json_array(page.number, page.content)) FROM (
            SELECT number, content FROM messages WHERE conversation = c.number AND number > coalesce(d.message, 0)
            ORDER BY number LIMIT ?2) page)),
        json((SELECT json_group_array(json_array(r.number, r.message, r.visitor_name, r.visitor_email, r.visitor_phone))
            FROM requests r WHERE r.conversation = c.number AND r.number > coalesce(d.request, 0))),
        json((SELECT json_group_array(a.value) FROM whatsapp_addresses a WHERE a.conversation = c.number))))
    FROM (SELECT conversation FROM search_queue ORDER BY conversation DESC LIMIT ?1) page
    LEFT JOIN conversations c ON c.number = page.conversation
    LEFT JOIN bots b ON b.id = c.bot_id
    LEFT JOIN search_documents d ON d.conversation = page.conversation
"""
_PUT_DOCUMENTS = """
    INSERT INTO search_documents (conversation, words, message, request)
    SELECT CAST(json_extract(value, '$[0]') AS BIGINT), json_extract(value, '$[1]'), CAST(json_extract(value, '$[2]') AS BIGINT),
        CAST(json_extract(value, '$[3]') AS BIGINT)
    FROM json_each(?) WHERE true
    ON CONFLICT (conversation) DO UPDATE SET words = excluded.words, message = excluded.message, request = excluded.request
"""


def queue(connection: Connection, conversations: Iterable[int]) -> None:
    """Queue conversations that have changed, within the unit that changes them."""
    connection.at_once("INSERT INTO search_queue (conversation) VALUES ", "(?)", list(set(conversations)), " ON CONFLICT DO NOTHING")


@reads
def is_complete(connection: Connection) -> bool:
    """Whether no conversation waits for the index."""
    return connection.execute("SELECT 1 FROM search_queue LIMIT 1").fetchone() is None


@reads
def backlog(connection: Connection) -> int:
    """Count the queued conversations; reads the whole queue."""
    (count,) = connection.execute("SELECT count(*) FROM search_queue").fetchone()
    return int(count)


@writes
def index(connection: Connection, words_of: WordsOf) -> int:
    """Index one batch of queued conversations, the newest first; return how many were read."""
    (queued_json,) = connection.execute(_QUEUED, (BATCH, MESSAGES)).fetchone()
    rows: list[tuple[int, str, int]] = []
    documents: list[list[Any]] = []
    done: list[int] = []
    queued = [_Queued(*row) for row in json.loads(queued_json)]
    for item in queued:
        if item.live and item.bot is not None:
            before = json.loads(item.words) if item.words else []
            new = _new_words(item, set(before), words_of)
            rows += ((item.bot, word, item.conversation) for word in new)
            last_message = max((number for number, _ in item.messages), default=item.message)
            last_request = max((number for number, *_ in item.requests), default=item.request)
            documents.append([item.conversation, _document(before + new), last_message, last_request])
        if len(item.messages) < MESSAGES:
            done.append(item.conversation)
    # In the order of the table, so that neighbours are written together.
    begin = "INSERT INTO search_words (bot, word, conversation) VALUES "
    connection.at_once(begin, "(?, ?, ?)", list(chain(*sorted(rows))), " ON CONFLICT DO NOTHING")
    connection.execute(_PUT_DOCUMENTS, (json.dumps(documents),))
    connection.execute(
        "DELETE FROM search_queue WHERE conversation IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", (json.dumps(done),)
    )
    return len(queued)


def _new_words(item: _Queued, before: set[str], words_of: WordsOf) -> list[str]:
    text = QueuedText(
        item.user_id,
        item.visitor_name,
        item.visitor_email,
        [content for _, content in item.messages],
        [(message, name, email, phone) for _, message, name, email, phone in item.requests],
        item.addresses,
    )
    return sorted(set(words_of(text)) - before)[: MAX_WORDS - len(before)]


def _document(words: list[str]) -> str:
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))
