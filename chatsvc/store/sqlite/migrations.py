"""The schema of both stores and its migrations. `migrate` applies them to SQLite; store/postgres/migrations.py translates them."""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from chatsvc.store.database import SchemaTooNew, StoreUnavailable

APPLICATION_ID = 0x63686174  # "chat"
# Version of schema.sql. A released migration is never edited; each adds one to the version.
BASE = 58
MIGRATIONS: tuple[str, ...] = ()
# Steps that lead from schema version OLDEST to BASE, for stores from before the first release.
OLDEST = 44
CONVERSION: tuple[str, ...] = (
    # 45: how a business is reached, and its appointments.
    """
    ALTER TABLE bots ADD COLUMN phone TEXT;
    ALTER TABLE bots ADD COLUMN email TEXT;
    ALTER TABLE bots ADD COLUMN address TEXT;
    ALTER TABLE bots ADD COLUMN appointment_minutes INTEGER NOT NULL DEFAULT 30;
    ALTER TABLE bots ADD COLUMN appointments_at_once INTEGER NOT NULL DEFAULT 1;
    """,
    # 46: changes of records, what was decided of them, and visitors for whom nobody came.
    """
    ALTER TABLE requests ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE requests ADD COLUMN follows TEXT;
    ALTER TABLE requests ADD COLUMN change TEXT;
    ALTER TABLE requests ADD COLUMN history TEXT;
    ALTER TABLE conversations ADD COLUMN missed_at INTEGER;
    ALTER TABLE bots ADD COLUMN calendar INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX requests_following ON requests (follows) WHERE follows IS NOT NULL;
    CREATE INDEX conversations_missed ON conversations (account_id, last_message_at, number) WHERE missed_at IS NOT NULL;
    """,
    # 47: readings of a site that began and did not come back.
    """
    ALTER TABLE sites ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
    """,
    # 48: the group of a question without an answer, and whether the knowledge answers it, as a change left it. All are judged anew.
    """
    ALTER TABLE unanswered_questions ADD COLUMN group_id INTEGER;
    ALTER TABLE unanswered_questions ADD COLUMN checked_change INTEGER;
    ALTER TABLE unanswered_questions ADD COLUMN is_answered INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX unanswered_by_group ON unanswered_questions (group_id);
    UPDATE unanswered_questions SET masked = 0;
    """,
    # 49: the site that asked for a widget without being one of its sites.
    """
    ALTER TABLE channels ADD COLUMN refused_site TEXT;
    ALTER TABLE channels ADD COLUMN refused_at INTEGER;
    """,
    # 50: mails that tell a customer of an appointment.
    """
    ALTER TABLE mails ADD COLUMN appointment INTEGER;
    """,
    # 51: records of the audit log by the share of their actor and operation.
    """
    DROP INDEX audit_refused;
    DROP INDEX audit_of_operator;
    CREATE INDEX audit_of_share ON audit_records (actor_id, operation, account_id, own, number);
    """,
    # 52: conversations that a team has set aside, for a while or as done, and their labels.
    """
    ALTER TABLE conversations ADD COLUMN set_aside_at INTEGER;
    ALTER TABLE conversations ADD COLUMN set_aside_until INTEGER;
    ALTER TABLE conversations ADD COLUMN labels TEXT;
    CREATE INDEX conversations_set_aside ON conversations (account_id, last_message_at, number) WHERE set_aside_at IS NOT NULL;
    CREATE INDEX conversations_snoozed ON conversations (account_id, last_message_at, number) WHERE set_aside_until IS NOT NULL;
    CREATE INDEX conversations_labelled ON conversations (account_id, last_message_at, number) WHERE labels IS NOT NULL;
    """,
    # 53: urgent requests come first.
    """
    CREATE INDEX requests_urgent ON requests (bot_id, number) WHERE urgent = 1;
    """,
    # 54: answers by Idempotency-Key are objects; those of the last day are given up.
    """
    DELETE FROM idempotency_keys;
    """,
    # 55: what a team notes of visitors, and those who are known.
    """
    ALTER TABLE conversations ADD COLUMN visitor_phone TEXT;
    ALTER TABLE conversations ADD COLUMN visitor_note TEXT;
    UPDATE conversations SET visitor_phone = (SELECT r.visitor_phone FROM requests r
        WHERE r.conversation = conversations.number AND r.visitor_phone IS NOT NULL ORDER BY r.number DESC LIMIT 1);
    CREATE INDEX conversations_known ON conversations (account_id, last_message_at, number)
        WHERE visitor_name IS NOT NULL OR visitor_email IS NOT NULL OR visitor_phone IS NOT NULL;
    """,
    # 56: what is booked, and until when.
    """
    ALTER TABLE requests ADD COLUMN item TEXT;
    ALTER TABLE requests ADD COLUMN end_date TEXT;
    ALTER TABLE requests ADD COLUMN end_time TEXT;
    """,
    # 57: the share of the audit log counts each outcome apart; a record says what was changed; links by mail.
    """
    DROP INDEX audit_of_share;
    CREATE INDEX audit_of_share ON audit_records (actor_id, operation, account_id, own, outcome, number);
    ALTER TABLE audit_records ADD COLUMN changes TEXT;
    ALTER TABLE operator_links ADD COLUMN mailed INTEGER NOT NULL DEFAULT 0;
    """,
    # 58: a search reads the conversations themselves, and those of one visitor are found by their addresses.
    """
    DROP TABLE search_queue;
    DROP TABLE search_documents;
    DROP TABLE search_words;
    CREATE INDEX conversations_by_email ON conversations (account_id, lower(visitor_email)) WHERE visitor_email IS NOT NULL;
    CREATE INDEX conversations_by_phone ON conversations (account_id, visitor_phone) WHERE visitor_phone IS NOT NULL;
    """,
)


