"""`chatsvc doctor`: each planted fault is named, with its remedy, and a healthy installation has none."""

import json
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatsvc.tls import certificates
from tests.cli.model_thread import ModelThread
from tests.cli.support import Site, environment, for_everybody, run, run_anew
from tests.engines.model_server import ModelServer, Step, answers, fails
from tests.faults.disks import small_disk
from tests.postgres import free_port
from tests.store.inspection import query

ANOTHER = 1234  # a user without a name


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """An installation where all is well, to be copied."""
    template = Site(tmp_path_factory.mktemp("template"))
    template.bot(template.account())
    return template


@pytest.fixture
def site(template: Site, tmp_path: Path) -> Iterator[Site]:
    """An installation where all is well, to plant a fault in."""
    copy = Site(tmp_path)
    copy.config.write_text(copy.config.read_text().replace(":0", f":{free_port()}"))
    shutil.copytree(template.data, copy.data)
    yield copy
    if copy.folder != tmp_path:
        shutil.rmtree(copy.folder)


def findings(site: Site, state: str = "fault") -> dict[str, dict[str, Any]]:
    """The findings of doctor, by the name of the check."""
    owner = site.data.stat().st_uid if site.data.exists() else 0
    if owner == ANOTHER:
        done = run_anew("-c", site.config, "doctor", "--json", cwd=site.folder, before=partial(os.setresuid, owner, owner, owner))
        report = json.loads(done.out)
    else:
        report = site.refused_with("doctor") if state == "fault" else site.json("doctor")
    assert report["healthy"] is (state != "fault")
    assert all(check["remedy"] for check in report["checks"] if check["state"] != "ok")
    return {check["name"]: check for check in report["checks"] if check["state"] == state}


def _add(site: Site, text: str) -> None:
    site.config.write_text(site.config.read_text() + text)


def _sql(site: Site, statement: str, *values: object) -> None:
    query(site.store_file, statement, *values)


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
    _replace(site, "{listen: ", "{tls: {cert_file: cert.pem, key_file: key.pem}, listen: ")


def _somebody_elses_file(site: Site) -> None:
    (site.data / "strange").touch()
    os.chown(site.data / "strange", ANOTHER, ANOTHER)


def _folder_is_a_file(site: Site) -> None:
    shutil.rmtree(site.data)
    site.data.touch()


def _overwritten(site: Site) -> None:
    with site.store_file.open("rb+") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * 8192)


def _asks(site: Site, base_url: str) -> None:
    _replace(site, "models: {offline: {engine: knowledge}}\n", "models: {m: {engine: anthropic, model: m}}\n")
    _add(site, f'engines: {{anthropic: {{base_url: "{base_url}", api_key: sk-x}}}}\n')


def _not_the_owners(site: Site, *, readable: bool = False, settings: str = "") -> None:
    # In a place that everybody may enter, as pytest's own folders are not.
    moved = Path(tempfile.mkdtemp(prefix="chatsvc-test-"))
    moved.chmod(0o755)
    shutil.copytree(site.folder, moved, dirs_exist_ok=True)
    moved.chmod(0o755)
    site.folder, site.config, site.data = moved, moved / "config.yaml", moved / "data"
    for path in (site.data, *site.data.rglob("*")):
        os.chown(path, ANOTHER, ANOTHER)
    _add(site, settings)
    site.config.chmod(0o644 if readable else 0o600)


_no_place_for_backups = partial(_not_the_owners, readable=True, settings="backup: {every: 24h}\n")


def _owner_may_not_write(site: Site) -> None:
    _not_the_owners(site, readable=True)
    site.data.chmod(0o500)


def _owners_key(site: Site) -> None:
    _certificate(site, "127.0.0.1")
    _not_the_owners(site, readable=True)
    (site.folder / "key.pem").chmod(0o600)


def _replace(site: Site, old: str, new: str) -> None:
    site.config.write_text(site.config.read_text().replace(old, new))


def _no_backup(site: Site) -> None:
    (site.folder / "backups").mkdir()
    old = site.folder / "backups" / "chatsvc-20200101T000000Z.backup"
    old.write_text("")
    os.utime(old, (1, 1))
    _add(site, "backup: {every: 24h}\n")


