"""`store copy`: from a stopped SQLite installation to PostgreSQL, whatever ends it on its way."""

import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from chatsvc.store.database import Connection, Database
from chatsvc.store.facts import belongs_to
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sqlite.migrations import newest
from chatsvc.store.tables import TABLES
from tests.cli.support import CHATSVC, Site, environment, usage_error
from tests.postgres import PASSWORD, Postgres
from tests.processes.support import MASTER_KEY, PostgresSite
from tests.store.inspection import query, write_exchanges
from tests.store.support import furnish, in_database, new_exchange

pytestmark = pytest.mark.sqlite  # the source, whatever the store of the other tests

KEY = MasterKey(bytes.fromhex(MASTER_KEY))
EXCHANGES = 3000


def installation(folder: Path) -> Site:
    (folder / "password").write_text(f"{PASSWORD}\n")
    return Site(folder, f"models: {{offline: {{engine: knowledge}}}}\nmaster_key: {MASTER_KEY}")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an installation over SQLite, with some messages."""
    site = installation(tmp_path_factory.mktemp("filled"))
    site.json("account", "create", "Acme")

    async def fill(db: Database) -> None:
        await belongs_to(db, KEY)
        await furnish(db)
        await write_exchanges(db, (new_exchange(user_id=f"visitor {i % 700}", text=f"ğ {i}", key=f"k{i}") for i in range(EXCHANGES)))

    in_database(site.data / "chatsvc.db", fill, KEY)
    return site.data


@pytest.fixture
def old(tmp_path: Path, filled: Path) -> Site:
    """A stopped installation over SQLite, with some messages."""
    folder = tmp_path / "old"
    shutil.copytree(filled, folder / "data")
    return installation(folder)


def write(site: Site, statement: str, *values: Any) -> None:
    """Run one statement on the stopped installation."""

    async def run(db: Database) -> None:
        def unit(connection: Connection) -> None:
            connection.execute(statement, values)

        await db.write(unit)

    in_database(site.data / "chatsvc.db", run, KEY)


def arguments(old: Site, target: PostgresSite) -> list[str | Path]:
    return ["store", "copy", "--to", target.url, "--password-file", old.folder / "password"]


def files(site: Site) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in site.data.iterdir() if path.name.startswith("chatsvc.db")}


def test_a_store_is_copied_whole_and_goes_on_in_postgresql(old: Site, site: PostgresSite) -> None:
    account = next(row["id"] for row in old.json("account", "list") if row["name"] == "Acme")
    key, bot = old.key(account), old.bot(account)
    old.json("bot", "set", bot, "--model", "offline")
    before = files(old)
    tables = old.json(*arguments(old, site))
    assert files(old) == before
    assert [table["table"] for table in tables] == [table.name for table in TABLES]
    counts = {table["table"]: table["rows"] for table in tables}
    assert (counts["messages"], counts["accounts"], counts["idempotency_keys"]) == (2 * EXCHANGES, 2, EXCHANGES)
    assert all(len(table["digest"]) == 64 for table in tables)
    record = site.json("audit", "--limit", "1")[0]
    assert (record["operation"], record["outcome"]) == ("store.copy", "done")
    ((highest,),) = site.rows("SELECT max(number) FROM messages")
    with site.serve() as serving:
        answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello", "user_id": "v"})
        assert answer.status == 200
        assert serving.end() == 0
    assert site.rows(f"SELECT count(*) FROM messages WHERE number > {highest}") == [(2,)]  # noqa: S608  # a number
    assert "is not empty" in old.refused(*arguments(old, site))


def has_messages(target: PostgresSite) -> bool:
    """Whether messages have been written to the target, committed or not."""
    try:
        return target.rows("SELECT pg_relation_size('messages') > 0") == [(True,)]
    except LookupError:
        return False


def test_a_copy_that_is_killed_is_no_store_and_is_made_by_the_next(old: Site, site: PostgresSite, server: Postgres) -> None:
    command = [*CHATSVC, "-c", str(old.config), *map(str, arguments(old, site))]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while not has_messages(site):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert "unfinished copy" in site.refused("serve")
    assert site.rows("SELECT count(*) FROM messages") == [(0,)]
    ((unfinished,),) = site.rows("SELECT version FROM chatsvc_schema")
    server.run_in(site.database, "UPDATE chatsvc_schema SET version = version + 1")
    assert "of another version" in old.refused(*arguments(old, site))
    server.run_in(site.database, f"UPDATE chatsvc_schema SET version = {unfinished}")  # noqa: S608  # a number
    tables = old.json(*arguments(old, site))
    assert {table["table"]: table["rows"] for table in tables}["messages"] == 2 * EXCHANGES
    assert len(site.json("account", "list")) == 2


def test_a_text_that_postgresql_does_not_store_is_named_and_nothing_is_copied(old: Site, site: PostgresSite) -> None:
    # Text with NUL, as an earlier version may have stored it.
    write(old, "UPDATE knowledge_entries SET answer = ?", "a\0b")
    assert "knowledge_entries" in old.refused(*arguments(old, site))
    assert "unfinished copy" in site.refused("account", "list")
    write(old, "UPDATE knowledge_entries SET answer = 'ab'")
    assert old.json(*arguments(old, site))


def test_what_is_no_source_or_no_target_is_refused(old: Site, site: PostgresSite, tmp_path: Path) -> None:
    with old.serve() as serving:
        assert "is running" in old.refused(*arguments(old, site))
        assert serving.end() == 0
    assert "store.url already" in site.refused(*arguments(old, site))
    folder = tmp_path / "empty"
    folder.mkdir()
    empty = Site(folder)
    assert "there is no store to copy" in empty.refused(*arguments(old, site))
    with site.serve() as serving:
        assert "a process works on" in old.refused(*arguments(old, site))
        assert serving.end() == 0
    assert "is not empty" in old.refused(*arguments(old, site))


def test_the_schema_of_another_version_is_refused(old: Site, site: PostgresSite, server: Postgres) -> None:
    database = old.data / "chatsvc.db"
    query(database, "PRAGMA user_version = 3")
    assert "has schema version 3" in old.refused(*arguments(old, site))
    query(database, "PRAGMA user_version = 999")
    assert "a newer chatsvc has written" in old.refused(*arguments(old, site))
    query(database, f"PRAGMA user_version = {newest()}")
    site.json("account", "list")
    server.run_in(site.database, "UPDATE chatsvc_schema SET version = version - 1")
    assert "of another version" in old.refused(*arguments(old, site))
    query(database, "PRAGMA application_id = 1")
    assert "is not a database of chatsvc" in old.refused(*arguments(old, site))
    database.write_bytes(b"This is a text that somebody put here. " * 100)
    assert "cannot be read" in old.refused(*arguments(old, site))


@pytest.mark.parametrize(
    "url",
    ["postgresql://chatsvc:verysecret@127.0.0.1/chatsvc", "postgresql://127.0.0.1", "mysql://chatsvc@127.0.0.1/chatsvc"],
)
def test_an_address_that_cannot_be_used_is_wrong_usage_and_not_repeated(old: Site, url: str) -> None:
    done = old.run("store", "copy", "--to", url)
    usage_error(done, "postgresql://" if "secret" not in url else "without a password")
    assert "verysecret" not in done.err
