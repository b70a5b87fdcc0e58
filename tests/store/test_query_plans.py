"""No list, history or analytics statement walks or sorts a whole table, whatever its filters."""

import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from chatsvc.domain.models import Entry, Synonyms
from chatsvc.domain.paging import Position
from chatsvc.domain.refusals import Refused
from chatsvc.domain.search_words import Term
from chatsvc.store import (
    accounts,
    appointments,
    audit,
    bots,
    captures,
    channel_messages,
    conversation_team,
    conversations,
    day_counts,
    deliveries,
    erasure,
    exchanges,
    inbox,
    knowledge,
    knowledge_changes,
    operators,
    outbox,
    owners,
    platforms,
    search_queries,
    sessions,
    today,
    unanswered,
)
from chatsvc.store.captures import CaptureChange
from chatsvc.store.database import Database
from chatsvc.store.inbox import InboxFilter
from chatsvc.store.search_queries import ConversationFilter
from tests.fakes import START
from tests.store.support import furnish, in_database, new_exchange, origin

pytestmark = pytest.mark.sqlite

AFTER = Position(START, 5, 20)
FILE = knowledge.FromFile("x", [Entry("id 2", "q", (), "a", "en", "y")], [Synonyms(("a", "b"), "y")])


def owner_of(kind: str) -> Callable[[Database], Awaitable[object]]:
    return lambda db: owners.account_of(db, kind, "id", ["account"])


def found(db: Database, owners: list[str] | None, *said: str, bot_id: str | None = None, after: str | None = None) -> Awaitable[object]:
    return search_queries.conversations(db, owners, ConversationFilter(bot_id, None, [Term(word) for word in said]), 20, after)


def found_by(db: Database, status: str) -> Awaitable[object]:
    """List conversations of an operator."""
    return search_queries.conversations(db, ["account"], ConversationFilter(status=status, operator_id="operator"), 20, f"{START},1")


async def seen(db: Database, around: str | None = None) -> object:
    """Read a conversation as the team sees it."""
    page = await search_queries.conversations(db, ["account"], ConversationFilter(), 20)
    return await conversation_team.view(db, ["account"], page.items[0][0].id, 20, "operator", around)


