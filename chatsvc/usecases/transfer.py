"""An account moves to another installation: out into records, and in from records, with everything that belongs to it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence

from chatsvc.domain import signing
from chatsvc.domain.errors import Refused
from chatsvc.domain.shapes import Json
from chatsvc.domain.transfer import Record, checked
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import transfer as stored
from chatsvc.store.transfer import Place, Unfitting
from chatsvc.store.webhooks import KEPT, PENDING
from chatsvc.usecases import accounts
from chatsvc.usecases.services import Services
from chatsvc.webhooks import sealing
from chatsvc.webhooks.courier import row


async def take_out(services: Services, *, account: str, after: Sequence[object] | None = None, with_secrets: bool = False) -> Json:
    """The next records of an account behind `after`, and where they end; raises Refused.

    Signing keys are told, as they are, only `with_secrets`; API keys are kept as digests, and these are told.
    """
    state = await accounts.resolve(services, account)
    place = Place(*after) if after is not None else await stored.begin(services.db)  # type: ignore[arg-type]  # as this gave it
    records, following = await stored.walk(services.db, state.account.id, place)
    for kind, record in records:
        if kind == "webhook":
            record["signing_key"] = _opened(services, record) if with_secrets else None
    return {"records": records, "next": following}


def _opened(services: Services, record: Record) -> str:
    bot_id, sealed = str(record["bot_id"]), b64decode(str(record["signing_key"]))
    try:
        return sealing.unseal_with_any(services.secret.every(sealing.PURPOSE), sealed, row(bot_id))
    except sealing.Unsealable as fault:
        raise Refused(f"{fault}: make a new one with `chatsvc webhook rotate`, or export without --with-secrets") from None


async def begin(services: Services, *, record: Record) -> Json:
    """Begin to take an account in; `record` is its own. What an earlier attempt left is removed. Raises Refused."""
    account = checked("account", record, services.clock())
    account_id, plan = str(account["id"]), account["plan"]
    if plan is not None and plan not in services.config.plans:
        raise Refused(f"the account is on the plan {plan!r}; the configuration has {', '.join(services.config.plans)}")
    await _abandon(services, account_id)
    try:
        await stored.put(services.db, account_id, [("account", account)], _no_seal)
    except Unfitting:
        raise Refused(f"there is an account {account_id} already") from None
    return {"id": account_id}


def _no_seal(_: bytes, __: Record) -> bytes:
    raise RuntimeError("an account's own record has nothing to seal")


async def put(services: Services, *, account: str, records: Sequence[tuple[object, object]]) -> Json:
    """Take in records of an account that was begun; gives the webhooks that got a new signing key. Raises Refused."""
    made = [(str(kind), _adapted(services, str(kind), checked(kind, record, services.clock()))) for kind, record in records]
    new = []
    for kind, record in made:
        if kind == "webhook" and record["signing_key"] is None:
            record["signing_key"] = signing.generate_signing_key()
            new.append({"bot": record["bot_id"], "signing_key": record["signing_key"]})

    def seal(check: bytes, record: Record) -> bytes:
        bot_id, key = str(record["bot_id"]), str(record["signing_key"])
        return sealing.seal(services.secret.of(check)(sealing.PURPOSE), key, row(bot_id))

    try:
        await stored.put(services.db, account, made, seal)
    except Unfitting as fault:
        raise Refused(f"a record of the kind {fault} does not fit: it is here already, or what it belongs to is not") from None
    return {"webhooks": new}


def _adapted(services: Services, kind: str, record: Record) -> Record:
    """What must not be taken over as it was: nothing is sent that the other installation may have sent as well."""
    if kind == "account":
        raise Refused("the file has more than one account")
    if kind == "bot" and record["model"] not in services.config.models:
        raise Refused(f"a bot is on the model tier {record['model']!r}; the configuration has {', '.join(services.config.models)}")
    if kind == "event":
        record["state"] = KEPT if record["state"] == PENDING else record["state"]
    if kind == "attempt" and record["success"] is None:
        record.update(success=False, error="interrupted", duration_ms=0)
    return record


async def end(services: Services, *, account: str, complete: bool) -> Json:
    """Let the account be seen now that all of it is there; or, where not `complete`, remove what had come. Raises Refused."""
    if not complete:
        await _abandon(services, account)
        return {"id": account}
    if not await stored_accounts.arrive(services.db, account):
        raise Refused(f"the account {account} is not being imported")
    services.account_cache.invalidate_keys()
    return await accounts.show(services, account=account)


async def _abandon(services: Services, account_id: str) -> None:
    await stored_accounts.abandon_imports(services.db, account_id)
    while await stored_accounts.sweep(services.db):
        pass
