"""Membership of a process in the work on a store: its row in the list of processes, and the schema that it knows.

Each transaction checks both, and numbers itself in the row: after a lost answer to a commit the row tells whether it took place. A process
that the others have taken for dead writes nothing of what it had begun, and enters anew.
"""

from chatsvc.domain.models import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import STATEMENT_S, PostgresConnection, PostgresTarget
from chatsvc.store.postgres.migrations import BEGIN_IN_TURN, VERSION, WAIT_TURN, check_schema, migrate
from chatsvc.store.sqlite.migrations import newest

_NUMBER = f"UPDATE nodes SET written = ? WHERE id = ? RETURNING (SELECT version FROM {VERSION})"


class Replaced(StoreUnavailable):
    """A newer version works on the store: this process can only end."""


class TakenForDead(StoreUnavailable):
    """The other processes have removed this one."""


class Membership:
    """Membership of one process."""

    def __init__(self, node: ServiceNode, address: PostgresTarget) -> None:
        self.node = node
        self._written = 0
        self._address = address

    def enter(self, connection: PostgresConnection) -> None:
        """Take up the work. The first process of a newer version migrates. Raises SchemaTooNew and StoreUnavailable."""
        migrate(connection, self._address)
        connection.set_statement_timeout(STATEMENT_S)
        self.note(connection)

    def enter_again(self, connection: PostgresConnection) -> None:
        """Go on after the session broke. Raises Replaced and StoreUnavailable."""
        if check_schema(connection, self._address) != newest():
            raise self._replaced()
        connection.set_statement_timeout(STATEMENT_S)

    def begin(self, connection: PostgresConnection) -> None:
        """Begin a transaction when it comes to its turn. Raises Replaced and TakenForDead."""
        self._written += 1
        connection.execute("BEGIN")
        connection.execute(WAIT_TURN)
        row = connection.execute(_NUMBER, (self._written, self.node.id)).fetchone()
        if row is None:
            raise TakenForDead(f"{self._address.name}: the other processes had taken this one for dead")
        if row != (newest(),):
            raise self._replaced()

    def has_written(self, connection: PostgresConnection) -> bool:
        """Report whether the latest transaction took place. It has ended when this one comes to its turn."""
        connection.run_script(BEGIN_IN_TURN)
        row = connection.execute("SELECT written FROM nodes WHERE id = ?", (self.node.id,)).fetchone()
        return bool(row == (self._written,))

    def note(self, connection: PostgresConnection) -> None:
        """Add the process to the list. The number stays that of its latest transaction."""
        connection.run_script(BEGIN_IN_TURN)
        nodes.note(connection, self.node)
        connection.driver.execute("COMMIT")

    def _replaced(self) -> Replaced:
        return Replaced(f"a newer version has taken over {self._address.name}")
