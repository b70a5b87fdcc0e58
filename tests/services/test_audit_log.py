"""Audit records of administrative operations: written before they run, completed after, whatever happens."""

import pytest

from chatsvc.app import App
from chatsvc.domain import refusals
from chatsvc.domain.actors import Actor, AuditRecord, Caller, Role, Scope
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, webhooks
from chatsvc.services.administration import OPERATIONS, RECORDS, Effect, perform
from chatsvc.services.operations.system import list_acts
from chatsvc.services.services import Services
from chatsvc.store import audit
from chatsvc.store.database import Database, StoreFault, StoreUnavailable
from tests import conftest
from tests.api.support import execute
from tests.fakes import ADMIN, START, FakeClock

pytestmark = pytest.mark.postgres

LOOKS = (
    "appointments assignees attempt attempts audit compare drafts find history labels lint list preview_show quality rows run search"
    " see sends sessions show show_change snippet split state today try type usage view"
)
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def records(app: App, caller: Caller = ADMIN) -> list[AuditRecord]:
    """Oldest first."""
    return (await list_acts(app.services, caller)).items[::-1]


async def outcomes(app: App) -> list[tuple[str, str | None]]:
    return [(record.operation, record.outcome) for record in await records(app)]


def test_operations_without_a_record_only_look() -> None:
    words = {name.rpartition(".")[2] for name, operation in OPERATIONS.items() if operation.effect is Effect.LOOK}
    assert words == set(LOOKS.split())
    looking = {name for name in OPERATIONS if name.rpartition(".")[2] in words}
    assert {name for name in looking if OPERATIONS[name].effect is not Effect.LOOK} == set()


