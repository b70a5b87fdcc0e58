"""Root and the folders of another user: root runs no command on them, and nothing of root's is read, changed or made for that user."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chatsvc import local_user
from chatsvc.domain.errors import CommandError
from tests.cli.support import NOBODY, Done, Serving, Site, become_nobody, for_everybody, refusal, run, run_anew

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights that another user could gain")

USER = "chatsvc-other"
SECRET = "the-secret-of-root-0123456789"
OFFLINE = "server: {listen: 127.0.0.1:0}\nmodels: {offline: {engine: knowledge}}\n"
TYPE_INSTEAD = f"Type instead: runuser -u {USER} -- chatsvc ..."


@pytest.fixture(scope="module")
def other() -> Iterator[pwd.struct_passwd]:
    """An unprivileged user, with a group of its own."""
    subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", USER], check=True, capture_output=True)
    try:
        yield pwd.getpwnam(USER)
    finally:
        subprocess.run(["userdel", USER], check=True, capture_output=True)


@dataclass
class Place:
    """Root's folder with the other user's folder `theirs` and root's private folder `private`."""

    folder: Path
    user: pwd.struct_passwd

    @property
    def theirs(self) -> Path:
        return self.folder / "theirs"

    @property
    def private(self) -> Path:
        return self.folder / "private"

    @property
    def precious(self) -> Path:
        """A file of root's that must stay as it is, and unread by others."""
        return self.private / "precious"

    def give(self, *paths: Path) -> None:
        """Make these files the other user's; of a link itself, not of where it leads."""
        for path in paths:
            os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)

    def link(self, path: Path, target: Path) -> Path:
        """Plant a link of the other user's."""
        path.symlink_to(target)
        self.give(path)
        return path

    def site(self, data: Path) -> Site:
        """An installation with a configuration of root's."""
        site = Site(self.folder)
        site.data = data
        site.config.write_text(f"{OFFLINE}data_dir: {data}\n")
        return site

    def intact(self) -> None:
        """Check that nothing of root's was changed, and nothing was made for the other user."""
        assert self.precious.read_text() == SECRET
        assert [file.name for file in self.private.iterdir()] == ["precious"]
        assert (self.private.stat().st_mode & 0o777, self.precious.stat().st_mode & 0o777) == (0o700, 0o600)
        assert {self.private.stat().st_uid, self.precious.stat().st_uid} == {0}


@pytest.fixture
def folders(other: pwd.struct_passwd) -> Iterator[Place]:
    """A place that everybody may enter, as pytest's own folders are not."""
    before = os.umask(0o022)
    folder = Path(tempfile.mkdtemp(prefix="chatsvc-test-"))
    folder.chmod(0o755)
    created = Place(folder, other)
    for path in (created.theirs, created.private):
        path.mkdir(mode=0o700)
    created.precious.write_text(SECRET)
    created.precious.chmod(0o600)
    created.give(created.theirs)
    yield created
    shutil.rmtree(folder)
    os.umask(before)


def refused(done: Done) -> str:
    """The one line of a refused command."""
    assert SECRET not in done.err
    return refusal(done)


COMMANDS = ("account list", "serve", "key create", "backup create x.backup", "config show", "usage")
WHOSE = ("new data folder", "configuration", "current folder", "link to the data folder")


@pytest.mark.parametrize(
    ("command", "whose"), [*((command, "data folder") for command in COMMANDS), *(("account list", place) for place in WHOSE)]
)
def test_a_command_on_files_of_another_user_names_the_line_to_type(folders: Place, command: str, whose: str) -> None:
    cwd, config = folders.folder, folders.folder / "config.yaml"
    if whose == "configuration":
        config = folders.theirs / "config.yaml"
        config.write_text(f"{OFFLINE}data_dir: {folders.private}\n")
    elif whose == "current folder":
        (folders.theirs / "config.yaml").write_text(f"{OFFLINE}data_dir: {folders.private}\n")
        cwd = folders.theirs
    elif whose == "link to the data folder":
        folders.site(folders.link(folders.theirs / "data", folders.private))
    else:
        folders.site(folders.theirs / "data" if whose == "new data folder" else folders.theirs)
    named = () if whose == "current folder" else ("-c", config)
    before = sorted(path.name for path in folders.theirs.iterdir())
    assert refused(run(*named, *command.split(), cwd=cwd)).endswith(TYPE_INSTEAD)
    assert sorted(path.name for path in folders.theirs.iterdir()) == before
    folders.intact()


def test_doctor_says_the_same_as_a_finding(folders: Place) -> None:
    done = folders.site(folders.theirs).run("doctor", "--json")
    (check,) = json.loads(done.out)["checks"]
    assert (done.status, check["state"], TYPE_INSTEAD in check["found"]) == (1, "fault", True)


def test_a_user_without_a_name_is_named_by_its_number(folders: Place) -> None:
    os.chown(folders.theirs, 4321, 4321)
    message = refused(folders.site(folders.theirs).run("account", "list"))
    assert message.endswith("Type instead: setpriv --reuid=4321 --regid=4321 --clear-groups -- chatsvc ...")


@pytest.mark.parametrize("what", ["configuration", "folder"])
def test_root_uses_nothing_that_others_may_write(folders: Place, what: str) -> None:
    shared = folders.folder / "shared"
    shared.mkdir()
    site = folders.site(shared / "data")
    (site.config if what == "configuration" else shared).chmod(0o777)
    assert "others may write it" in refused(site.run("account", "list"))
    assert not list(shared.iterdir())


