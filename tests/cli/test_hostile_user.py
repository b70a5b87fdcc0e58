"""Root works in the folders of a hostile service user: nothing of root's is read, changed, made or removed for that user.

Processes of root, and a second user of the system who owns the data folder and plants links, sockets and configurations.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from tests.cli.support import Done, Site, SiteOfAnother, one_line, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges that a hostile user could gain")

USER = "chatsvc-hostile"
SECRET = "the-secret-of-root-0123456789"
OFFLINE = "server: {listen: 127.0.0.1:0}\nmodels: {offline: {engine: knowledge}}\n"


@pytest.fixture(scope="module")
def hostile() -> Iterator[pwd.struct_passwd]:
    """An unprivileged user, with a group of its own."""
    subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", USER], check=True, capture_output=True)
    try:
        yield pwd.getpwnam(USER)
    finally:
        subprocess.run(["userdel", USER], check=True, capture_output=True)


@dataclass
class Place:
    """Root's folder with the hostile user's folder `theirs` and root's private folder `private`."""

    folder: Path
    user: pwd.struct_passwd

    @property
    def theirs(self) -> Path:
        """The hostile user's folder."""
        return self.folder / "theirs"

    @property
    def private(self) -> Path:
        """Root's own folder, closed to others, with the file `precious`."""
        return self.folder / "private"

    @property
    def precious(self) -> Path:
        """A file of root's that must stay as it is, and unread by others."""
        return self.private / "precious"

    def give(self, *paths: Path) -> None:
        """Make these files the hostile user's; of a link itself, not of where it leads."""
        for path in paths:
            os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)

    def link(self, path: Path, target: Path) -> None:
        """Plant a link of the hostile user's."""
        path.symlink_to(target)
        self.give(path)

    def their_config(self, text: str = OFFLINE, name: str = "config.yaml") -> Path:
        """A configuration of the hostile user's."""
        path = self.theirs / name
        path.write_text(text)
        self.give(path)
        return path

    def site(self) -> Site:
        """An installation as the manual describes it: configuration of root's, data folder of the service's user."""
        site = SiteOfAnother(self.folder)
        site.data = self.theirs
        site.config.write_text(f"{OFFLINE}data_dir: {self.theirs}\n")
        return site

    def intact(self) -> None:
        """Check that nothing of root's was changed."""
        assert self.precious.read_text() == SECRET
        assert [file.name for file in self.private.iterdir()] == ["precious"]
        assert (self.private.stat().st_mode & 0o777, self.precious.stat().st_mode & 0o777) == (0o700, 0o600)
        assert {self.private.stat().st_uid, self.precious.stat().st_uid} == {0}


@pytest.fixture
def place(hostile: pwd.struct_passwd) -> Iterator[Place]:
    """A place that everybody may enter, as pytest's own folders are not."""
    before = os.umask(0o022)
    folder = Path(tempfile.mkdtemp(prefix="chatsvc-test-"))
    folder.chmod(0o755)
    made = Place(folder, hostile)
    for path, mode in ((made.theirs, 0o700), (made.private, 0o700)):
        path.mkdir(mode=mode)
    made.precious.write_text(SECRET)
    made.precious.chmod(0o600)
    made.give(made.theirs)
    yield made
    shutil.rmtree(folder)
    os.umask(before)


def refused(done: Done) -> str:
    """The one line of a refused command."""
    assert (done.status, done.out) == (1, ""), done
    return one_line(done.err)


