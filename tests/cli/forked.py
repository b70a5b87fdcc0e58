"""Commands as forks of a process that has loaded the program. They are real processes, without the time of loading."""

from __future__ import annotations

import atexit
import gc
import json
import os
import pickle
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import click

from chatsvc.outbound.egress import bundle

if TYPE_CHECKING:
    from coverage import Coverage

_SIZE = 4  # bytes that tell how long a request is, and which process runs it
# Loaded for all commands: `doctor` takes a second for the library of the model, `knowledge search` one for the engine.
LOADED = (
    "anthropic", "chatsvc.platforms.telegram.pollers", "chatsvc.control.local_operations", "chatsvc.app", "uvloop", "chatsvc.dashboard",
    "chatsvc.engines.knowledge.search.index", "chatsvc.store.sqlite.backup",
)  # fmt: skip
COVERAGE = "COVERAGE_PROCESS_CONFIG"  # the variable with which coverage has processes measured
SYSTEMS_PATHS = ssl.get_default_verify_paths


@cache
def read_one_root_certificate() -> None:
    """Have this process find one of the system's root certificates: to read all takes longer than a service's start."""
    whole = bundle()
    if whole is not None:
        end = "-----END CERTIFICATE-----\n"
        folder = Path(tempfile.mkdtemp(prefix="chatsvc-root-", dir=os.environ.get("TMPDIR", "/tmp")))  # noqa: S108  # gettempdir() would stay
        folder.chmod(0o755)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        file = folder / "root.pem"
        file.write_text(whole.read_text("utf-8").partition(end)[0] + end)
        paths = SYSTEMS_PATHS()._replace(openssl_cafile=str(file), openssl_capath=str(folder / "none"))
        ssl.get_default_verify_paths = lambda: paths


class Forks:
    """The process that has loaded the program. It ends with the process that started it."""

    def __init__(self) -> None:
        self._address = f"\0chatsvc-tests-{os.getpid()}"
        listener = socket.socket(socket.AF_UNIX)
        with closing(listener):
            listener.bind(self._address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from tests.cli.forked import serve; serve({listener.fileno()})"],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
            )

    def run(self, arguments: list[str], cwd: Path | None, env: dict[str, str], timeout_s: float) -> tuple[int, bytes, bytes]:
        """Run a command. Returns its exit status, its output and its errors; raises subprocess.TimeoutExpired."""
        pipes = [os.pipe(), os.pipe()]
        command = self.start(arguments, cwd, env, [write for _, write in pipes])
        texts = {read: b"" for read, _ in pipes}
        try:
            left = set(texts)
            while left:
                ready, _, _ = select.select(left, [], [], timeout_s)
                if not ready:
                    raise subprocess.TimeoutExpired(arguments, timeout_s)
                for read in ready:
                    piece = os.read(read, 1 << 16)
                    texts[read] += piece
                    if not piece:
                        left.remove(read)
            status = command.wait(timeout_s)
        finally:
            command.close()
            for read in texts:
                os.close(read)
        out, err = texts.values()
        return status, out, err

    def start(self, arguments: list[str], cwd: Path | None, env: dict[str, str], outputs: list[int]) -> Command:
        """Start a command with these descriptors for output and errors, which are closed here."""
        request = json.dumps({"arguments": arguments, "cwd": str(cwd or Path.cwd()), "env": env}).encode()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        socket.send_fds(connection, [len(request).to_bytes(_SIZE, "big")], outputs)
        connection.sendall(request)
        for output in outputs:
            os.close(output)
        return Command(connection)

    def close(self) -> None:
        self._process.communicate()


class Command:
    """A command that runs, with the methods of subprocess.Popen."""

    stdout: IO[bytes] | None = None

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = int.from_bytes(connection.recv(_SIZE, socket.MSG_WAITALL), "big")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit status; raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("chatsvc", timeout or 0)
            self.returncode = int(self._connection.recv(_SIZE))
            self.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            # It may have ended meanwhile: another process waits for it.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill it if it runs, and wait no longer."""
        self._connection.close()


