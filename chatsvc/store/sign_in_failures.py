"""Failed attempts to sign in, of the last 15 minutes. The rules are those of domain/passwords.py.

Strangers cause these rows: an attempt that has to wait writes none, and beyond MOST_FAILURES the oldest are deleted.
"""

from chatsvc.domain import passwords
from chatsvc.domain.passwords import MOST_FAILURES, WINDOW_MS, SignInAttempt, delay_s
from chatsvc.store.database import Connection, Database, change_any, writes


async def begin(db: Database, email: str, place: str, now: int, *, is_known: bool = False) -> SignInAttempt | int:
    """Begin an attempt, which counts as failed until it is `passed`. If there were too many, return the seconds to wait.

    See sign_in_delays.counted. Counting before the password is verified bounds attempts that run at the same time.
    """
    counted = passwords.counted(email, place, is_known=is_known)

    def wait_s(connection: Connection) -> int:
        return -(-max(_wait_ms(connection, key, allowed, now) for key, allowed in counted.items()) // 1000)

    def unit(connection: Connection) -> int:
        wait = wait_s(connection)
        if wait <= 0:
            connection.executemany("INSERT INTO sign_in_failures (key, at) VALUES (?, ?)", [(key, now) for key in counted])
            newest = "SELECT max(number) FROM sign_in_failures"
            connection.execute(f"DELETE FROM sign_in_failures WHERE number <= ({newest}) - ?", (MOST_FAILURES,))
        return wait

    wait = await db.read(wait_s)
    if wait <= 0:
        wait = await db.write(unit)
    return wait if wait > 0 else SignInAttempt(tuple(counted), now)


def _wait_ms(connection: Connection, key: bytes, allowed: int, now: int) -> int:
    # A clock that was set back must not make anybody wait for long.
    failures, last = connection.execute(
        "SELECT count(*), max(at) FROM sign_in_failures WHERE key = ? AND at > ? AND at <= ?", (key, now - WINDOW_MS, now)
    ).fetchone()
    return int(last) + delay_s(failures, allowed) * 1000 - now if failures else 0


@writes
def passed(connection: Connection, attempt: SignInAttempt) -> None:
    """Forget the failures of the attempt's own key. Of what others share, this attempt alone."""
    _withdraw(connection, attempt)
    connection.execute("DELETE FROM sign_in_failures WHERE key = ?", (attempt.keys[0],))


def _withdraw(connection: Connection, attempt: SignInAttempt) -> None:
    """Take back an attempt that was neither right nor wrong."""
    one = "SELECT max(number) FROM sign_in_failures WHERE key = ? AND at = ?"
    connection.executemany(f"DELETE FROM sign_in_failures WHERE number = ({one})", [(key, attempt.attempted_at) for key in attempt.keys])


withdraw = writes(_withdraw)


async def forget_old(db: Database, now: int) -> None:
    """Delete the failures that delay nothing any more."""
    old = "FROM sign_in_failures WHERE at <= ?"
    await change_any(db, f"SELECT 1 {old} LIMIT 1", (now - WINDOW_MS,), f"DELETE {old}")
