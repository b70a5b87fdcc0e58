"""Export and import of an account, page by page. Imported webhooks get new signing keys, and channels with secrets are paused."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import profiles, refusals, webhooks
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import NEEDS_SECRET, PAUSED, WEB
from chatsvc.domain.models import AccountUsage
from chatsvc.domain.profiles import Profile
from chatsvc.domain.transfer import Record, checked
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.bot_file_reader import BotFileReader, values_of
from chatsvc.services.accounts.channel_secrets import new_web_secrets
from chatsvc.services.services import Services
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import transfer as stored
from chatsvc.store.sealing import Unsealable
from chatsvc.store.transfer import ExportPosition, Unfitting
from chatsvc.store.webhooks import KEPT, PENDING


class ExportPage(NamedTuple):
    """Some records of an account, each with its kind. `next` is the position after the last record, or None at the end."""

    records: list[tuple[str, Record]]
    next: ExportPosition | None


class ImportedWebhook(NamedTuple):
    """An imported webhook with its new signing key, which no later call can show."""

    bot: str
    signing_key: str


class ImportedAccount(NamedTuple):
    """An account whose import has begun or was abandoned."""

    id: str


async def take_out(
    services: Services, caller: Caller, *, account: str, after: ExportPosition | None = None, with_secrets: bool = False
) -> ExportPage:
    """Export the next records of an account after the position `after`; raises Refused.

    API keys are exported as digests. Other secrets are exported only if `with_secrets` is true.
    """
    state = await accounts.resolve(services, caller, account)
    position = ExportPosition(*after) if after is not None else await stored.begin(services.db)
    if not position.is_possible():
        raise refusals.position_invalid(position=json.dumps(position))
    records, following = await stored.walk(services.db, state.account.id, position)
    for kind, record in records:
        if kind in stored.SECRETS:
            try:
                record[stored.SECRETS[kind]] = stored.unseal(services.secret, kind, record) if with_secrets else None
            except Unsealable:
                if kind == "webhook":
                    raise refusals.signing_key_unusable(bot=record["bot_id"]) from None
                raise refusals.channel_secret_unusable(bot=record["bot_id"], channel=record["channel"]) from None
    return ExportPage(records, following)


async def begin(services: Services, _: Caller, *, record: Record) -> ImportedAccount:
    """Begin an import with the record of the account itself. Remove the records of an earlier, incomplete import. Raises Refused."""
    account = checked("account", record, services.clock())
    account_id, plan = str(account["id"]), account["plan"]
    if plan is not None and plan not in services.config.plans:
        raise refusals.import_plan_unknown(plan=plan, plans=list(services.config.plans))
    await _abandon(services, account_id)
    try:
        await stored.put(services.db, account_id, [("account", account)], services.secret)
    except Unfitting:
        raise refusals.import_exists(account=account_id) from None
    return ImportedAccount(account_id)


async def put(services: Services, _: Caller, *, account: str, records: Sequence[tuple[object, object]]) -> list[ImportedWebhook]:
    """Import records of an account, and list the webhooks that got a new signing key. Raises Refused."""
    adapted, new = [], []
    for given_kind, given in records:
        kind, record = str(given_kind), _adapted(services, str(given_kind), checked(given_kind, given, services.clock()))
        adapted.append((kind, record))
        if kind == "webhook" and record["signing_key"] is None:
            record["signing_key"] = webhooks.generate_signing_key()
            new.append(ImportedWebhook(str(record["bot_id"]), str(record["signing_key"])))

    try:
        await stored.put(services.db, account, adapted, services.secret)
    except Unfitting as fault:
        raise refusals.import_unfitting(kind=str(fault)) from None
    return new


def _adapted(services: Services, kind: str, record: Record) -> Record:
    """Adapt an imported record to this installation. What the other installation may have sent is not sent again. Raises Refused."""
    if kind == "account":
        raise refusals.import_second_account()
    if kind == "bot" and record["model"] not in services.config.models:
        raise refusals.import_tier_unknown(tier=record["model"], tiers=list(services.config.models))
    if kind == "bot" and record["profile"] is not None:
        record["profile"] = _profile(services, str(record["profile"]))
    if kind == "channel" and record["channel"] == WEB and record["secrets"] is None:
        record["secrets"] = json.dumps(new_web_secrets())
    elif kind == "channel":
        # The other installation may still use it.
        record["state"] = NEEDS_SECRET if record["secrets"] is None else PAUSED
        record["identity"] = None if record["secrets"] is None else record["identity"]
    if kind == "message" and record["delivery"] == "queued":
        record["delivery"] = "unknown"
    if kind == "event":
        record["state"] = KEPT if record["state"] == PENDING else record["state"]
    if kind == "attempt" and record["success"] is None:
        record.update(success=False, error="interrupted", duration_ms=0)
    return record


def _profile(services: Services, stored_profile: str) -> str | None:
    """Check the profile of an imported bot like a file of `bot apply`, and return the profile for the store. Raises Refused."""
    try:
        profile = profiles.load(stored_profile)
        node, _ = values_of(profiles.values_of(profile))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise refusals.import_value_wrong(kind="bot", field="profile") from None
    reader = BotFileReader(services.config.models)
    parts = reader.read(node)
    if reader.faults:
        raise refusals.import_value_wrong(kind="bot", field="profile")
    return Profile(**parts).dump()


async def end(services: Services, caller: Caller, *, account: str, complete: bool) -> AccountUsage | ImportedAccount:
    """End an import: make the account visible, or remove its records if `complete` is False. Raises Refused."""
    if not complete:
        await _abandon(services, account)
        return ImportedAccount(account)
    if not await stored_accounts.arrive(services.db, account):
        raise refusals.import_not_begun(account=account)
    services.account_cache.invalidate_keys()
    return await accounts.show(services, caller, account=account)


async def _abandon(services: Services, account_id: str) -> None:
    await stored_accounts.abandon_imports(services.db, account_id)
    while await stored_accounts.sweep(services.db):
        pass
