"""A real PostgreSQL for the tests. Each path of a SQLite file stands for a database of its own."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from chatsvc.domain.models import ServiceNode
from chatsvc.services.operations.stores import OneProcess, SeveralProcesses, StoreChoice
from chatsvc.store.batches import READERS
from chatsvc.store.database import Database
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import PostgresTarget, connect, target
from chatsvc.store.postgres.group_commit import FOR_OTHERS, PostgresDatabase
from chatsvc.store.postgres.migrations import migrate
from chatsvc.store.sqlite.connection import open_writer
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase

USER, PASSWORD = "chatsvc", "a password"
_SETTINGS = {"fsync": "off", "max_connections": "200", "shared_buffers": "32MB"}


# The kernel ends the server when the tests are killed.
WITH_PARENT = ["setpriv", "--pdeathsig", "QUIT"] if shutil.which("setpriv") else []


def program(name: str) -> str | None:
    """Find one of PostgreSQL's programs, the newest: Debian keeps them off the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)
    return shutil.which(name, path=os.pathsep.join(map(str, [*debian, "/usr/local/bin"]))) or shutil.which(name)


def require_programs() -> None:
    """Skip the test where PostgreSQL is not installed. With CHATSVC_NEEDS_POSTGRES, as in CI, it fails."""
    if program("initdb") is None or program("postgres") is None:
        reason = "PostgreSQL is not on this machine (apt-get install postgresql)"
        if os.environ.get("CHATSVC_NEEDS_POSTGRES"):
            pytest.fail(reason)
        pytest.skip(reason)


# The server in which the test of this moment has its stores; none where it has them in SQLite.
RUNNING: list[Postgres] = []


