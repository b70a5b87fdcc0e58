"""Operators: add, list, change and remove them, set-up links, and the first account with its administrator.

An administrator manages all operators. An owner manages those with a role in his or her accounts: their roles there, and everything
else only where they have no role elsewhere, since a set-up link or a changed e-mail address opens all accounts of an operator.
"""

import json
import uuid
from collections.abc import Mapping, Sequence

from chatsvc.domain import operators, paging, refusals
from chatsvc.domain.actors import Caller, Role, Unchanged
from chatsvc.domain.models import FirstRecords
from chatsvc.domain.operators import OF_OWNERS, NewOperator, Operator, OperatorSession
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, bots, keys
from chatsvc.services.services import Services
from chatsvc.services.team.own_session import own
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import operators as stored
from chatsvc.store import sessions as stored_sessions
from chatsvc.store.operators import EmailTaken, LastAdministrator, SetupLink


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
    """Add an operator with a set-up link: an administrator, or with an account's role.

    Raises `operator_exists`, `role_missing`, and `operator_shared` for one of other accounts: an administrator gives the role.
    """
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
    now = services.clock()
    operator = Operator(
        id=str(uuid.uuid4()),
        email=email,
        name=name,
        language=language,
        timezone=None,
        admin=admin,
        notices=(),
        is_set_up=False,
        second_factor=False,
        created_at=now,
        updated_at=now,
        roles={account_id: role for account_id, role in roles.items() if role},
    )
    token, link = _new_link(now)
    try:
        await stored.create(services.db, operator, link)
    except EmailTaken:
        # E-mail addresses are not proven: an owner could make another account's operator with a password of his or her own choice.
        there = await stored.find(services.db, email)
        if there is not None and not _is_visible(caller, there):
            raise refusals.operator_shared(email=email) from None
        raise refusals.operator_exists(email=email) from None
    return NewOperator(operator, _address(services, token), link.expires_at)


async def list_all(
    services: Services, caller: Caller, *, account: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Operator]:
    """List the operators of one account, or of the caller's scope, oldest first. An owner sees the roles in own accounts."""
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    limit, place = paging.clamped(limit), paging.parsed(after, paging.number, str)
    found = await stored.page(services.db, chosen, limit + 1, place)
    page = paging.page_of(found, limit, lambda one: paging.position(one.created_at, one.id))
    return ResultPage([_shown(caller, one) for one in page.items], page.next)


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
    """Change the given fields. The role "none" takes away the role in an account, and "" the time zone.

    Raises `last_administrator`, `operator_shared` where an owner may change the role alone, and `notice_for_owners`. Sessions follow at
    once.
    """
    found = await find(services, caller, email)
    _check_administers(caller, "operator.set", needed=admin is not None)
    changes = _own_settings(name, language, timezone, notices)
    if changes and not _is_self(caller, found):
        _check_whole(caller, found)
    if admin is not None:
        changes["admin"] = admin
    roles = await _roles(services, caller, account, role)
    if notices is not None:
        _check_offered(found, admin, roles, notices)
    if not changes and not roles:
        raise refusals.nothing_to_change()
    try:
        changed = await stored.change(services.db, found.id, {**changes, "updated_at": services.clock()}, roles)
    except LastAdministrator:
        raise refusals.last_administrator(email=found.email) from None
    if changed is None:
        raise refusals.operator_not_found(email=email)
    shown = _shown(caller, changed)
    return Unchanged(shown) if changed._replace(updated_at=found.updated_at) == found else shown


def _own_settings(name: str | None, language: str | None, timezone: str | None, notices: Sequence[str] | None) -> dict[str, object]:
    """Check the settings that operators may change of themselves; None leaves one as it is."""
    changes: dict[str, object] = {}
    if name is not None:
        changes["name"] = accounts.plain_text(name, "operator.name")
    if language is not None:
        changes["language"] = operators.known_language(language)
    if timezone is not None:
        changes["timezone"] = operators.known_timezone(timezone)
    if notices is not None:
        changes["notices"] = json.dumps(operators.known_notices(notices))
    return changes


async def link(services: Services, caller: Caller, *, email: str) -> NewOperator:
    """Make a set-up link, which replaces earlier ones. Its use ends all sessions and the second factor. Raises `link_for_oneself`."""
    found = await find(services, caller, email)
    _check_whole(caller, found)
    if _is_self(caller, found):
        # A stolen session must not outlive itself.
        raise refusals.link_for_oneself()
    token, made = _new_link(services.clock())
    if not await stored.add_link(services.db, found.id, made):
        raise refusals.operator_not_found(email=email)
    return NewOperator(_shown(caller, found), _address(services, token), made.expires_at)