QUESTIONS: dict[str, Callable[[Database], Awaitable[object]]] = {
    "conversations of an account": lambda db: conversations.page(db, "account", 20),
    "conversations of an account, next page": lambda db: conversations.page(db, "account", 20, after=AFTER),
    "conversations of an account on a channel": lambda db: conversations.page(db, "account", 20, channel="api"),
    "conversations of an account on a channel, next page": lambda db: conversations.page(db, "account", 20, channel="api", after=AFTER),
    "conversations of a bot": lambda db: conversations.page(db, "account", 20, bot_id="bot"),
    "conversations of a bot, next page": lambda db: conversations.page(db, "account", 20, bot_id="bot", after=AFTER),
    "conversations of a bot on a channel": lambda db: conversations.page(db, "account", 20, bot_id="bot", channel="api"),
    "conversations of a bot on a channel, next page": lambda db: conversations.page(
        db, "account", 20, bot_id="bot", channel="api", after=AFTER
    ),
    "a conversation with its messages": lambda db: conversations.find(db, ["account"], "id", 500),
    "a conversation for the administrator": lambda db: conversations.find(db, None, "id", 500),
    "the history of a visitor": lambda db: conversations.history(db, ("bot", "api", "visitor"), 40, START),
    "analytics": lambda db: day_counts.usage_summary(db, "account", START, START + 10, 3),
    "a key": lambda db: accounts.find_key(db, b"digest"),
    "a page of the keys of an account": lambda db: accounts.page_of_keys(db, ["account"], 20, (START, "id")),
    "a page of all keys": lambda db: accounts.page_of_keys(db, None, 20),
    "a page of accounts": lambda db: accounts.page(db, None, "2026-11", 20, (START, "id")),
    "a page of the bots of an account": lambda db: bots.page(db, ["account"], 20, ("account", 1)),
    "a page of conversations of several accounts": lambda db: found(db, ["account", "other"], after=f"{START},1"),
    "a page of a search": lambda db: found(db, ["account"], "hello", "reply", after=f"{START},1"),
    "a page of a search in a bot": lambda db: found(db, ["account"], "hello", bot_id="bot"),
    "a page of the conversations of a user_id": lambda db: search_queries.conversations(
        db, ["account"], ConversationFilter(user_id="v1", captured=True, label="vip"), 20
    ),
    "a page of the audit log of an account": lambda db: audit.page(db, ["account"], 0, 20),
    "a page of the audit log": lambda db: audit.page(db, None, 0, 20, 100),
    "a page of the inbox of an account": lambda db: inbox.page(db, ["account"], InboxFilter(), 20, "100"),
    "a page of the inbox, urgent ones first": lambda db: inbox.page(db, ["account"], InboxFilter(urgent_first=True), 20),
    "a page of the appointments of a bot": lambda db: inbox.page(db, ["account"], InboxFilter("bot", kind="appointment"), 20),
    "a page of the inbox by status": lambda db: inbox.page(db, ["account"], InboxFilter(status="done"), 20, "100"),
    "a page of the inbox by assignee": lambda db: inbox.page(db, None, InboxFilter("bot", assignee="id"), 20, "100"),
    "a page of the inbox by words": lambda db: inbox.page(db, ["account"], InboxFilter(terms=[Term("hello")]), 20),
    "the queues of messages that wait": lambda db: outbox.waiting(db, START),
    "the next messages of a queue": lambda db: db.read(lambda unit: outbox.upcoming(unit, "telegram bot", 256, [1])),
    "a message about to be sent": lambda db: db.write(lambda unit: outbox.mark(unit, [1], None)),
    "the outcome of a sent message": lambda db: db.write(lambda unit: outbox.settle(unit, 1, "sent", None, b"digest")),
    "a message that is put back": lambda db: db.write(lambda unit: outbox.put_back(unit, 1, START, "rate_limited", blocked="telegram bot")),
    "messages of a removed channel": lambda db: outbox.fail_all(db, "telegram bot", "channel_removed"),
    "messages that the end of the process interrupted": outbox.interrupt,
    "the other conversations of a visitor of a platform": lambda db: platforms.linked(db, "bot", "visitor"),
    "a page of the conversations of an operator": lambda db: found_by(db, "mine"),
    "a page of unread conversations": lambda db: found_by(db, "unread"),
    "a page of open conversations": lambda db: search_queries.conversations(
        db, ["account"], ConversationFilter(open_only=True, without_first=True), 20, f"{START},1"
    ),
    "a page of resolved conversations": lambda db: found_by(db, "resolved"),
    "a page of snoozed conversations": lambda db: found_by(db, "snoozed"),
    "a page of conversations with a label": lambda db: search_queries.conversations(db, ["account"], ConversationFilter(label="vip"), 20),
    "a page of known visitors": lambda db: found_by(db, "known"),
    "people": lambda db: conversation_team.people_of(db, [1, 2]),
    "the conversations of people": lambda db: conversation_team.of_people(db, [1, 2], "bot", 20),
    "the labels of an account": lambda db: conversation_team.labels(db, "account"),
    "the words around a hit": lambda db: conversation_team.recent_texts(db, [1, 2]),
    "the rows of a list": lambda db: conversation_team.details(db, [1, 2], "operator"),
    "the notes of conversations": lambda db: conversation_team.notes_of(db, ["id"]),
    "the saved replies of an account": lambda db: conversation_team.saved_replies(db, "account"),
    "what waits today": lambda db: today.read(db, "account", START, 0, 20),
    "a conversation with its requests": seen,
    "a conversation around a message": lambda db: seen(db, "id"),
    "a page of the attempts of a bot": lambda db: deliveries.attempts(db, None, "bot", 20),
    "a page of the attempts of an account": lambda db: deliveries.attempts(db, ["account"], None, 20, 100),
    "a page of the failed attempts of a bot": lambda db: deliveries.attempts(db, None, "bot", 20, status="failed"),
    "a page of the tests of an account": lambda db: deliveries.attempts(db, ["account"], None, 20, event="webhook.test"),
    "an attempt": lambda db: deliveries.find(db, "id", ["account"]),
    "the events of a bot that failed": lambda db: deliveries.failed_since(db, None, "bot", START, 0),
    "changing a request": lambda db: captures.set_request(db, "id", ["account"], CaptureChange("done", "note", "id"), START),
    "changing an appointment": lambda db: appointments.set_appointment(
        db, "id", ["account"], CaptureChange("done", "note", "id"), START, "Ada"
    ),
    "revoking a key": lambda db: accounts.revoke_key(db, "id", None, START),
    "the use of keys": lambda db: accounts.note_use(db, {"id": START}),
    "an account with its bots": lambda db: db.read(lambda connection: accounts.holding(connection, "account")),
    "changing an account": lambda db: accounts.update(db, "account", {"name": "new"}),
    **{f"the owner of: {kind}": owner_of(kind) for kind in sorted(owners.KINDS)},
    "an answer under an idempotency key": lambda db: exchanges.answered(db, "account", "key", START),
    "an exchange": lambda db: exchanges.record(db, new_exchange(key="key 2", at=START + 100)),
    "the entries of a bot": lambda db: knowledge.entries(db, "bot"),
    "replacing a file of knowledge": lambda db: knowledge.replace(db, "bot", [FILE], origin()),
    "the entries and synonyms of a bot": lambda db: knowledge.whole(db, "bot"),
    "noting a question without an answer": lambda db: unanswered.note(
        db, "bot", unanswered.AskedQuestion("folded", "question", "en", ("api", "v")), START
    ),
    "a page of the questions without an answer": lambda db: unanswered.most_frequent(db, "account", bot_id="bot"),
    "forgetting the questions without an answer": lambda db: unanswered.clear(db, "bot"),
    "the knowledge that files leave": lambda db: knowledge.with_files(db, "bot", [FILE]),
    "questions of visitors": lambda db: conversations.questions(db, "bot", 10_000),
    "an operator": lambda db: operators.find(db, "ada@example.com"),
    "the operator of a set-up link": lambda db: operators.of_link(db, b"digest", START),
    "a page of the operators of an account": lambda db: operators.page(db, ["account"], 20, (START, "id")),
    "a page of all operators": lambda db: operators.page(db, None, 20),
    "removing an operator": lambda db: operators.remove(db, "id"),
    "a session": lambda db: sessions.find(db, b"digest"),
    "the sessions of an operator": lambda db: sessions.live(db, "id", START),
    "ending a session": lambda db: sessions.remove(db, "id", "operator"),
    "removing an entry": lambda db: knowledge.remove(db, "bot", "id", origin()),
    "an entry of a bot": lambda db: knowledge.some(db, "bot", ["id"]),
    "changes to knowledge": lambda db: knowledge_changes.page(db, "bot", 20),
    "a change to knowledge": lambda db: knowledge_changes.find(db, "bot", "id"),
    "taking a change to knowledge back": lambda db: knowledge_changes.undo(db, "bot", "id", origin()),
}


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some of everything."""
    path = tmp_path_factory.mktemp("plans") / "chatsvc.db"

    async def fill(db: Database) -> None:
        await furnish(db)
        for i in range(30):
            await exchanges.record(db, new_exchange(user_id=f"v{i}", at=START + i, key=f"key {i}"))

    in_database(path, fill)
    return path


class Watching(sqlite3.Connection):
    """A connection that keeps what it is asked, as it was asked: with parameters, which SQLite plans differently from values."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seen: list[tuple[str, Any]] = []

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        self.seen.append((sql, parameters))
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        several = list(parameters)
        self.seen += [(sql, each) for each in several[:1]]
        return super().executemany(sql, several)