class FakeService:
    """A peer on `control.sock` that the hostile user wrote: it gives the same answer to everything, and looks at who asks."""

    def __init__(self, place: Place, answer: dict[str, Any]) -> None:
        self._answer = json.dumps(answer).encode()
        self.asked_by: list[dict[str, str]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place.theirs / "control.sock"))
        place.give(place.theirs / "control.sock")
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    request = connection.recv(1 << 16)
                except TimeoutError:
                    continue
                pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
                self.asked_by.append(status_of(pid))
                # With its length in front where the request had it, else bare until the end.
                is_framed = request[:1] == b"\0"
                with suppress(OSError):
                    connection.sendall(len(self._answer).to_bytes(8) + self._answer if is_framed else self._answer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def status_of(pid: int) -> dict[str, str]:
    """The kernel's account of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def is_dropped(status: dict[str, str], user: pwd.struct_passwd, capabilities: int = 0) -> None:
    """Check that a process is that user for good."""
    assert status["Uid"].split() == [str(user.pw_uid)] * 4
    assert status["Gid"].split() == [str(user.pw_gid)] * 4
    assert status["Groups"].split() == [str(user.pw_gid)]
    found = {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    assert found == {"CapInh": 0, "CapPrm": capabilities, "CapEff": capabilities, "CapAmb": 0}
    assert int(status["CapBnd"], 16) & ~capabilities == 0


# The peer on the socket


@pytest.mark.parametrize("extra", [{}, {"file_bytes": 5}, {"file_bytes": 1 << 60}])
def test_root_opens_and_removes_no_path_that_the_peer_on_the_socket_names(place: Place, extra: dict[str, Any]) -> None:
    site, target, public = place.site(), place.folder / "one.backup", place.folder / "public"
    public.write_text("for everybody to read")
    for named in (place.precious, public):
        with FakeService(place, {"result": {"draft": str(named), "bytes": 1}, **extra}):
            done = run("-c", site.config, "backup", "create", target, cwd=place.folder)
        (place.theirs / "control.sock").unlink()
        assert SECRET not in done.out + done.err
        if target.exists():
            assert target.read_bytes() == b""
            target.unlink()
    place.intact()
    assert public.read_text() == "for everybody to read"
    assert not list(place.folder.glob("*.part"))


def test_a_link_in_the_place_of_the_socket_is_not_followed(place: Place) -> None:
    """Root would talk to a service of root's, in whose eyes it is root."""
    site = place.site()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.folder / "roots.sock"))
        (place.folder / "roots.sock").chmod(0o600)
        listener.listen()
        place.link(place.theirs / "control.sock", place.folder / "roots.sock")
        command = threading.Thread(target=run, args=("-c", site.config, "account", "list"), kwargs={"cwd": place.folder}, daemon=True)
        command.start()
        listener.settimeout(3)
        with pytest.raises(TimeoutError):
            listener.accept()
        command.join(30)


@pytest.mark.parametrize("command", [["account", "list"], ["key", "create"], ["backup", "create", "x.backup"], ["doctor"]])
def test_every_command_of_root_is_the_service_user_for_good_before_it_asks(place: Place, command: list[str]) -> None:
    site = place.site()
    with FakeService(place, {"refused": "no"}) as fake:
        run("-c", site.config, *command, cwd=place.folder)
    asked = [status for status in fake.asked_by if status]
    assert asked
    for status in asked:
        is_dropped(status, place.user)
    assert not (place.folder / "x.backup").exists()


# Links and folders


@pytest.mark.parametrize("name", ["one.backup", "one.backup.part"])
def test_a_link_in_the_way_of_a_backup_is_not_written_through(place: Place, name: str) -> None:
    site = place.site()
    site.account()
    place.link(place.theirs / name, place.precious)
    run("-c", site.config, "backup", "create", place.theirs / "one.backup", cwd=place.folder)
    place.intact()


@pytest.mark.parametrize("way", ["a link", "its path", "a link above"])
def test_a_folder_of_roots_is_not_taken_for_the_data_folder_of_another_user(place: Place, way: str) -> None:
    config = place.their_config()
    if way == "a link":
        place.link(place.theirs / "data", place.private)
    elif way == "its path":
        config.write_text(f"{OFFLINE}data_dir: {place.private}\n")
    else:
        place.link(place.theirs / "up", place.folder)
        config.write_text(f"{OFFLINE}data_dir: up/private\n")
    for command in (["account", "list"], ["serve"], ["init"]):
        assert str(place.theirs) in refused(run("-c", config, *command, cwd=place.folder)) + f" {config}"
        place.intact()


def test_a_link_planted_for_the_data_folder_of_roots_configuration_is_refused(place: Place) -> None:
    site = place.site()
    site.config.write_text(f"{OFFLINE}data_dir: {place.theirs}/data\n")
    place.link(place.theirs / "data", place.private)
    assert "is a link" in refused(run("-c", site.config, "account", "list", cwd=place.folder))
    place.intact()


def test_a_folder_that_holds_something_else_is_neither_used_nor_closed(place: Place) -> None:
    site, other = place.site(), place.folder / "other"
    other.mkdir(mode=0o755)
    (other / "letters").write_text("dear")
    site.config.write_text(f"{OFFLINE}data_dir: {other}\n")
    assert "it holds something else" in refused(run("-c", site.config, "account", "list", cwd=place.folder))
    assert (other.stat().st_mode & 0o777, [file.name for file in other.iterdir()]) == (0o755, ["letters"])


