"""Operators: people of the team who sign in to the dashboard. Also their sessions and set-up links."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chatsvc import timezones
from chatsvc.domain import refusals
from chatsvc.domain.actors import EVERYTHING, Actor, Role, Scope
from chatsvc.domain.mails import is_email
from chatsvc.domain.times import DAY_MS

LANGUAGES = ("tr", "en")
NOTICES = ("waiting", "request", "appointment", "webhook")
NO_NOTICE = "none"
OF_OWNERS = "webhook"  # a notice for owners and administrators, who may see deliveries
ROLES = {role.name.lower(): role for role in (Role.READER, Role.EDITOR, Role.OWNER)}
NO_ROLE = "none"
LINK_MS = DAY_MS
IDLE_MS = DAY_MS // 2
SESSION_MS = 30 * DAY_MS
SECOND_FACTOR_MS = 600_000  # for the code after the password
MOST_EMAIL = 254
MOST_BROWSER = 300
RECOVERY_CODES = 10
KNOWN_NETWORKS = 10  # from which an operator has signed in, the latest first
_RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # without letters and digits that look alike


class Operator(NamedTuple):
    """An operator, with roles by account. `timezone` is None for the zone of the bots; `is_set_up` tells whether a password was chosen."""

    id: str
    email: str
    name: str | None
    language: str | None
    timezone: str | None
    admin: bool
    notices: tuple[str, ...]
    is_set_up: bool
    second_factor: bool
    created_at: int
    updated_at: int
    roles: Mapping[str, Role]

    @property
    def scope(self) -> Scope:
        return EVERYTHING if self.admin else Scope(self.roles)


class UsableLink(NamedTuple):
    """A set-up link with its operator, its expiry in milliseconds, and whether it was mailed."""

    operator: Operator
    expires_at: int
    mailed: bool


class NewOperator(NamedTuple):
    """An operator with a new set-up link. `link` is None if `init` found the operator already there."""

    operator: Operator
    link: str | None
    expires_at: int | None


class OperatorSession(NamedTuple):
    """A session of the dashboard. Before the second factor it is not `verified`; `account_id` is the account chosen in it."""

    id: str
    operator_id: str
    browser: str
    address: str
    created_at: int
    last_seen_at: int
    verified: bool
    account_id: str | None


class SignedIn(NamedTuple):
    """A session with its operator."""

    session: OperatorSession
    operator: Operator


class NewSession(NamedTuple):
    """A new session with its token, which no later call can show."""

    operator: Operator
    session: OperatorSession
    token: str


def actor_of(operator: Operator) -> Actor:
    """Return an operator's identity in the audit log."""
    return Actor("operator", operator.id, operator.name or operator.email)


def normalised_email(text: str) -> str:
    """Check an e-mail address and return it in lower case; raises `email_invalid`."""
    email = text.strip().lower() if text.isascii() else ""
    if len(email) > MOST_EMAIL or not is_email(email):
        raise refusals.email_invalid(email=text)
    return email


def role_named(name: str) -> Role:
    """Look up a role of an account by name; raises `role_unknown`."""
    if name not in ROLES:
        raise refusals.role_unknown(role=name, known=list(ROLES))
    return ROLES[name]


def known_timezone(name: str) -> str | None:
    """Check and return a time zone, or None for "". Raises `timezone_unknown`."""
    if name and timezones.zone(name) is None:
        raise refusals.timezone_unknown(timezone=name)
    return name or None


def known_language(language: str) -> str:
    """Check and return a language of the dashboard; raises `operator_language_unknown`."""
    if language not in LANGUAGES:
        raise refusals.operator_language_unknown(language=language, known=list(LANGUAGES))
    return language


def known_notices(notices: Sequence[str]) -> list[str]:
    """Check and return a list of notices; `none` as its only item makes it empty. Raises `notice_unknown`."""
    if list(notices) == [NO_NOTICE]:
        return []
    for notice in notices:
        if notice not in NOTICES:
            raise refusals.notice_unknown(notice=notice, known=[*NOTICES, NO_NOTICE])
    return [notice for notice in NOTICES if notice in notices]


def offered_notices(operator: Operator) -> list[str]:
    is_owner = operator.admin or Role.OWNER in operator.roles.values()
    return [notice for notice in NOTICES if is_owner or notice != OF_OWNERS]


def new_token() -> str:
    """Generate a random token of 256 bits for a session or a set-up link."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """Return the SHA-256 of a token or recovery code, which is stored in its place."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def new_recovery_codes() -> list[str]:
    """Generate ten recovery codes of 79 bits, such as "k7wm-2xqa-9rtb-c4zn"."""
    letters = ["".join(secrets.choice(_RECOVERY_ALPHABET) for _ in range(16)) for _ in range(RECOVERY_CODES)]
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in letters]


def recovery_digest(code: str) -> bytes:
    """Return the digest of a recovery code, however it is spaced and capitalised."""
    return digest("".join(letter for letter in code.lower() if letter in _RECOVERY_ALPHABET))


def is_live(session: OperatorSession, now: int) -> bool:
    """Return whether a session is valid. It ends after 12 hours idle, 30 days in all, or 10 minutes without the second factor."""
    if not session.verified:
        return now < session.created_at + SECOND_FACTOR_MS
    return now < min(session.last_seen_at + IDLE_MS, session.created_at + SESSION_MS)
