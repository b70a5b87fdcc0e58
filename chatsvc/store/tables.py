"""Registry of all tables: owner, export, erasure of a visitor, retention, secrets, and last change.

Deletion of an account, erasure, export, import, retention and the checks of a backup are derived from TABLES. A test fails if a table is
not declared here.

An account is invisible during its import: its `deleted_at` is then IMPORTING.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from chatsvc.domain.analytics import COUNTED
from chatsvc.domain.models import CHANNELS

# Owner columns.
ACCOUNT, BOT, CONVERSATION = "account_id", "bot_id", "conversation"
# Parents of a row by its owner column; the row is `t`, its account `p.account_id`.
_PARENTS = {BOT: "bots p JOIN {0} t ON t.bot_id = p.id", CONVERSATION: "conversations p JOIN {0} t ON t.conversation = p.number"}
# Purposes of the keys that seal secrets.
SIGNING_KEYS, SECOND_FACTORS, CHANNEL_SECRETS = "webhook signing keys", "second factors", "channel secrets"
# `deleted_at` of an account during its import: invisible, and not deleted by the sweep.
IMPORTING = 0


class Erasure(NamedTuple):
    """Rule that finds a visitor's rows in a table. `rows` is an SQL condition. `counted` is the report's field for their number, or empty.

    `by` is "conversation" (?1 is the conversation's number), "requests" (?1 is a JSON array of numbers of requests), or "user"
    (?1 is the bot, ?2 the user_id, ?3 the user_id as JSON).
    """

    by: str
    rows: str
    counted: str


class RetentionRule(NamedTuple):
    """Rule that deletes old rows. `setting` is the setting under `retention` (days), `column` has the time in Unix milliseconds.

    `unless` is an SQL condition for old rows that are not deleted; in it `t` is the table and ?1 the earliest time that is kept.
    `prefix` is a condition on the columns between owner and time in the index. `by_age` is true if the index begins with the time.
    """

    setting: str
    column: str
    unless: str = "false"
    prefix: str = "true"
    by_age: bool = False


class Reference(NamedTuple):
    """Link of a row to its parent row. An export names the parent by `fields` (record's field -> parent's column), never by its number."""

    column: str
    table: str
    fields: Mapping[str, str]


class Sealed(NamedTuple):
    """Columns sealed with a key derived for `purpose`; the column `row` names the row."""

    columns: tuple[str, ...]
    row: str
    purpose: str


class Table(NamedTuple):
    """Declaration of one table.

    owner: the column by which the account is found (ACCOUNT, BOT or CONVERSATION); None for a table of the store itself.
    key: the columns of the primary key.
    record: the kind of record in an account's export file; None for a table that is not exported.
    local: columns that an export leaves out beside numbers and the account, each with its SQL value after an import.
    reference: the parent row other than the owner.
    visitor: the rule of erasure; None for a table without a visitor's data.
    retention: the rule for old rows; None if rows are not deleted by age.
    changed: SQL expression for the time of a row's last change; None if another table shows the change.
    anonymous: SET clause that an account's deletion applies instead of deleting the rows.
    of_bot: SQL condition for the rows of the bot ?1 in a table owned by an account; `t` is the table. None if no row belongs to a bot.
    sealed: the columns that are encrypted again for a new master key.
    """

    name: str
    owner: str | None
    key: tuple[str, ...] = ("number",)
    record: str | None = None
    local: Mapping[str, str] = MappingProxyType({})
    reference: Reference | None = None
    visitor: Erasure | None = None
    retention: RetentionRule | None = None
    changed: str | None = None
    anonymous: str | None = None
    of_bot: str | None = None
    sealed: Sealed | None = None


_REQUESTS = "IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))"
# An event has the time of the request that it reports, which is how the index finds it.
_EVENTS = (
    "IN (SELECT e.number FROM requests r LEFT JOIN appointments a ON a.request = r.number CROSS JOIN webhook_events e"
    f" ON e.bot_id = r.bot_id AND e.created_at = r.created_at AND e.record_id IN (r.id, a.id) WHERE r.number {_REQUESTS})"
)
# Events that wait, are in flight or were sent again lately stay.
_IN_USE = "t.state = 0 OR EXISTS (SELECT 1 FROM webhook_attempts a WHERE a.event_number = t.number AND (a.success IS NULL OR a.at >= ?1))"
# The search in the text spares most rows the parsing.
_EXCHANGES = "instr(exchange, ?3) > 0 AND json_extract(exchange, '$.chatbot_id') = ?1 AND json_extract(exchange, '$.user_id') = ?2"

_OF_BOT = "t.account_id = (SELECT account_id FROM bots WHERE id = ?1) AND t.bot_id = ?1"
_ANSWERS_OF_BOT = "t.account_id = (SELECT account_id FROM bots WHERE id = ?1) AND json_extract(t.exchange, '$.chatbot_id') = ?1"
_ANY_CHANNEL = f"t.channel IN ({', '.join(repr(channel) for channel in CHANNELS)})"
_ANY_COUNT = f"t.name IN ({', '.join(repr(name) for name in COUNTED)})"
_CONVERSATION = Reference("conversation", "conversations", {"conversation_id": "id"})
_WITH_CONVERSATION = Erasure("conversation", "conversation = ?1", "")
_UPDATED = "max(created_at, updated_at)"


def _null(*columns: str) -> dict[str, str]:
    """Declare local columns that are NULL after an import."""
    return dict.fromkeys(columns, "NULL")


# Parents stand before the tables that refer to them.
TABLES = (
    Table("store_facts", None, ("name",)),
    Table("nodes", None, ("id",)),
    Table("leases", None, ("name",)),
    Table("audit_records", None, changed="CASE operation WHEN 'backup.create' THEN 0 ELSE at END"),
    Table("accounts", "id", ("id",), "account", {"deleted_at": str(IMPORTING), "tried_at": "NULL"}, changed=_UPDATED),
    # Operators belong to the installation and may serve several accounts: an account's export leaves them and their roles out, and its
    # deletion takes the roles alone.
    Table("operators", None, ("id",), changed=_UPDATED, sealed=Sealed(("totp", "totp_offered"), "id", SECOND_FACTORS)),
    Table("operator_roles", ACCOUNT, ("operator_id", ACCOUNT)),
    Table("operator_links", None, ("digest",), changed="created_at"),
    Table("operator_sessions", None, ("digest",)),
    # Digests of e-mail and client addresses; those of more than 15 minutes are deleted, whatever the configuration says.
    Table("sign_in_failures", None),
    Table("recovery_codes", None, ("operator_id", "digest")),
    Table("allowances", ACCOUNT, (ACCOUNT, "month"), "allowance"),
    Table(
        "api_keys",
        ACCOUNT,
        ("digest",),
        "key",
        changed="max(created_at, coalesce(revoked_at, 0))",
        # The digests stay: they tell a caller that the account is gone.
        anonymous="account_id = NULL, label = NULL, prefix = '', last_used_at = NULL",
    ),
    Table("bots", ACCOUNT, record="bot", changed=_UPDATED, of_bot="t.id = ?1"),
    # Rows of some seconds, without a visitor: a conversation is its digest.
    Table("open_turns", None),
    Table("conversation_counts", ACCOUNT, (ACCOUNT, BOT, "channel"), of_bot=_OF_BOT),
    Table(
        "idempotency_keys",
        ACCOUNT,
        (ACCOUNT, "key"),
        "answer",
        visitor=Erasure("user", _EXCHANGES, ""),
        retention=RetentionRule("conversations_days", "created_at", by_age=True),
        of_bot=_ANSWERS_OF_BOT,
    ),
    Table(
        "usage_records", ACCOUNT, record="usage", retention=RetentionRule("usage_days", "created_at"), changed="created_at", of_bot=_OF_BOT
    ),
    Table("knowledge_entries", BOT, record="knowledge", changed="created_at"),
    Table("knowledge_synonyms", BOT, record="synonyms"),
    # Names operators, as the audit log does, and is bounded by its size: neither exported nor aged.
    Table("knowledge_changes", BOT, changed="at"),
    # Names operators, and is bounded: not exported.
    Table("bot_test_runs", BOT, changed="at"),
    # An imported site is read again, since its pages are not exported. What it said tells which entries a person has edited.
    Table(
        "sites",
        BOT,
        record="site",
        local={"state": "'idle'", "started_at": "0", "due_at": "CASE WHEN :every_days > 0 THEN 0 END", "done": "0", "pages": "0"}
        | {"changes": "'{}'", "attempts": "0"}
        | _null("reason", "read_at", "draft"),
        changed="max(started_at, coalesce(read_at, 0))",
    ),
    Table("site_pages", BOT, changed="read_at"),
    Table("site_entries", BOT, record="site_entry", reference=Reference("site", "sites", {"site_id": "id"})),
    Table(
        "unanswered_questions",
        BOT,
        record="unanswered",
        local={"masked": "0", "group_id": "NULL", "checked_change": "NULL", "is_answered": "0"},
        # Not before the askers: rows of an import may have any times.
        retention=RetentionRule(
            "conversations_days", "last_asked_at", "EXISTS (SELECT 1 FROM unanswered_askers a WHERE a.question = t.number)"
        ),
    ),
    Table(
        "unanswered_askers",
        BOT,
        record="asker",
        reference=Reference("question", "unanswered_questions", {"folded": "folded"}),
        visitor=Erasure("user", "bot_id = ?1 AND user_id = ?2", "questions"),
        retention=RetentionRule("conversations_days", "last_asked_at"),
    ),
    Table("webhooks", BOT, (BOT,), "webhook", changed="updated_at", sealed=Sealed(("signing_key",), BOT, SIGNING_KEYS)),
    Table(
        "channels",
        BOT,
        ("id",),
        "channel",
        _null("fault", "fault_at", "seen_at", "verified_at", "refused_site", "refused_at"),
        changed="updated_at",
        sealed=Sealed(("secrets",), "id", CHANNEL_SECRETS),
    ),
    Table("whatsapp_sends", BOT, record="whatsapp_sends"),
    # Counts without a visitor: they stay where a conversation is erased.
    Table(
        "day_counts",
        BOT,
        ("bot_id", "name", "day", "item"),
        record="day_count",
        retention=RetentionRule("usage_days", "day", prefix=_ANY_COUNT),
        changed="day",
    ),
    # Digests without a visitor; the store deletes old ones as new ones come.
    Table("incoming_keys", BOT, ("digest",)),
    Table(
        "conversations",
        ACCOUNT,
        record="conversation",
        # Nobody of the other installation is here to take a conversation over.
        local={"message_count": "0", "handling": "'bot'"}
        | _null("handling_since", "waiting_since", "operator_id", "operator_name", "assignee"),
        visitor=Erasure("conversation", "number = ?1", "conversations"),
        retention=RetentionRule("conversations_days", "last_message_at", prefix=_ANY_CHANNEL),
        changed="updated_at",
        of_bot="t.bot_id = ?1",
    ),
    Table(
        "messages",
        CONVERSATION,
        record="message",
        # Nothing is sent here that the other installation may have sent.
        local=_null("incoming", "pending", "outbox", "in_flight", "node", "first_attempt_at")
        | _null("parts_sent", "platform_id", "kind", "choices", "mail"),
        reference=_CONVERSATION,
        visitor=Erasure("conversation", "conversation = ?1", "messages"),
    ),
    # The last message of a conversation that each operator has seen.
    Table("conversation_views", CONVERSATION, ("operator_id", CONVERSATION), visitor=_WITH_CONVERSATION),
    Table("conversation_notes", CONVERSATION, record="note", reference=_CONVERSATION, visitor=_WITH_CONVERSATION, changed="created_at"),
    Table("saved_replies", ACCOUNT, record="saved_reply", changed="updated_at"),
    Table("whatsapp_addresses", BOT, record="whatsapp_address", reference=_CONVERSATION, visitor=_WITH_CONVERSATION, changed="created_at"),
    # Digests that lead from the team's answers to conversations of this installation.
    Table("team_notices", CONVERSATION, (CONVERSATION, "since"), visitor=_WITH_CONVERSATION),
    # No visitor's: who does not want mails may never have written.
    Table("mail_stops", ACCOUNT, record="mail_stop", changed="created_at"),
    # Names operators: not exported. Settled mails are deleted after 30 days, whatever the configuration says.
    Table("mails", ACCOUNT, visitor=_WITH_CONVERSATION, changed="max(created_at, coalesce(settled_at, 0))", of_bot=_OF_BOT),
    Table(
        "requests",
        BOT,
        record="request",
        local=_null("assignee"),
        reference=_CONVERSATION,
        visitor=Erasure("requests", f"number {_REQUESTS}", "requests"),
        changed="updated_at",
    ),
    Table(
        "appointments",
        BOT,
        record="appointment",
        reference=Reference("request", "requests", {"request_id": "id"}),
        visitor=Erasure("requests", f"request {_REQUESTS}", "appointments"),
        changed="updated_at",
    ),
    Table(
        "webhook_events",
        BOT,
        record="event",
        local=_null("follows"),
        visitor=Erasure("requests", f"number {_EVENTS}", "events"),
        retention=RetentionRule("webhooks_days", "created_at", _IN_USE),
    ),
    Table(
        "webhook_attempts",
        BOT,
        record="attempt",
        local=_null("node"),
        reference=Reference("event_number", "webhook_events", {"event": "event", "record_id": "record_id", "told_at": "created_at"}),
        visitor=Erasure("requests", f"event_number {_EVENTS}", "attempts"),
        changed="at",
    ),
)
BY_NAME = {table.name: table for table in TABLES}
CHILDREN_FIRST = TABLES[::-1]


def deletion(table: Table) -> str:
    """Make the statement that deletes (or makes anonymous) some of an account's rows. ?1 is the account, ?2 the number of rows."""
    verb = f"UPDATE {table.name} SET {table.anonymous}" if table.anonymous else f"DELETE FROM {table.name}"
    if table.owner in _PARENTS:
        return f"{verb} {_with_key_in(table, _PARENTS[table.owner].format(table.name), 'p.account_id = ?1')}"
    return f"{verb} {_with_key_in(table, f'{table.name} t', f't.{table.owner} = ?1')}"


def deletion_of_bot(table: Table) -> str:
    """Make the statement that deletes some of a bot's rows. ?1 is the bot, ?2 the number of rows."""
    if table.of_bot:
        rows, condition = f"{table.name} t", table.of_bot
    else:
        rows, condition = _PARENTS[str(table.owner)].format(table.name), "p.bot_id = ?1" if table.owner == CONVERSATION else "p.id = ?1"
    return f"DELETE FROM {table.name} {_with_key_in(table, rows, condition)}"


def _with_key_in(table: Table, rows: str, condition: str) -> str:
    return f"WHERE ({', '.join(table.key)}) IN ({_keys(table, rows, condition)})"


def _keys(table: Table, rows: str, condition: str) -> str:
    """Make the query that returns the keys of at most ?2 rows. In `rows` and `condition` the table is `t`."""
    return f"SELECT {', '.join(f't.{column}' for column in table.key)} FROM {rows} WHERE {condition} LIMIT ?2"


def old_rows(table: Table, rule: RetentionRule) -> str:
    """Make the query that returns the keys of old rows. ?1 is the earliest time that is kept, ?2 the number of rows."""
    old = f"t.{rule.column} < ?1"
    if rule.by_age:
        return _keys(table, f"{table.name} t", f"{old} AND NOT ({rule.unless})")
    # CROSS JOIN keeps SQLite to this order: the few owners first, then what an index finds of each.
    owners = "accounts p" if table.owner == ACCOUNT else "bots p"
    rows = f"{owners} CROSS JOIN {table.name} t ON t.{table.owner} = p.id AND {rule.prefix} AND {old}"
    return _keys(table, rows, f"NOT ({rule.unless})")


def erasing(by: str) -> list[tuple[str, str]]:
    """Return the statements that delete a visitor's rows, children first. Each comes with the report's field for its count."""
    rules = [(table, table.visitor) for table in CHILDREN_FIRST if table.visitor and table.visitor.by == by]
    return [(rule.counted, f"DELETE FROM {table.name} WHERE {rule.rows}") for table, rule in rules]
