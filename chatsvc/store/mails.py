"""Queue of mails: lists them, marks due ones before sending, and writes outcomes and retries.

store/mail_notices.py queues notices and answers, each in the transaction of its cause.

A later cause is added to the mail that is queued already: an operator has at most one queued mail of each kind and account. A mail is
marked as `sending` before its message is written to the server. If it is still marked when a process starts, it may have been sent.
"""

from typing import NamedTuple

from chatsvc.domain import mails as rules
from chatsvc.domain.mails import Mail, MailOutcome, MailState
from chatsvc.domain.models import WAITING
from chatsvc.store import mail_notices, operators
from chatsvc.store.database import LAST, Connection, Database, change_any, reads, writes
from chatsvc.store.mail_notices import WANTS
from chatsvc.store.nodes import orphaned
from chatsvc.store.operators import SetupLink

_WANTED_NOW = WANTS.format(kind="m.kind", account="m.account_id")
_WAITING_NOW = """
    SELECT count(*) FROM conversations c INDEXED BY conversations_handed_off
    WHERE c.handling <> 'bot' AND c.handling = 'waiting' AND c.account_id = ?1 AND (?2 IS NULL OR c.number = ?2)
"""


MOST_DETAILS = 10
# The newest causes of a notice: of the account ?1, of the conversation ?2 or any, ?3 of them, for the operator ?4.
_WAITING = f"""
    SELECT b.name, c.visitor_name, NULL, NULL, coalesce((SELECT q.content FROM messages q
        WHERE q.conversation = c.number AND q.role = 'user' ORDER BY q.number DESC LIMIT 1), '')
    FROM conversations c INDEXED BY conversations_handed_off CROSS JOIN bots b ON b.id = c.bot_id
    WHERE c.handling <> 'bot' AND c.handling = '{WAITING}' AND c.account_id = ?1 AND (?2 IS NULL OR c.number = ?2) AND ?4 IS NOT NULL
    ORDER BY c.handling_since DESC LIMIT ?3
"""
_RECORDS = """
    SELECT b.name, r.visitor_name, a.appointment_date, a.appointment_time, r.message
    FROM bots b CROSS JOIN requests r
        ON r.number IN (SELECT n.number FROM requests n WHERE n.bot_id = b.id ORDER BY n.number DESC LIMIT 100)
    LEFT JOIN appointments a ON a.request = r.number
    WHERE b.account_id = ?1 AND (?2 IS NULL OR r.conversation = ?2) AND {condition} ORDER BY r.number DESC LIMIT ?3
"""
_WANTS_APPOINTMENTS = "EXISTS (SELECT 1 FROM operators o CROSS JOIN json_each(o.notices) n WHERE o.id = ?4 AND n.value = 'appointment')"
_DETAILS = {
    WAITING: _WAITING,
    rules.REQUEST: _RECORDS.format(condition=f"r.urgent = 0 AND (a.number IS NULL OR NOT {_WANTS_APPOINTMENTS})"),
    rules.APPOINTMENT: _RECORDS.format(condition="r.urgent = 0 AND a.number IS NOT NULL AND ?4 IS NOT NULL"),
    rules.URGENT: _RECORDS.format(condition="r.urgent = 1 AND ?4 IS NOT NULL"),
}


def _claim_answers(connection: Connection, number: int) -> int:
    """Link a queued mail to the answers in it that the visitor has not read. Return how many; a mail of another kind has none."""
    return connection.execute(
        """
        UPDATE messages SET mail = ?1 WHERE conversation = (SELECT conversation FROM mails WHERE number = ?1 AND kind = 'answer'
            AND state = 'queued') AND role = 'operator' AND delivery = 'queued' AND (mail IS NULL OR mail = ?1)
        """,
        (number,),
    ).rowcount


class NoticeDetail(NamedTuple):
    """A cause of a notice: names of bot and visitor, the appointment's local date and time, and the visitor's words."""

    bot: str
    name: str | None
    date: str | None
    time: str | None
    words: str


