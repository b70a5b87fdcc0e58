"""The command line as its users have it: real processes, with a service that runs beside them or without one."""

import atexit
import json
import os
import selectors
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import urlsplit

import click
import pytest

from chatsvc.config import read
from chatsvc.control import client
from tests.cli.forked import Command, forks

CHATSVC = (sys.executable, "-m", "chatsvc")
PATIENCE_S = 30
NOBODY = 65534
# For what a command does by itself and what a service does for it.
BOTH = pytest.mark.parametrize("site", ["alone", "served"], indirect=True)
Preparation = Callable[[], None]


def become_nobody() -> None:
    """For a child process: be somebody without rights."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@cache
def python_for_everybody() -> tuple[dict[str, str], str] | None:
    """An interpreter that an unprivileged user can run, with its environment. Its byte code is shared by all who run it."""
    packages = Path(click.__file__).parents[1]
    sources = Path(__file__).parents[2]
    byte_code = Path(tempfile.mkdtemp(prefix="chatsvc-byte-code-"))
    byte_code.chmod(0o1777)
    atexit.register(shutil.rmtree, byte_code, ignore_errors=True)
    for python in (sys.executable, "/usr/bin/python3"):
        env = environment(HOME="/", PYTHONPYCACHEPREFIX=str(byte_code))
        if python != sys.executable:
            env["PYTHONPATH"] = f"{sources}{os.pathsep}{packages}"
        probe = [python, "-c", f"import sys, sqlite3, aiohttp, chatsvc; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"]
        try:
            subprocess.run(probe, env=env, cwd="/", check=True, capture_output=True, preexec_fn=become_nobody)
        except (OSError, subprocess.SubprocessError):
            continue
        return env, python
    return None


def for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands run by an interpreter that everybody may use."""
    for name in list(os.environ):
        if name.startswith("COV"):
            monkeypatch.delenv(name)
    interpreter = python_for_everybody()
    if interpreter is None:
        pytest.skip("no interpreter here can be run by an account without rights")
    env, python = interpreter
    monkeypatch.setattr(sys.modules[__name__], "CHATSVC", (python, "-m", "chatsvc"))
    monkeypatch.setattr(sys.modules[__name__], "environment", lambda **more: {**env, **more})


