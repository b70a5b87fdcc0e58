"""Permissions of administrative operations: each role, in and outside its scope, against one table."""

import asyncio
import itertools
import json
from functools import cache
from typing import Any
from uuid import uuid4

import pytest

from chatsvc.app import App
from chatsvc.domain import refusals
from chatsvc.domain.actors import ANONYMOUS, Actor, Caller, Role, Scope
from chatsvc.domain.captures import Captured
from chatsvc.domain.knowledge_files.parsed import ReadFile
from chatsvc.domain.refusals import Refused
from chatsvc.domain.websites import Site
from chatsvc.engines import Reply
from chatsvc.services.accounts import accounts, webhooks
from chatsvc.services.administration import OPERATIONS, Operation, perform
from chatsvc.services.conversations import captures, conversations
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.knowledge.knowledge import Piece
from chatsvc.services.team import operators
from chatsvc.store import sites
from tests import conftest
from tests.fakes import ADMIN, START, ScriptedEngine
from tests.tables import rows

# The least role for each operation; some are of an operator's own session, whatever the roles.
LEAST = rows("services/least_roles")
PERSONAL = [name for name, least in LEAST if least == "own session"]
EXPECTED = {name: Role[least.upper()] for name, least in LEAST if least != "own session"}
EVERY = sorted(OPERATIONS.keys() - set(PERSONAL))
GIVEN = {name: json.loads(given) for name, given in rows("services/permission_arguments")}
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@cache
def knowledge_of(name: str, text: str) -> list[ReadFile]:
    """Read a knowledge file. Once for all tests, since each reading starts a process."""
    return read_files([(name, text.encode())], "en")


def with_role(role: Role, *owned: str) -> Caller:
    return Caller(Actor("operator", "7", "Ada"), Scope(dict.fromkeys(owned, role)), "web")


async def furnished(caller: conftest.Caller, engine: ScriptedEngine) -> dict[str, str]:
    """Create one record of each kind in an account. Returns their ids by argument."""
    services = caller.app.services
    await webhooks.put(services, ADMIN, bot=await caller.chatbot(), events=["request.created", "appointment.created"])
    wish = Captured("appointment", "x", "Selin", None, "05321234567")
    engine.script = lambda _: Reply("Noted.", captured=wish)
    await caller.send("Selin, 0532 123 45 67", "v")
    await knowledge.add(services, ADMIN, bot=await caller.chatbot(), files=knowledge_of("faq.md", "## Open?\n\nYes.\n"))
    (entry,) = await knowledge.list_all(services, ADMIN, bot=await caller.chatbot())
    (item,) = (await captures.list_requests(services, ADMIN, bot=await caller.chatbot())).items
    request = item.request
    (conversation,) = (await conversations.list_all(services, ADMIN, bot=await caller.chatbot())).items
    key = (await accounts.list_keys(services, ADMIN, account=caller.account)).items[0].key
    await operators.add(services, ADMIN, email=f"{caller.account}@example.com", account=caller.account, role="reader")
    site = Site(str(uuid4()), caller.bot, "https://127.0.0.1/", [], [], 1, 0, review=True, state="idle")
    await sites.create(services.db, site)
    return {
        "account": caller.account,
        "bot": caller.bot,
        "key": key.id,
        "entry": entry.id,
        "request": request.id,
        "conversation": conversation.id,
        "site": site.id,
    }


def arguments(name: str, ids: dict[str, str]) -> dict[str, Any]:
    """Arguments with which an operation names records of one account."""
    more: dict[str, dict[str, Any]] = {
        **GIVEN,
        "knowledge.add": {"files": knowledge_of("a.md", "## A?\n\nB.\n")},
        "knowledge.split": {"file": ("a.md", b"## A?\n\nB.\n")},
        "knowledge.import": {"source": "a.md", "pieces": [Piece("A?", "B.", "en")]},
        "conversation.snooze": {"until": START + 60_000},
        **{name: {"channel": "web"} for name in ("channel.set", "channel.pause", "channel.resume", "channel.remove")},
        "operator.set": {"email": f"{ids.get('account', UNKNOWN)}@example.com", "role": "editor"},
        **{
            name: {"email": f"{ids.get('account', UNKNOWN)}@example.com"}
            for name in ("operator.link", "operator.sessions", "operator.remove")
        },
    }
    named = {kind: ids.get(kind, UNKNOWN) for kind in OPERATIONS[name].records}
    if name == "conversation.erase":
        named.pop("account")
    return {**named, **more.get(name, {})}


def test_the_table_names_each_operation_once() -> None:
    assert sorted(name for name, _ in LEAST) == sorted(OPERATIONS)
    assert sorted(PERSONAL) == sorted(name for name, operation in OPERATIONS.items() if operation.role is None)


async def test_without_a_session_nobody_performs_an_operation_on_it(app: App) -> None:
    for name, caller in itertools.product(PERSONAL, (ANONYMOUS, ADMIN)):
        expected = "sign_in_failed" if name == "session.create" else "session_needed"
        assert await refusal(app, caller, name, GIVEN.get(name, {})) == expected, name
    # Strangers must not be able to evict the records of others.
    assert (await perform(app.services, ADMIN, "audit", {})).items == []


