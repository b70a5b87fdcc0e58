"""Creates the first account with a bot and an API key, optionally with an administrator."""

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import FirstRecords
from chatsvc.domain.operators import NewOperator
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, bots, keys
from chatsvc.services.services import Services
from chatsvc.services.team import operators
from chatsvc.store import accounts as stored


async def first(services: Services, caller: Caller, *, operator: str | None = None) -> FirstRecords:
    """Create an account, a bot and an API key, unless there is an account. `operator` is the e-mail address of an administrator.

    An operator who exists already stays as he or she is, without a new set-up link.
    """
    administrator = None if operator is None else await _administrator(services, caller, operator)
    if await stored.count(services.db, None):
        return FirstRecords(None, None, None, administrator)
    made = await accounts.create(services, caller, name="My company", plan=list(services.config.plans)[-1])
    owner = made.account.id
    bot = await bots.create(services, caller, name="Assistant", account=owner)
    return FirstRecords(made, bot, await keys.create(services, caller, account=owner, name="first key"), administrator)


async def _administrator(services: Services, caller: Caller, email: str) -> NewOperator:
    try:
        return await operators.add(services, caller, email=email, admin=True)
    except Refused as refusal:
        if refusal.code != refusals.operator_exists.code:
            raise
        return NewOperator(await operators.find(services, caller, email), None, None)
