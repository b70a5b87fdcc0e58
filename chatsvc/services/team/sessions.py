"""Sessions of the dashboard: sign in and out, set-up links and passwords.

A session is a random token in a cookie; the store has its digest. Each step of signing in gives a new token, against session fixation.
A secret that a page shows once is encrypted in a second cookie with a token of its own. The cookie can be opened only once, by any
process: the session's row contains the digest of this token until then.
"""

import base64
import binascii
import json
import logging
import uuid
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from chatsvc.domain import operators, passwords, refusals
from chatsvc.domain.actors import Caller, Scope
from chatsvc.domain.mails import PASSWORD
from chatsvc.domain.models import Account
from chatsvc.domain.operators import NewSession, Operator, OperatorSession, SignedIn, UsableLink
from chatsvc.domain.passwords import network
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts
from chatsvc.services.services import Services
from chatsvc.services.team import credentials
from chatsvc.services.team.credentials import begin_attempt, confirm_password, is_right, own
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import mail_notices, owners, sealing
from chatsvc.store import operators as stored_operators
from chatsvc.store import sessions as stored
from chatsvc.store.operators import Credentials

log = logging.getLogger(__name__)

SEEN_EVERY_MS = 60_000
_SHOWN_ONCE = "shown once"  # purpose of the key
SHOWN_ONCE_MS = 600_000


async def create(services: Services, _: Caller, *, email: str, password: str, browser: str = "", address: str = "") -> NewSession:
    """Sign in with e-mail address and password. The session of an operator with a second factor waits for `verify`."""
    email = _typed_email(email)
    operator = await stored_operators.find(services.db, email)
    held = await stored_operators.credentials(services.db, operator.id if operator else "")
    attempt = await begin_attempt(services, email, address, is_known=_is_known(held, address))
    right = await is_right(services, attempt, password, held.password if held else None)
    if not right or operator is None or held is None or held.password is None:
        # Not the e-mail address: people type passwords into its field.
        log.warning("a sign-in from %s failed", address or "an unknown address")
        raise refusals.sign_in_failed()
    new, digest = _new(services, operator, browser, address, verified=held.totp is None)
    if not await stored.create(services.db, new.session, digest, held.password):
        raise refusals.sign_in_failed()
    if new.session.verified:
        await stored.passed(services.db, attempt)
    else:
        await stored.withdraw(services.db, attempt)
    return new


async def verify(services: Services, caller: Caller, *, code: str, address: str = "") -> NewSession:
    """Complete a sign-in with a TOTP code or a recovery code. Raises `code_wrong`, `too_many_attempts` and `session_needed`."""
    waiting = await own(services, caller, verified=False)
    held = await stored_operators.credentials(services.db, waiting.operator.id)
    attempt = await begin_attempt(services, waiting.operator.email, address, is_known=_is_known(held, address))
    step = credentials.step_of(services, waiting.operator.id, held.totp, code) if held and held.totp else None
    new, digest = _new(services, waiting.operator, waiting.session.browser, address, verified=True)
    if not await stored.verify(services.db, new.session, digest, waiting.session.id, step, operators.recovery_digest(code)):
        log.warning("a code of a second factor from %s was wrong", address or "an unknown address")
        raise refusals.code_wrong()
    await stored.passed(services.db, attempt)
    return new


async def remove(services: Services, caller: Caller) -> OperatorSession:
    """Sign out: end the caller's own session; raises `session_needed`."""
    signed_in = await stored.find(services.db, caller.session or "")
    removed = await stored.remove(services.db, signed_in.session.id, signed_in.operator.id) if signed_in else None
    if removed is None:
        raise refusals.session_needed()
    return removed


async def revoke(services: Services, caller: Caller, *, session: str) -> OperatorSession:
    """End one of the operator's sessions; raises `session_not_found`."""
    operator = (await own(services, caller)).operator
    removed = await stored.remove(services.db, session, operator.id)
    if removed is None:
        raise refusals.session_not_found(session=session)
    return removed


async def list_all(services: Services, caller: Caller) -> list[OperatorSession]:
    """List the operator's own live sessions, newest first."""
    operator = (await own(services, caller)).operator
    return await stored.live(services.db, operator.id, services.clock())


async def set_password(
    services: Services,
    caller: Caller,
    *,
    password: str,
    current: str | None = None,
    token: str | None = None,
    name: str = "",
    browser: str = "",
    address: str = "",
) -> NewSession:
    """Choose a password, with the token of a set-up link or the current password. All sessions end and a new one begins.

    A set-up link ends the second factor too, unless it was mailed. `name` becomes the operator's name; it may be left out if the operator
    has a name.
    """
    if token is not None:
        return await _set_up(services, token, password, name.strip(), browser, address)
    signed_in = await own(services, caller)
    new = passwords.check(password, signed_in.operator.email, _common())
    old = await confirm_password(services, signed_in, current or "")
    hashed = await credentials.hashed(services, new)
    session, digest = _new(services, signed_in.operator, signed_in.session.browser, signed_in.session.address, verified=True)
    if not await stored.set_password(services.db, old, hashed, session.session, digest):
        raise refusals.password_wrong()
    return session


