"""The calling operator's own session, and checks of a password with limits on attempts."""

from chatsvc.domain import operators, passwords, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.operators import SignedIn
from chatsvc.domain.sign_in_delays import SignInAttempt
from chatsvc.services.services import Services
from chatsvc.services.team import password_hashing
from chatsvc.store import operators as stored
from chatsvc.store import sessions, sign_in_failures


async def own(services: Services, caller: Caller, *, verified: bool = True) -> SignedIn:
    """Find the caller's own live session; raises `session_needed`. `verified` False finds one that waits for the second factor."""
    found = await sessions.find_by_id(services.db, caller.session) if caller.session else None
    if found is None or found.session.verified is not verified or not operators.is_live(found.session, services.clock()):
        raise refusals.session_needed()
    return found


async def begin_attempt(services: Services, email: str, place: str, *, is_known: bool) -> SignInAttempt:
    """Begin an attempt with a password or code, which counts as failed until it passes. Raises `too_many_attempts`."""
    begun = await sign_in_failures.begin(services.db, email, place, services.clock(), is_known=is_known)
    if isinstance(begun, int):
        raise refusals.too_many_attempts(retry_after=begun)
    return begun


async def confirm_password(services: Services, signed_in: SignedIn, password: str) -> str:
    """Ask for the operator's password again; return its hash. Raises `password_wrong` and `too_many_attempts`."""
    attempt = await begin_attempt(services, signed_in.operator.email, signed_in.session.id, is_known=True)
    held = await stored.credentials(services.db, signed_in.operator.id)
    right = await is_right(services, attempt, password, held.password if held else None)
    if not right or held is None or held.password is None:
        raise refusals.password_wrong()
    await sign_in_failures.passed(services.db, attempt)
    return held.password


async def is_right(services: Services, attempt: SignInAttempt, password: str, hashed: str | None) -> bool:
    """Compare a password with its hash. An attempt for which there was no turn is withdrawn. Raises `too_many_attempts`."""
    try:
        return await password_hashing.is_right(services, passwords.normalised(password[: 4 * passwords.MOST]), hashed)
    except refusals.Refused:
        await sign_in_failures.withdraw(services.db, attempt)
        raise