def test_root_makes_no_data_folder_where_everybody_may_write(place: Place) -> None:
    site, open_to_all = place.site(), place.folder / "all"
    open_to_all.mkdir()
    open_to_all.chmod(0o1777)
    site.config.write_text(f"{OFFLINE}data_dir: {open_to_all}/data\n")
    assert "where others may write" in refused(run("-c", site.config, "account", "list", cwd=place.folder))
    assert not list(open_to_all.iterdir())


def test_init_makes_nothing_at_the_end_of_a_dangling_link(place: Place) -> None:
    place.link(place.theirs / "config.yaml", place.private / "new.yaml")
    refused(run("init", place.theirs, cwd=place.folder))
    place.intact()


def test_init_in_a_folder_of_another_user_makes_everything_as_that_user(place: Place) -> None:
    assert run("init", place.theirs, cwd=place.folder).status == 0
    assert {path.lstat().st_uid for path in place.theirs.rglob("*")} == {place.user.pw_uid}
    assert (place.theirs / "config.yaml").stat().st_mode & 0o777 == 0o600


def test_init_lets_the_services_group_read_a_configuration_of_roots(place: Place) -> None:
    installation = place.folder / "installation"
    installation.mkdir()
    (installation / "data").mkdir(mode=0o700)
    place.give(installation / "data")
    assert run("init", installation, cwd=place.folder).status == 0
    status = (installation / "config.yaml").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (0, place.user.pw_gid, 0o640)
    assert {path.stat().st_uid for path in (installation / "data").iterdir()} == {place.user.pw_uid}
    assert run("init", place.private / "own", cwd=place.folder).status == 0
    alone = (place.private / "own" / "config.yaml").stat()
    assert (alone.st_uid, alone.st_mode & 0o777) == (0, 0o600)


# Configuration and secrets


def test_root_takes_no_configuration_that_lies_in_the_current_folder_of_another_user(place: Place) -> None:
    place.their_config(f"{OFFLINE}data_dir: {place.private}\n")
    assert "name it with -c" in refused(run("account", "list", cwd=place.theirs))
    place.intact()


def test_a_configuration_that_others_may_write_is_not_read_as_root(place: Place) -> None:
    site = place.site()
    site.config.chmod(0o666)
    assert "everybody may write" in refused(run("-c", site.config, "account", "list", cwd=place.folder))


def test_a_link_to_a_file_of_roots_is_no_configuration(place: Place) -> None:
    place.link(place.theirs / "config.yaml", place.precious)
    told = refused(run("-c", place.theirs / "config.yaml", "account", "list", cwd=place.folder))
    assert "is not opened as root" in told
    assert SECRET not in told


class Model(BaseHTTPRequestHandler):
    """A model server of the hostile user's, which keeps what it is sent."""

    seen: list[str]

    def do_POST(self) -> None:
        """Note the headers."""
        self.seen.append(str(self.headers))
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        """Note the headers."""
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_configuration_of_another_user_gets_nothing_else_of_roots_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_ROOT", SECRET)
    config = place.their_config("engines: {anthropic: {base_url: 'http://127.0.0.1:9/${SECRET_OF_ROOT}'}}\n")
    told = refused(run("-c", config, "config", "show", cwd=place.folder))
    assert "SECRET_OF_ROOT" in told
    assert SECRET not in told


@pytest.mark.parametrize("way", ["its path", "a link"])
def test_doctor_reads_no_file_of_roots_and_sends_it_nowhere(place: Place, way: str) -> None:
    Model.seen = []
    server = HTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    place.link(place.theirs / "key", place.precious)
    file = place.precious if way == "its path" else place.theirs / "key"
    config = place.their_config(
        f"models: {{m: {{engine: anthropic, model: m}}}}\ndata_dir: data\n"
        f"engines: {{anthropic: {{base_url: 'http://127.0.0.1:{server.server_port}', api_key_file: {file}}}}}\n"
    )
    try:
        done = run("-c", config, "doctor", cwd=place.folder)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert SECRET not in "".join(Model.seen) + done.out + done.err
    assert "api_key_file" in done.out


def test_doctor_warns_of_secrets_that_everybody_may_read(place: Place) -> None:
    site = place.site()
    site.account()
    site.config.write_text(f"{site.config.read_text()}engines: {{anthropic: {{api_key: sk-0}}}}\n")
    warned = [check for check in site.json("doctor")["checks"] if check["name"] == "configuration"]
    assert (warned[0]["state"], "holds secrets" in warned[0]["found"]) == ("warning", True)
    site.config.chmod(0o640)
    os.chown(site.config, 0, place.user.pw_gid)
    assert [check["state"] for check in site.json("doctor")["checks"] if check["name"] == "configuration"] == ["ok"]