def free_port() -> int:
    """Find a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


class Postgres:
    """A running server; its superuser owns nothing of the service's."""

    def __init__(self, *, listens: bool = False, is_durable: bool = False, standby_of: Postgres | None = None) -> None:
        """Start it. With `listens` it takes connections at `port` too, with the password of the user.

        standby_of: a server whose commits wait from now on for this one, which takes no writes until it is promoted.
        """
        self._databases: dict[Path, str] = {}
        self.port = free_port() if listens else 5432
        self._options = [f"-cport={self.port}", f"-clisten_addresses={'127.0.0.1' if listens else ''}"]
        self._options += [f"-c{name}={value}" for name, value in ({} if is_durable else _SETTINGS).items()]
        self._migrated: str | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="chatsvc-postgres-"))
        # Root may not run it.
        self._as = {"user": "nobody", "extra_groups": []} if os.getuid() == 0 else {}
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self.folder.chmod(0o755)
        try:
            if standby_of is None:
                access = ("--auth-local=trust", "--auth-host=scram-sha-256")
                self._run("initdb", "-D", str(self.data), "-U", "admin", *access, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
            else:
                options = ("-h", str(standby_of.folder), "-p", str(standby_of.port), "-U", "admin")
                self._run("pg_basebackup", "-D", str(self.data), *options, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
            self.process = self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        if standby_of is not None:
            standby_of.administer("ALTER SYSTEM SET synchronous_standby_names = '*'")
            standby_of.administer("SELECT pg_reload_conf()")
            return
        self.administer(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run([program(name) or name, *arguments], check=True, capture_output=True, cwd="/", **self._as)  # type: ignore[call-overload]

    def start(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers."""
        line = [*WITH_PARENT, program("postgres") or "postgres", "-D", str(self.data), f"-cunix_socket_directories={self.folder}"]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
                [*line, *self._options], stdout=log, stderr=log, cwd="/", **self._as
            )
        for _ in range(200):
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if process.poll() is not None:
                    break
                time.sleep(0.05)
            else:
                self.process = process
                return process
        process.kill()
        process.wait()
        raise RuntimeError((self.folder / "log").read_text())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Have stores opened here; drop their databases afterwards."""
        RUNNING.append(self)
        try:
            yield
        finally:
            RUNNING.remove(self)
            for name in self._databases.values():
                self.administer(f"DROP DATABASE {name} WITH (FORCE)")
            self._databases.clear()

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Connect as the superuser; each statement is a transaction."""
        return psycopg.connect(host=str(self.folder), port=self.port, user="admin", dbname=database, autocommit=True, connect_timeout=20)

    def administer(self, statement: str) -> None:
        self.run_in("postgres", statement)

    def run_in(self, database: str, statement: str) -> None:
        """Run a statement in a database as its superuser."""
        with self.connect(database) as connection:
            connection.execute(statement.encode())

    def database_of(self, path: Path) -> PostgresTarget:
        """Find the database that stands for a path; it is made empty at first."""
        if path not in self._databases:
            self._databases[path] = self.new_database(self._template())
        return self.target(self._databases[path])

    def _template(self) -> str:
        """Make a database with the schema, once: a copy takes a fraction of the migrations' time."""
        if self._migrated is None:
            name = self.new_database()
            connection = connect(self.target(name), writes=True)
            migrate(connection, self.target(name))
            connection.close()
            self._migrated = name
        return self._migrated

    def processes(self) -> list[int]:
        """Return the ids of the server's processes."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=True)
        return [self.process.pid, *map(int, children.stdout.split())]

    def new_database(self, template: str = "template1") -> str:
        """Make an empty database, or a copy of another one; return its name."""
        name = f"t{uuid.uuid4().hex}"
        self.administer(f"CREATE DATABASE {name} OWNER {USER} TEMPLATE {template} STRATEGY file_copy")
        return name

    def target(self, name: str) -> PostgresTarget:
        return target({"host": str(self.folder), "port": str(self.port), "user": USER, "dbname": name}, None)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            for process in self.processes():
                os.kill(process, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder)


def _copy_empty_store(path: Path) -> None:
    """Put a migrated store without records where there is none. The migrations would take ten times as long."""
    if path.parent.is_dir() and not os.path.lexists(path):
        shutil.copyfile(_empty_store(), path)


@cache
def _empty_store() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="chatsvc-empty-store-"))
    atexit.register(shutil.rmtree, folder)
    open_writer(folder / "chatsvc.db").close()
    return folder / "chatsvc.db"


def is_sqlite(path: Path) -> bool:
    """Return whether the store of a test is a file. The service in its process may have another one."""
    return path.exists()


async def open_store(path: Path, key: MasterKey | None = None, *, readers: int = READERS) -> Database:
    """Open the store of a test: SQLite's file, or the database that stands for it where there is no file."""
    if not RUNNING or is_sqlite(path):
        _copy_empty_store(path)
        return await GroupCommitDatabase.open(path, key, readers=readers)
    return await PostgresDatabase.open(RUNNING[0].database_of(path), readers=readers, node=new_node())


def new_node() -> ServiceNode:
    return ServiceNode(f"node {uuid.uuid4()}", 0, "", "1.0")


class _InFile(OneProcess):
    async def open(self, folder: Folder, key: MasterKey, node: ServiceNode, *, serves: bool) -> Database:
        _copy_empty_store(folder.database)
        return await super().open(folder, key, node, serves=serves)


class _InDatabase(SeveralProcesses):
    def __init__(self) -> None:
        self._connections = FOR_OTHERS + READERS

    async def open(self, folder: Folder, key: MasterKey, node: ServiceNode, *, serves: bool) -> Database:
        self._target = RUNNING[0].database_of(folder.database)
        return await super().open(folder, key, node, serves=serves)


def store_of_test() -> StoreChoice:
    """Choose the store of the test: SQLite's file in the data folder, or the database that stands for it."""
    return _InDatabase() if RUNNING else _InFile()


def query(path: Path, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Run one statement on the database of a path, in a session of its own."""
    connection = connect(RUNNING[0].database_of(path), writes=True)
    try:
        return list(connection.execute(statement, values).fetchall())
    finally:
        connection.close()
