"""Membership of a process in the work on a store: its row in the list of processes, and the schema that it knows.

Each transaction checks both. A process that the others have taken for dead writes nothing of what it had begun, and enters anew.
"""

from __future__ import annotations

from chatsvc.domain.nodes import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import STATEMENT_S, PostgresConnection, PostgresTarget
from chatsvc.store.postgres.lock import BEGIN_IN_TURN
from chatsvc.store.postgres.migrations import VERSION, check_schema, migrate
from chatsvc.store.sqlite.migrations import MIGRATIONS

_BEGIN = f"""
    {BEGIN_IN_TURN};
    SELECT pg_current_xact_id()::text, EXISTS (SELECT 1 FROM nodes WHERE id = current_setting('chatsvc.node')), version FROM {VERSION}
"""


class Replaced(StoreUnavailable):
    """A newer version works on the store: this process can only end."""


class Membership:
    """Membership of one process."""

    def __init__(self, node: ServiceNode, place: PostgresTarget) -> None:
        self.node = node
        self.leaves = False  # a process that ends does not enter anew
        self._place = place

    def enter(self, connection: PostgresConnection) -> None:
        """Take up the work. The first process of a newer version migrates. Raises SchemaTooNew and StoreUnavailable."""
        migrate(connection, self._place)
        self._name(connection)
        self._note(connection)

    def enter_again(self, connection: PostgresConnection) -> None:
        """Go on after the session broke. Raises Replaced and StoreUnavailable."""
        if check_schema(connection, self._place) != len(MIGRATIONS):
            raise self._replaced()
        self._name(connection)

    def begin(self, connection: PostgresConnection) -> str:
        """Begin a transaction and return its number. Raises Replaced, and StoreUnavailable where the process was taken for dead."""
        transaction, is_listed, version = connection.run_script(_BEGIN)
        if version == len(MIGRATIONS) and is_listed:
            return str(transaction)
        # The other processes wait for this transaction.
        connection.driver.execute("ROLLBACK")
        if version != len(MIGRATIONS):
            raise self._replaced()
        if not self.leaves:
            self._note(connection)
        raise StoreUnavailable(f"{self._place.name}: the other processes had taken this one for dead")

    def _replaced(self) -> Replaced:
        return Replaced(f"a newer version has taken over {self._place.name}")

    def _name(self, connection: PostgresConnection) -> None:
        """Name the process of a session, for its transactions, whose statements end in time. Migrations may take longer."""
        connection.set_statement_timeout(STATEMENT_S)
        connection.execute("SELECT set_config('chatsvc.node', ?, false)", (self.node.id,))

    def _note(self, connection: PostgresConnection) -> None:
        connection.run_script(BEGIN_IN_TURN)
        nodes.note(connection, self.node)
        connection.driver.execute("COMMIT")
