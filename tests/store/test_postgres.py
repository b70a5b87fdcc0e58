"""PostgreSQL as the store: who works, what becomes of commits, and a server that is gone, hangs, or is not ours."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest

from chatsvc.store.database import ConstraintViolated, StoreFault, StoreUnavailable
from chatsvc.store.postgres import connection
from chatsvc.store.postgres.connection import PostgresTarget, target
from chatsvc.store.postgres.dialect import translate, translate_schema
from chatsvc.store.postgres.group_commit import PostgresDatabase
from tests.postgres import Postgres, new_node, require_programs
from tests.store.support import chat, furnish


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A PostgreSQL that tests may stop and start."""
    require_programs()
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_target(server: Postgres) -> PostgresTarget:
    """An empty database."""
    return server.target(server.new_database())


@pytest.fixture
async def db(postgres_target: PostgresTarget) -> AsyncIterator[PostgresDatabase]:
    """An open database with an account and a bot."""
    opened = await PostgresDatabase.open(postgres_target, node=new_node())
    await furnish(opened)
    yield opened
    await opened.close()


async def recovered(db: PostgresDatabase, within_s: float) -> None:
    """Write as soon as that is possible again."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            await chat(db)
        except StoreUnavailable:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        else:
            return


async def test_a_server_that_hangs_is_soon_an_outage(server: Postgres, db: PostgresDatabase) -> None:
    processes = server.processes()
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        async with asyncio.timeout(20):
            with pytest.raises(StoreUnavailable):
                await chat(db)
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    await recovered(db, 20)


async def test_a_server_that_is_started_anew_is_used_again(server: Postgres, db: PostgresDatabase) -> None:
    server.process.send_signal(signal.SIGINT)
    server.process.wait()
    with pytest.raises(StoreUnavailable):
        await chat(db)
    server.start()
    await recovered(db, 20)


async def test_a_server_that_is_asked_for_as_writable_serves_readers_too(postgres_target: PostgresTarget) -> None:
    db = await PostgresDatabase.open(
        postgres_target._replace(parameters={**postgres_target.parameters, "target_session_attrs": "read-write"}), node=new_node()
    )
    await furnish(db)
    assert await db.read(lambda connection: connection.execute("SELECT count(*) FROM bots").fetchone()[0]) == 1
    with pytest.raises(StoreUnavailable, match="read-only"):
        await db.read(lambda connection: connection.execute("DELETE FROM bots"))
    await db.close()


async def test_variables_of_libpq_choose_no_other_server_and_stay_in_the_environment(
    postgres_target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"PGOPTIONS": "-c default_transaction_read_only=on", "PGPORT": "1", "PGHOSTADDR": "192.0.2.1", "PGSSLMODE": "verify-full"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    db = await PostgresDatabase.open(postgres_target, readers=0, node=new_node())
    await furnish(db)
    await db.close()
    assert {name: os.environ.get(name) for name in variables} == variables
    monkeypatch.setenv("PGSERVICE", "another")
    with pytest.raises(StoreUnavailable, match="unset that variable"):
        await PostgresDatabase.open(postgres_target, readers=0, node=new_node())


async def test_a_fault_of_one_unit_leaves_the_others_of_its_batch(db: PostgresDatabase) -> None:
    results = await asyncio.gather(chat(db), furnish(db), chat(db, user_id="other"), return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["Counts", "ConstraintViolated", "Counts"]
    with pytest.raises(ConstraintViolated) as caught:
        await furnish(db)
    assert "account" not in str(caught.value).replace("accounts", "")
    with pytest.raises(StoreFault):
        await db.read(lambda connection: connection.execute("SELECT nothing"))


@pytest.mark.parametrize("took_place", [True, False])
async def test_a_commit_whose_answer_is_lost_is_asked_for(db: PostgresDatabase, took_place: bool) -> None:
    def unit(connection: Any) -> str:
        def lose(statement: str, *values: Any) -> Any:
            """Lose the connection with the answer to a commit, or before it."""
            if statement != "COMMIT":
                return execute(statement, *values)
            if took_place:
                _ = execute(statement).rowcount
            connection.driver.close()
            raise psycopg.OperationalError("the connection is lost")

        execute, connection.execute = connection.execute, lose
        connection.execute("UPDATE accounts SET name = 'changed'")
        return "done"

    if took_place:
        assert await db.write(unit) == "done"
    else:
        with pytest.raises(StoreUnavailable, match="the connection is lost"):
            await db.write(unit)
    await recovered(db, 10)
    [(name,)] = await db.read(lambda connection: connection.execute("SELECT name FROM accounts").fetchall())
    assert (name == "changed") is took_place


async def test_a_read_that_fails_fails_alone_and_a_closed_store_refuses(db: PostgresDatabase) -> None:
    def wrong(connection: Any) -> Any:
        return connection.execute("SELECT nothing").fetchall()

    def right(connection: Any) -> Any:
        return connection.execute("SELECT count(*) FROM accounts").fetchone()

    for _ in range(3):
        results = await asyncio.gather(*(db.read(unit) for unit in (right, wrong, right, wrong, right)), return_exceptions=True)
        assert [type(result).__name__ for result in results] == ["tuple", "StoreFault", "tuple", "StoreFault", "tuple"]
    with pytest.raises(StoreFault):
        await db.read(lambda connection: connection.execute("SELECT :a", {"b": 1}))
    await db.purge()
    await db.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await db.read(right)


async def test_a_schema_that_the_user_cannot_use_and_an_old_server_are_refused(
    server: Postgres, postgres_target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(host=str(server.folder), user="admin", dbname=postgres_target.parameters["dbname"], autocommit=True) as admin:
        admin.execute("DROP SCHEMA public CASCADE")
    with pytest.raises(StoreUnavailable, match="no schema that this user can use"):
        await PostgresDatabase.open(postgres_target, node=new_node())
    monkeypatch.setattr(connection, "OLDEST", 99)
    with pytest.raises(StoreUnavailable, match="needs PostgreSQL 99 or newer"):
        await PostgresDatabase.open(postgres_target, node=new_node())


def test_connections_to_other_machines_are_encrypted_and_verified() -> None:
    far = target({"host": "db.example.com", "dbname": "chat"}, "secret")
    assert (far.parameters["sslmode"], far.parameters["password"]) == ("verify-full", "secret")
    assert far.name == "PostgreSQL at db.example.com:5432, database chat"
    assert target({"host": "localhost", "dbname": "chat"}, None).parameters["sslmode"] == "disable"
    assert target({"host": "far", "dbname": "chat", "sslmode": "require"}, None).parameters["sslmode"] == "require"


def test_a_statement_is_translated_outside_of_its_texts() -> None:
    statement = (
        "SELECT '?', ':a', json_group_array(json_array(b.id)) FROM json_each(?2) s CROSS JOIN bots b ON b.id = +s.value WHERE ?1 IS NULL"
    )
    text, values = translate(statement, (None, "[]"))
    assert values == ["[]"]
    assert text == (
        "SELECT '?', ':a', coalesce(json_agg(json_build_array(b.id)), '[]') FROM json_each($1) s JOIN bots b ON b.id = s.value"
        " WHERE NULL IS NULL"
    )
    # The first rows of each owner are looked up once an owner, not for each row of the table.
    of_each = (
        "SELECT c.id FROM bots b CROSS JOIN conversations c ON c.number IN (SELECT number FROM messages LIMIT max(1, 2)) WHERE b.id = 1"
    )
    assert translate(of_each, ())[0] == (
        "SELECT c.id FROM bots b CROSS JOIN LATERAL (SELECT number FROM messages LIMIT max(1, 2)) c_rows (number)"
        " JOIN conversations c ON c.number = c_rows.number WHERE b.id = 1"
    )
    assert translate("SELECT :one, :two, :one", {"one": 1, "two": 2}) == ("SELECT $1, $2, $1", [1, 2])
    assert translate_schema("CREATE TABLE t (a TEXT, b BLOB, c INTEGER) STRICT, WITHOUT ROWID") == (
        'CREATE TABLE t (a TEXT COLLATE "C", b BYTEA, c BIGINT)'
    )
