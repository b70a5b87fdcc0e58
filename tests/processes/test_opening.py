"""A store in PostgreSQL that cannot be used is refused in one line."""

from collections.abc import Callable

import pytest

from tests.cli.support import environment, run
from tests.postgres import PASSWORD, USER, Postgres, free_port
from tests.processes.support import MASTER_KEY, PostgresSite


def test_a_message_is_answered_from_postgresql_and_no_file_holds_data(site: PostgresSite) -> None:
    report = site.json("init")
    key, bot = report["key"]["key"], report["bot"]["id"]
    assert report["master_key"] is None
    site.json("bot", "set", bot, "--model", "offline")
    with site.serve() as serving:
        answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello", "user_id": "v"})
        assert answer.status == 200
        assert site.json("usage")["usage"]["total_messages"] == 1
        assert sorted(path.name for path in site.data.iterdir()) == ["control.sock", "lock"]
        assert serving.end() == 0
    assert site.json("usage")["usage"]["total_messages"] == 1
    assert site.rows("SELECT count(*) FROM messages") == [(2,)]
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


def changed(old: str, new: str) -> Callable[[PostgresSite], None]:
    """Return what changes a process's configuration; the texts may name the database and the port."""
    return lambda site: site.change(old.format(site=site), new.format(site=site))


def administered(statement: str, *, init: bool = True) -> Callable[[PostgresSite], None]:
    """Return what runs statements on the database, with or without tables in it."""

    def spoil(site: PostgresSite) -> None:
        if init:
            site.json("init")
        site.run_as_admin(statement.format(site=site))

    return spoil


def other_master_key(site: PostgresSite) -> None:
    site.json("init")
    site.change(MASTER_KEY, "6b" * 32)


REASONS: dict[str, Callable[[PostgresSite], None]] = {
    'database "missing" does not exist': changed("/{site.database}", "/missing"),
    "Connection refused": changed(":{site.server.port}/", f":{free_port()}/"),
    "nowhere.invalid": changed("@127.0.0.1:", "@nowhere.invalid:"),
    "password authentication failed": changed(PASSWORD, "another"),
    "store.url needs a master key that all processes share": changed(f"master_key: {MASTER_KEY}", ""),
    "is not the one this database was made with": other_master_key,
    "install the newer chatsvc again": administered("UPDATE chatsvc_schema SET version = version + 1"),
    "another program's tables": administered("CREATE TABLE orders (id int)", init=False),
    "permission denied for schema": administered("ALTER DATABASE {site.database} OWNER TO admin", init=False),
    "permission denied for table": administered("ALTER TABLE accounts OWNER TO admin; ALTER TABLE store_facts OWNER TO admin"),
    "server does not support SSL": changed("/{site.database}", "/{site.database}?sslmode=verify-full"),
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_cannot_be_used_is_refused_in_one_line(site: PostgresSite, reason: str) -> None:
    REASONS[reason](site)
    for command in ("bot list", *(["serve"] if "database" in reason else [])):
        message = site.refused(*command.split())
        assert reason in message
        assert PASSWORD not in message
        assert MASTER_KEY not in message
    assert not any(path.name.startswith(("chatsvc.db", "master.key")) for path in site.data.iterdir())


def test_a_url_with_a_password_is_refused_and_not_shown(site: PostgresSite) -> None:
    site.change(f"{USER}@", f"{USER}:verysecret@")
    message = site.refused("bot", "list")
    assert "expected a URL without a password" in message
    assert "verysecret" not in message


def test_a_password_in_a_file_and_in_a_variable(site: PostgresSite, server: Postgres) -> None:
    del server
    (site.folder / "password").write_text(f"{PASSWORD}\n")
    site.change(f"password: {PASSWORD}", "password_file: password")
    assert site.json("bot", "list") == []