class OutgoingMail(NamedTuple):
    """A mail to write. `bot` is None if the mail is about several bots; `conversation_id` is set only for a single conversation.

    `language` is the recipient's language; if that is unknown, the language of the account's first bot, or without account, the oldest bot.
    `created_at` is the time of the latest cause. An answer has the `texts` of its messages, the visitor's user_id and the host of
    the page on which the visitor wrote. A decision also has the appointment's id. A notice has the `details` of its newest causes.
    """

    number: int
    kind: str
    recipient: str
    language: str | None
    causes: int
    account: str | None
    account_id: str | None
    bot: str | None
    conversation_id: str | None
    created_at: int
    bot_id: str | None
    user_id: str | None
    page_host: str | None
    channel: str | None = None
    appointment_id: str | None = None
    texts: tuple[str, ...] = ()
    details: tuple[NoticeDetail, ...] = ()


_COLUMNS = """
    m.number, m.kind, m.account_id, m.recipient, m.causes, m.state, m.created_at, m.due_at, m.attempts, m.settled_at, m.status_code,
    m.error, m.answer
"""


@reads
def due(connection: Connection, now: int) -> Mail | None:
    """Return the mail to send next, or None if none is due."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM mails m WHERE state = 'queued' AND due_at <= ? ORDER BY due_at LIMIT 1", (now,)
    ).fetchone()
    return Mail(*row) if row else None


# The fields of an OutgoingMail; then its operator, its conversation, and whether it is not wanted any more.
_OUTGOING = f"""
    SELECT m.number, m.kind, m.recipient,
        coalesce(o.language, (SELECT f.language FROM bots f WHERE m.account_id IS NULL OR f.account_id = m.account_id
            ORDER BY f.created_at, f.id LIMIT 1)),
        m.causes, a.name, a.id, b.name, c.id, m.created_at, b.id, c.user_id,
        c.source_page_host, c.channel, (SELECT id FROM appointments WHERE number = m.appointment), m.operator_id, m.conversation,
        a.deleted_at IS NOT NULL OR m.operator_id IS NOT NULL AND (o.id IS NULL
            OR NOT (m.kind IN ('{rules.INVITATION}', '{rules.PASSWORD}') OR {_WANTED_NOW}))
    FROM mails m LEFT JOIN operators o ON o.id = m.operator_id LEFT JOIN accounts a ON a.id = m.account_id
    LEFT JOIN bots b ON b.id = m.bot_id LEFT JOIN conversations c ON c.number = m.conversation WHERE m.number = ? AND m.state = ?
