"""Commands handed to the working process through the store, with their answers and files.

Requests, answers and files arrive here sealed: the callers seal and open them.
"""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.store.database import Connection, Database, Transactions

# An answer that nobody has fetched by then is deleted: the process that asked has died.
KEPT_MS = 3_600_000
TAKEN_WITHIN_MS = 30_000


class RemoteCommand(NamedTuple):
    """State of a command. `taken_by`: the process that performs it; `parts`: of the file that belongs to the answer."""

    taken_by: str | None
    answer: bytes | None
    parts: int


async def post(db: Transactions, command: str, request: bytes) -> None:
    """Hand a command over."""

    def unit(connection: Connection) -> None:
        connection.execute(
            "INSERT INTO remote_commands (id, sealed_request, created_at, parts) VALUES (?, ?, clock_ms(), 0)", (command, request)
        )

    await db.write(unit)


async def withdraw(db: Transactions, command: str) -> bool:
    """Take a command back. Returns False where a process performs it already."""

    def unit(connection: Connection) -> bool:
        return connection.execute("DELETE FROM remote_commands WHERE id = ? AND taken_by IS NULL", (command,)).rowcount == 1

    return await db.write(unit)


async def find(db: Transactions, command: str) -> RemoteCommand | None:
    """Look what became of a command."""

    def unit(connection: Connection) -> RemoteCommand | None:
        row = connection.execute("SELECT taken_by, sealed_answer, parts FROM remote_commands WHERE id = ?", (command,)).fetchone()
        return RemoteCommand(*row) if row else None

    return await db.write(unit)


async def file_part(db: Transactions, command: str, part: int) -> bytes:
    """Read a part of the file that belongs to an answer."""

    def unit(connection: Connection) -> bytes:
        (content,) = connection.execute("SELECT sealed_part FROM remote_files WHERE command = ? AND part = ?", (command, part)).fetchone()
        return bytes(content)

    return await db.write(unit)


async def remove(db: Transactions, command: str) -> None:
    """Remove a command with its answer."""

    def unit(connection: Connection) -> None:
        connection.execute("DELETE FROM remote_files WHERE command = ?", (command,))
        connection.execute("DELETE FROM remote_commands WHERE id = ?", (command,))

    await db.write(unit)


async def take(db: Database, node: str) -> list[tuple[str, bytes]]:
    """Take the commands that wait, and delete old ones. Each is taken once, also when the process dies before it has performed it."""

    def wait(connection: Connection) -> bool:
        found = "SELECT 1 FROM remote_commands WHERE taken_by IS NULL OR created_at < clock_ms() - ? LIMIT 1"
        return connection.execute(found, (KEPT_MS,)).fetchone() is not None

    def unit(connection: Connection) -> list[tuple[str, bytes]]:
        old = "SELECT id FROM remote_commands WHERE created_at < clock_ms() - ?"
        connection.execute(f"DELETE FROM remote_files WHERE command IN ({old})", (KEPT_MS,))
        connection.execute("DELETE FROM remote_commands WHERE created_at < clock_ms() - ?", (KEPT_MS,))
        rows = connection.execute(
            "UPDATE remote_commands SET taken_by = ? WHERE taken_by IS NULL AND created_at > clock_ms() - ? RETURNING id, sealed_request",
            (node, TAKEN_WITHIN_MS),
        )
        return [(row[0], bytes(row[1])) for row in rows]

    return await db.write(unit) if await db.read(wait) else []


async def put_file_part(db: Database, command: str, part: int, content: bytes) -> None:
    """Store a part of the file that belongs to an answer."""

    def unit(connection: Connection) -> None:
        connection.execute("INSERT INTO remote_files (command, part, sealed_part) VALUES (?, ?, ?)", (command, part, content))

    await db.write(unit)


async def settle(db: Database, command: str, answer: bytes, parts: int) -> None:
    """Store the answer to a command."""

    def unit(connection: Connection) -> None:
        connection.execute("UPDATE remote_commands SET sealed_answer = ?, parts = ? WHERE id = ?", (answer, parts, command))

    await db.write(unit)