TOMORROW_MS = int(time.time() * 1000) + 86_400_000
HOOK = "INSERT INTO webhooks SELECT id, 'https://10.0.0.1/hook', '[]', x'00', 1, 1 FROM bots"
PLANTED: dict[str, tuple[Callable[[Site], object], str, str]] = {
    "an unknown setting": (lambda site: _add(site, "colour: blue\n"), "configuration", "unknown setting colour"),
    "broken YAML": (lambda site: site.config.write_text("server: {listen: ["), "configuration", "not valid YAML"),
    "no configuration": (lambda site: site.config.unlink(), "configuration", "config.yaml"),
    "a configuration that everybody may write": (lambda site: site.config.chmod(0o666), "configuration", "may write"),
    "no data folder": (lambda site: shutil.rmtree(site.data), "data folder", "is not there"),
    "a file in its place": (_folder_is_a_file, "data folder", "is no folder"),
    "a folder that others may enter": (lambda site: site.data.chmod(0o755), "data folder", "others may enter"),
    "a file of somebody else": (_somebody_elses_file, "data folder", "belongs to its owner: strange"),
    "a truncated database": (lambda site: os.truncate(site.store_file, 20_000), "database", "chatsvc.db"),
    "overwritten pages": (_overwritten, "database", "chatsvc.db"),
    "something else in its place": (lambda site: site.store_file.write_bytes(b"Dear diary, " * 1000), "database", "not a database"),
    "the database of another program": (lambda site: _sql(site, "PRAGMA application_id = 7"), "database", "not a database of chatsvc"),
    "a newer database": (lambda site: _sql(site, "PRAGMA user_version = 999"), "database", "newer chatsvc"),
    "no master key": (lambda site: site.master_key.unlink(), "master key", "is not there"),
    "half a master key": (lambda site: site.master_key.write_text("abc"), "master key", "does not hold a master key"),
    "another master key": (lambda site: site.master_key.write_text("ab" * 32), "master key", "not the one this database was made with"),
    "a master key that others may read": (lambda site: site.master_key.chmod(0o644), "master key", "others may read"),
    "a clock that is behind": (
        lambda site: _sql(site, "UPDATE accounts SET updated_at = :1", TOMORROW_MS), "clock", "but something happened here",
    ),
    "no certificate": (
        lambda site: _replace(site, "{listen: ", "{tls: {cert_file: no.pem, key_file: no.key}, listen: "), "certificate", "cannot be used",
    ),
    "an expired certificate": (lambda site: _certificate(site, "localhost", "127.0.0.1", ago=100), "certificate", "has expired on"),
    "a certificate for another name": (lambda site: _certificate(site, "bots.example.com"), "certificate", "is not for 127.0.0.1"),
    "a configuration that the service may not read": (_not_the_owners, "configuration", "permission denied"),
    "a data folder that its owner may not write": (_owner_may_not_write, "data folder", "cannot be written"),
    "a key of the certificate that the service may not read": (_owners_key, "certificate", "Permission denied"),
    "a socket in a folder that is not there": (
        lambda site: _replace(site, "{listen: ", "{listen: unix:run/s, public_url: https://localhost} #"), "listener", "is not there",
    ),
    "a model server whose name cannot be looked up": (
        lambda site: _asks(site, "http://models.invalid"), "model server", "models.invalid cannot be looked up",
    ),
    "no place for backups": (_no_place_for_backups, "backups", "cannot be written"),
    "a model server that is away": (lambda site: _asks(site, f"http://127.0.0.1:{free_port()}"), "model server", "cannot be reached"),
    "a webhook to a private address": (lambda site: _sql(site, HOOK), "webhooks", "is refused"),
    "a broken file of roots": (lambda site: _add(site, "webhooks: {ca_file: config.yaml}\n"), "webhooks", "config.yaml cannot be used"),
    "no file of roots for websites": (lambda site: _add(site, "website: {ca_file: none.pem}\n"), "webhooks", "none.pem cannot be used"),
    "no backup for years": (_no_backup, "backups", "the last one is chatsvc-2020"),
}  # fmt: skip


TAKES_ROOT = (_somebody_elses_file, _not_the_owners, _owner_may_not_write, _owners_key, _no_place_for_backups)