# The service


def low_port() -> int:
    """A free port that only root may bind."""
    for port in range(1023, 600, -1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port below 1024")


@pytest.mark.parametrize("whose", ["root's configuration", "their configuration", "a port below 1024"])
def test_a_service_that_root_starts_keeps_nothing_of_root(place: Place, whose: str) -> None:
    site = place.site()
    if whose == "their configuration":
        site.config, site.data = place.their_config(), place.theirs / "data"
    if whose == "a port below 1024":
        site.config.write_text(site.config.read_text().replace("127.0.0.1:0", f"127.0.0.1:{low_port()}"))
    account = site.account()
    with site.serve() as serving:
        is_dropped(status_of(serving.process.pid), place.user, 1 << 10 if whose == "a port below 1024" else 0)
        assert serving.ask(site.key(account), "GET", "/chatbots").status == 200
        assert serving.end() == 0
    assert {path.stat().st_uid for path in site.data.rglob("*")} == {place.user.pw_uid}
    assert "Traceback" not in site.log.read_text()


# Files that root names


def test_root_reads_a_file_of_its_own_for_the_service_and_follows_no_planted_link(place: Place) -> None:
    site = place.site()
    bot = site.bot(site.account())
    faq = place.private / "faq.md"
    faq.write_text("language: en\n\n## When are you open?\n\nFrom 9 to 6.\n")
    assert site.json("knowledge", "add", bot, faq)["entries"] == 1
    faq.unlink()
    place.link(place.theirs / "faq.md", place.precious)
    assert "is not opened as root" in site.refused("knowledge", "add", bot, place.theirs / "faq.md")
    assert SECRET not in json.dumps(site.json("knowledge", "list", bot))


EXPORTS: dict[str, Callable[[str, str, Path], list[str | Path]]] = {
    "account": lambda account, _, file: ["account", "export", account, file],
    "backup": lambda _, __, file: ["backup", "create", file],
    "conversations": lambda _, bot, file: ["conversation", "export", "--bot", bot, "--output", file],
    "knowledge": lambda _, bot, file: ["knowledge", "export", bot, "--output", file],
}


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize("served", [False, True])
def test_root_writes_into_a_folder_of_its_own(place: Place, kind: str, served: bool) -> None:
    site = place.site()
    account = site.account()
    bot = site.bot(account)
    file = place.private / "written.jsonl"

    def check() -> None:
        done = site.run(*EXPORTS[kind](account, bot, file))
        assert done.status == 0, done
        assert (file.stat().st_uid, file.stat().st_mode & 0o777) == (0, 0o600)
        file.unlink()
        nobodys = "6f1c0000-0000-4000-8000-000000000000"
        if kind != "backup":
            refused(site.run(*EXPORTS[kind](nobodys, nobodys, file)))
        place.intact()

    if served:
        with site.serve() as serving:
            check()
            assert {act["uid"] for act in site.json("audit") if act["operation"] == "backup.create"} <= {0}
            assert serving.end() == 0
    else:
        check()


def test_what_root_exports_over_a_planted_link_does_not_go_where_it_leads(place: Place) -> None:
    site = place.site()
    bot = site.bot(site.account())
    place.link(place.theirs / "faq.jsonl", place.precious)
    assert "is not opened as root" in site.refused("knowledge", "export", bot, "--output", place.theirs / "faq.jsonl")
    place.intact()


def test_a_backup_of_another_users_is_verified_and_restored(place: Place) -> None:
    site = place.site()
    site.account()
    site.json("backup", "create", place.private / "one.backup", "--with-master-key")
    theirs = place.theirs / "one.backup"
    shutil.move(place.private / "one.backup", theirs)
    place.give(theirs)
    assert site.json("backup", "verify", theirs)["valid"]
    assert site.json("backup", "restore", theirs)["replaced"]
    assert {path.stat().st_uid for path in place.theirs.iterdir()} == {place.user.pw_uid}


def test_root_is_named_in_the_audit_log_although_its_privileges_are_gone(place: Place) -> None:
    site = place.site()
    site.account()
    with site.serve() as serving:
        site.account("served")
        assert serving.end() == 0
    assert {act["uid"] for act in site.json("audit")} == {0}
