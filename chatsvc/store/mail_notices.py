"""Queues mails to operators and visitors, in the transaction that writes their cause; stores addresses that want no answers.

Only the digests of these addresses are stored. store/mails.py has the rest of the queue.
"""

from chatsvc.domain import mails as rules
from chatsvc.domain.captures import Request
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, reads, writes

# Whether the operator `o` wants notices of a kind and may see what they are about: deliveries of webhooks are for owners.
WANTS = """
    EXISTS (SELECT 1 FROM json_each(o.notices) n WHERE n.value = {kind} OR {kind} = 'urgent' AND n.value IN ('request', 'appointment'))
    AND (o.admin = 1 OR EXISTS (SELECT 1 FROM operator_roles r
        WHERE r.operator_id = o.id AND r.account_id = {account} AND ({kind} <> 'webhook' OR r.role = 'owner')))
"""
_NOTE = f"""
    INSERT INTO mails (account_id, kind, operator_id, bot_id, conversation, recipient, causes, state, created_at, due_at)
    SELECT b.account_id, ?2, o.id, b.id, ?3, o.email, ?4, 'queued', ?5, max(?5 + {rules.LEAD_MS}, ?6 + coalesce((SELECT p.settled_at
        FROM mails p WHERE p.operator_id = o.id AND p.account_id = b.account_id AND p.kind = ?2 AND p.state = 'sent'
        ORDER BY p.number DESC LIMIT 1), 0))
    FROM bots b CROSS JOIN operators o WHERE b.id = ?1 AND {WANTS.format(kind="?2", account="b.account_id")}
        AND NOT (?7 <> '' AND EXISTS (SELECT 1 FROM json_each(o.notices) n WHERE n.value = ?7))
    ON CONFLICT (operator_id, account_id, kind) WHERE state = 'queued' AND operator_id IS NOT NULL DO UPDATE SET
        causes = mails.causes + excluded.causes, created_at = excluded.created_at,
        bot_id = CASE mails.bot_id WHEN excluded.bot_id THEN mails.bot_id END,
        conversation = CASE mails.conversation WHEN excluded.conversation THEN mails.conversation END
"""


def note(connection: Connection, kind: str, bot_id: str, conversation: int | None, now: int, *, causes: int = 1, unless: str = "") -> None:
    """Queue notices of a kind for the operators who want them, within the unit that writes the cause.

    Operators who want notices of the kind `unless` are left out, since they get that notice instead.
    """
    connection.execute(_NOTE, (bot_id, kind, conversation, causes, now, rules.PERIODS_MS[kind], unless))


def note_capture(connection: Connection, bot_id: str, conversation: int, request: Request, *, has_appointment: bool) -> None:
    """Queue notices of a new request. Operators who want notices of appointments get a notice of its appointment instead.

    If the request is urgent, all operators who want notices of requests or appointments get one without the usual pause.
    """
    if request.urgent:
        note(connection, rules.URGENT, bot_id, conversation, request.created_at)
        return
    if has_appointment:
        note(connection, rules.APPOINTMENT, bot_id, conversation, request.created_at)
    note(connection, rules.REQUEST, bot_id, conversation, request.created_at, unless=rules.APPOINTMENT if has_appointment else "")


def note_link(connection: Connection, kind: str, recipient: str, now: int) -> None:
    """Queue a mail with a set-up link for an operator, within a unit. Do nothing if one was queued shortly before."""
    connection.execute(
        f"""
        INSERT INTO mails (kind, operator_id, recipient, causes, state, created_at, due_at)
        SELECT ?1, o.id, o.email, 1, 'queued', ?3, ?3 FROM operators o WHERE o.email = ?2 AND NOT EXISTS (
            SELECT 1 FROM mails m WHERE m.operator_id = o.id AND m.kind = ?1 AND m.created_at > ?3 - {rules.LINK_EVERY_MS})
        """,
        (kind, recipient, now),
    )


ask_for_link = writes(note_link)


def note_answer(connection: Connection, bot_id: str, conversation: int, recipient: str, created_at: int) -> None:
    """Queue an answer for a visitor, within the unit that writes the answer. Several answers in a row are sent as one mail."""
    connection.execute(
        f"""
        INSERT INTO mails (account_id, kind, bot_id, conversation, recipient, causes, state, created_at, due_at)
        SELECT b.account_id, 'answer', b.id, ?2, ?3, 1, 'queued', ?4, ?4 + {rules.GONE_MS} FROM bots b WHERE b.id = ?1
        ON CONFLICT (conversation) WHERE state = 'queued' AND kind = 'answer' DO UPDATE SET
            causes = mails.causes + 1, created_at = excluded.created_at, due_at = excluded.due_at, recipient = excluded.recipient
        """,
        (bot_id, conversation, recipient, created_at),
    )


def note_decision(connection: Connection, appointment: int, message: int, recipient: str, created_at: int) -> None:
    """Queue a mail with a message about an appointment, within the unit that writes the message.

    `appointment` and `message` are row numbers.
    """
    row = connection.execute(
        """
        INSERT INTO mails (account_id, kind, bot_id, conversation, recipient, causes, state, created_at, due_at, appointment)
        SELECT c.account_id, ?1, c.bot_id, c.number, ?2, 1, 'queued', ?3, ?3, ?4
        FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.number = ?5 RETURNING number
        """,
        (rules.DECISION, recipient, created_at, appointment, message),
    ).fetchone()
    connection.execute("UPDATE messages SET mail = ? WHERE number = ?", (row[0], message))


@writes
def add_stop(connection: Connection, account_id: str, digest: bytes, now: int) -> None:
    """Store that an address gets no more mails with answers. `digest` is the digest of the address."""
    statement = "INSERT INTO mail_stops (account_id, digest, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    connection.execute(statement, (account_id, digest, now))


def refusal(connection: Connection, bot_id: str, recipient: str, now: int) -> str | None:
    """Return why an address gets no answers by mail (STOPPED or DAILY_LIMIT), within a unit. Return None if it gets answers."""
    # Whether one that is `unknown` arrived nobody knows.
    row = connection.execute(
        f"""
        SELECT CASE WHEN EXISTS (SELECT 1 FROM bots b JOIN mail_stops s ON s.account_id = b.account_id AND s.digest = ?2 WHERE b.id = ?1)
            THEN '{rules.STOPPED}'
            WHEN (SELECT count(*) FROM mails WHERE kind = '{rules.ANSWER}' AND recipient = ?3 AND created_at > ?4
                AND state IN ('sending', 'sent', 'unknown')) >= {rules.ANSWERS_A_DAY} THEN '{rules.DAILY_LIMIT}' END
        """,
        (bot_id, rules.address_digest(recipient), recipient, now - DAY_MS),
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


find_refusal = reads(refusal)
