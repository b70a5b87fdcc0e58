"""E-mail addresses that get no mail with an answer: their owners want none from an account, or they got enough for a day.

Of the owners' wishes the addresses' digests alone are stored.
"""

from __future__ import annotations

from chatsvc.domain.mails import ANSWER, ANSWERS_A_DAY, DAILY_LIMIT, STOPPED, address_digest
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, reads, writes


@writes
def add(connection: Connection, account_id: str, digest: bytes, now: int) -> None:
    """Send an address no more mails with answers."""
    connection.execute(
        """
        INSERT INTO mail_stops (account_id, digest, created_at) SELECT ?1, ?2, ?3
        WHERE NOT EXISTS (SELECT 1 FROM mail_stops WHERE account_id = ?1 AND digest = ?2)
        """,
        (account_id, digest, now),
    )


def refusal(connection: Connection, bot_id: str, recipient: str, now: int) -> str | None:
    """Find the same within a unit: STOPPED, DAILY_LIMIT or None."""
    stopped = connection.execute(
        "SELECT 1 FROM bots b JOIN mail_stops s ON s.account_id = b.account_id AND s.digest = ? WHERE b.id = ?",
        (address_digest(recipient), bot_id),
    ).fetchone()
    if stopped is not None:
        return STOPPED
    # Whether one that is `unknown` arrived nobody knows.
    (sent,) = connection.execute(
        f"""
        SELECT count(*) FROM mails WHERE kind = '{ANSWER}' AND recipient = ? AND created_at > ?
            AND state IN ('sending', 'sent', 'unknown')
        """,
        (recipient, now - DAY_MS),
    ).fetchone()
    return DAILY_LIMIT if sent >= ANSWERS_A_DAY else None


find = reads(refusal)
