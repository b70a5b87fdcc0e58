"""Gates, in their order: checks that every request to the interface passes before routing (help/interface.md 3.2)."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import WINDOW_S, RateLimiter, Slot, untouched
from chatsvc.domain.plans import lowest_with
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.requests import INFO

_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


@dataclass(slots=True)
class RequestContext:
    """State of one request to the interface: the results of the gates, and the services that answer the request."""

    request: web.Request
    services: Services
    limiter: RateLimiter
    key_id: str = ""  # of a key that exists
    state: AccountState = field(init=False)  # of the account, once the key is checked
    account_id: str = ""
    slot: Slot | None = None
    body: bytes = b""

    async def peek(self) -> Slot:
        """Return the values of the rate-limit headers (help/interface.md 7) for a request that the rate limit has not counted."""
        now = self.services.clock()
        try:
            return await self.limiter.take(self.key_id, now, self.account_id, 0)
        except Exception:  # noqa: BLE001  # a failing limiter must not suppress the response that reports it
            return untouched(self.limiter.limit, now)


Gate = Callable[[RequestContext], Awaitable[None]]


async def check_key(context: RequestContext) -> None:
    """Check that the key is valid and its account exists (help/interface.md 3.2)."""
    sent = context.request.headers.getall("Authorization", [])
    if not sent:
        raise errors.missing_api_key()
    match = _BEARER.fullmatch(sent[0])
    if len(sent) > 1 or match is None:
        raise errors.invalid_api_key()
    directory = context.services.account_cache
    try:
        key, account = await directory.key(match[1])
    except StoreUnavailable as fault:
        raise errors.auth_backend_unavailable() from fault
    context.key_id, now = key.id if key else "", context.services.clock()
    if key is None or key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        raise errors.invalid_api_key()
    if account is None:
        raise errors.account_not_found()
    context.state, context.account_id = account, account.account.id
    directory.key_uses[key.id] = now
    info = context.request[INFO]
    info.principal = context.account_id
    info.authenticated(key.id)


async def check_plan(context: RequestContext) -> None:
    """Check that the account's plan includes the REST interface (help/interface.md 3.2)."""
    plans = context.services.config.plans
    name = context.state.account.plan
    plan = plans.get(name) if name else None
    if plan is None or not plan.rest_api:
        refusal = errors.plan_upgrade_required if plan else errors.plan_required
        raise refusal(required_plan=lowest_with(plans, "rest_api"), feature="rest_api", plan=name)


async def take_slot(context: RequestContext) -> None:
    """Count one request in the rate-limit window of the key (help/interface.md 3.2)."""
    if context.slot is None:
        try:
            context.slot = await context.limiter.take(context.key_id, context.services.clock(), context.account_id)
        except Exception as fault:
            raise errors.rate_limit_unavailable() from fault
    if not context.slot.taken:
        raise errors.rate_limit_exceeded(limit=context.slot.limit, window_seconds=WINDOW_S)


GATES: tuple[Gate, ...] = (check_key, check_plan, take_slot)


async def pass_gates(context: RequestContext) -> None:
    """Pass all gates. Repeat this if the cached account was out of date, because another process had changed it."""
    while True:
        refusal: ProblemError | None = None
        try:
            for gate in GATES:
                await gate(context)
        except ProblemError as problem:
            refusal = problem
        version = (context.slot or await context.peek()).version if context.account_id else None
        if version is None or context.services.account_cache.confirm(context.state, version):
            break
        context.key_id = context.account_id = ""
    if refusal is not None:
        raise refusal