"""


@writes
def begin(connection: Connection, number: int, now: int, link: SetupLink, node: str | None) -> OutgoingMail | None:
    """Mark a queued mail as being sent. `link` is written for the operator of a mail with a set-up link.

    Return None if the mail is not sent: an unwanted mail becomes obsolete, and an answer to an address that gets no answers fails.
    """
    row = connection.execute(_OUTGOING, (number, rules.QUEUED)).fetchone()
    if row is None:
        return None
    *fields, operator_id, conversation, is_unwanted = row
    mail = OutgoingMail(*fields)
    if mail.kind == WAITING:
        mail = mail._replace(causes=connection.execute(_WAITING_NOW, (mail.account_id, conversation)).fetchone()[0])
    elif mail.kind == rules.ANSWER:
        mail = mail._replace(causes=_claim_answers(connection, number))
    if is_unwanted or mail.causes == 0:
        connection.execute("UPDATE mails SET state = 'obsolete', settled_at = ? WHERE number = ?", (now, number))
        return None
    reason = mail_notices.refusal(connection, mail.bot_id or "", mail.recipient, now) if mail.kind in rules.TO_VISITORS else None
    if reason == rules.STOPPED or (reason and mail.kind == rules.ANSWER):
        _settle(connection, number, MailOutcome(rules.FAILED, reason), now)
        return None
    if mail.kind in rules.LINKS_MS:
        operators.insert_link(connection, operator_id, link._replace(expires_at=now + rules.LINKS_MS[mail.kind]))
    connection.execute(
        """
        UPDATE mails SET state = 'sending', attempts = attempts + 1, causes = ?2, status_code = NULL, error = NULL, answer = NULL,
            node = ?3 WHERE number = ?1
        """,
        (number, mail.causes, node),
    )
    if mail.kind in _DETAILS:
        values = mail.account_id, conversation, min(mail.causes, MOST_DETAILS), operator_id
        return mail._replace(details=tuple(NoticeDetail(*detail) for detail in connection.execute(_DETAILS[mail.kind], values)))
    unread = "AND delivery = 'queued'" if mail.kind == rules.ANSWER else ""
    texts = connection.execute(
        f"SELECT content FROM messages WHERE conversation = ? AND mail = ? {unread} ORDER BY number", (conversation, number)
    )
    return mail._replace(texts=tuple(content for (content,) in texts))


def _settle(connection: Connection, number: int, outcome: MailOutcome, now: int) -> None:
    """Write the final outcome of a mail. Its answers are linked to it, so that the conversation shows the outcome."""
    _claim_answers(connection, number)
    connection.execute(
        """
        UPDATE mails SET state = ?, error = ?, status_code = ?, answer = ?, settled_at = ? WHERE number = ?
            AND state IN ('queued', 'sending')
        """,
        (*outcome, now, number),
    )
    if outcome.state == rules.SENT:
        connection.execute(
            """
            UPDATE messages SET delivery = 'sent' WHERE conversation = (SELECT conversation FROM mails WHERE number = ?1) AND mail = ?1
                AND delivery = 'queued'
            """,
            (number,),
        )


settle = writes(_settle)


@writes
def give_up(connection: Connection, mail: Mail, outcome: MailOutcome, now: int) -> None:
    """Write the final outcome of a mail that was tried for too long. If a new cause was added meanwhile, the mail stays queued."""
    find = "SELECT 1 FROM mails WHERE number = ? AND state = 'queued' AND created_at = ?"
    if connection.execute(find, (mail.number, mail.created_at)).fetchone():
        _settle(connection, mail.number, outcome, now)


@writes
def put_off(connection: Connection, outcome: MailOutcome, now: int, number: int | None = None) -> None:
    """Queue again a mail that the server has certainly not accepted. `number` is its row number; without it, delay all due mails.

    A mail that was queued meanwhile for the same operator or conversation is merged into this one.
    """
    later = connection.execute(
        """
        DELETE FROM mails WHERE number = (SELECT q.number FROM mails q JOIN mails m ON m.number = ? AND m.state = 'sending'
            WHERE q.state = 'queued' AND q.kind = m.kind AND (q.operator_id = m.operator_id AND q.account_id = m.account_id
                OR m.kind = 'answer' AND q.conversation = m.conversation))
        RETURNING causes, bot_id, conversation, created_at
        """,
        (number,),
    ).fetchone()
    if later is not None:
        connection.execute(
            """
            UPDATE mails SET causes = causes + ?, bot_id = CASE bot_id WHEN ? THEN bot_id END,
                conversation = CASE conversation WHEN ? THEN conversation END, created_at = ? WHERE number = ?
            """,
            (*later, number),
        )
    # An attempt counts from `sending` on, and where it got no further.
    chosen = "number = ?5 AND state IN ('queued', 'sending')" if number is not None else "state = 'queued' AND due_at <= ?4"
    connection.execute(
        f"""
        UPDATE mails SET state = 'queued', error = ?1, status_code = ?2, answer = ?3,
            attempts = attempts + CASE state WHEN 'queued' THEN 1 ELSE 0 END,
            due_at = max(due_at, ?4 + min({rules.LONGEST_PAUSE_MS}, CAST({rules.FIRST_PAUSE_MS} AS BIGINT)
                << CAST(min(attempts - CASE state WHEN 'queued' THEN 0 ELSE 1 END, 10) AS INTEGER)))
        WHERE {chosen}
        """,
        (*outcome[1:], now, number)[: 4 if number is None else 5],
    )


@writes
def add_test(connection: Connection, recipient: str, now: int, node: str | None) -> OutgoingMail:
    """Insert a test mail with the state `sending`. The recipient may be an operator or somebody else."""
    (number,) = connection.execute(
        """
        INSERT INTO mails (kind, operator_id, recipient, causes, state, created_at, due_at, attempts, node)
        VALUES (?1, (SELECT id FROM operators WHERE email = ?2), ?2, 1, 'sending', ?3, ?3, 1, ?4) RETURNING number
        """,
        (rules.TEST, recipient, now, node),
    ).fetchone()
    *fields, _, _, _ = connection.execute(_OUTGOING, (number, rules.SENDING)).fetchone()
    return OutgoingMail(*fields)


_UNKNOWN = "UPDATE mails SET state = 'unknown', error = 'interrupted', settled_at = ?"
_CUT_OFF = "state = 'sending' AND " + orphaned("mails")


async def interrupt(db: Database, now: int) -> int:
    """Mark as `unknown` the mails that were being sent when their process ended. Return how many mails these were."""
    return await change_any(db, f"SELECT 1 FROM mails WHERE {_CUT_OFF} LIMIT 1", (), f"{_UNKNOWN} WHERE {_CUT_OFF}", (now,))


async def delay_answers(db: Database, now: int) -> None:
    """Delay the queued answers after a start. Visitors' pages first have to reconnect and confirm which answers they show."""
    early, until = "state = 'queued' AND kind = 'answer' AND due_at < ?1", now + rules.GONE_MS
    await change_any(db, f"SELECT 1 FROM mails WHERE {early} LIMIT 1", (until,), f"UPDATE mails SET due_at = ?1 WHERE {early}")


