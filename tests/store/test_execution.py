"""Statements of a connection to PostgreSQL: pipelines, faults in them, and prepared statements."""

from collections.abc import Iterator

import psycopg
import pytest

from chatsvc.store.postgres.connection import PostgresConnection, connect
from tests.postgres import Postgres

LARGE = 2_000_000  # characters, more than the buffers of a socket hold


@pytest.fixture
def connection(postgres: Postgres) -> Iterator[PostgresConnection]:
    """A connection to an empty database."""
    opened = connect(postgres.target(postgres.new_database()), writes=True)
    yield opened
    opened.close()


def test_results_of_a_pipeline_come_when_they_are_asked_for_in_any_order(connection: PostgresConnection) -> None:
    with connection.pipeline():
        first, other = (connection.execute("SELECT ? UNION ALL SELECT 9", (value,)) for value in (1, 2))
        nothing = connection.execute("CREATE TABLE numbers (number bigint)")
        assert other.fetchone() == (2,)
        assert (other.fetchall(), other.fetchone()) == ([(9,)], None)
        assert list(first) == [(1,), (9,)]
        with connection.pipeline():
            written = connection.execute("INSERT INTO numbers VALUES (?), (?)", (1, 2))
        assert (nothing.rowcount, written.rowcount) == (-1, 2)


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_a_fault_in_a_pipeline_is_that_of_its_statement_and_leaves_the_connection_usable(
    connection: PostgresConnection, is_asked_for: bool
) -> None:
    def run() -> None:
        with connection.pipeline():
            connection.execute("CREATE TABLE numbers (number bigint)")
            connection.execute("SELECT 1 / ?", (0,))
            later = connection.execute("SELECT 1")
            if is_asked_for:
                later.fetchone()

    with pytest.raises(psycopg.errors.DivisionByZero):
        run()
    assert connection.is_usable
    # The statements before it are undone with it.
    assert connection.execute("SELECT to_regclass('numbers')").fetchone() == (None,)


def test_more_than_the_buffers_hold_goes_both_ways_at_once(connection: PostgresConnection) -> None:
    with connection.pipeline():
        results = [connection.execute("SELECT ? || ''", (str(number) * LARGE,)) for number in range(8)]
    assert [(text[0], len(text)) for result in results for (text,) in result] == [(str(number), LARGE) for number in range(8)]
