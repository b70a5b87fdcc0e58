"""Operators: add, list, change and remove them, set-up links, and the first account with its administrator.

An administrator manages all operators. An owner manages operators with a role in his or her accounts, and changes their roles there.
An owner may change other data of an operator only if the operator has no role in other accounts: a set-up link or a changed e-mail
address opens all accounts of an operator.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatsvc.domain import operators, paging, refusals
from chatsvc.domain.actors import Caller, Role, Unchanged
from chatsvc.domain.models import FirstRecords
from chatsvc.domain.operators import OF_OWNERS, NewOperator, Operator, OperatorSession
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.services import Services
from chatsvc.services.team.credentials import own
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import operators as stored
from chatsvc.store import sessions as stored_sessions
from chatsvc.store.operators import SetupLink

# Checks of the settings that operators may change of themselves.
_OWN_SETTINGS: Mapping[str, Callable[[Any], object]] = {
    "name": lambda name: accounts.plain_text(name, "operator.name"),
    "language": operators.known_language,
    "timezone": operators.known_timezone,
    "notices": lambda notices: json.dumps(operators.known_notices(notices)),
}


async def add(
    services: Services,
    caller: Caller,
    *,
    email: str,
    admin: bool = False,
    account: str | None = None,
    role: str | None = None,
    name: str | None = None,
    language: str | None = None,
) -> NewOperator:
    """Add an operator, and make a set-up link. The operator is an administrator, or has a role in an account. Raises Refused."""
    _check_administers(caller, "operator.add", needed=admin)
    faults = refusals.Faults()
    with faults:
        email = operators.normalised_email(email)
    with faults:
        name = accounts.plain_text(name, "operator.name") if name is not None else None
    with faults:
        language = operators.known_language(language) if language is not None else None
    if role is not None:
        with faults:
            operators.role_named(role)
    faults.refuse()
    roles = await _roles(services, caller, account, role)
    if not admin and not roles:
        raise refusals.role_missing(roles=list(operators.ROLES))
    now, held = services.clock(), {account_id: role for account_id, role in roles.items() if role}
    operator = Operator(
        str(uuid.uuid4()),
        email,
        name,
        language,
        None,
        admin,
        (),
        is_set_up=False,
        second_factor=False,
        created_at=now,
        updated_at=now,
        roles=held,
    )
    address, link = _new_link(services)
    if not await stored.create(services.db, operator, link, services.sends_mail and services.config.server.dashboard):
        # E-mail addresses are not proven: an owner could make another account's operator with a password of his or her own choice.
        there = await stored.find(services.db, email)
        if there is not None and not _is_visible(caller, there):
            raise refusals.operator_shared(email=email)
        raise refusals.operator_exists(email=email)
    return NewOperator(operator, address, link.expires_at)


async def list_all(
    services: Services, caller: Caller, *, account: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Operator]:
    """List the operators of one account, or of the caller's scope, oldest first. An owner sees only roles in accounts of that scope."""
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number, str)
    rows = await stored.page(services.db, chosen, limit + 1, position)
    page = paging.page_of(rows, limit, lambda operator: paging.position(operator.created_at, operator.id))
    return ResultPage([_shown(caller, operator) for operator in page.items], page.next)


async def change(
    services: Services,
    caller: Caller,
    *,
    email: str,
    account: str | None = None,
    role: str | None = None,
    notices: Sequence[str] | None = None,
    name: str | None = None,
    language: str | None = None,
    timezone: str | None = None,
    admin: bool | None = None,
) -> Operator | Unchanged:
    """Change the given fields of an operator. The role "none" removes the role in an account, and "" removes the time zone."""
    operator = await find(services, caller, email)
    _check_administers(caller, "operator.set", needed=admin is not None)
    given = {"name": name, "language": language, "timezone": timezone, "notices": notices}
    changes = {setting: _OWN_SETTINGS[setting](value) for setting, value in given.items() if value is not None}
    if changes and not _is_self(caller, operator):
        _check_whole(caller, operator)
    if admin is not None:
        changes["admin"] = admin
    roles = await _roles(services, caller, account, role)
    if notices is not None:
        # Against what the operator will be.
        held = {account_id: role for account_id, role in {**operator.roles, **roles}.items() if role is not None}
        later = operator._replace(admin=operator.admin if admin is None else admin, roles=held)
        if OF_OWNERS in notices and OF_OWNERS not in operators.offered_notices(later):
            raise refusals.notice_for_owners(email=operator.email, notice=OF_OWNERS)
    if not changes and not roles:
        raise refusals.nothing_to_change()
    changed = await stored.change(services.db, operator.id, {**changes, "updated_at": services.clock()}, roles)
    if changed is None:
        raise refusals.operator_not_found(email=email)
    shown = _shown(caller, changed)
    return Unchanged(shown) if changed._replace(updated_at=operator.updated_at) == operator else shown


