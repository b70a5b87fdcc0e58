"""PostgreSQL connections: addresses, opening, execution of the store's SQL, and translation of errors.

SQL is translated by store/postgres/dialect.py.
"""

import os
import select
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
from psycopg import errors
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import BytesBinaryDumper, StrDumper, TextLoader

from chatsvc.store.database import ConstraintViolated, StoreFault, StoreUnavailable
from chatsvc.store.postgres.dialect import translate

CONNECT_S = 3
OLDEST = 15
MOST_PREPARED = 200
STATEMENT_S = 60  # after this a statement of a process that serves is ended: its caller has been refused long before
# A peer that is cut off is noticed on both sides within about 8 seconds.
_CLIENT = {"keepalives": 1, "keepalives_idle": 3, "keepalives_interval": 1, "keepalives_count": 3, "tcp_user_timeout": 6000}
_SESSION = {
    "client_encoding": "UTF8",
    "tcp_keepalives_idle": 3,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 6000,
    "synchronous_commit": "on",
    # As SQLite does: plans are kept, and one that reads a table from end to end while it is small, such as that of the open turns, is kept
    # when it has grown. Without `jit`, which would compile whatever has no index.
    "enable_seqscan": "off",
    "jit": "off",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
}
_READER = {"idle_in_transaction_session_timeout": "60s"}
# Set once the server has been chosen: libpq takes one whose sessions begin so for a standby.
_READ_ONLY = "SET default_transaction_read_only = on"
_LOCAL = ("localhost", "127.0.0.1", "::1")
# The address alone says where the store is and who asks: libpq reads no file of the user's, and writes to no standby server.
_FIXED = {"passfile": "/nonexistent/pgpass", "gssencmode": "disable", "sslcertmode": "disable", "target_session_attrs": "primary"}


class PostgresTarget(NamedTuple):
    """Address of a database: parameters of a connection, a text for messages without secrets, and whether it is on this machine."""

    parameters: Mapping[str, Any]
    name: str
    is_local: bool


def target(parameters: Mapping[str, str], password: str | None, authorities: str | None = None) -> PostgresTarget:
    """Complete the parameters of an address. By default, connections to other machines are encrypted and the server is verified.

    The parameter `sslmode` overrides this. `authorities` is the file of the system's root certificates, used if the address names none.
    """
    hosts, port = parameters["host"].split(","), parameters.get("port", "5432")
    is_local = all(host.startswith("/") or host in _LOCAL for host in hosts)
    chosen: dict[str, Any] = {**_CLIENT, **_FIXED, "port": port, "connect_timeout": CONNECT_S, **parameters}
    if "sslmode" not in chosen:
        chosen["sslmode"] = "disable" if is_local else "verify-full"
    if chosen["sslmode"].startswith("verify") and authorities:
        chosen.setdefault("sslrootcert", authorities)
    if "sslcert" in chosen:
        chosen["sslcertmode"] = "allow"
    if password is not None:
        chosen["password"] = password
    servers = ", ".join(f"{host}:{number}" for host, number in zip(hosts, port.split(","), strict=True))
    return PostgresTarget(chosen, f"PostgreSQL at {servers}, database {parameters['dbname']}", is_local)


class _Flag(Dumper):
    """Dumper (of psycopg) that sends booleans as numbers, as in SQLite."""

    oid = 20

    def dump(self, obj: bool) -> Buffer | None:
        return b"1" if obj else b"0"


class _Integer(Int8Dumper):
    """Dumper (of psycopg) for integers of up to 64 bits. Greater numbers raise OverflowError, as in SQLite's driver."""

    def dump(self, obj: int) -> Buffer | None:
        if not -(1 << 63) <= obj < 1 << 63:
            raise OverflowError("a number does not fit into 64 bits")
        return super().dump(obj)


class _Truth(Loader):
    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


