"""The registry of tables against the schema: nothing undeclared, and every declaration true."""

from pathlib import Path

import pytest

from chatsvc.domain.transfer import RECORDS
from chatsvc.store.sqlite.connection import open_writer
from chatsvc.store.tables import ACCOUNT, TABLES, Table
from tests.store.support import rows

pytestmark = pytest.mark.sqlite

# Columns that hold what visitors are or write; a table with one of them needs a rule of erasure, or a reason here.
PERSONAL = {
    "request", "user_id", "visitor_name", "visitor_email", "visitor_phone", "content", "exchange", "data", "body", "wording",
    "conversation",
}  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database."""
    path = tmp_path_factory.mktemp("tables") / "chatsvc.db"
    open_writer(path).close()
    return path


def columns(database: Path, table: str) -> dict[str, int]:
    """The columns of a table, each with its place in the primary key."""
    return {str(row[1]): int(str(row[5])) for row in rows(database, f"PRAGMA table_info({table})")}


def test_every_table_is_declared(database: Path) -> None:
    tables = rows(database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    assert sorted(table.name for table in TABLES) == sorted(str(name) for (name,) in tables)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_owner_key_and_parent_are_the_schemas(database: Path, table: Table) -> None:
    there = columns(database, table.name)
    keys = {name for name, position in there.items() if position}
    # The key of `webhooks` is its owner column.
    assert set(table.key) == keys
    assert table.owner is None or table.owner in there
    if table.reference:
        assert table.reference.column in there
        assert set(table.reference.fields.values()) <= columns(database, table.reference.table).keys()
        assert [table.name for table in TABLES].index(table.reference.table) < TABLES.index(table)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_is_exported_or_declared_as_local(database: Path, table: Table) -> None:
    if table.record is None:
        # Operators belong to the installation, not to an account. An import makes counts anew.
        operators = {"operators", "operator_roles", "operator_links", "operator_sessions", "recovery_codes", "sign_in_failures"}
        not_exported = {"team_notices", "knowledge_changes", "mails", "conversation_views", "bot_test_runs"}
        websites = {"sites", "site_pages", "site_entries"}
        processes = {"nodes", "leases", "open_turns"}
        own = {"store_facts", "audit_records", "conversation_counts", "incoming_keys"}
        assert table.name in processes | own | not_exported | websites | operators
        return
    local = {"number", *table.local} | ({ACCOUNT} if table.owner == ACCOUNT else set())
    elsewhere: set[str] = set()
    if table.reference:
        local.add(table.reference.column)
        elsewhere = set(table.reference.fields)
    assert columns(database, table.name).keys() - local == RECORDS[table.record].keys() - elsewhere


def test_every_kind_of_record_is_one_tables() -> None:
    assert sorted(table.record for table in TABLES if table.record) == sorted(RECORDS)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_with_a_visitors_data_is_erased(database: Path, table: Table) -> None:
    assert bool(columns(database, table.name).keys() & PERSONAL) is bool(table.visitor)
