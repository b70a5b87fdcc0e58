"""Hashes and verifies passwords with Argon2id, in threads, few at a time.

19 MiB, two passes, one lane (the OWASP minimum; 30 ms).
"""

import secrets

from chatsvc.domain import refusals
from chatsvc.services.services import Services

MEMORY_KIB, PASSES, LANES = 19 * 1024, 2, 1
_SALT_BYTES, _HASH_BYTES = 16, 32
MOST_WAITING = 32  # attempts; a queue of a second
# Compared with the password of an unknown operator; no password has this hash.
_OF_NOBODY = f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${'A' * 22}${'A' * 43}"


async def hashed(services: Services, password: str) -> str:
    """Hash a password in the PHC string format; raises `too_many_attempts` while many others wait."""
    return await _in_turn(services, password, None)


async def is_right(services: Services, password: str, stored: str | None) -> bool:
    """Compare a password with a hash. Without a hash it takes as long and is False. Raises `too_many_attempts`."""
    return bool(await _in_turn(services, password, stored or _OF_NOBODY)) and stored is not None


async def _in_turn(services: Services, password: str, stored: str | None) -> str:
    turn = services.hashing
    if turn.waiting >= MOST_WAITING:
        raise refusals.too_many_attempts(retry_after=1)
    turn.waiting += 1
    try:
        async with turn.slots:
            return await services.offload(lambda: _hash(password) if stored is None else _verified(password, stored))
    finally:
        turn.waiting -= 1


def _hash(password: str) -> str:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    salt = secrets.token_bytes(_SALT_BYTES)
    kdf = Argon2id(salt=salt, length=_HASH_BYTES, iterations=PASSES, lanes=LANES, memory_cost=MEMORY_KIB)
    return kdf.derive_phc_encoded(password.encode("utf-8", "surrogatepass"))


def _verified(password: str, stored: str) -> str:
    """Return the hash where the password is right, else an empty string."""
    from cryptography.exceptions import InvalidKey
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        Argon2id.verify_phc_encoded(password.encode("utf-8", "surrogatepass"), stored)
    except InvalidKey:
        return ""
    return stored