class _Number(Loader):
    """Loader (of psycopg) for sums of whole numbers, which PostgreSQL returns as `numeric`."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return float(text) if b"." in text else int(text)


class _PipelineCursor(psycopg.RawCursor[tuple[Any, ...]]):
    """A Cursor. In a pipeline it waits for the result of its statement only when the rows are first read."""

    @property
    def rowcount(self) -> int:
        """The number of rows; waits for all statements of the pipeline."""
        if super().rowcount < 0 and self.connection.info.pipeline_status:
            with self.connection.pipeline():
                pass
        return super().rowcount


class PostgresConnection:
    """A connection that executes the store's SQL. Its users begin and end the transactions."""

    def __init__(self, driver: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.driver = driver

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> Any:
        """Translate and execute a statement, like Connection.execute."""
        try:
            text, arranged = translate(statement, values)
        except LookupError:
            raise psycopg.ProgrammingError("a parameter of the statement has no value") from None
        return self.driver.execute(text, arranged)

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send the statements of a `with` block together. Errors are raised when a result is needed, or at the end of the block.

        A nested block joins the outer block.
        """
        if self.driver.info.pipeline_status:
            yield
            return
        with self.driver.pipeline() as pipeline:
            try:
                yield
            except BaseException:
                # The rest of the answers says the same once more.
                with suppress(psycopg.Error):
                    pipeline.sync()
                raise

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Execute a statement for each row of values, like Connection.executemany."""
        with self.pipeline():
            for row in rows:
                self.execute(statement, row)

    def run_script(self, script: str) -> None:
        """Run statements without parameters."""
        self.driver.execute(script.encode(), prepare=False)

    @property
    def is_usable(self) -> bool:
        """Whether the connection is still usable."""
        return not self.driver.closed

    def close_if_cut(self) -> None:
        """Close the connection if the server has sent data: it writes to an idle session only to end the session."""
        poll = select.poll()
        poll.register(self.driver.fileno(), select.POLLIN)
        if poll.poll(0):
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self.driver.close()


def arguments(
    address: PostgresTarget, *, writes: bool = True, name: str = "chatsvc", within_s: int = CONNECT_S, statement_s: int = 0
) -> dict[str, Any]:
    """Return the arguments of psycopg.connect. `statement_s` limits each statement, in seconds; 0 is no limit. Raises StoreUnavailable."""
    if "PGSERVICE" in os.environ:
        raise StoreUnavailable(f"{address.name}: libpq would read another address from PGSERVICE; unset that variable")
    # Of parameters that libpq would take from the process's environment its defaults are given: the address alone says where the store is.
    known = [option for option in psycopg.pq.Conninfo.get_defaults() if option.envvar and option.envvar.decode() in os.environ]
    unset: dict[str, Any] = {option.keyword.decode(): (option.compiled or b"").decode() for option in known}
    settings = {**_SESSION, **({} if writes else _READER), "statement_timeout": f"{statement_s}s"}
    options = " ".join(f"-c {setting}={value}" for setting, value in settings.items())
    return {**unset, **address.parameters, "connect_timeout": within_s, "options": options, "application_name": name, "autocommit": True}


def connect(address: PostgresTarget, *, writes: bool, **more: Any) -> PostgresConnection:
    """Open a connection; raises StoreUnavailable. `arguments` describes the parameters."""
    try:
        driver = psycopg.connect(**arguments(address, writes=writes, **more), cursor_factory=_PipelineCursor)
        driver.prepared_max = MOST_PREPARED
        if not writes:
            driver.execute(_READ_ONLY)
    except psycopg.Error as fault:
        raise outage(fault, address) from None
    if driver.info.server_version < OLDEST * 10_000:
        version = driver.info.server_version // 10_000
        driver.close()
        raise StoreUnavailable(f"{address.name} has version {version}; chatsvc needs PostgreSQL {OLDEST} or newer")
    encoding = driver.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        driver.close()
        raise StoreUnavailable(f"{address.name} has the encoding {encoding}: create it with ENCODING UTF8, which holds all characters")
    adapters = driver.adapters
    adapters.register_dumper(bool, _Flag)
    adapters.register_dumper(int, _Integer)
    adapters.register_dumper(str, StrDumper)
    adapters.register_dumper(bytes, BytesBinaryDumper)
    adapters.register_loader("bool", _Truth)
    adapters.register_loader("numeric", _Number)
    adapters.register_loader("json", TextLoader)
    return PostgresConnection(driver)


@contextmanager
def connected(address: PostgresTarget, *, writes: bool = False, **more: Any) -> Iterator[PostgresConnection]:
    """Open a connection for a `with` block. Raises StoreUnavailable, also if the server refuses a statement in the block."""
    connection = connect(address, writes=writes, **more)
    try:
        yield connection
    except psycopg.Error as fault:
        raise outage(fault, address) from None
    finally:
        connection.close()


def outage(fault: psycopg.Error, address: PostgresTarget) -> StoreUnavailable:
    """Convert an error to a StoreUnavailable with a text of one line. PostgreSQL's text may contain host and user, never the password."""
    message = fault.diag.message_primary or str(fault)
    return StoreUnavailable(f"{address.name}: {' '.join(message.split())}")


_OUTAGES = (errors.OperationalError, errors.InterfaceError, errors.InternalError, errors.InsufficientPrivilege)


def translated(fault: BaseException, address: PostgresTarget) -> BaseException:
    """Translate an error of the driver into StoreUnavailable, StoreFault or ConstraintViolated. Others are returned as they are."""
    if not isinstance(fault, psycopg.Error):
        return fault
    if isinstance(fault, _OUTAGES):
        return outage(fault, address)
    # The details of an error, which tracebacks show, contain the values of a row.
    text = fault.diag.message_primary or type(fault).__name__
    return ConstraintViolated(text) if isinstance(fault, errors.IntegrityError) else StoreFault(text)
