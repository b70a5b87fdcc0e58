"""What every request of the interface passes before anything else is looked at: SPEC.md 5.5, in its order."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import hdrs

from chatsvc.api.request import Request
from chatsvc.domain import errors, keys
from chatsvc.domain.limiter import WINDOW_S, Limiter, Slot, untouched
from chatsvc.domain.models import ApiKey
from chatsvc.domain.plans import lowest_with
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.services import Services

_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


# The name of a request that is none of the operations.
OTHER = "other"


@dataclass(slots=True)
class Call:
    """One request on its way: what the gates have found out, and the services that will answer it.

    `route` names it for logs and metrics, whatever is in its path.
    """

    request: Request
    request_id: str
    services: Services
    limiter: Limiter
    key: ApiKey | None = None
    account: AccountState | None = None
    slot: Slot | None = None
    route: str = OTHER
    error: str = ""

    @property
    def held(self) -> AccountState:
        """The account, for what comes after the gates."""
        if self.account is None:
            raise RuntimeError("an operation was reached without passing the gates")
        return self.account

    @property
    def key_id(self) -> str:
        """The key's id, for what comes after the first gate."""
        if self.key is None:
            raise RuntimeError("a gate was reached before the key was checked")
        return self.key.id

    def standing(self) -> Slot:
        """What the rate-limit headers say (SPEC.md section 8), whether or not a slot was taken."""
        if self.slot is not None:
            return self.slot
        now = self.services.clock()
        try:
            return self.limiter.peek(self.key.id if self.key else None, now)
        except Exception:  # noqa: BLE001  # a counter that is down must not take the answer that says so with it
            return untouched(self.limiter.limit, now)


Gate = Callable[[Call], Awaitable[None]]


def _token(request: Request) -> str:
    sent = request.headers.getall(hdrs.AUTHORIZATION, [])
    if not sent:
        raise errors.missing_api_key()
    match = _BEARER.fullmatch(sent[0])
    if len(sent) > 1 or match is None or not keys.is_well_formed(match[1]):
        raise errors.invalid_api_key()
    return match[1]


async def check_key(call: Call) -> None:
    """SPEC.md 5.5 (a): the key is known, neither revoked nor expired, and its account exists."""
    token = _token(call.request)
    directory = call.services.account_cache
    try:
        key = call.key = await directory.key(keys.digest(token))
        now = call.services.clock()
        if key is None or key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
            raise errors.invalid_api_key()
        call.account = await directory.account(key.account_id) if key.account_id else None
    except StoreUnavailable as fault:
        raise errors.auth_backend_unavailable() from fault
    if call.account is None:
        raise errors.account_not_found()
    directory.key_uses[key.id] = now


async def check_plan(call: Call) -> None:
    """SPEC.md 5.5 (b): the account's plan includes the REST interface."""
    plans = call.services.config.plans
    name = call.held.account.plan
    plan = plans.get(name) if name else None
    if plan is None or not plan.rest_api:
        refusal = errors.plan_upgrade_required if plan else errors.plan_required
        raise refusal(required_plan=lowest_with(plans, "rest_api"), feature="rest_api", plan=name)


async def take_slot(call: Call) -> None:
    """SPEC.md 5.5 (c): one request of the key's window."""
    try:
        slot = call.limiter.take(call.key_id, call.services.clock())
    except Exception as fault:
        raise errors.rate_limit_unavailable() from fault
    call.slot = slot
    if not slot.taken:
        raise errors.rate_limit_exceeded(limit=slot.limit, window_seconds=WINDOW_S)


GATES: tuple[Gate, ...] = (check_key, check_plan, take_slot)
