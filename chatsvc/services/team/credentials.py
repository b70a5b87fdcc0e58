"""The calling operator's own session, password and second factor, with limits on attempts.

Passwords are hashed with Argon2id, in threads, few at a time: 19 MiB, two passes, one lane (the OWASP minimum; 30 ms). The second factor
is TOTP (RFC 6238) with SHA-1, six digits and 30 seconds, as all authenticator apps have it, with recovery codes.
"""

import base64
import hmac
import os
import secrets
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from chatsvc.domain import operators, passwords, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.operators import Operator, SignedIn
from chatsvc.domain.passwords import SignInAttempt
from chatsvc.services.services import Services
from chatsvc.store import operators as stored
from chatsvc.store import sealing, sessions
from chatsvc.store.sealing import row_name
from chatsvc.store.tables import SECOND_FACTORS

T = TypeVar("T")


async def own(services: Services, caller: Caller, *, verified: bool = True) -> SignedIn:
    """Find the caller's own live session; raises `session_needed`. If `verified` is False, the session must wait for the second factor."""
    signed_in = await sessions.find(services.db, caller.session) if caller.session else None
    if signed_in is None or signed_in.session.verified is not verified or not operators.is_live(signed_in.session, services.clock()):
        raise refusals.session_needed()
    return signed_in


async def begin_attempt(services: Services, email: str, client: str, *, is_known: bool) -> SignInAttempt:
    """Begin an attempt with a password or code. The attempt counts as failed until it passes. Raises `too_many_attempts`."""
    attempt = await sessions.begin_attempt(services.db, email, client, services.clock(), is_known=is_known)
    if isinstance(attempt, int):
        raise refusals.too_many_attempts(retry_after=attempt)
    return attempt


async def confirm_password(services: Services, signed_in: SignedIn, password: str) -> str:
    """Verify the password of a signed-in operator again, and return its hash. Raises `password_wrong` and `too_many_attempts`."""
    attempt = await begin_attempt(services, signed_in.operator.email, signed_in.session.id, is_known=True)
    held = await stored.credentials(services.db, signed_in.operator.id)
    right = await is_right(services, attempt, password, held.password if held else None)
    if not right or held is None or held.password is None:
        raise refusals.password_wrong()
    await sessions.passed(services.db, attempt)
    return held.password


async def is_right(services: Services, attempt: SignInAttempt, password: str, hashed: str | None) -> bool:
    """Return whether a password has the hash `hashed`. While many others wait, raise `too_many_attempts` and do not count the attempt."""
    text = passwords.normalised(password[: 4 * passwords.MOST])
    try:
        # Without a hash it takes as long.
        return await _in_turn(services, lambda: _verified(text, hashed or _OF_NOBODY)) and hashed is not None
    except refusals.Refused:
        await sessions.withdraw(services.db, attempt)
        raise


MEMORY_KIB, PASSES, LANES = 19 * 1024, 2, 1
_SALT_BYTES, _HASH_BYTES = 16, 32
MOST_WAITING = 32  # attempts; a queue of a second
# Compared with the password of an unknown operator; no password has this hash.
_OF_NOBODY = f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${'A' * 22}${'A' * 43}"


async def hashed(services: Services, password: str) -> str:
    """Hash a password in the PHC string format; raises `too_many_attempts` while many others wait."""
    return await _in_turn(services, lambda: _hash(password))


async def _in_turn(services: Services, work: Callable[[], T]) -> T:
    if services.hashing.load >= MOST_WAITING:
        raise refusals.too_many_attempts(retry_after=1)
    async with services.hashing.slot(""):
        return await services.offload(work)


def _hash(password: str) -> str:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    salt = secrets.token_bytes(_SALT_BYTES)
    kdf = Argon2id(salt=salt, length=_HASH_BYTES, iterations=PASSES, lanes=LANES, memory_cost=MEMORY_KIB)
    return kdf.derive_phc_encoded(password.encode("utf-8", "surrogatepass"))


def _verified(password: str, hashed: str) -> bool:
    from cryptography.exceptions import InvalidKey
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        Argon2id.verify_phc_encoded(password.encode("utf-8", "surrogatepass"), hashed)
    except InvalidKey:
        return False
    return True