def test_a_healthy_installation_has_no_fault(site: Site) -> None:
    assert set(findings(site, "warning")) == {"knowledge", "service", "backups"}
    with site.serve():
        assert "service" not in findings(site, "warning")


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_named_with_its_remedy(planted: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, name, words = PLANTED[planted]
    if plant in TAKES_ROOT:
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        for_everybody(monkeypatch)
    plant(site)
    faults = findings(site)
    assert words in faults[name]["found"]


def test_a_port_that_is_taken_is_told(site: Site) -> None:
    port = int(site.config.read_text().split("127.0.0.1:")[1].split("}")[0])
    with socket.create_server(("127.0.0.1", port)):
        assert "in use" in findings(site)["listener"]["found"]


def test_a_full_disk_is_told(site: Site) -> None:
    moved = site.data.rename(site.folder / "kept")
    with small_disk(site.data) as disk:
        shutil.copytree(moved, disk, dirs_exist_ok=True)
        assert "0.0 GiB free" in findings(site)["disk"]["found"]


def test_little_room_for_temporary_files_is_told(site: Site) -> None:
    with small_disk(site.folder / "tmp") as disk:
        done = run("-c", site.config, "doctor", env=environment(TMPDIR=str(disk)))
        assert f"WARN  temporary files: 16 MiB free in {disk}\n" in done.out


@pytest.mark.parametrize("public_url", ["http://127.0.0.1:1", "https://127.0.0.1:PORT", "http://localhost"])
def test_a_public_url_that_leads_elsewhere_on_this_machine_is_told(public_url: str, site: Site) -> None:
    port = site.config.read_text().split("127.0.0.1:")[1].split("}")[0]
    address = public_url.replace("PORT", port)
    site.config.write_text(site.config.read_text().replace("listen:", f'public_url: "{address}", listen:'))
    assert address in findings(site, "warning")["public_url"]["found"]


def test_where_nothing_may_go_out_nobody_is_asked(site: Site) -> None:
    _asks(site, f"http://127.0.0.1:{free_port()}")
    _add(site, "egress: none\n")
    assert "model server" not in findings(site, "warning")


async def _without_a_list(server: ModelServer, request: web.Request) -> web.StreamResponse:
    return await fails(404 if request.method == "GET" else 400)(server, request)


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (answers({"data": [{"id": "another"}, {"id": "m"}]}), "ok", "with the models asked for"),
        (answers({"data": [{"id": "another"}]}), "warning", "does not list the model m"),
        (_without_a_list, "ok", "http://127.0.0.1"),
        (fails(401), "fault", "does not take the key"),
        (fails(404), "fault", "has no /v1/messages"),
        (fails(405), "fault", "has no /v1/messages"),
        (fails(503), "warning", "answers with status 503"),
    ],
    ids=["has the model", "lacks the model", "has no list", "refuses the key", "404", "405", "503"],
)
def test_the_model_server_is_asked_an_empty_question_and_for_its_models(site: Site, answer: Step, state: str, words: str) -> None:
    asked: list[tuple[str, str, str, bytes]] = []

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        asked.append((request.method, request.path, request.headers["Authorization"], await request.read()))
        return await answer(server, request)

    with ModelThread(step) as model:
        _asks(site, model.url)
        check = findings(site, state)["model server"]
    assert asked[0] == ("POST", "/v1/messages", "Bearer sk-x", b"{}")
    assert asked[1:] in ([], [("GET", "/v1/models", "Bearer sk-x", b"")])
    assert words in check["found"]
    assert "sk-x" not in str(check)


def test_a_platform_is_asked_for_the_model_and_says_which_packages_it_lacks(site: Site) -> None:
    with ModelThread(fails(400)) as model:
        _asks(site, f"{model.url}")
        text = site.config.read_text()
        site.config.write_text(text.replace("{anthropic: {", "{anthropic: {platform: bedrock, region: r, "))
        assert findings(site, "ok")["model server"]["found"] == model.url
        site.config.write_text(
            text.replace("{anthropic: {", "{anthropic: {platform: bedrock, region: r, ").replace("api_key: sk-x", "api_key: null")
        )
        check = findings(site)["model server"]
    assert ("bedrock needs packages" in check["found"], check["remedy"]) == (True, "pip install 'chatsvc[bedrock]'")


def test_to_whom_the_running_service_has_connected_is_told_by_purpose(site: Site) -> None:
    others = "webhook 0, acme 0, telegram 0, whatsapp 0, mail 0, website 0"
    with site.serve():
        assert findings(site, "ok")["egress"]["found"] == f"connections opened since the service started: model 0, {others}"
    _asks(site, f"http://127.0.0.1:{free_port()}")
    _add(site, "egress: none\n")
    account = site.account()
    bot, key = site.bot(account), site.key(account)
    with site.serve() as serving:
        assert serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello"}).json["reason"] == "unreachable"
        egress = findings(site, "ok")["egress"]["found"]
    assert egress == f"connections refused (egress: none) since the service started: model 1, {others}"


def test_a_service_that_hangs_is_told(site: Site) -> None:
    with site.serve() as serving:
        serving.process.send_signal(signal.SIGSTOP)
        try:
            assert "has not answered" in findings(site)["service"]["found"]
        finally:
            serving.process.send_signal(signal.SIGCONT)


def test_people_see_a_line_for_each_and_what_to_do(site: Site) -> None:
    site.master_key.chmod(0o644)
    report = site.run("doctor")
    assert report.status == 1
    assert f"FAULT master key: others may read {site.data}/master.key\n      -> chmod 600" in report.out
    assert report.err == "chatsvc: 1 fault found\n"


def test_doctor_changes_nothing(site: Site) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        return {
            path.name: (path.stat().st_mode, path.read_bytes()) for path in sorted(site.data.iterdir()) if not path.name.endswith("-shm")
        }

    site.data.chmod(0o755)
    before = state()
    site.run("doctor")
    assert state() == before
    assert site.data.stat().st_mode & 0o777 == 0o755


def test_without_any_installation_doctor_says_how_to_begin(tmp_path: Path) -> None:
    done = run("doctor", cwd=tmp_path, env=environment())
    assert done.status == 1
    assert "chatsvc init" in done.out
    assert not list(tmp_path.iterdir())


def test_a_database_that_was_replaced_under_the_running_service_is_a_fault_soon(site: Site) -> None:
    with site.serve():
        site.json("doctor")
        database = site.store_file
        copy = database.with_name("copy")
        shutil.copyfile(database, copy)
        copy.replace(database)
        deadline = time.monotonic() + 60
        while site.run("doctor").status == 0:
            assert time.monotonic() < deadline
        assert "chatsvc.db was removed or replaced" in findings(site)["store"]["found"]
        assert "removed or replaced" in site.refused("account", "create", "Another")