class Measured:
    """The coverage of all commands. Each sends what none before it has run: a data file of its own would take longer than most commands."""

    def __init__(self) -> None:
        self.incoming, self._outgoing = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._arcs: dict[str, set[int]] = {}
        if (measuring := _coverage()) is not None:
            measuring.save()  # else each command would send what was measured so far

    def send(self) -> None:
        """Send what this command has run, as a file in memory: it may be larger than a datagram."""
        measuring = _coverage()
        if measuring is None or COVERAGE not in os.environ:
            return
        measuring.stop()
        collected = list(measuring._collector.data.items())  # type: ignore[union-attr]
        new = {file: unseen for file, arcs in collected if (unseen := arcs - self._arcs.get(file, set()))}
        with suppress(OSError):  # a test may leave no room for another file
            if new:
                sent = os.memfd_create("coverage")
                os.write(sent, pickle.dumps(new))
                socket.send_fds(self._outgoing, [b"."], [sent])

    def add(self) -> None:
        """Take in what a command has sent."""
        _, descriptors, _, _ = socket.recv_fds(self.incoming, 1, 1)
        with os.fdopen(descriptors[0], "rb") as received:
            received.seek(0)
            for file, arcs in pickle.load(received).items():  # noqa: S301  # of this program's own fork
                self._arcs.setdefault(file, set()).update(arcs)

    def save(self) -> None:
        if (measuring := _coverage()) is not None:
            measuring.get_data().add_arcs({file: [_unpacked(arc) for arc in arcs] for file, arcs in self._arcs.items()})


def _unpacked(arc: int) -> tuple[int, int]:
    """Return the two lines that the tracer has packed in a number of two times 28 bits and their signs."""
    first, other = arc & 0xFFFFFFF, arc >> 28 & 0xFFFFFFF
    return -first if arc >> 56 & 1 else first, -other if arc >> 57 & 1 else other


_STARTING = Lock()


@cache
def started() -> Forks:
    return Forks()


def forks() -> Forks:
    """Return the process that forks commands, which the first caller of any thread starts."""
    with _STARTING:
        return started()


def serve(descriptor: int) -> None:
    """Load the program, then fork for each command until standard input is closed."""
    from chatsvc.__main__ import main
    from chatsvc.cli.main import COMMANDS, chatsvc
    from chatsvc.engines.knowledge.search import lexicon, topics
    from chatsvc.language import values
    from chatsvc.services.administration import OPERATIONS

    read_one_root_certificate()
    for name in COMMANDS:
        chatsvc.get_command(click.Context(chatsvc), name)
    for operation in OPERATIONS.values():
        operation.function()
    for module in LOADED:
        import_module(module)
    lexicon.shared()
    topics.shared()
    values.load()
    os.umask(0o022)  # that of the tests may have been narrowed by a service in their own process
    # That of `python -c`: the folder of this moment, which a command changes.
    sys.path.remove("")
    listener = socket.socket(fileno=descriptor)
    measured = Measured()
    gc.disable()
    gc.freeze()
    _fork(listener, measured, lambda: _run(main, measured))


def _fork(listener: socket.socket, measured: Measured, run: Callable[[], int]) -> None:
    """Fork a command for each connection. Send its process id and its exit status; kill it where nobody waits for it any more."""
    running: dict[int, tuple[int, socket.socket]] = {}  # commands and their callers, by the descriptor that tells of the command's end
    ready: list[Any] = []
    while measured.incoming in ready or sys.stdin not in ready:
        callers = [connection for _, connection in running.values()]
        ready, _, _ = select.select([listener, measured.incoming, sys.stdin, *running, *callers], [], [])
        for ended, (command, connection) in list(running.items()):
            if ended not in ready and connection not in ready:
                continue
            if ended not in ready:
                os.kill(command, signal.SIGKILL)
            del running[ended]
            status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
            with closing(connection), suppress(OSError):
                connection.sendall(str(status).encode())
            os.close(ended)
        if measured.incoming in ready:
            measured.add()
        elif listener in ready:
            connection, _ = listener.accept()
            size, outputs, _, _ = socket.recv_fds(connection, _SIZE, 2)
            request = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
            command = os.fork()
            if command == 0:
                for held in (listener, connection, *callers):
                    held.close()
                _become(json.loads(request), outputs)
                os._exit(run())
            for output in outputs:
                os.close(output)
            running[os.pidfd_open(command)] = command, connection
            connection.sendall(command.to_bytes(_SIZE, "big"))
    measured.save()


def _become(request: dict[str, Any], outputs: list[int]) -> None:
    for target, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, target)
        os.close(output)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if (measuring := _coverage()) is not None and COVERAGE not in os.environ:
        measuring.stop()
    sys.argv = ["chatsvc", *request["arguments"]]


def _run(main: Callable[[], None], measured: Measured) -> int:
    """Run the command; its exit status. Clearing all that is loaded away would take longer than most commands."""
    status: Any = 0
    try:
        main()
    except SystemExit as ended:
        status = ended.code or 0
    sys.stdout.flush()
    measured.send()
    return int(status)


def _coverage() -> Coverage | None:
    if "coverage" not in sys.modules:
        return None
    from coverage import Coverage

    return Coverage.current()