async def test_an_operation_is_recorded_before_it_runs_and_completed_after(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[AuditRecord] = []
    create = accounts.create

    async def watched(services: Services, caller: Caller, *, name: str) -> object:
        seen.extend(await records(app))
        return await create(services, caller, name=name)

    monkeypatch.setattr(accounts, "create", watched)
    creation = await perform(app.services, ADMIN, "account.create", {"name": "Acme"})
    before = AuditRecord(START, Actor("user", "0", "root"), "cli", None, "account.create", {})
    assert [record._replace(number=0) for record in seen] == [before]
    settled = before._replace(account_id=creation.account.id, ids={"id": creation.account.id}, outcome="done", number=seen[0].number)
    assert await records(app) == [settled]


@pytest.mark.parametrize(
    ("fault", "outcome"), [(refusals.nothing_to_change(), "refused"), (ZeroDivisionError(), "failed"), (StoreUnavailable("x"), "failed")]
)
async def test_an_operation_that_fails_is_recorded_with_its_outcome(
    app: App, monkeypatch: pytest.MonkeyPatch, fault: Exception, outcome: str
) -> None:
    async def create(services: Services, caller: Caller, *, name: str) -> None:
        raise fault

    monkeypatch.setattr(accounts, "create", create)
    with pytest.raises(type(fault)):
        await perform(app.services, ADMIN, "account.create", {"name": "Acme"})
    assert await outcomes(app) == [("account.create", outcome)]


async def test_an_operation_that_cannot_be_recorded_does_not_run(app: App) -> None:
    await execute(app, "ALTER TABLE audit_records RENAME TO gone")
    with pytest.raises(StoreFault):
        await perform(app.services, ADMIN, "account.create", {"name": "Acme"})
    assert (await accounts.list_all(app.services, ADMIN)).items == []


async def test_an_operation_whose_outcome_cannot_be_recorded_still_returns(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record = audit.record

    async def written_once(db: Database, entry: AuditRecord) -> int:
        if entry.number:
            raise StoreUnavailable("disk full")
        return await record(db, entry)

    monkeypatch.setattr(audit, "record", written_once)
    creation = await perform(app.services, ADMIN, "account.create", {"name": "Acme"})
    assert (await accounts.list_all(app.services, ADMIN)).items == [creation]
    assert await outcomes(app) == [("account.create", None)]
    assert "the outcome of an administrative operation is not recorded (done): disk full" in caplog.text


async def test_an_export_is_recorded_if_it_returned_data(app: App, caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    exported: list[str] = []

    async def events(services: Services, caller: Caller, *, bot: str) -> list[str]:
        return exported

    monkeypatch.setattr(webhooks, "events", events)
    await perform(app.services, ADMIN, "webhook.events", {"bot": caller.bot})
    assert await outcomes(app) == []
    exported.append("words of a visitor")
    await perform(app.services, ADMIN, "webhook.events", {"bot": caller.bot})
    (record,) = await records(app)
    assert (record.operation, record.ids, record.outcome) == ("webhook.events", {"bot": caller.bot}, "done")
    assert record.account_id == caller.account


@pytest.mark.parametrize("operation", ["bot.export", "bot.set"])
async def test_equal_acts_in_a_row_are_one_record_and_push_no_other_records_out(
    app: App, caller: conftest.Caller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.setattr(audit, "SHARE", 2)
    arguments = {"bot": caller.bot, **({"name": "Desk"} if operation == "bot.set" else {})}
    await perform(app.services, ADMIN, "bot.activate", {"bot": caller.bot})
    for _ in range(5):
        for seconds in (0, 1, 601):
            clock.advance(seconds)
            await perform(app.services, ADMIN, operation, arguments)
    await perform(app.services, ADMIN, "bot.deactivate", {"bot": caller.bot})
    await perform(app.services, ADMIN, operation, arguments)
    assert [(record.operation, record.times) for record in await records(app)] == [
        ("bot.activate", 1),
        (operation, 1),
        ("bot.deactivate", 1),
        (operation, 1),
    ]


async def test_each_outcome_has_its_own_share(app: App, caller: conftest.Caller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "SHARE", 1)
    await perform(app.services, ADMIN, "bot.set", {"bot": caller.bot, "name": "Front desk"})
    for _ in range(3):
        clock.advance(601)
        with pytest.raises(refusals.Refused, match="text_empty"):
            await perform(app.services, ADMIN, "bot.set", {"bot": caller.bot, "name": ""})
    assert await outcomes(app) == [("bot.set", "done"), ("bot.set", "refused")]


async def test_an_owner_sees_the_records_of_the_own_account_alone(app: App, make_caller: conftest.MakeCaller) -> None:
    mine, other = await make_caller(), await make_caller()
    owner = Caller(Actor("operator", "7", "Ada"), Scope({mine.account: Role.OWNER}), "web")
    await perform(app.services, owner, "bot.set", {"bot": mine.bot, "name": "Front desk"})
    await perform(app.services, ADMIN, "bot.deactivate", {"bot": other.bot})
    await perform(app.services, ADMIN, "bot.activate", {"bot": mine.bot})
    with pytest.raises(refusals.Refused, match="bot_not_found"):
        await perform(app.services, owner, "bot.set", {"bot": other.bot, "name": "Front desk"})
    listed = (await perform(app.services, owner, "audit", {})).items
    assert [(record.actor.name, record.via, record.operation) for record in listed] == [
        ("root", "cli", "bot.activate"),
        ("Ada", "web", "bot.set"),
    ]
    everything = await records(app)
    assert [(record.operation, record.account_id, record.outcome) for record in everything] == [
        ("bot.set", mine.account, "done"),
        ("bot.deactivate", other.account, "done"),
        ("bot.activate", mine.account, "done"),
        ("bot.set", None, "refused"),
    ]


async def test_a_secret_typed_in_the_place_of_an_id_is_not_recorded(app: App, caller: conftest.Caller) -> None:
    with pytest.raises(refusals.Refused, match="key_not_found"):
        await perform(app.services, ADMIN, "key.revoke", {"key": caller.key})
    (record,) = await records(app)
    assert (record.ids, record.outcome) == ({}, "refused")


async def test_the_ids_of_a_record_are_in_the_order_of_their_names(app: App) -> None:
    with pytest.raises(Refused, match="bot_not_found"):
        await perform(app.services, ADMIN, "bot.delete", dict.fromkeys(RECORDS, "00000000-0000-4000-8000-000000000000"))
    (record,) = await records(app)
    assert list(record.ids) == sorted(RECORDS)


async def test_the_newest_records_are_kept_and_paged(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "SHARE", 3)
    for number in range(7):
        entry = AuditRecord(START + number, Actor("user", "0", str(number)), "cli", None, "x", {})
        await audit.record(app.services.db, entry)
    first = await list_acts(app.services, ADMIN, limit=2)
    rest = await list_acts(app.services, ADMIN, limit=2, after=first.next)
    assert [record.actor.name for record in first.items + rest.items] == ["6", "5", "4"]
    assert rest.next is None


@pytest.mark.parametrize("role", [Role.READER, Role.EDITOR])
async def test_refused_acts_of_one_operator_push_no_other_records_out(
    app: App, make_caller: conftest.MakeCaller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, role: Role
) -> None:
    monkeypatch.setattr(audit, "SHARE", 2)
    mine, other = await make_caller(), await make_caller()
    for business in (other, mine):
        await perform(app.services, ADMIN, "bot.activate", {"bot": business.bot})
    await perform(app.services, ADMIN, "account.create", {"name": "Acme"})
    before = await records(app)
    guesser = Caller(Actor("operator", "7", "Eve"), Scope({mine.account: role}), "web")
    for number in range(20):
        with pytest.raises(refusals.Refused):
            await perform(app.services, guesser, "knowledge.remove", {"bot": f"00000000-0000-4000-8000-{number:012}", "entry": UNKNOWN})
        clock.advance(120)
    entries = await records(app)
    assert entries[:3] == before
    # A reader's are of the own account. An editor's are of none, where the ids say nothing, so that those of ten minutes are one.
    expected = (mine.account, 1) if role is Role.READER else (None, 5)
    assert [(record.account_id, record.times, record.outcome) for record in entries[3:]] == [(*expected, "refused")] * 2


async def test_a_refused_act_that_is_repeated_has_one_record(app: App, caller: conftest.Caller, clock: FakeClock) -> None:
    for _ in range(3):
        with pytest.raises(refusals.Refused, match="text_empty"):
            await perform(app.services, ADMIN, "bot.set", {"bot": caller.bot, "name": ""})
    clock.advance(600)
    with pytest.raises(refusals.Refused, match="text_empty"):
        await perform(app.services, ADMIN, "bot.set", {"bot": caller.bot, "name": ""})
    await perform(app.services, ADMIN, "bot.set", {"bot": caller.bot, "name": "Front desk"})
    assert [(record.outcome, record.times, record.ids["bot"]) for record in await records(app)] == [
        ("refused", 3, caller.bot),
        ("refused", 1, caller.bot),
        ("done", 1, caller.bot),
    ]


async def test_an_outcome_of_a_record_that_is_gone_is_dropped(app: App) -> None:
    await audit.record(app.services.db, AuditRecord(START, ADMIN.actor, "cli", None, "bot.set", {}, "done", 99))
    assert await records(app) == []


async def test_what_an_operator_changes_of_the_own_pushes_out_no_other_records(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "SHARE_OWN", 2)
    db, eve = app.services.db, Actor("operator", "7", "Eve")
    await audit.record(db, AuditRecord(START, ADMIN.actor, "cli", None, "backup.create", {}, "done"))
    await audit.record(db, AuditRecord(START, eve, "web", None, "session.create", {}, "done", own=True))
    for number in range(20):
        at = START + number * audit.JOINED_MS
        await audit.record(db, AuditRecord(at, eve, "web", None, "operator.language", {}, "done", own=True))
    assert [(record.operation, record.recorded_at) for record in await records(app)] == [
        ("backup.create", START),
        ("session.create", START),
        *(("operator.language", START + number * audit.JOINED_MS) for number in (18, 19)),
    ]


async def test_a_change_to_what_stands_has_no_record(app: App) -> None:
    await perform(app.services, ADMIN, "operator.add", {"email": "eve@example.com", "name": "Eve", "admin": True})
    for language in ("tr", "tr", "en", "en", "en"):
        await perform(app.services, ADMIN, "operator.set", {"email": "eve@example.com", "language": language})
    assert [tuple(change) for record in await records(app) for change in record.changes] == [
        ("language", "", "tr"),
        ("language", "tr", "en"),
    ]


async def test_a_record_says_what_was_changed_from_what_to_what(app: App) -> None:
    customer = (await perform(app.services, ADMIN, "account.create", {"name": "Acme"})).account
    account, limit = customer.id, str(customer.messages_limit)
    bot = (await perform(app.services, ADMIN, "bot.create", {"account": account, "name": "Desk"})).id
    for operation, arguments in (
        ("bot.set", {"bot": bot, "greeting": "x" * 300, "phone": "+905321234567", "texts": {"done": {"tr": "Aldım."}}}),
        ("bot.set", {"bot": bot, "phone": ""}),
        ("account.set", {"account": account, "messages_limit": 7}),
        ("webhook.set", {"bot": bot, "url": None, "events": ["request.created"]}),
        ("webhook.set", {"bot": bot, "url": None, "events": ["appointment.created"]}),
        ("operator.add", {"email": "eve@example.com", "name": "Eve", "account": account, "role": "reader"}),
        ("operator.set", {"email": "eve@example.com", "account": account, "role": "editor"}),
    ):
        await perform(app.services, ADMIN, operation, arguments)
    changes = [(entry.operation, *map(tuple, entry.changes)) for entry in await records(app)][2:]
    assert changes == [
        (
            "bot.set",
            ("greeting", "", "x" * 199 + "…"),
            ("phone", "", "+905321234567"),
            ("texts.done.tr", "", "Aldım."),
        ),
        ("bot.set", ("phone", "+905321234567", "")),
        ("account.set", ("messages_limit", limit, "7")),
        ("webhook.set",),
        ("webhook.set", ("events", '["request.created"]', '["appointment.created"]')),
        ("operator.add",),
        ("operator.set", (f"roles.{account}", "reader", "editor")),
    ]


async def test_records_are_deleted_after_two_years(app: App) -> None:
    for at in (START - audit.AGE_MS - 1, START - audit.AGE_MS + 1, START):
        await audit.record(app.services.db, AuditRecord(at, ADMIN.actor, "cli", None, f"x{at}", {}, "done"))
    assert not await audit.expire(app.services.db, START)
    assert [record.recorded_at for record in await records(app)] == [START - audit.AGE_MS + 1, START]
