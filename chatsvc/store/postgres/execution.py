"""Execution of statements over libpq, prepared and in pipelines.

Not with psycopg's cursors: for a short statement they take several times as long as libpq, and a message takes twenty statements. psycopg
opens the connection, and adapts parameters and rows.
"""

from __future__ import annotations

import select
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import psycopg
from psycopg import errors, pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq.abc import PGresult

PREPARED_FROM = 5  # uses
MOST_PREPARED = 200
MOST_COUNTED = 2_000

_Key = tuple[str, tuple[int, ...]]  # a statement, and the types of its parameters


class Result:
    """A Cursor. In a pipeline it waits for the statement where its rows are first asked for."""

    __slots__ = ("_count", "_execution", "_rows", "has_arrived")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._count = 0
        self.has_arrived = False

    def arrive(self, rows: list[tuple[Any, ...]], rowcount: int) -> None:
        """Take over what the server has answered."""
        self._rows, self._count, self.has_arrived = iter(rows), rowcount, True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.has_arrived:
            self._execution.wait_for(self)
        return self._rows

    @property
    def rowcount(self) -> int:
        """The number of rows."""
        iter(self)
        return self._count

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, None behind the last one."""
        return next(iter(self), None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rest of the rows."""
        return list(self)

    def close(self) -> None:
        """Do nothing: all rows are here."""


class Execution:
    """Statements of one connection. Each is sent at once, and in a pipeline when a result is needed or the pipeline ends."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self._server = driver.pgconn
        self._adapter = Transformer(driver)
        self._prepared: dict[_Key, bytes] = {}
        self._uses: Counter[_Key] = Counter()
        self._numbers = count()
        # In the order of sending. A key stands for the preparation of a statement.
        self._pending: deque[Result | _Key] = deque()
        self._is_pipelined = False
        self._readable, self._ready = select.poll(), select.poll()
        self._readable.register(self._server.socket, select.POLLIN)
        self._ready.register(self._server.socket, select.POLLIN | select.POLLOUT)

    def execute(self, text: str, values: Sequence[Any]) -> Result:
        """Run a statement with the parameters $1, $2 ...; raises psycopg.Error."""
        if not self._is_pipelined:
            with self.pipeline():
                return self.execute(text, values)
        server, adapter = self._server, self._adapter
        parameters = adapter.dump_sequence(values, [PyFormat.AUTO] * len(values))
        key = text, tuple(adapter.types or ())
        formats = adapter.formats
        name = self._prepared.get(key) or self._prepare(key)
        if name is None:
            server.send_query_params(text.encode(), parameters, param_types=key[1], param_formats=formats)
        else:
            server.send_query_prepared(name, parameters, param_formats=formats)
        self._pending.append(result := Result(self))
        return result

    def _prepare(self, key: _Key) -> bytes | None:
        """Prepare a statement that is used often."""
        self._uses[key] += 1
        if self._uses[key] < PREPARED_FROM or len(self._prepared) == MOST_PREPARED:
            if len(self._uses) > MOST_COUNTED:
                self._uses.clear()
            return None
        name = self._prepared[key] = b"s%d" % next(self._numbers)
        self._server.send_prepare(name, key[0].encode(), param_types=key[1])
        self._pending.append(key)
        return name

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send the statements of the block together; their faults are raised where a result is needed, or in the end.

        A block within another one is part of it.
        """
        if self._is_pipelined:
            yield
            return
        self._server.enter_pipeline_mode()
        self._is_pipelined = True
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self._end()
            raise
        else:
            self._end()

    def _end(self) -> None:
        server = self._server
        fault: psycopg.Error | None = None
        try:
            server.pipeline_sync()
            self._flush()
            while self._pending:
                try:
                    self._take_next()
                except psycopg.Error as raised:
                    if server.status == pq.ConnStatus.BAD:
                        raise
                    fault = fault or raised
            self._receive()  # the answer to the sync
            server.exit_pipeline_mode()
        finally:
            self._pending.clear()
            self._is_pipelined = False
        if fault is not None:
            raise fault

    def wait_for(self, result: Result) -> None:
        """Wait for a result; raises the fault of its statement or of an earlier one."""
        self._server.send_flush_request()
        self._flush()
        while not result.has_arrived:
            self._take_next()

    def _take_next(self) -> None:
        if not self._pending:
            raise errors.PipelineAborted("an earlier statement has failed")
        waiting = self._pending.popleft()
        answer = self._receive()
        while self._receive() is not None:
            pass
        if answer is None or answer.status not in {pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK}:
            if not isinstance(waiting, Result):
                del self._prepared[waiting]
            raise self._fault(answer)
        if isinstance(waiting, Result):
            self._adapter.set_pgresult(answer)
            waiting.arrive(self._adapter.load_rows(0, answer.ntuples, tuple), answer.command_tuples or 0)

    def _fault(self, answer: PGresult | None) -> psycopg.Error:
        if self._server.status == pq.ConnStatus.BAD or answer is None:
            return errors.OperationalError(self._server.get_error_message())
        if answer.status == pq.ExecStatus.PIPELINE_ABORTED:
            return errors.PipelineAborted("an earlier statement has failed")
        return errors.error_from_result(answer, encoding="utf-8")

    def _flush(self) -> None:
        """Send what was queued. While the server takes no more, read what it has sent."""
        while self._server.flush():
            if any(event & ~select.POLLOUT for _, event in self._ready.poll()):
                self._server.consume_input()

    def _receive(self) -> PGresult | None:
        # libpq would wait with the interpreter's lock.
        while self._server.is_busy():
            self._readable.poll()
            self._server.consume_input()
        return self._server.get_result()