@cache
def schema() -> str:
    """Return the statements that make the tables of version BASE."""
    return Path(__file__).with_name("schema.sql").read_text("utf-8")


def newest() -> int:
    """Return the version of the schema that this program works with."""
    return BASE + len(MIGRATIONS)


def steps_from(version: int) -> list[str]:
    """Return the scripts that lead from a version, 0 for an empty database, to the newest. Raises SchemaTooNew and StoreUnavailable."""
    if version > newest():
        raise SchemaTooNew(f"the database has schema version {version}, this program knows {newest()}: install the newer chatsvc again")
    if version == 0:
        return [schema(), *MIGRATIONS]
    if version < OLDEST:
        raise StoreUnavailable(
            f"the database has schema version {version}, from a test version of chatsvc that is too old to be converted: "
            "export its accounts with that version and import them here"
        )
    return [*CONVERSION, *MIGRATIONS][version - OLDEST :]


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema; 0 for a new database."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether the schema is that of an earlier version."""
    return 0 < schema_version(connection) < newest()


def is_newer(connection: sqlite3.Connection) -> bool:
    """Whether the schema is that of a later version."""
    return schema_version(connection) > newest()


def schema_fault(connection: sqlite3.Connection, version: int) -> str | None:
    """Compare a database with the schema of `version`, at least BASE. Return the first difference, None if there is none."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID or schema_version(connection) != version:
        return "application_id or user_version"
    with closing(sqlite3.connect(":memory:")) as pattern:
        for step in (schema(), *MIGRATIONS[: version - BASE]):
            pattern.executescript(step)
        expected, actual = _statements(pattern), _statements(connection)
    different = sorted(f"{kind} {name}" for kind, name, *_ in expected ^ actual)
    return different[0] if different else None


def _statements(connection: sqlite3.Connection) -> set[tuple[str, str, str, str | None]]:
    """Return what the schema consists of, without the quotes and blanks in which a converted store differs."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {(kind, name, table, sql and "".join(sql.replace('"', "").split())) for kind, name, table, sql in rows}


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema to the newest version in one transaction, which a fault rolls back. Raises SchemaTooNew and StoreUnavailable."""
    steps = steps_from(schema_version(connection))
    if not steps:
        return
    # executescript() would commit whatever is open before it runs, so the transaction begins in the script.
    script = ";".join(["BEGIN IMMEDIATE", *steps, f"PRAGMA application_id={APPLICATION_ID}", f"PRAGMA user_version={newest()}"])
    try:
        connection.executescript(script)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