def statements_of(path: Path, question: Callable[[Database], Awaitable[object]]) -> list[tuple[str, Any]]:
    """The SQL that a question comes to, with its parameters."""
    opened: list[Watching] = []

    def connect(*arguments: Any, **options: Any) -> Watching:
        opened.append(Watching(*arguments, **options))
        return opened[-1]

    async def ask(db: Database) -> None:
        opened[0].seen.clear()
        with suppress(Refused):  # there is no such conversation
            await question(db)

    with patch.object(sqlite3, "connect", connect):
        in_database(path, ask)
    return [(sql, values) for sql, values in opened[0].seen if sql.strip().startswith(("WITH", "SELECT", "INSERT", "UPDATE", "DELETE"))]


def plan_of(connection: sqlite3.Connection, sql: str, values: Any = ()) -> list[str]:
    """The steps that SQLite takes."""
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def walks(plan: list[str]) -> list[str]:
    """The steps of a plan that scan a whole table or index.

    A subquery is bounded by its own LIMIT, and is planned by itself.
    """
    scans = [
        step
        for step in plan
        if re.match(r"SCAN (?!\(subquery-|(total|page|outcome|given|asked|s|w|channel|label)\b|(\d+ )?CONSTANT ROW|json_each )", step)
    ]
    return scans + [step for step in plan if re.search(r"\(\w+[<>]\?", step) and step not in BOUNDED]


def sorts(plan: list[str]) -> list[str]:
    """The tables that are sorted; what comes out of a bounded subquery may be."""
    return [before for before, step in pairwise(plan) if "TEMP B-TREE FOR ORDER BY" in step and not before.startswith("SCAN (subquery-")]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_finds_its_rows_by_an_index(furnished: Path, name: str) -> None:
    statements = statements_of(furnished, QUESTIONS[name])
    assert statements
    with closing(sqlite3.connect(furnished)) as connection:
        for sql, values in statements:
            plan = plan_of(connection, sql, values)
            assert walks(plan) == [], f"{sql}\n{plan}"
            if name not in SORTED:
                assert sorts(plan) == [], f"{sql}\n{plan}"


