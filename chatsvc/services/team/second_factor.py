"""Second factor of operators by TOTP: offer, confirm, disable, and verify codes.

TOTP (RFC 6238) with SHA-1, six digits and 30 seconds, as all authenticator apps have it. Also makes and counts recovery codes.
"""

import base64
import hmac
import os
from typing import NamedTuple
from urllib.parse import quote

from chatsvc.domain import operators, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.operators import Operator
from chatsvc.services.services import Services
from chatsvc.services.team.own_session import begin_attempt, confirm_password, own
from chatsvc.store import operators as stored
from chatsvc.store import sealing, sessions
from chatsvc.store.sealing import row_name
from chatsvc.store.tables import SECOND_FACTORS

STEP_S, DIGITS = 30, 6
TOLERANCE = 1  # steps before and after the present one, for clocks that differ
_SECRET_BYTES = 20
_ISSUER = "chatsvc"


class OfferedSecret(NamedTuple):
    """A secret for an authenticator app, in base32 and as a QR code's address. It takes effect once a code confirms it."""

    operator: Operator
    secret: str
    uri: str


class RecoveryCodes(NamedTuple):
    """Recovery codes of an operator, which no later call can show."""

    operator: Operator
    codes: list[str]


async def enable(services: Services, caller: Caller, *, password: str) -> OfferedSecret:
    """Offer the operator a new secret; raises `second_factor_on`, `password_wrong`, `too_many_attempts` and `session_needed`.

    Asks for the password: with a session that was left open, a stranger could else lock the operator out.
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
    return OfferedSecret(operator, secret, uri)


async def confirm(services: Services, caller: Caller, *, code: str) -> RecoveryCodes:
    """Switch the second factor on with a code of the offered secret. Raises `code_wrong`, `too_many_attempts` and `second_factor_off`."""
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
    return RecoveryCodes(operator, codes)


async def disable(services: Services, caller: Caller, *, password: str) -> Operator:
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
    """Return the time step of a TOTP code by a sealed secret; None if it is wrong."""
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