async def link(services: Services, caller: Caller, *, email: str) -> NewOperator:
    """Make a set-up link, which replaces earlier links. Using it ends all sessions and the second factor. Raises `link_for_oneself`."""
    operator = await _find_whole(services, caller, email)
    if _is_self(caller, operator):
        # A stolen session must not outlive itself.
        raise refusals.link_for_oneself()
    address, new_link = _new_link(services)
    if not await stored.add_link(services.db, operator.id, new_link):
        raise refusals.operator_not_found(email=email)
    return NewOperator(_shown(caller, operator), address, new_link.expires_at)


async def sessions(services: Services, caller: Caller, *, email: str) -> list[OperatorSession]:
    """List an operator's live sessions, newest first."""
    operator = await _find_whole(services, caller, email)
    return await stored_sessions.live(services.db, operator.id, services.clock())


async def remove(services: Services, caller: Caller, *, email: str) -> Operator:
    """Remove an operator with all sessions; raises `last_administrator`."""
    operator = await _find_whole(services, caller, email)
    if not await stored.remove(services.db, operator.id):
        raise refusals.operator_not_found(email=email)
    return _shown(caller, operator)


async def set_own(services: Services, caller: Caller, *, language: str | None = None, timezone: str | None = None) -> Operator | Unchanged:
    """Change the language or the time zone of the operator who calls; "" removes the time zone. Raise `session_needed`."""
    return await change(services, caller, email=(await own(services, caller)).operator.email, language=language, timezone=timezone)


async def any_exists(services: Services) -> bool:
    return bool(await stored.page(services.db, None, 1, None))


async def find(services: Services, caller: Caller, email: str) -> Operator:
    """Find an operator whom the caller manages, or the caller; raises `operator_not_found`."""
    operator = await stored.find(services.db, operators.normalised_email(email))
    if operator is None or not (_is_visible(caller, operator) or _is_self(caller, operator)):
        raise refusals.operator_not_found(email=email)
    return operator


async def _find_whole(services: Services, caller: Caller, email: str) -> Operator:
    """Find an operator; the caller must manage all of the operator's accounts. Raises `operator_not_found` and `operator_shared`."""
    operator = await find(services, caller, email)
    _check_whole(caller, operator)
    return operator


async def _roles(services: Services, caller: Caller, account: str | None, role: str | None) -> dict[str, Role | None]:
    """Return the new role by account id, or {} if no role is given. A role of None removes the present role. Raises Refused."""
    if role is None:
        if account is not None:
            raise refusals.role_missing(roles=list(operators.ROLES))
        return {}
    chosen = None if role == operators.NO_ROLE else operators.role_named(role)
    return {(await accounts.resolve(services, caller, account)).account.id: chosen}


def _owned(caller: Caller) -> list[str] | None:
    return caller.scope.at_least(Role.OWNER).accounts


def _is_visible(caller: Caller, operator: Operator) -> bool:
    owned = _owned(caller)
    return owned is None or not operator.roles.keys().isdisjoint(owned)


def _is_self(caller: Caller, operator: Operator) -> bool:
    return caller.actor.kind == "operator" and caller.actor.id == operator.id


def _check_whole(caller: Caller, operator: Operator) -> None:
    owned = _owned(caller)
    if owned is not None and (operator.admin or not operator.roles.keys() <= set(owned)):
        raise refusals.operator_shared(email=operator.email)


def _check_administers(caller: Caller, operation: str, *, needed: bool) -> None:
    if needed and caller.scope.roles is not None:
        raise refusals.forbidden(operation=operation, role=Role.ADMINISTRATOR.name.lower())


def _shown(caller: Caller, operator: Operator) -> Operator:
    """Return an operator without the roles in accounts that the caller may not see."""
    roles = {account_id: role for account_id, role in operator.roles.items() if caller.scope.includes(account_id)}
    return operator._replace(roles=roles)


def _new_link(services: Services) -> tuple[str, SetupLink]:
    token, now = operators.new_token(), services.clock()
    link = SetupLink(operators.digest(token), now, now + operators.LINK_MS)
    return f"{services.config.server.public_url}/setup/{token}", link


async def create_first(services: Services, caller: Caller, *, operator: str | None = None) -> FirstRecords:
    """Create an account with a bot and an API key, unless an account exists. `operator` is the e-mail address of a new administrator.

    An existing operator is not changed and gets no new set-up link.
    """
    administrator = None
    if operator is not None:
        try:
            administrator = await add(services, caller, email=operator, admin=True)
        except Refused as refusal:
            if refusal.code != refusals.operator_exists.code:
                raise
            administrator = NewOperator(await find(services, caller, operator), None, None)
    if await stored_accounts.count(services.db, None):
        return FirstRecords(None, None, None, administrator)
    account = await accounts.create(services, caller, name="My company", plan=list(services.config.plans)[-1])
    bot = await bots.create(services, caller, name="Assistant", account=account.account.id)
    key = await accounts.create_key(services, caller, account=account.account.id, name="first key")
    return FirstRecords(account, bot, key, administrator)
