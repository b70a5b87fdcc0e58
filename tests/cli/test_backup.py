"""Backups as their users have them: made while the service runs, verified, put back elsewhere."""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.cli.support import Serving, Site, environment
from tests.crash.books import disagreements, threads
from tests.store.inspection import query
from tests.tables import rows

KNOWLEDGE = "language: en\n\n## When are you open?\nalt: opening hours\nalt: are you open\n\nFrom nine to six.\n"


class Shop(Site):
    """An installation with a bot that answers one question."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        super().__init__(folder, "models: {offline: {engine: knowledge}}\nlimits: {requests_per_minute: 1000000}")
        self.owner = self.account()
        self.desk = self.bot(self.owner, model="offline")
        (folder / "faq.md").write_text(KNOWLEDGE)
        self.json("knowledge", "add", self.desk, str(folder / "faq.md"))
        self.secret = self.key(self.owner)
        self.json("operator", "add", "ali@example.com", "--admin")

    def say(self, serving: Serving, visitor: str) -> None:
        sent = {"chatbot_id": self.desk, "message": "When are you open?", "user_id": visitor}
        assert serving.ask(self.secret, "POST", "/messages", sent).status == 200


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("template") / "shop")


@pytest.fixture
def shop(template: Shop, tmp_path: Path) -> Shop:
    """A copy of the template, which no test has changed."""
    copied = copy(template)
    copied.folder = shutil.copytree(template.folder, tmp_path / "shop")
    copied.config, copied.data, copied.log = (copied.folder / name for name in ("config.yaml", "data", "serve.log"))
    return copied


@pytest.fixture
def elsewhere(tmp_path: Path) -> Site:
    (tmp_path / "elsewhere").mkdir()
    return Site(tmp_path / "elsewhere")


@pytest.fixture(params=["alone", "served"])
def serving(request: pytest.FixtureRequest, shop: Shop) -> Iterator[Serving | None]:
    if request.param == "alone":
        yield None
        return
    with shop.serve() as running:
        yield running


def test_a_backup_says_what_is_in_it_and_is_nobody_elses_to_read(shop: Shop, serving: Serving | None, tmp_path: Path) -> None:
    file = tmp_path / "one.backup"
    created = shop.json("backup", "create", file)
    assert (created["file"], created["bytes"], created["master_key"]) == (str(file), file.stat().st_size, False)
    assert (created["counts"]["accounts"], created["counts"]["bots"], created["counts"]["knowledge_entries"]) == (1, 1, 1)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["one.backup"]
    assert not list(shop.data.glob("outgoing*"))
    verified = shop.json("backup", "verify", file)
    assert verified["valid"]
    assert verified["faults"] == []
    assert not verified["authenticated"]
    assert "not authenticated" in shop.run("backup", "verify", file).out
    with_key = shop.json("backup", "verify", file, "--master-key-file", shop.data / "master.key")
    assert (with_key["authenticated"], with_key["notes"]) == (True, [])
    assert {name: verified[name] for name in ("made_at", "schema_version", "counts")} == {
        name: created[name] for name in ("made_at", "schema_version", "counts")
    }


def test_what_was_acknowledged_before_a_backup_under_load_and_a_kill_9_is_there_when_it_is_restored_elsewhere(
    shop: Shop, elsewhere: Site, tmp_path: Path
) -> None:
    file = tmp_path / "one.backup"
    lines: list[str] = []
    with shop.serve() as running:

        def talk(speaker: int) -> None:
            # Until nobody answers any more.
            with suppress(OSError, HTTPException):
                while True:
                    visitor = f"{speaker}-{len(lines)}"
                    shop.say(running, visitor)
                    lines.append(visitor)

        talking = [threading.Thread(target=talk, args=(speaker,)) for speaker in range(3)]
        for thread in talking:
            thread.start()
        while len(lines) < 20:
            time.sleep(0.01)
        before = list(lines)
        shop.json("backup", "create", file, "--with-master-key")
        running.end(signal.SIGKILL)
        for thread in talking:
            thread.join()
    restored = elsewhere.json("backup", "restore", file)
    assert restored["replaced"] is None
    assert disagreements(elsewhere.data / "chatsvc.db") == []
    assert set(before) <= set(threads(elsewhere.data / "chatsvc.db"))
    assert elsewhere.json("master-key", "rotate")["unusable"] == 0
    with elsewhere.serve() as again:
        assert again.ask(shop.secret, "GET", "/chatbots").json["data"][0]["id"] == shop.desk


def test_a_backup_overwrites_nothing(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("letters")
    assert "overwrites nothing" in shop.refused("backup", "create", tmp_path / "precious")
    assert (tmp_path / "precious").read_text() == "letters"
    assert "No such file" in shop.refused("backup", "create", tmp_path / "no such folder" / "x.backup")
    assert not list(shop.data.glob("outgoing*"))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "one byte is another one": lambda content: content[:9000] + bytes([content[9000] ^ 1]) + content[9001:],
    "it is something else": lambda _: b"Dear diary, " * 1000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_neither_valid_nor_restored(damage: str, shop: Shop, elsewhere: Site, tmp_path: Path) -> None:
    file = tmp_path / "one.backup"
    shop.json("backup", "create", file, "--with-master-key")
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    report = shop.refused_with("backup", "verify", file)
    assert not report["valid"]
    assert report["faults"]
    # Of what could not be read nothing is told, least of all a date in 1970.
    assert (report["made_at"] is None) is (report["schema_version"] is None) is (report["counts"] == {})
    assert "faults" in elsewhere.refused("backup", "restore", file)
    assert not (elsewhere.data / "chatsvc.db").exists()
    assert not list(elsewhere.data.glob("outgoing*"))


@pytest.mark.sqlite  # a file of another program
def test_any_database_is_no_backup(shop: Shop, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger.db"
    query(stranger, "CREATE TABLE a (b)")
    shop.json("account", "list")
    for file in (stranger, shop.data / "chatsvc.db"):
        assert not shop.refused_with("backup", "verify", file)["valid"]
    assert "No such file" in shop.refused("backup", "verify", tmp_path / "nowhere")


def test_a_newer_store_is_not_overwritten_and_an_older_one_is_kept(shop: Shop, tmp_path: Path) -> None:
    file, later = tmp_path / "one.backup", tmp_path / "later.backup"
    shop.json("backup", "create", file)
    time.sleep(0.01)
    shop.account("Another")
    assert "newer than the backup" in shop.refused("backup", "restore", file)
    assert len(shop.json("account", "list")) == 2
    with shop.serve():
        shop.json("backup", "create", later)
        assert "stop it first" in shop.refused("backup", "restore", later)
    replaced = Path(shop.json("backup", "restore", later)["replaced"])
    assert replaced.exists()
    assert disagreements(replaced) == []
    (shop.data / "chatsvc.db").unlink()
    shop.json("backup", "restore", file)
    assert len(shop.json("account", "list")) == 1


KILLED = """
import os, signal, sys
from chatsvc.store.sqlite import backup
setattr(backup, sys.argv.pop(1), lambda *_: os.kill(os.getpid(), signal.SIGKILL))
from chatsvc.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("step", ["settle", "close_up", "install"])
def test_a_restore_that_is_killed_leaves_the_old_store_and_can_be_run_again(shop: Shop, tmp_path: Path, step: str) -> None:
    file = tmp_path / "one.backup"
    shop.account("Another")
    shop.json("backup", "create", file)
    command = [sys.executable, "-c", KILLED, step, "-c", str(shop.config), "backup", "restore", str(file)]
    done = subprocess.run(command, cwd=shop.folder, env=environment(), capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(shop.json("account", "list")) == 2
    assert shop.json("backup", "restore", file)["replaced"]
    assert len(shop.json("account", "list")) == 2


def test_no_store_is_made_beside_one_that_a_restore_has_renamed(shop: Shop) -> None:
    database = shop.data / "chatsvc.db"
    database.rename(shop.data / "chatsvc.db.replaced-20261128T000000Z")
    assert "a restore was interrupted" in shop.refused("account", "list")
    assert not database.exists()


@pytest.mark.parametrize(("change", "field"), rows("cli/forged_rows"))
def test_rows_of_a_backup_that_brings_its_own_key_are_checked_as_those_of_an_import(
    change: str, field: str, shop: Shop, elsewhere: Site, tmp_path: Path
) -> None:
    file, database = tmp_path / "forged.backup", shop.data / "chatsvc.db"
    query(database, change)
    shop.json("backup", "create", file, "--with-master-key")
    fault = f"it holds a value that chatsvc has not written: {field} of "
    assert fault in elsewhere.refused("backup", "restore", file)
    assert not (elsewhere.data / "chatsvc.db").exists()
    if field == "account.subscription_status":  # what holds for one fault holds for all
        assert shop.refused_with("backup", "verify", file)["faults"][0].startswith(fault)
        # Who has the key has made the backup: whatever is in it is put back.
        elsewhere.json("backup", "restore", file, "--master-key-file", shop.data / "master.key")


def test_without_its_master_key_a_backup_is_not_restored(shop: Shop, elsewhere: Site, tmp_path: Path) -> None:
    file, whole, wrong = tmp_path / "one.backup", tmp_path / "whole.backup", tmp_path / "wrong.key"
    wrong.write_text("ab" * 32)
    shop.json("backup", "create", file)
    shop.json("backup", "create", whole, "--with-master-key")
    # Anybody can make a backup that contains a key and fits it: the key that is given is the one that counts.
    assert shop.json("backup", "verify", whole)["authenticated"]
    assert shop.refused_with("backup", "verify", whole, "--master-key-file", wrong)["faults"] == ["it was made with another master key"]
    for arguments in ((file,), (file, "--master-key-file", wrong), (whole, "--master-key-file", wrong)):
        assert "--master-key-file" in elsewhere.refused("backup", "restore", *arguments)
    assert not (elsewhere.data / "chatsvc.db").exists()
    elsewhere.json("backup", "restore", file, "--master-key-file", shop.data / "master.key")
    assert (elsewhere.data / "master.key").read_bytes().strip() == (shop.data / "master.key").read_bytes().strip()
    assert elsewhere.json("account", "list") == shop.json("account", "list")


def test_what_was_pending_when_a_backup_was_made_is_not_sent_by_the_restored_store(shop: Shop, elsewhere: Site, tmp_path: Path) -> None:
    file = tmp_path / "one.backup"
    shop.json("webhook", "set", shop.desk, "https://8.8.8.8/hook", "--event", "request.created")
    query(
        shop.data / "chatsvc.db",
        "INSERT INTO webhook_events (bot_id, event, record_id, data, created_at, state) VALUES (:1, 'request.created', 'r', '{}', 1, 0)",
        shop.desk,
    )
    query(
        shop.data / "chatsvc.db",
        "INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count)"
        " SELECT '00000000-0000-4000-8000-000000000001', account_id, id, 'telegram', '7', 1, 1, 1, 1 FROM bots WHERE id = :1",
        shop.desk,
    )
    query(
        shop.data / "chatsvc.db",
        "INSERT INTO messages (conversation, id, role, content, created_at, delivery, outbox)"
        " SELECT number, 'm', 'assistant', 'hello', 1, 'queued', 'telegram ' || bot_id FROM conversations WHERE channel = 'telegram'",
    )
    shop.json("backup", "create", file, "--with-master-key")
    elsewhere.json("backup", "restore", file, "--master-key-file", shop.data / "master.key")
    assert query(elsewhere.data / "chatsvc.db", "SELECT delivery, outbox FROM messages WHERE role = 'assistant' AND content = 'hello'") == [
        ("unknown", None)
    ]
    (attempt,) = elsewhere.json("webhook", "attempts", shop.desk)
    assert (attempt["success"], attempt["error"], attempt["record_id"]) == (False, "interrupted", "r")


def test_the_service_makes_backups_by_itself_and_keeps_the_last_ones(shop: Shop, tmp_path: Path) -> None:
    shop.config.write_text(shop.config.read_text() + f"backup: {{every: 1m, folder: {tmp_path}/kept, keep: 2}}\n")
    folder = tmp_path / "kept"
    folder.mkdir()
    for name in ("chatsvc-20200101T000000Z.backup", "chatsvc-20200102T000000Z.backup", "mine.backup"):
        (folder / name).write_text("old")
    with shop.serve():
        deadline = time.monotonic() + 20
        while len(list(folder.iterdir())) != 3 or (folder / "chatsvc-20200101T000000Z.backup").exists():
            assert time.monotonic() < deadline, list(folder.iterdir())
            time.sleep(0.05)
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "chatsvc-20200102T000000Z.backup"
    assert names[2] == "mine.backup"
    assert shop.json("backup", "verify", folder / names[1])["valid"]