STEP_S, DIGITS = 30, 6
TOLERANCE = 1  # steps before and after the present one, for clocks that differ
_SECRET_BYTES = 20
_ISSUER = "chatsvc"


class OfferedSecret(NamedTuple):
    """A secret for an authenticator app, in base32 and as the URI for a QR code. It takes effect once a code confirms it."""

    secret: str
    uri: str


async def enable_totp(services: Services, caller: Caller, *, password: str) -> OfferedSecret:
    """Return a new secret for the second factor, which `confirm_totp` switches on.

    Raises `second_factor_on`, `password_wrong`, `too_many_attempts` and `session_needed`. The password is required: without it, a stranger
    with access to an open session could lock the operator out.
    """
    signed_in = await own(services, caller)
    operator = signed_in.operator
    if operator.second_factor:
        raise refusals.second_factor_on()
    await confirm_password(services, signed_in, password)
    secret = base64.b32encode(os.urandom(_SECRET_BYTES)).decode()
    name = row_name("operators", operator.id)

    def seal(check: bytes) -> bytes:
        return sealing.seal(services.secret.of(check), SECOND_FACTORS, secret, name)

    await sessions.offer_second_factor(services.db, operator.id, seal)
    label = quote(f"{_ISSUER}:{operator.email}")
    uri = f"otpauth://totp/{label}?secret={secret}&issuer={_ISSUER}&algorithm=SHA1&digits={DIGITS}&period={STEP_S}"
    return OfferedSecret(secret, uri)


async def confirm_totp(services: Services, caller: Caller, *, code: str) -> list[str]:
    """Switch the second factor on with a code of the offered secret. Return recovery codes, which no later call can show.

    Raises `code_wrong`, `too_many_attempts` and `second_factor_off`.
    """
    signed_in = await own(services, caller)
    operator = signed_in.operator
    held = await stored.credentials(services.db, operator.id)
    if held is None or held.totp_offered is None:
        raise refusals.second_factor_off()
    attempt = await begin_attempt(services, operator.email, signed_in.session.id, is_known=True)
    step = step_of(services, operator.id, held.totp_offered, code)
    if step is None:
        raise refusals.code_wrong()
    await sessions.passed(services.db, attempt)
    codes = operators.new_recovery_codes()
    digests = [operators.recovery_digest(recovery_code) for recovery_code in codes]
    if not await sessions.confirm_second_factor(services.db, operator.id, held.totp_offered, step, digests, services.clock()):
        raise refusals.code_wrong()
    return codes


async def disable_totp(services: Services, caller: Caller, *, password: str) -> Operator:
    """Switch the operator's second factor off; raises `password_wrong`, `too_many_attempts` and `second_factor_off`."""
    signed_in = await own(services, caller)
    if not signed_in.operator.second_factor:
        raise refusals.second_factor_off()
    await confirm_password(services, signed_in, password)
    await sessions.end_second_factor(services.db, signed_in.operator.id, services.clock())
    return signed_in.operator


async def recovery_codes_left(services: Services, caller: Caller) -> int:
    """Count the caller's unused recovery codes; raises `session_needed`."""
    return await sessions.recovery_codes_left(services.db, (await own(services, caller)).operator.id)


def step_of(services: Services, operator_id: str, sealed: bytes, code: str) -> int | None:
    """Return the time step for which a TOTP code is right, or None if the code is wrong. `sealed` is the encrypted secret."""
    digits = "".join(code.split())
    try:
        secret = sealing.unseal(services.secret, SECOND_FACTORS, sealed, row_name("operators", operator_id))
    except sealing.Unsealable:
        return None  # the master key was lost; a recovery code or a set-up link still helps

    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP

    totp = TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_S)  # noqa: S303  # RFC 6238; apps know no other
    now = services.clock() // 1000 // STEP_S
    for step in range(now - TOLERANCE, now + TOLERANCE + 1):
        if hmac.compare_digest(totp.generate(step * STEP_S), digits.encode("utf-8", "surrogatepass")):
            return step
    return None