def interrupt_all(connection: Connection, now: int) -> None:
    """Mark as `unknown` all mails that are queued or being sent, after a restore. They may have been sent since the backup."""
    connection.execute(f"{_UNKNOWN} WHERE state IN ('queued', 'sending')", (now,))


async def forget_old(db: Database, now: int, limit: int) -> bool:
    """Delete at most `limit` mails whose final outcome is a month old. Return False once no such mail is left."""
    old = "SELECT number FROM mails WHERE state NOT IN ('queued', 'sending') AND created_at <= ?1 AND settled_at <= ?1 LIMIT ?2"
    return bool(await change_any(db, old, (now - rules.KEPT_MS, limit), f"DELETE FROM mails WHERE number IN ({old})"))


@reads
def page(connection: Connection, limit: int, after: int = LAST, *, state: str | None = None) -> list[Mail]:
    """Read mails, newest first. `after` is the number of the last mail of the previous page."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM mails m WHERE m.number < ?1 AND (?2 IS NULL OR m.state = ?2) ORDER BY m.number DESC LIMIT ?3",
        (after, state, limit),
    )
    return [Mail(*row) for row in rows]


@reads
def queued(connection: Connection) -> int:
    """Count the mails that wait to be sent."""
    return int(connection.execute("SELECT count(*) FROM mails WHERE state = 'queued'").fetchone()[0])


@reads
def of_messages(connection: Connection, conversation_id: str) -> dict[int, MailState]:
    """Read the states of mails that carried messages of a conversation, by the messages' numbers."""
    rows = connection.execute(
        """
        SELECT m.number, coalesce(s.state, 'sent'), s.error FROM conversations c CROSS JOIN messages m ON m.conversation = c.number
        LEFT JOIN mails s ON s.number = m.mail WHERE c.id = ? AND m.mail IS NOT NULL
        """,
        (conversation_id,),
    )
    return {number: MailState(*state) for number, *state in rows}
