"""`chatsvc nodes`: list the processes over the store."""

from __future__ import annotations

from chatsvc.cli.operations import operation

COLUMNS = ("id", "since", "listen", "version")


@operation(None, "node.list", columns=COLUMNS)
def nodes() -> None:
    """List the processes of this service, and since when they work.

    A process that has died is listed for at most 15 seconds. With SQLite there is one process.

    \b
    Examples:
      chatsvc nodes
      chatsvc nodes --json
    """
