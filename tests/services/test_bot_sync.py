"""Bots of a folder in the store: one transaction, with what it changes visible at once."""

import asyncio
from typing import Any

import pytest

from chatsvc.domain import profiles
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts.bot_sync import SyncResult
from chatsvc.services.administration import perform
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.store import bot_sync as stored
from chatsvc.store import knowledge
from chatsvc.store.database import Connection
from tests import conftest
from tests.fakes import ADMIN

pytestmark = pytest.mark.postgres


def file_of(name: str, answer: str, **files: str) -> dict[str, Any]:
    data = [("faq.md", f"## Are you open?\n\n{answer}\n".encode()), *((f"{name}.md", text.encode()) for name, text in files.items())]
    tests = f"tests:\n  - {{ask: 'are you open?', contains: {answer}}}\n"
    text = f"name: {name}\nlanguage: en\n{tests}"
    return {"file": f"{name}.yaml", "text": text, "knowledge": read_files(data, "en")}


async def test_all_bots_change_at_once(caller: conftest.Caller) -> None:
    services, account = caller.app.services, caller.account

    async def sync(*files: dict[str, Any], **how: bool) -> list[str]:
        result = await perform(services, ADMIN, "bot.sync", {"account": account, "files": list(files), **how})
        return [f"{step.bot} {step.change}" for step in result.plan]

    assert await sync(file_of("A", "Yes"), file_of("B", "No", more="## Parking?\n\nYes.\n")) == ["A create", "B create"]
    bots = {bot.name: bot for bot in (await perform(services, ADMIN, "bot.list", {"account": account})).items}
    assert [result.passed for result in await perform(services, ADMIN, "test.run", {"bot": bots["B"].id})] == [True]
    assert await sync(file_of("A", "Yes"), file_of("B", "Maybe"), prune=True) == ["A none", "B update", "B remove"]
    assert [result.reply for result in await perform(services, ADMIN, "test.run", {"bot": bots["B"].id})] == ["Maybe"]
    (change, removal, first) = (await perform(services, ADMIN, "knowledge.history", {"bot": bots["B"].id})).items
    assert (change.title, removal.title, first.title) == ("faq.md", "more.md", "faq.md, more.md")
    await perform(services, ADMIN, "knowledge.undo", {"bot": bots["B"].id, "change": removal.origin.id})
    assert len(await perform(services, ADMIN, "knowledge.list", {"bot": bots["B"].id})) == 2
    audit = (await perform(services, ADMIN, "audit", {"account": account})).items
    assert [record.times for record in audit if record.operation == "bot.sync"] == [2]
    assert await sync(file_of("A", "Yes"), file_of("B", "Maybe"), check=True) == ["A none", "B none"]
    assert (await perform(services, ADMIN, "audit", {"account": account})).items == audit


async def test_a_fault_in_the_middle_changes_nothing(caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services, account = caller.app.services, caller.account

    class Broken(Exception):
        pass

    done: list[str] = []

    def failing(connection: Connection, bot_id: str, files: Any, origin: Any) -> list[int]:
        if done:
            raise Broken
        done.append(bot_id)
        return knowledge.replace_within(connection, bot_id, files, origin)

    async def listed() -> list[str]:
        return [bot.name for bot in (await perform(services, ADMIN, "bot.list", {"account": account})).items]

    before = await listed()
    proxy = type("Proxy", (), {**vars(knowledge), "replace_within": staticmethod(failing)})
    monkeypatch.setattr(stored, "knowledge", proxy)
    arguments = {"account": account, "files": [file_of("A", "Yes"), file_of("B", "No")]}
    with pytest.raises(Broken):
        await perform(services, ADMIN, "bot.sync", arguments)
    assert done
    assert await listed() == before
    assert await knowledge.entries(services.db, done[0]) == []
    monkeypatch.undo()
    with pytest.raises(Refused, match="bot_file_invalid"):
        await perform(services, ADMIN, "bot.sync", {**arguments, "files": [file_of("A", "Yes"), file_of("A", "No")]})
    assert await listed() == before


async def test_a_change_between_reading_and_writing_is_not_lost(caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services, account = caller.app.services, caller.account
    files, run = [file_of("A", "Yes")], stored.run

    async def named_a() -> list[Bot]:
        return [bot for bot in (await perform(services, ADMIN, "bot.list", {"account": account})).items if bot.name == "A"]

    async def sync() -> SyncResult:
        result: SyncResult = await perform(services, ADMIN, "bot.sync", {"account": account, "files": files})
        return result

    results = await asyncio.gather(sync(), sync())
    assert sorted(step.change for result in results for step in result.plan) == ["create", "none"]
    (bot,) = await named_a()

    async def later(*arguments: Any, **how: Any) -> list[stored.BotChange]:
        await perform(services, ADMIN, "bot.set", {"bot": bot.id, "suggestions": ["Are you open?"]})
        return await run(*arguments, **how)

    monkeypatch.setattr(stored, "run", later)
    files[0] = file_of("A", "No")
    (step,) = (await sync()).plan
    assert step.settings == ["tests"]
    (bot,) = await named_a()
    assert profiles.load(bot.profile).suggestions == ("Are you open?",)
