"""As root, commands act as the data folder's owner (DECISIONS.md section 3)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import support
from tests.cli.model_thread import ModelThread, settings
from tests.cli.support import NOBODY, Done, Serving, SiteOfAnother, become_nobody, environment, one_line, python_for_everybody, run_anew
from tests.engines.model_server import says

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


@pytest.fixture(autouse=True)
def _readable_by_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters in root's home cannot be run by others, and coverage cannot be written there."""
    for name in list(os.environ):
        if name.startswith("COV"):
            monkeypatch.delenv(name)
    found = python_for_everybody()
    if found is None:
        pytest.skip("no interpreter here can be run by an account without rights")
    env, python = found
    monkeypatch.setattr(support, "CHATSVC", (python, "-m", "chatsvc"))
    monkeypatch.setattr(support, "environment", lambda **more: {**env, **more})


@pytest.fixture
def site() -> Iterator[SiteOfAnother]:
    """An installation owned by another user in a folder that everybody may enter."""
    # An earlier test may have run a service in this process, which narrows the mask.
    before = os.umask(0o022)
    folder = Path(tempfile.mkdtemp(prefix="chatsvc-test-"))
    folder.chmod(0o755)
    made = NewProcesses(folder)
    yield made
    shutil.rmtree(folder)
    os.umask(before)


class NewProcesses(SiteOfAnother):
    """An installation where each command is a new interpreter: it loads the program, first as root and then as another user."""

    def run(self, *arguments: str | Path | bytes) -> Done:
        """Run one command in a new interpreter."""
        return run_anew("-c", self.config, *arguments, cwd=self.folder)

    def serve(self, *, forked: bool = False, **options: Any) -> Serving:
        """Start a service in a new interpreter."""
        return super().serve(forked=forked, **options)


def give(site: SiteOfAnother) -> None:
    """Give the installation's folder and its configuration to the service's user."""
    for path in (site.folder, site.config):
        os.chown(path, NOBODY, NOBODY)


def owners(folder: Path) -> set[tuple[str, int, int]]:
    """Owner and mode of each file, without the expected owner's."""
    stats = {file.name: file.stat() for file in (folder, *folder.iterdir())}
    return {(name, stat.st_uid, stat.st_gid) for name, stat in stats.items() if (stat.st_uid, stat.st_gid) != (NOBODY, NOBODY)}


def test_all_that_a_command_makes_belongs_to_the_folders_owner(site: SiteOfAnother) -> None:
    site.data.mkdir()
    os.chown(site.data, NOBODY, NOBODY)
    account = site.account()
    site.bot(account)
    assert owners(site.data) == set()
    assert {file.name for file in site.data.iterdir()} == {"chatsvc.db", "lock", "master.key"}


def test_a_folder_that_is_not_there_yet_belongs_to_the_owner_of_where_it_is_made(site: SiteOfAnother) -> None:
    give(site)
    site.account()
    assert owners(site.data) == set()


def test_a_service_that_root_starts_runs_as_the_owner_and_both_may_command_it(site: SiteOfAnother) -> None:
    give(site)
    account = site.account()
    with site.serve() as serving:
        status = Path(f"/proc/{serving.process.pid}/status").read_text()
        assert ids(status, "Uid") == NOBODY
        assert ids(status, "Gid") == NOBODY
        assert [line.split()[1:] for line in status.splitlines() if line.startswith("Groups:")] == [[str(NOBODY)]]
        assert serving.ask(site.key(account), "GET", "/chatbots").status == 200
        assert {"control.sock", "chatsvc.db-wal", "chatsvc.db-shm"} <= {file.name for file in site.data.iterdir()}
        assert owners(site.data) == set()
        as_nobody = run_anew("-c", site.config, "account", "list", "--json", cwd=site.folder, before=become_nobody)
        assert (as_nobody.status, as_nobody.err) == (0, "")
        assert account in as_nobody.out
        assert serving.end() == 0
    assert owners(site.data) == set()


def ids(status: str, name: str) -> int:
    """The effective id of a process."""
    return next(int(line.split()[2]) for line in status.splitlines() if line.startswith(f"{name}:"))


def test_a_service_of_the_owner_takes_commands_from_root(site: SiteOfAnother) -> None:
    give(site)
    site.log.touch()
    with Serving(site.config, site.log, site.folder, before=become_nobody) as serving:
        account = site.account()
        assert serving.ask(site.key(account), "GET", "/chatbots").status == 200
        assert serving.end() == 0
    assert owners(site.data) == set()


