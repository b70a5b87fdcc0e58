"""The calling operator's own session, and checks of a password with limits on attempts.

Passwords are hashed with Argon2id, in threads, few at a time: 19 MiB, two passes, one lane (the OWASP minimum; 30 ms).
"""

import secrets
from collections.abc import Callable
from typing import TypeVar

from chatsvc.domain import operators, passwords, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.operators import SignedIn
from chatsvc.domain.passwords import SignInAttempt
from chatsvc.services.services import Services
from chatsvc.store import operators as stored
from chatsvc.store import sessions

T = TypeVar("T")


async def own(services: Services, caller: Caller, *, verified: bool = True) -> SignedIn:
    """Find the caller's own live session; raises `session_needed`. `verified` False finds one that waits for the second factor."""
    signed_in = await sessions.find_by_id(services.db, caller.session) if caller.session else None
    if signed_in is None or signed_in.session.verified is not verified or not operators.is_live(signed_in.session, services.clock()):
        raise refusals.session_needed()
    return signed_in


async def begin_attempt(services: Services, email: str, client: str, *, is_known: bool) -> SignInAttempt:
    """Begin an attempt with a password or code, which counts as failed until it passes. Raises `too_many_attempts`."""
    attempt = await sessions.begin_attempt(services.db, email, client, services.clock(), is_known=is_known)
    if isinstance(attempt, int):
        raise refusals.too_many_attempts(retry_after=attempt)
    return attempt


async def confirm_password(services: Services, signed_in: SignedIn, password: str) -> str:
    """Ask for the operator's password again; return its hash. Raises `password_wrong` and `too_many_attempts`."""
    attempt = await begin_attempt(services, signed_in.operator.email, signed_in.session.id, is_known=True)
    held = await stored.credentials(services.db, signed_in.operator.id)
    right = await is_right(services, attempt, password, held.password if held else None)
    if not right or held is None or held.password is None:
        raise refusals.password_wrong()
    await sessions.passed(services.db, attempt)
    return held.password


async def is_right(services: Services, attempt: SignInAttempt, password: str, hashed: str | None) -> bool:
    """Compare a password with its hash. An attempt for which there was no turn is withdrawn. Raises `too_many_attempts`."""
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