async def sessions(services: Services, caller: Caller, *, email: str) -> list[OperatorSession]:
    """List an operator's live sessions, newest first."""
    found = await find(services, caller, email)
    _check_whole(caller, found)
    now = services.clock()
    return [one for one in await stored_sessions.of_operator(services.db, found.id) if operators.is_live(one, now)]


async def remove(services: Services, caller: Caller, *, email: str) -> Operator:
    """Remove an operator with all sessions; raises `last_administrator`."""
    found = await find(services, caller, email)
    _check_whole(caller, found)
    try:
        removed = await stored.remove(services.db, found.id)
    except LastAdministrator:
        raise refusals.last_administrator(email=found.email) from None
    if not removed:
        raise refusals.operator_not_found(email=email)
    return _shown(caller, found)


async def set_language(services: Services, caller: Caller, *, language: str) -> Operator | Unchanged:
    """Change the language of the operator who calls; raises `session_needed`."""
    return await _set_own(services, caller, "language", operators.known_language(language))


async def set_timezone(services: Services, caller: Caller, *, timezone: str) -> Operator | Unchanged:
    """Change the time zone of the operator who calls; "" removes it. Raises `session_needed` and `timezone_unknown`."""
    return await _set_own(services, caller, "timezone", operators.known_timezone(timezone))


async def _set_own(services: Services, caller: Caller, field: str, value: str | None) -> Operator | Unchanged:
    operator = (await own(services, caller)).operator
    if value == getattr(operator, field):
        return Unchanged(operator)
    changed = await stored.change(services.db, operator.id, {field: value, "updated_at": services.clock()}, {})
    if changed is None:
        raise refusals.session_needed()
    return changed


async def any_exists(services: Services) -> bool:
    return bool(await stored.page(services.db, None, 1, None))


async def find(services: Services, caller: Caller, email: str) -> Operator:
    """Find an operator whom the caller manages, or the caller; raises `operator_not_found`."""
    found = await stored.find(services.db, operators.normalised_email(email))
    if found is None or not (_is_visible(caller, found) or _is_self(caller, found)):
        raise refusals.operator_not_found(email=email)
    return found


async def _roles(services: Services, caller: Caller, account: str | None, role: str | None) -> dict[str, Role | None]:
    """Return the account and the role in it, None to take it away; raises Refused."""
    if role is None:
        if account is not None:
            raise refusals.role_missing(roles=list(operators.ROLES))
        return {}
    chosen = None if role == operators.NO_ROLE else operators.role_named(role)
    return {(await accounts.resolve(services, caller, account)).account.id: chosen}


def _check_offered(operator: Operator, admin: bool | None, roles: Mapping[str, Role | None], notices: Sequence[str]) -> None:
    """Check notices against what the operator will be; raises `notice_for_owners`."""
    held = {account: role for account, role in {**operator.roles, **roles}.items() if role is not None}
    later = operator._replace(admin=operator.admin if admin is None else admin, roles=held)
    if OF_OWNERS in notices and OF_OWNERS not in operators.offered_notices(later):
        raise refusals.notice_for_owners(email=operator.email, notice=OF_OWNERS)


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
    """Leave out the roles in accounts that the caller does not see."""
    roles = {account_id: role for account_id, role in operator.roles.items() if caller.scope.includes(account_id)}
    return operator._replace(roles=roles)


def _new_link(now: int) -> tuple[str, SetupLink]:
    token = operators.new_token()
    return token, SetupLink(operators.digest(token), now, now + operators.LINK_MS)


def _address(services: Services, token: str) -> str:
    return f"{services.config.server.public_url}/setup/{token}"


async def create_first(services: Services, caller: Caller, *, operator: str | None = None) -> FirstRecords:
    """Create an account, a bot and an API key, unless there is an account. `operator` is the e-mail address of an administrator.

    An operator who exists already stays as he or she is, without a new set-up link.
    """
    administrator = None if operator is None else await _administrator(services, caller, operator)
    if await stored_accounts.count(services.db, None):
        return FirstRecords(None, None, None, administrator)
    made = await accounts.create(services, caller, name="My company", plan=list(services.config.plans)[-1])
    owner = made.account.id
    bot = await bots.create(services, caller, name="Assistant", account=owner)
    return FirstRecords(made, bot, await keys.create(services, caller, account=owner, name="first key"), administrator)


async def _administrator(services: Services, caller: Caller, email: str) -> NewOperator:
    try:
        return await add(services, caller, email=email, admin=True)
    except Refused as refusal:
        if refusal.code != refusals.operator_exists.code:
            raise
        return NewOperator(await find(services, caller, email), None, None)
