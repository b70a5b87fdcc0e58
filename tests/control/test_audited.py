"""What is recorded of an operation: before it is done, and how it ended, whatever happens."""

from __future__ import annotations

from typing import Any

import pytest

from chatsvc.app import App
from chatsvc.control import audited
from chatsvc.control.operations import EXPORTING, LOOKING, OPERATIONS, Call
from chatsvc.domain.errors import Refused
from chatsvc.store import audit
from chatsvc.store.database import StoreFault, StoreUnavailable
from chatsvc.usecases import accounts
from chatsvc.usecases.audit import list_all
from chatsvc.usecases.services import Services
from tests.api.support import execute
from tests.conftest import Caller
from tests.fakes import START

CREATE = Call("account.create", {"name": "Acme"})


async def outcomes(app: App) -> list[tuple[object, object]]:
    """Oldest first."""
    return [(act["operation"], act["outcome"]) for act in (await list_all(app.services))[::-1]]


def test_what_leaves_no_record_only_looks_and_nothing_else_does() -> None:
    assert OPERATIONS.keys() >= LOOKING | EXPORTING
    words = {name.rpartition(".")[2] for name in LOOKING}
    assert words == {"list", "show", "search", "attempts", "usage", "audit"}
    assert {name for name in OPERATIONS if name.rpartition(".")[2] in words} == LOOKING


async def test_an_act_is_recorded_before_it_is_done(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    async def create(services: Services, *, name: str) -> dict[str, str]:
        seen.append(await list_all(services))
        return {"id": name}

    monkeypatch.setattr(accounts, "create", create)
    await audited.perform(app.services, CREATE, 1234)
    expected = {"at": "2026-11-20T12:14:28.123Z", "uid": 1234, "operation": "account.create", "ids": {}, "outcome": None}
    assert seen == [[expected]]
    assert await list_all(app.services) == [{**expected, "ids": {"id": "Acme"}, "outcome": "done"}]


@pytest.mark.parametrize(
    ("fault", "outcome"), [(Refused("no"), "refused"), (ZeroDivisionError(), "failed"), (StoreUnavailable("x"), "failed")]
)
async def test_an_act_that_ends_otherwise_is_recorded_so(app: App, monkeypatch: pytest.MonkeyPatch, fault: Exception, outcome: str) -> None:
    async def create(services: Services, *, name: str) -> None:
        raise fault

    monkeypatch.setattr(accounts, "create", create)
    with pytest.raises(type(fault)):
        await audited.perform(app.services, CREATE, 0)
    assert await outcomes(app) == [("account.create", outcome)]


async def test_an_act_that_cannot_be_recorded_is_not_done(app: App) -> None:
    await execute(app, "DROP TABLE administrative_acts")
    with pytest.raises(StoreFault):
        await audited.perform(app.services, CREATE, 0)
    assert await accounts.list_all(app.services) == []


async def test_an_act_whose_outcome_cannot_be_recorded_is_done_all_the_same(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def settle(*_: object) -> None:
        raise StoreUnavailable("disk full")

    monkeypatch.setattr(audit, "settle", settle)
    made = await audited.perform(app.services, CREATE, 0)
    assert [account["id"] for account in await accounts.list_all(app.services)] == [made["id"]]
    assert await outcomes(app) == [("account.create", None)]
    assert "the outcome of an administrative act is not recorded (done): disk full" in caplog.text


async def test_giving_data_away_is_recorded_where_some_was_given(app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatsvc.usecases import webhooks

    given: list[dict[str, str]] = []

    async def events(services: Services, *, bot: str) -> list[dict[str, str]]:
        return given

    monkeypatch.setattr(webhooks, "events", events)
    call = Call("webhook.events", {"bot": caller.bot})
    await audited.perform(app.services, call, 0)
    assert await outcomes(app) == []
    given.append({"body": "what a visitor said"})
    await audited.perform(app.services, call, 0)
    (act,) = await list_all(app.services)
    assert (act["operation"], act["ids"], act["outcome"]) == ("webhook.events", {"bot": caller.bot}, "done")


async def test_the_newest_acts_are_kept(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "KEPT", 3)
    for uid in range(7):
        await audit.record(app.services.db, audit.Act(START + uid, uid, "x", {}))
    assert [act["uid"] for act in await list_all(app.services)] == [6, 5, 4]
    assert [act["uid"] for act in await list_all(app.services, limit=1)] == [6]