# The oldest few: this walk has a LIMIT.
BOUNDED = {f"SEARCH {t} USING COVERING INDEX idempotency_keys_by_age (created_at<?)" for t in ("idempotency_keys", "t")} | {
    # Pages by keyset, with a LIMIT.
    "SEARCH accounts USING PRIMARY KEY (id>?)",
    "SEARCH accounts USING INDEX accounts_by_age (created_at>?)",
    "SEARCH k USING INDEX api_keys_by_age (created_at>?)",
    "SEARCH o USING INDEX operators_by_age (created_at>?)",
    "SEARCH r USING INTEGER PRIMARY KEY (rowid<?)",
    # The messages that wait, for which alone there is the index.
    "SEARCH messages USING COVERING INDEX messages_outbox (outbox>?)",
    "SEARCH messages USING INDEX messages_outbox (outbox>?)",
}
# Merged from the first rows of several indexes, or the few rows of one owner.
SORTED = (
    {name for name in QUESTIONS if name.startswith(("a page of", "conversations of a"))}
    | {"what waits today", "a conversation with its requests", "a conversation around a message"}
    | {"the events of a bot that failed", "the next messages of a queue"}
)


def test_the_check_itself_finds_a_walk_and_a_sort(furnished: Path) -> None:
    with closing(sqlite3.connect(furnished)) as connection:
        plan = plan_of(connection, "SELECT * FROM messages ORDER BY content")
    assert walks(plan) == ["SCAN messages"]
    assert sorts(plan) == ["SCAN messages"]


def test_the_sweep_of_a_deleted_account_searches_by_indexes(furnished: Path) -> None:
    with closing(sqlite3.connect(furnished)) as connection:
        for statement in accounts._DELETIONS:
            assert walks(plan_of(connection, statement, ("account", 10))) == [], statement


def expire(db: Database, table: str) -> Awaitable[object]:
    """One batch of old rows."""
    return erasure.expire(db, table, START + 10, START)


PLACE = ("bot", "api", "v1")
OVER_ALL_BOTS: dict[str, Callable[[Database], Awaitable[object]]] = {
    "the conversations of a visitor": lambda db: erasure.conversations(db, "v1", None),
    "erasing a conversation": lambda db: erasure.some_of(db, PLACE),
    **{f"old {table}": partial(expire, table=table) for table in erasure.RULES},
    "the questions of a visitor": lambda db: unanswered.erase(db, "bot", "asker of bot"),
    "questions that were not masked": lambda db: unanswered.unmasked(db, 10),
    "conversations that wait": lambda db: search_queries.conversations(db, ["account"], ConversationFilter(status="waiting"), 20),
    "a search in all conversations": lambda db: found(db, None, "hello"),
    "turns that are not settled": channel_messages.pending,
    "a page of all bots": lambda db: bots.page(db, None, 20),
    "conversations of all accounts": lambda db: found(db, None, after=f"{START},1"),
    "the inbox of all accounts": lambda db: inbox.page(db, None, InboxFilter(), 20),
    "attempts of all accounts": lambda db: deliveries.attempts(db, None, None, 20),
    "a page of whole conversations": lambda db: conversations.walk(db, None, None, None),
}
# One row for each account or bot, a page of them, or the few rows of a partial index.
FEW = (
    "SCAN b USING",
    "SCAN p",
    "SCAN a",
    "SCAN q USING INDEX unanswered_unmasked",
    "SCAN m USING INDEX messages_pending",
    "SEARCH conversations USING INDEX sqlite_autoindex_conversations_2",
)


@pytest.mark.parametrize("name", OVER_ALL_BOTS)
def test_what_goes_over_all_bots_walks_no_table_that_grows_with_the_messages(furnished: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "chatsvc.db"
    copy.write_bytes(furnished.read_bytes())
    statements = statements_of(copy, OVER_ALL_BOTS[name])
    assert statements
    with closing(sqlite3.connect(copy)) as connection:
        for sql, values in statements:
            plan = plan_of(connection, sql, values)
            walked = [step for step in walks(plan) if not step.startswith(FEW) and not re.search(r"\(\w+_id=\? AND .*<\?\)", step)]
            assert walked == [], f"{sql}\n{plan}"
