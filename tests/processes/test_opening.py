"""A store in PostgreSQL that cannot be used is refused in one line."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.cli.support import environment, run
from tests.postgres import PASSWORD, USER, Postgres, free_port
from tests.processes.support import MASTER_KEY, PostgresSite


def test_a_message_is_answered_from_postgresql_and_no_file_holds_data(site: PostgresSite) -> None:
    made = site.json("init")
    key, bot = made["key"]["key"], made["bot"]["id"]
    assert made["master_key"] is None
    site.json("bot", "set", bot, "--model", "offline")
    with site.serve() as serving:
        answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello", "user_id": "v"})
        assert answer.status == 200
        assert site.json("usage")["usage"]["total_messages"] == 1
        assert sorted(path.name for path in site.data.iterdir()) == ["control.sock", "lock"]
        assert serving.end() == 0
    assert site.json("usage")["usage"]["total_messages"] == 1
    with psycopg.connect(f"host={site.server.folder} port={site.server.port} user=admin dbname={site.database}") as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchall() == [(2,)]
    shown = site.json("config", "show")
    assert shown["store"] == {"url": site.url, "password": "***", "connections": 10}


def test_variables_and_files_of_libpq_fill_no_gap(site: PostgresSite) -> None:
    """The password of ~/.pgpass would be taken where the configuration gives none."""
    pgpass = site.folder / ".pgpass"
    pgpass.write_text(f"*:*:*:*:{PASSWORD}\n")
    pgpass.chmod(0o600)
    site.change(f", password: {PASSWORD}", "")
    done = run("-c", site.config, "bot", "list", env=environment(HOME=str(site.folder), PGPASSWORD=PASSWORD, PGPASSFILE=str(pgpass)))
    assert done.status == 1
    assert "no password supplied" in done.err


def other_database(site: PostgresSite) -> None:
    site.change(f"/{site.database}", "/missing")


def no_server(site: PostgresSite) -> None:
    site.change(f":{site.server.port}/", f":{free_port()}/")


def no_such_host(site: PostgresSite) -> None:
    site.change("@127.0.0.1:", "@nowhere.invalid:")


def wrong_password(site: PostgresSite) -> None:
    site.change(PASSWORD, "another")


def no_master_key(site: PostgresSite) -> None:
    site.change(f"master_key: {MASTER_KEY}", "")


def other_master_key(site: PostgresSite) -> None:
    site.json("init")
    site.change(MASTER_KEY, "6b" * 32)


def newer_schema(site: PostgresSite) -> None:
    site.json("init")
    _administer(site, "UPDATE chatsvc_schema SET version = version + 1")


def another_programs_tables(site: PostgresSite) -> None:
    _administer(site, "CREATE TABLE orders (id int)")


def no_right_to_make_tables(site: PostgresSite) -> None:
    _administer(site, f"ALTER DATABASE {site.database} OWNER TO admin")


def no_right_to_read(site: PostgresSite) -> None:
    site.json("init")
    for table in ("accounts", "store_facts"):
        _administer(site, f"ALTER TABLE {table} OWNER TO admin")


def no_tls(site: PostgresSite) -> None:
    site.change(f"/{site.database}", f"/{site.database}?sslmode=verify-full")


def _administer(site: PostgresSite, statement: str) -> None:
    place = f"host={site.server.folder} port={site.server.port} user=admin dbname={site.database}"
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(statement.encode())


REASONS: dict[Callable[[PostgresSite], None], str] = {
    other_database: 'database "missing" does not exist',
    no_server: "Connection refused",
    no_such_host: "nowhere.invalid",
    wrong_password: "password authentication failed",
    no_master_key: "store.url needs a master key that all processes share",
    other_master_key: "is not the one this database was made with",
    newer_schema: "install the newer chatsvc again",
    another_programs_tables: "another program's tables",
    no_right_to_make_tables: "permission denied",
    no_right_to_read: "permission denied",
    no_tls: "server does not support SSL",
}


@pytest.mark.parametrize("spoil", REASONS, ids=lambda spoil: spoil.__name__)
def test_what_cannot_be_used_is_refused_in_one_line(site: PostgresSite, spoil: Callable[[PostgresSite], None]) -> None:
    spoil(site)
    for command in ("serve", "bot list"):
        said = site.refused(*command.split())
        assert REASONS[spoil] in said
        assert PASSWORD not in said
        assert MASTER_KEY not in said
    assert not any(path.name.startswith(("chatsvc.db", "master.key")) for path in site.data.iterdir())


def test_a_url_with_a_password_is_refused_and_not_shown(site: PostgresSite) -> None:
    site.change(f"{USER}@", f"{USER}:verysecret@")
    said = site.refused("bot", "list")
    assert "expected a URL without a password" in said
    assert "verysecret" not in said


def test_a_password_in_a_file_and_in_a_variable(site: PostgresSite, server: Postgres) -> None:
    del server
    (site.folder / "password").write_text(f"{PASSWORD}\n")
    site.change(f"password: {PASSWORD}", "password_file: password")
    assert site.json("bot", "list") == []