def test_init_as_root_leaves_a_folder_that_its_owner_can_serve(site: SiteOfAnother) -> None:
    site.config.unlink()
    os.chown(site.folder, NOBODY, NOBODY)
    assert run_anew("init", site.folder, cwd=site.folder).status == 0
    assert owners(site.data) == set()
    as_nobody = run_anew("account", "list", cwd=site.folder, before=become_nobody)
    assert (as_nobody.status, as_nobody.err) == (0, "")


def test_a_folder_of_roots_own_stays_roots_and_is_nobodys_to_read(site: SiteOfAnother) -> None:
    site.account()
    assert {file.stat().st_uid for file in (site.data, *site.data.iterdir())} == {0}
    done = run_anew("-c", site.config, "account", "list", cwd=site.folder, before=become_nobody)
    assert (done.status, done.out) == (1, "")
    assert str(site.data) in one_line(done.err)
    assert "Permission denied" in done.err


def test_an_owner_who_may_not_read_the_program_is_no_obstacle(site: SiteOfAnother, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are imported before root becomes the owner, who may not read the program."""
    if sys.executable in support.CHATSVC:
        pytest.skip("everybody may run this interpreter")
    monkeypatch.setattr(support, "CHATSVC", (sys.executable, "-m", "chatsvc"))
    monkeypatch.setattr(support, "environment", environment)
    with ModelThread(says("from the model")) as model:
        site.config.write_text(f"server: {{listen: 127.0.0.1:0}}\n{settings(model.url)}\n")
        give(site)
        account = site.account()
        bot, key = site.bot(account, timezone="Europe/London"), site.key(account)
        assert (
            site.refused("bot", "set", bot, "--timezone", "Mars/Olympus")
            == "'Mars/Olympus' is no time zone; one is written like Europe/Istanbul"
        )
        faq = site.folder / "faq.md"
        faq.write_text("language: en\n\n## When are you open?\n\nFrom 9 to 6.\n")
        os.chown(faq, NOBODY, NOBODY)
        site.json("knowledge", "add", bot, faq)
        assert site.json("knowledge", "search", bot, "when are you open")["entries"]
        with site.serve() as serving:
            answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello"})
            assert (answer.status, answer.json.get("data", {}).get("reply")) == (200, "from the model")
            assert site.json("knowledge", "search", bot, "when are you open")["entries"]
            assert site.json("conversation", "list", "--bot", bot)
            assert serving.end() == 0
        assert owners(site.data) == set()
        assert "Traceback" not in site.log.read_text()


def test_an_owner_may_read_what_the_single_file_program_unpacks_for_root(site: SiteOfAnother) -> None:
    unpacked = site.folder / "_MEI1"
    (unpacked / "chatsvc").mkdir(parents=True)
    data = unpacked / "chatsvc" / "words.txt"
    data.write_text("hello")
    for path in (unpacked, data.parent, data):
        path.chmod(0o700)
    reads = f"from chatsvc.privileges import become; sys._MEIPASS = {str(unpacked)!r}; become({NOBODY}, {NOBODY})"
    program = f"import sys, encodings.ascii; from pathlib import Path; {reads}; print(Path({str(data)!r}).read_text())"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "hello\n"
    assert {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in (unpacked, data.parent, data)} == {(0, 0o755)}


def test_root_backs_up_to_a_folder_of_its_own_and_what_is_restored_belongs_to_the_folders_owner(site: SiteOfAnother) -> None:
    site.data.mkdir()
    os.chown(site.data, NOBODY, NOBODY)
    site.account()
    with tempfile.TemporaryDirectory() as mine:
        file = Path(mine) / "one.backup"
        site.json("backup", "create", file)
        assert (file.stat().st_uid, file.stat().st_mode & 0o777) == (0, 0o600)
        site.json("backup", "restore", file)
    assert owners(site.data) == set()


def test_doctor_tells_somebody_who_may_not_look_who_may(site: SiteOfAnother) -> None:
    site.account()
    os.chown(site.data, 4321, 4321)
    done = run_anew("-c", site.config, "doctor", "--json", cwd=site.folder, before=become_nobody)
    assert done.status == 1
    assert one_line(done.err).endswith("found")
    faults = [check for check in json.loads(done.out)["checks"] if check["state"] == "fault"]
    assert {check["name"] for check in faults} == {"data folder"}
    assert "belongs to another user" in faults[0]["found"]
    assert "as root" in faults[-1]["remedy"]