async def _set_up(services: Services, token: str, password: str, name: str, browser: str, address: str) -> NewSession:
    link = await find_link(services, token)
    if link is None:
        raise refusals.link_invalid()
    operator, chosen = link.operator, link.operator.name or ""
    faults = refusals.Faults()
    with faults:
        if name or not chosen:
            chosen = accounts.plain_text(name, "operator.name")
    with faults:
        password = passwords.check(password, operator.email, _common())
    faults.refuse()
    hashed = await credentials.hashed(services, password)
    new, digest = _new(services, operator, browser, address, verified=not (link.mailed and operator.second_factor))
    changed = await stored.use_link(services.db, operators.digest(token), hashed, chosen, new.session, digest)
    if changed is None:
        raise refusals.link_invalid()
    return new._replace(operator=changed)


async def find_link(services: Services, token: str) -> UsableLink | None:
    """Find the set-up link of a token, with its operator. Return None if the link is wrong, used or expired."""
    return await stored_operators.of_link(services.db, operators.digest(token), services.clock())


async def ask_for_link(services: Services, email: str, address: str) -> None:
    """Mail a set-up link to the operator with this e-mail address. The caller does not learn whether such an operator exists."""
    if not services.sends_mail:
        raise refusals.mail_not_set_up()
    email = _typed_email(email)
    # Counted apart from wrong passwords: a stranger who asks must not hold up the operator's own sign-in.
    await begin_attempt(services, f"link for {email}", address, is_known=False)
    await mail_notices.ask_for_link(services.db, PASSWORD, email, services.clock())


async def find(services: Services, token: str, address: str = "", *, is_act: bool = True) -> SignedIn | None:
    """Find the live session of a token. If `is_act` is true (no automatic read by a page), update its time of use once a minute."""
    signed_in, now = await stored.find(services.db, operators.digest(token)), services.clock()
    if signed_in is None or not operators.is_live(signed_in.session, now):
        return None
    if is_act and signed_in.session.verified and now - signed_in.session.last_seen_at >= SEEN_EVERY_MS:
        await stored.update(services.db, signed_in.session.id, {"last_seen_at": now, "address": address or signed_in.session.address})
    return signed_in


def caller_of(signed_in: SignedIn) -> Caller:
    """Return the caller for a session: the operator with the current roles, or with no roles before the second factor."""
    scope = signed_in.operator.scope if signed_in.session.verified else Scope({})
    return Caller(operators.actor_of(signed_in.operator), scope, "web", signed_in.session.id)


async def choose_account(services: Services, signed_in: SignedIn, account: str) -> None:
    """Store in the session which account the operator has chosen. Raises `account_not_found`."""
    if not caller_of(signed_in).scope.includes(account) or await services.account_cache.account(account) is None:
        raise refusals.account_not_found(account=account)
    if account != signed_in.session.account_id:
        await stored.update(services.db, signed_in.session.id, {"account_id": account})


def _new(services: Services, operator: Operator, browser: str, address: str, *, verified: bool) -> tuple[NewSession, bytes]:
    token, now = operators.new_token(), services.clock()
    browser = browser.encode("utf-8", "replace").decode()[: operators.MOST_BROWSER]
    session = OperatorSession(str(uuid.uuid4()), operator.id, browser, address, now, now, verified, None)
    return NewSession(operator, session, token), operators.digest(token)


def _is_known(held: Credentials | None, address: str) -> bool:
    return held is not None and network(address) in held.known_networks


def _typed_email(text: str) -> str:
    """Return the e-mail address in its stored form. For an invalid address, return a text that matches no operator."""
    try:
        return operators.normalised_email(text)
    except Refused:
        return text[: operators.MOST_EMAIL].encode("utf-8", "replace").decode()


@cache
def _common() -> frozenset[str]:
    text = resources.files("chatsvc.services.team").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


MOST = 50


async def choices(
    services: Services, scope: Scope, chosen: str | None, kind: str | None, record_id: str
) -> tuple[str | None, dict[str, Account]]:
    """Return the account of a record, and the accounts of the scope that a page offers, by id.

    At most MOST accounts are offered, besides the account of the record, or else the chosen account.
    """
    owner = await owners.account_of(services.db, kind, record_id, scope.accounts) if kind else None
    return owner, await stored_accounts.choices(services.db, scope.accounts, owner or chosen, MOST)


async def seal_to_show(services: Services, session_id: str, content: Mapping[str, Any]) -> str:
    """Encrypt content that a session shows on its next page, within ten minutes. Return a value that a cookie can hold."""
    token, until = operators.new_token(), services.clock() + SHOWN_ONCE_MS
    text = json.dumps({"token": token, "until": until, "content": dict(content)})
    await stored.update(services.db, session_id, {"to_show": operators.digest(token)})
    sealed = sealing.seal(services.secret, _SHOWN_ONCE, text, f"{_SHOWN_ONCE} {session_id}")
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


async def take_to_show(services: Services, session_id: str, text: str) -> dict[str, Any] | None:
    """Decrypt content that is shown only once. Return None if it was shown before, expired, changed, or belongs to another session."""
    try:
        sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        sealed_content = json.loads(sealing.unseal(services.secret, _SHOWN_ONCE, sealed, f"{_SHOWN_ONCE} {session_id}"))
    except (binascii.Error, ValueError, sealing.Unsealable):
        return None
    if services.clock() >= sealed_content["until"] or not await stored.take_to_show(
        services.db, session_id, operators.digest(sealed_content["token"])
    ):
        return None
    content: dict[str, Any] = sealed_content["content"]
    return content