def test_a_link_of_another_user_to_a_file_of_roots_is_no_configuration_and_no_secret(folders: Place) -> None:
    assert TYPE_INSTEAD in refused(run("-c", folders.link(folders.theirs / "config.yaml", folders.precious), "account", "list"))
    site = folders.site(folders.folder / "data")
    key = folders.link(folders.theirs / "key", folders.precious)
    site.config.write_text(f"{site.config.read_text()}engines: {{anthropic: {{api_key_file: {key}}}}}\n")
    assert "is not opened as root" in refused(site.run("config", "show"))


def test_a_folder_of_roots_own_stays_roots_and_is_nobodys_to_read(folders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    site = folders.site(folders.folder / "data")
    site.account()
    assert {file.stat().st_uid for file in (site.data, *site.data.iterdir())} == {0}
    for_everybody(monkeypatch)
    assert "Permission denied" in refused(run_anew("-c", site.config, "account", "list", cwd=site.folder, before=become_nobody))


@pytest.mark.parametrize("is_named", [True, False])
def test_init_gives_what_it_makes_to_the_owner_of_its_folder(folders: Place, monkeypatch: pytest.MonkeyPatch, is_named: bool) -> None:
    for_everybody(monkeypatch)
    os.chown(folders.theirs, NOBODY, NOBODY)
    done = run_anew("init", *([folders.theirs] if is_named else []), cwd=folders.theirs)
    assert (done.status, "API key" in done.out) == (0, True), done
    assert {path.lstat().st_uid for path in folders.theirs.rglob("*")} == {NOBODY}
    assert (folders.theirs / "config.yaml").stat().st_mode & 0o777 == 0o600
    log = folders.folder / "log"
    with Serving(folders.theirs / "config.yaml", log, folders.folder, before=become_nobody) as serving:
        assert serving.ask("no key", "GET", "/chatbots").status == 401
        assert serving.end() == 0
    folders.intact()


def test_init_lets_the_services_group_read_a_configuration_of_roots(folders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for_everybody(monkeypatch)
    installation = folders.folder / "installation"
    (installation / "data").mkdir(parents=True, mode=0o700)
    folders.give(installation / "data")
    assert run_anew("init", installation, cwd=folders.folder).status == 0
    status = (installation / "config.yaml").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (0, folders.user.pw_gid, 0o640)
    assert {path.stat().st_uid for path in (installation / "data").iterdir()} == {folders.user.pw_uid}
    assert run("init", folders.private / "own", cwd=folders.folder).status == 0
    alone = (folders.private / "own" / "config.yaml").stat()
    assert (alone.st_uid, alone.st_mode & 0o777) == (0, 0o600)


def test_init_under_a_folder_of_roots_says_what_to_type(folders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for_everybody(monkeypatch)
    message = refused(run_anew("init", folders.folder / "mine", cwd=folders.folder, before=become_nobody))
    assert message.endswith(f"Type instead, then try again: sudo install -d -o nobody -m 0700 {folders.folder}/mine")
    assert not (folders.folder / "mine").exists()


def test_init_makes_nothing_at_the_end_of_a_dangling_link(folders: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for_everybody(monkeypatch)
    folders.link(folders.theirs / "config.yaml", folders.private / "new.yaml")
    refused(run_anew("init", folders.theirs, cwd=folders.folder))
    folders.intact()


def test_a_user_who_cannot_run_this_python_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(private / "python"))
    with pytest.raises(CommandError, match=r"the user nobody cannot run this chatsvc \(.*ermission denied\): install it where"):
        local_user.run_as(NOBODY)


def test_where_the_program_that_changes_users_is_missing_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_user, "command_of", lambda *_: ["no-such-program"])
    with pytest.raises(CommandError, match="no-such-program cannot be run"):
        local_user.run_as(NOBODY)


def test_files_that_root_names_are_reached_through_no_planted_link(folders: Place) -> None:
    site = folders.site(folders.folder / "data")
    bot = site.bot(site.account())
    theirs = folders.theirs / "faq.md"
    theirs.write_text("language: en\n\n## When are you open?\n\nFrom 9 to 6.\n")
    folders.give(theirs)
    assert site.json("knowledge", "add", bot, theirs)["entries"] == 1
    planted = folders.link(folders.theirs / "planted.md", folders.precious)
    assert "is not opened as root" in site.refused("knowledge", "add", bot, planted)
    assert "is not opened as root" in site.refused("knowledge", "export", bot, "--output", planted)
    folder = folders.link(folders.theirs / "folder", folders.private)
    assert "is not opened as root" in site.refused("backup", "create", folder / "one.backup")
    assert "is not opened as root" in site.refused("backup", "verify", planted)
    (folders.theirs / "bots").mkdir()
    folders.give(folders.theirs / "bots")
    folders.link(folders.theirs / "bots" / "one.yaml", folders.precious)
    assert "bots" in site.refused("bot", "sync", folders.theirs / "bots")
    assert SECRET not in json.dumps(site.json("knowledge", "list", bot))
    folders.intact()


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [(0o777, "folder", -1), (0o1777, "folder", 0), (0o666, "file", -1), (0o664, "file", 0), (0o644, "file", 0)],
)
def test_who_can_replace_a_path(folders: Place, mode: int, kind: str, expected: int) -> None:
    path = folders.private / "it"
    path.mkdir() if kind == "folder" else path.touch()
    path.chmod(mode)
    assert local_user.owner_of(path) == expected
    folders.give(path)
    assert local_user.owner_of(path) == folders.user.pw_uid
    assert local_user.owner_of(folders.theirs / "not" / "there") == folders.user.pw_uid