def environment(**more: str) -> dict[str, str]:
    """The environment of a command: this one without what would configure chatsvc."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CHATSVC", "ANTHROPIC"))}
    return {**inherited, **more}


@dataclass
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str


def run(*arguments: str | Path | bytes, cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
    status, out, err = forks().run([os.fsdecode(argument) for argument in arguments], cwd, env or environment(), PATIENCE_S)
    return Done(status, out.decode(), err.decode())


def start(*arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None, log: IO[bytes] | None = None) -> Command:
    """Start a command that goes on. Its output is read from `stdout`; its errors go to `log`."""
    read, write = os.pipe()
    errors = os.dup(log.fileno()) if log else os.open(os.devnull, os.O_WRONLY)
    command = forks().start([str(argument) for argument in arguments], cwd, env or environment(), [write, errors])
    command.stdout = os.fdopen(read, "rb")
    return command


def run_anew(*arguments: str | Path | bytes, cwd: Path | None = None, before: Preparation | None = None) -> Done:
    """Run one command in a new interpreter.

    For tests of what a command loads, and as which user.
    """
    done = subprocess.run(
        [*CHATSVC, *arguments],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=before,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass
class Response:
    """An answer of the interface."""

    status: int
    headers: dict[str, str]
    json: Any


def ask(url: str, key: str, method: str, path: str, body: object = None, tls: ssl.SSLContext | None = None) -> Response:
    """One request to the interface of the service at `url`."""
    parts = urlsplit(url)
    assert parts.hostname
    encrypted = HTTPSConnection(parts.hostname, parts.port, timeout=PATIENCE_S, context=tls) if tls else None
    with closing(encrypted or HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)) as connection:
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v2{path}", sent, {"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return Response(response.status, dict(response.headers), json.loads(response.read()))


class Serving:
    """A `chatsvc serve` of its own process; its log goes to a file."""

    def __init__(
        self, config: Path, log: Path, cwd: Path, *, ready: bool = True, before: Preparation | None = None, forked: bool = False
    ) -> None:
        self.log = log
        self.process: subprocess.Popen[bytes] | Command
        with log.open("ab") as stream:
            if forked and before is None:
                self.process = start("-c", config, "serve", "--json", cwd=cwd, log=stream)
            else:
                self.process = subprocess.Popen(
                    [*CHATSVC, "-c", config, "serve", "--json"],
                    cwd=cwd,
                    env=environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stream,
                    preexec_fn=before,  # noqa: PLW1509  # no other thread holds a lock here
                )
        self.url = self.base_url = ""
        if ready:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait for the line that says where it listens."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(PATIENCE_S), self.log.read_text()
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        event = json.loads(line)
        assert set(event) == {"event", "url", "base_url"}
        assert event["event"] == "listening"
        self.url, self.base_url = event["url"], event["base_url"]

    def ask(self, key: str, method: str, path: str, body: object = None) -> Response:
        return ask(self.url, key, method, path, body)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGKILL)


class Site:
    """An installation: a configuration and a data folder, and perhaps a service on it."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder = folder
        self.config = folder / "config.yaml"
        self.data = folder / "data"
        self.log = folder / "serve.log"
        self.config.write_text(f"server: {{listen: 127.0.0.1:0}}\n{settings or 'models: {offline: {engine: knowledge}}'}\n")
        self.serving: Serving | None = None

    @property
    def store_file(self) -> Path:
        return self.data / "chatsvc.db"

    @property
    def master_key(self) -> Path:
        return self.data / "master.key"

    def run(self, *arguments: str | Path | bytes) -> Done:
        return run("-c", self.config, *arguments, cwd=self.folder)

    def json(self, *arguments: str | Path) -> Any:
        """Run one command that succeeds, with --json: exactly one value, and nothing else to say."""
        done = self.run(*arguments, "--json")
        assert (done.status, done.err) == (0, ""), done
        return json.loads(done.out)

    def refused(self, *arguments: str | Path | bytes) -> str:
        """Run one command that is refused: exit status 1, one line on standard error, nothing on standard output."""
        return refusal(self.run(*arguments))

    def refused_with(self, *arguments: str | Path) -> Any:
        """Run one command that has a failure to report: exit status 1, the report in JSON, one line on standard error."""
        done = self.run(*arguments, "--json")
        assert done.status == 1, done
        one_line(done.err)
        return json.loads(done.out)

    def serve(self, *, forked: bool = True, **options: Any) -> Serving:
        self.serving = Serving(self.config, self.log, self.folder, forked=forked, **options)
        return self.serving

    def account(self, name: str = "Acme", **settings: object) -> str:
        return str(self._made("account.create", name=name, **{"plan": "enterprise", **settings})["id"])

    def bot(self, account: str, **settings: object) -> str:
        return str(self._made("bot.create", name="Desk", account=account, **settings)["id"])

    def key(self, account: str) -> str:
        return str(self._made("key.create", account=account)["key"])

    def _made(self, operation: str, **arguments: object) -> Any:
        """Run an operation as a command does, in this process: a test's preparation needs no process of its own."""
        before = os.umask(0o077)
        try:
            # In a thread: the test may have an event loop of its own.
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(client.call, read(self.config, environment()), operation, arguments).result()
        finally:
            os.umask(before)


def one_line(err: str) -> str:
    """The one line of a refusal, without the program's name."""
    assert err.endswith("\n"), err
    assert err.count("\n") == 1, err
    assert err.startswith("chatsvc: "), err
    assert "Traceback" not in err
    return err.removeprefix("chatsvc: ").rstrip("\n")


def refusal(done: Done) -> str:
    """The one line of a refused command: exit status 1 and nothing on standard output."""
    assert (done.status, done.out) == (1, ""), done
    return one_line(done.err)


def usage_error(done: Done, says: str) -> None:
    """Wrong usage: exit status 2, nothing on standard output, and the reason on standard error."""
    assert done.status == 2, done
    assert done.out == ""
    assert says in done.err
    assert "Traceback" not in done.err


def together(commands: Sequence[Sequence[str | Path]], cwd: Path) -> list[Done]:
    with ThreadPoolExecutor(len(commands)) as threads:
        return list(threads.map(lambda command: run(*command, cwd=cwd), commands))
