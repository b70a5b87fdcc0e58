"""`chatsvc doctor`: each planted fault is named, with its remedy, and a healthy installation has none."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from chatsvc.tls import certificates
from tests.cli.model_thread import ModelThread, settings
from tests.cli.support import Site, environment, run
from tests.engines.model_server import Step, answers, fails


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An installation where all is well."""
    made = Site(tmp_path)
    made.config.write_text(made.config.read_text().replace(":0", f":{_free_port()}"))
    made.bot(made.account())
    return made


def found(site: Site, state: str = "fault") -> dict[str, dict[str, Any]]:
    """What doctor has to say, by the name of what was looked at."""
    report = site.refused_with("doctor") if state == "fault" else site.json("doctor")
    assert report["healthy"] is (state != "fault")
    assert all(check["remedy"] for check in report["checks"] if check["state"] != "ok")
    return {check["name"]: check for check in report["checks"] if check["state"] == state}


def _add(site: Site, text: str) -> None:
    site.config.write_text(site.config.read_text() + text)


def _sql(site: Site, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(site.data / "chatsvc.db")) as connection, connection:
        connection.execute(statement, values)


def _certificate(site: Site, *names: str, ago: int = 0) -> None:
    class Then:
        @staticmethod
        def now(tz: tzinfo) -> datetime:
            return datetime.now(tz) - timedelta(days=ago)

    with pytest.MonkeyPatch.context() as back:
        back.setattr(certificates, "datetime", Then)
        pem, key = certificates.self_signed(names, days=90)
    (site.folder / "cert.pem").write_bytes(pem)
    (site.folder / "key.pem").write_bytes(key)
    _with_tls(site, "{cert_file: cert.pem, key_file: key.pem}")


def _with_tls(site: Site, files: str) -> None:
    site.config.write_text(site.config.read_text().replace("{listen: ", f"{{tls: {files}, listen: "))


def _unknown_key(site: Site) -> None:
    _add(site, "colour: blue\n")


def _broken_yaml(site: Site) -> None:
    site.config.write_text("server: {listen: [")


def _wrong_value(site: Site) -> None:
    _add(site, "limits: {requests_per_minute: many}\n")


def _no_file(site: Site) -> None:
    site.config.unlink()


def _config_for_all(site: Site) -> None:
    site.config.chmod(0o666)


def _no_folder(site: Site) -> None:
    shutil.rmtree(site.data)


def _folder_is_a_file(site: Site) -> None:
    shutil.rmtree(site.data)
    site.data.write_text("")


def _open_folder(site: Site) -> None:
    site.data.chmod(0o755)


def _somebody_elses_file(site: Site) -> None:
    (site.data / "strange").write_text("")
    os.chown(site.data / "strange", 1234, 1234)


def _truncated(site: Site) -> None:
    with (site.data / "chatsvc.db").open("rb+") as stream:
        stream.truncate(20_000)


def _overwritten(site: Site) -> None:
    with (site.data / "chatsvc.db").open("rb+") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * 8192)


def _foreign_database(site: Site) -> None:
    (site.data / "chatsvc.db").write_bytes(b"Dear diary, " * 1000)


def _another_programs(site: Site) -> None:
    _sql(site, "PRAGMA application_id = 7")


def _newer_database(site: Site) -> None:
    _sql(site, "PRAGMA user_version = 999")


def _no_key(site: Site) -> None:
    (site.data / "master.key").unlink()


def _half_a_key(site: Site) -> None:
    (site.data / "master.key").write_text("abc")


def _another_key(site: Site) -> None:
    (site.data / "master.key").write_text("ab" * 32)


def _open_key(site: Site) -> None:
    (site.data / "master.key").chmod(0o644)


def _clock_behind(site: Site) -> None:
    _sql(site, "UPDATE accounts SET updated_at = ?", int(time.time() * 1000) + 86_400_000)


def _no_certificate(site: Site) -> None:
    _with_tls(site, "{cert_file: nowhere.pem, key_file: nowhere.key}")


def _expired(site: Site) -> None:
    _certificate(site, "localhost", "127.0.0.1", ago=100)


def _wrong_name(site: Site) -> None:
    _certificate(site, "bots.example.com")


def _model_away(site: Site) -> None:
    tier = "models: {m: {engine: anthropic, model: m}}\n"
    site.config.write_text(site.config.read_text().replace("models: {offline: {engine: knowledge}}\n", tier))
    _add(site, f'engines: {{anthropic: {{base_url: "http://127.0.0.1:{_free_port()}", api_key: sk-x}}}}\n')


def _refused_webhook(site: Site) -> None:
    _sql(site, "INSERT INTO webhooks SELECT id, 'https://10.0.0.1/hook', '[]', x'00', 1, 1 FROM bots")


def _bad_ca_file(site: Site) -> None:
    (site.folder / "ca.pem").write_text("nothing")
    _add(site, "webhooks: {ca_file: ca.pem}\n")