async def refusal(app: App, caller: Caller, name: str, given: dict[str, Any]) -> str | None:
    """Perform an operation; its refusal with code and facts, None if it passed."""
    try:
        await perform(app.services, caller, name, given)
    except Refused as fault:
        return str(fault)
    return None


async def test_each_role_may_do_what_the_table_says(
    caller: conftest.Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use_case(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(Operation, "function", lambda _: use_case)
    ids, wrong = await furnished(caller, engine), []
    for name, role in itertools.product(EVERY, Role):
        by = ADMIN if role is Role.ADMINISTRATOR else with_role(role, caller.account)
        code = await refusal(caller.app, by, name, arguments(name, ids))
        denied = str(refusals.forbidden(operation=name, role=EXPECTED[name].name.lower()))
        if (code == denied) != (role < EXPECTED[name]):
            wrong.append((name, role, code))
    assert wrong == []


NAMING = [name for name in EVERY if (OPERATIONS[name].records or name.startswith("operator.")) and EXPECTED[name] is not Role.ADMINISTRATOR]


async def test_a_record_outside_the_scope_is_refused_as_a_missing_one(make_caller: conftest.MakeCaller, engine: ScriptedEngine) -> None:
    mine, other = await make_caller(), await make_caller()
    theirs = await furnished(other, engine)
    for name, role in itertools.product(NAMING, (None, Role.OWNER)):
        stranger = with_role(role or EXPECTED[name], mine.account)
        outside = await refusal(mine.app, stranger, name, arguments(name, theirs)) or ""
        missing = await refusal(mine.app, stranger, name, arguments(name, dict.fromkeys(theirs, UNKNOWN)))
        for record_id in theirs.values():
            outside = outside.replace(record_id, UNKNOWN)
        assert outside == missing, name
        assert "not_found" in outside, name


# Lists of the installation, or of one bot or account.
NARROW = "channel.list knowledge.list unanswered.list backup.list license.list mail.list node.list saved_reply.list site.list"
LISTS = ["webhook.attempts", *(name for name in EVERY if name.endswith(".list") and name not in NARROW.split())]


async def test_a_list_without_a_filter_shows_the_scope_alone(make_caller: conftest.MakeCaller, engine: ScriptedEngine) -> None:
    mine, other, third = [await make_caller() for _ in range(3)]
    for caller in (mine, other, third):
        await furnished(caller, engine)
        await asyncio.sleep(0)
    services = mine.app.services
    for name in LISTS:
        everything = (await perform(services, ADMIN, name, {})).items
        scoped = (await perform(services, with_role(Role.OWNER, mine.account, third.account), name, {})).items
        alone = (await perform(services, with_role(Role.OWNER, mine.account), name, {})).items
        assert len(everything) * 2 == len(scoped) * 3 == len(alone) * 6, name
        assert set(map(repr, alone)) < set(map(repr, scoped)) < set(map(repr, everything)) or not everything, name


async def test_the_least_role_counts_in_the_account_concerned(make_caller: conftest.MakeCaller) -> None:
    reads, owns = await make_caller(), await make_caller()
    caller = Caller(Actor("operator", "7", "Ada"), Scope({reads.account: Role.READER, owns.account: Role.OWNER}), "web")
    services = reads.app.services
    with pytest.raises(Refused, match="forbidden"):
        await perform(services, caller, "bot.set", {"bot": reads.bot, "name": "x"})
    assert (await perform(services, caller, "bot.set", {"bot": owns.bot, "name": "x"})).name == "x"
    # Without an account the one where the role suffices is meant.
    key = await perform(services, caller, "key.create", {"name": "x"})
    assert key.key.account_id == owns.account
    assert {listed.key.account_id for listed in (await perform(services, caller, "key.list", {})).items} == {owns.account}


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ({"greeting": "Hi", "description": "x", "instructions": "x", "opening_hours": "mon 09:00-10:00"}, Role.EDITOR),
        ({"greeting": "Hi", "name": "x"}, Role.OWNER),
        ({"model": "offline"}, Role.OWNER),
        ({}, Role.OWNER),
    ],
)
async def test_an_editor_changes_some_settings_of_a_bot(caller: conftest.Caller, given: dict[str, str], role: Role) -> None:
    services = caller.app.services
    for tried in (Role.READER, Role.EDITOR):
        editor = with_role(tried, caller.account)
        if tried >= role:
            assert (await perform(services, editor, "bot.set", {"bot": caller.bot, **given})).greeting == "Hi"
        else:
            with pytest.raises(Refused, match="forbidden"):
                await perform(services, editor, "bot.set", {"bot": caller.bot, **given})
    assert (await caller.chatbot()).name == "Desk"


async def test_a_forbidden_operation_changes_nothing_and_is_recorded(app: App, caller: conftest.Caller) -> None:
    with pytest.raises(Refused, match="forbidden"):
        await perform(app.services, with_role(Role.OWNER, caller.account), "account.delete", {"account": caller.account})
    assert (await accounts.show(app.services, ADMIN, account=caller.account)).account.id == caller.account
    (record,) = (await perform(app.services, ADMIN, "audit", {})).items
    assert (record.operation, record.actor.name, record.outcome) == ("account.delete", "Ada", "refused")
