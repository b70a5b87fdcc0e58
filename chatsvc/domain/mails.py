"""Mails to operators and visitors: kinds, states, and for how long the queue collects notices and tries to send mails."""

import hashlib
import re
from typing import NamedTuple

from chatsvc.domain.times import DAY_MS

WAITING, REQUEST, APPOINTMENT, WEBHOOK, TEST = "waiting", "request", "appointment", "webhook", "test"
# A request that cannot wait, in place of the notices of it and its appointment.
URGENT = "urgent"
# To operators, with a link to choose a password: the first one, or another.
INVITATION, PASSWORD = "invitation", "password"
# To visitors: what an operator has answered, and what the team has decided on an appointment.
TO_VISITORS = ANSWER, DECISION = "answer", "decision"
STATES = QUEUED, SENDING, SENT, FAILED, UNKNOWN, OBSOLETE = "queued", "sending", "sent", "failed", "unknown", "obsolete"
# Why an address gets no mail with an answer: its owner wants none, or it got ANSWERS_A_DAY.
STOPPED, DAILY_LIMIT = "stopped", "daily_limit"

MINUTE_MS = 60_000
# A first notice leaves after LEAD_MS; those that follow within the period of their kind become one mail at its end.
LEAD_MS = 2000
# How long the links of such mails are good.
LINKS_MS = {INVITATION: DAY_MS, PASSWORD: 60 * MINUTE_MS}
# Anybody can ask for a link for anybody: so often one address gets it.
LINK_EVERY_MS = 15 * MINUTE_MS
PERIODS_MS = {WAITING: MINUTE_MS, REQUEST: 5 * MINUTE_MS, APPOINTMENT: 5 * MINUTE_MS, WEBHOOK: 15 * MINUTE_MS, URGENT: 0}
# A visitor who has not read an answer for so long has gone.
GONE_MS = 2 * MINUTE_MS
# Pauses between attempts grow from the first to the longest.
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 10_000, 15 * MINUTE_MS
# Anybody can type anybody's address: so many mails with answers go to one address in a day, from all conversations together.
ANSWERS_A_DAY = 5
GIVE_UP_MS = DAY_MS
KEPT_MS = 30 * DAY_MS  # settled mails are deleted after it


class Mail(NamedTuple):
    """A mail of the queue, for the administrator. `causes` is the number of events that this mail reports.

    `attempts` counts the attempts to send it. `status_code` and `answer` are what the mail server replied to the last attempt.
    """

    number: int
    kind: str
    account_id: str | None
    recipient: str
    causes: int
    state: str
    created_at: int
    due_at: int
    attempts: int
    settled_at: int | None
    status_code: int | None
    error: str | None
    answer: str | None


class MailOutcome(NamedTuple):
    """Outcome of an attempt to send. `error` is one of the queue's codes, or None for success."""

    state: str
    error: str | None = None
    status_code: int | None = None
    answer: str | None = None


class MailFault(Exception):
    """Failure to send a mail. `code` is the kind of failure; `status_code` and `answer` are what the mail server replied.

    If `of_server` is true, no mail can be sent at the moment. If `is_permanent` is true, this mail need not be tried again. If
    `is_uncertain` is true, the connection broke after the message was sent, so that the server may have accepted it.
    """

    def __init__(
        self,
        code: str,
        status_code: int | None = None,
        answer: str | None = None,
        *,
        of_server: bool = False,
        is_permanent: bool = False,
        is_uncertain: bool = False,
    ) -> None:
        super().__init__(code if status_code is None else f"{code} {status_code}")
        self.code, self.status_code, self.answer = code, status_code, answer
        self.of_server, self.is_permanent, self.is_uncertain = of_server, is_permanent, is_uncertain

    def outcome(self, state: str = FAILED) -> MailOutcome:
        """Return the outcome of the attempt that failed."""
        return MailOutcome(UNKNOWN if self.is_uncertain else state, self.code, self.status_code, self.answer)


class MailState(NamedTuple):
    """State of the mail that carries a message, and why it was not sent."""

    state: str
    error: str | None


# The form of <input type=email>: ASCII, so that no two spellings look the same.
_EMAIL = re.compile(r"\A[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.(?!\Z)|\Z))+")


def is_email(text: str) -> bool:
    return _EMAIL.fullmatch(text) is not None


def address_digest(address: str) -> bytes:
    """Return the SHA-256 digest of an e-mail address in lower case. The digest is stored instead of the address."""
    return hashlib.sha256(address.encode()).digest()