def _no_backup(site: Site) -> None:
    (site.folder / "backups").mkdir()
    old = site.folder / "backups" / "chatsvc-20200101T000000Z.backup"
    old.write_text("")
    os.utime(old, (1, 1))
    _add(site, "backup: {every: 24h}\n")


PLANTED: dict[str, tuple[Callable[[Site], None], str, str]] = {
    "an unknown setting": (_unknown_key, "configuration", "unknown setting colour"),
    "broken YAML": (_broken_yaml, "configuration", "not valid YAML"),
    "a wrong value": (_wrong_value, "configuration", "limits.requests_per_minute: expected a whole number"),
    "no configuration": (_no_file, "configuration", "config.yaml"),
    "a configuration that everybody may write": (_config_for_all, "configuration", "everybody may write"),
    "no data folder": (_no_folder, "data folder", "is not there"),
    "a file in its place": (_folder_is_a_file, "data folder", "is no folder"),
    "a folder that others may enter": (_open_folder, "data folder", "others may enter"),
    "a file of somebody else": (_somebody_elses_file, "data folder", "belongs to its owner: strange"),
    "a truncated database": (_truncated, "database", "chatsvc.db"),
    "overwritten pages": (_overwritten, "database", "chatsvc.db"),
    "something else in its place": (_foreign_database, "database", "not a database"),
    "the database of another program": (_another_programs, "database", "not a database of chatsvc"),
    "a newer database": (_newer_database, "database", "newer chatsvc"),
    "no master key": (_no_key, "master key", "is not there"),
    "half a master key": (_half_a_key, "master key", "does not hold a master key"),
    "another master key": (_another_key, "master key", "not the one this database was made with"),
    "a master key that others may read": (_open_key, "master key", "others may read"),
    "a clock that is behind": (_clock_behind, "clock", "but something happened here"),
    "no certificate": (_no_certificate, "certificate", "cannot be used"),
    "an expired certificate": (_expired, "certificate", "has expired on"),
    "a certificate for another name": (_wrong_name, "certificate", "is not for 127.0.0.1"),
    "a model server that is away": (_model_away, "model server", "cannot be reached"),
    "a webhook to a private address": (_refused_webhook, "webhooks", "is refused"),
    "a broken file of authorities": (_bad_ca_file, "webhooks", "ca.pem cannot be used"),
    "no backup for years": (_no_backup, "backups", "the last one is chatsvc-2020"),
}


def test_a_healthy_installation_has_no_fault(site: Site) -> None:
    assert set(found(site, "warning")) == {"knowledge", "service", "backups"}
    with site.serve():
        assert "service" not in found(site, "warning")


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_named_with_its_remedy(planted: str, site: Site) -> None:
    if planted == "a file of somebody else" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    plant, name, words = PLANTED[planted]
    plant(site)
    faults = found(site)
    assert words in faults[name]["found"]


def test_a_port_that_is_taken_is_told(site: Site) -> None:
    port = int(site.config.read_text().split("127.0.0.1:")[1].split("}")[0])
    with socket.create_server(("127.0.0.1", port)):
        assert "in use" in found(site)["listener"]["found"]


def test_where_nothing_may_go_out_nobody_is_asked(site: Site) -> None:
    _model_away(site)
    _add(site, "egress: none\n")
    assert "model server" not in found(site, "warning")


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (answers({"data": [{"id": "slow"}, {"id": "m"}]}), "ok", "with the models asked for"),
        (answers({"data": [{"id": "another"}]}), "warning", "does not list the model m"),
        (fails(401), "fault", "refuses the API key"),
        (fails(404), "ok", "http://127.0.0.1"),
    ],
    ids=["has the model", "lacks the model", "refuses the key", "has no list"],
)
def test_the_model_server_is_asked_for_its_models_with_the_key(site: Site, answer: Step, state: str, words: str) -> None:
    with ModelThread(answer) as model:
        site.config.write_text(site.config.read_text().replace("models: {offline: {engine: knowledge}}\n", settings(model.url)))
        check = found(site, state)["model server"]
    assert words in check["found"]
    assert "providers-key" not in str(check)


def test_people_see_a_line_for_each_and_what_to_do(site: Site) -> None:
    _open_key(site)
    told = site.run("doctor")
    assert told.status == 1
    assert f"FAULT master key: others may read {site.data}/master.key\n      -> chmod 600" in told.out
    assert told.err == "chatsvc: 1 fault found\n"


def test_doctor_changes_nothing(site: Site) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        return {
            path.name: (path.stat().st_mode, path.read_bytes()) for path in sorted(site.data.iterdir()) if not path.name.endswith("-shm")
        }

    _open_folder(site)
    before = state()
    site.run("doctor")
    assert state() == before
    assert site.data.stat().st_mode & 0o777 == 0o755


def test_without_any_installation_doctor_says_how_to_begin(tmp_path: Path) -> None:
    done = run("doctor", cwd=tmp_path, env=environment())
    assert done.status == 1
    assert "chatsvc init" in done.out
    assert not list(tmp_path.iterdir())
