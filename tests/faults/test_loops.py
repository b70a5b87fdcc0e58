"""Every background loop of the service survives an unexpected fault: it is logged, and the loop goes on."""

import ast
import asyncio
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chatsvc
from chatsvc import app, workers
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Backups, Notices, Smtp, Tls
from chatsvc.delivery import queue
from chatsvc.delivery.webhooks import WebhookQueue
from chatsvc.domain.webhooks import PostResult
from chatsvc.platforms.telegram import pollers
from chatsvc.services.accounts import webhooks
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.services.conversations import handling
from chatsvc.services.knowledge import site_reading, unanswered
from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
from chatsvc.services.messages import channel_messages, outbox
from chatsvc.services.operations import backups, mailer
from chatsvc.store import accounts
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from chatsvc.tls import server_tls
from chatsvc.tls.certificates import self_signed
from chatsvc.web import listeners
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.tables import rows
from tests.webhooks.support import SAID, captures

# Loop (as it is named in the log) -> what it calls.
LOOPS: dict[str, tuple[Any, str]] = {
    "database files": (GroupCommitDatabase, "check"),
    "deletion of accounts": (accounts, "sweep"),
    "times of last use of keys": (AccountCache, "flush_key_uses"),
    "masking of questions": (unanswered, "mask"),
    "scheduled backup": (backups, "keep"),
    "retention": (workers, "delete_old"),
    "return of conversations": (handling, "return_overdue"),
    "websites": (site_reading.SiteReadings, "look"),
    "search indexes": (KnowledgeCache, "warm"),
    "certificate": (server_tls.CertificateFiles, "look"),
    "interrupted turns": (channel_messages, "settle_all"),
    "mails": (mailer.Mailer, "look"),
    "outbox": (outbox.Outbox, "waiting"),
    "webhooks": (WebhookQueue, "waiting"),
    "telegram": (pollers.TelegramPollers, "_adjust"),
}
# Loops of a queue or a channel, and tasks that run once; background.py treats their faults alike.
OTHERS = {name for (name,) in rows("faults/other_loops")}


class Planted:
    """Takes a function's place: the first call fails, later ones are the function's."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls, self.went_on = function, 0, asyncio.Event()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise ArithmeticError("planted")
        self.went_on.set()
        return self.function(*arguments, **named)

    def __get__(self, owner: Any, _: Any = None) -> Callable[..., Any]:
        return self if owner is None else lambda *arguments, **named: self(owner, *arguments, **named)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every loop runs several times in a test."""
    for module in (app, workers):
        for name in [name for name in vars(module) if name.endswith(("_EVERY_S", "_CHECK_S", "_RETRY_S"))]:
            monkeypatch.setattr(module, name, 0.02)
    monkeypatch.setattr(listeners, "CERTIFICATE_RETRY_S", 0.02)
    monkeypatch.setattr(server_tls, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(queue, "STORE_PAUSE_S", 0.02)
    monkeypatch.setattr(pollers, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(channel_messages, "RETRY_S", 0.02)


@pytest.mark.usefixtures("short_pauses")
async def test_every_loop_goes_on_after_an_unexpected_fault(
    config: Config, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tls = Tls(tmp_path / "cert.pem", tmp_path / "key.pem")
    for file, pem in zip((tls.cert_file, tls.key_file), self_signed(["localhost"], days=1), strict=True):
        file.write_bytes(pem)
    smtp = Smtp("127.0.0.1", 9, None, None, "Desk", "desk@example.com", "none", None)
    config = replace(config, server=replace(config.server, tls=tls), backup=Backups(60.0, tmp_path / "kept", 2), notices=Notices(smtp))
    faults = {loop: Planted(getattr(owner, name)) for loop, (owner, name) in LOOPS.items()}
    for loop, (owner, name) in LOOPS.items():
        monkeypatch.setattr(owner, name, faults[loop])
    async with App(config, clock):
        for loop, planted in faults.items():
            async with asyncio.timeout(20):
                await planted.went_on.wait()
            assert f"{loop}: unexpected fault" in caplog.text
    assert caplog.text.count("ArithmeticError: planted") == len(LOOPS)


def test_every_loop_is_among_them() -> None:
    """Background tasks are started by one module, and each has its planted fault here."""
    started, named = set(), set()
    for path in Path(chatsvc.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(r"_task|ensure_future|background|of_each|of_one", text) else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".create_task", ".ensure_future")):
                started.add(path.relative_to(Path(chatsvc.__file__).parent).as_posix())
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"background.run", "background.start", "of_each", "of_one"}:
                named.add(ast.literal_eval(node.args[0]) if isinstance(node.args[0], ast.Constant) else ast.unparse(node.args[0]))
    # Their tasks are awaited by a caller, who gets the fault.
    assert started - {"background.py"} <= AWAITED
    assert named == {*LOOPS, *OTHERS, "name", "f'knowledge {computation.kind}'"}


AWAITED = {
    "dashboard/front_end.py",
    "app.py",
    "store/postgres/notices.py",
    "services/messages/conversation_locks.py",
    "services/knowledge/knowledge_cache.py",
    "services/messages/web_visits.py",
}


@pytest.mark.usefixtures("short_pauses")
async def test_the_webhook_queue_goes_on_after_an_unexpected_fault(
    caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    services, bot = caller.app.services, await caller.chatbot()
    await webhooks.put(services, ADMIN, bot=bot, url="https://8.8.8.8/hook", events=["request.created"])
    sender = services.webhooks
    planted = Planted(sender._take)
    monkeypatch.setattr(sender, "_take", planted)
    delivered = asyncio.Event()

    async def deliver(sending: Any) -> Any:
        delivered.set()
        return sender._outcome(sending, PostResult(True, 200, None, 1))

    monkeypatch.setattr(sender, "send", deliver)
    captures(engine)
    await caller.send(SAID, "v")
    async with asyncio.timeout(20):
        await delivered.wait()
    assert "delivery queue: unexpected fault" in caplog.text


async def test_an_unexpected_fault_after_a_delivery_repeats_nothing_and_ends_nothing(
    caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    services, bot = caller.app.services, await caller.chatbot()
    await webhooks.put(services, ADMIN, bot=bot, url="https://8.8.8.8/hook", events=["request.created"])
    sender = services.webhooks
    delivered: list[str] = []
    second = asyncio.Event()

    async def deliver(sending: Any) -> Any:
        delivered.append(sending.delivery_id)
        if len(delivered) == 2:
            second.set()
        return sender._outcome(sending, PostResult(True, 200, None, 1))

    monkeypatch.setattr(sender, "send", deliver)
    monkeypatch.setattr(sender, "outcomes", type("Outcomes", (Counter,), {"__setitem__": Planted(dict.__setitem__)})())
    captures(engine)
    await caller.send(SAID, "v")
    await caller.send(SAID, "w")
    async with asyncio.timeout(20):
        await second.wait()
    assert len(set(delivered)) == 2
    assert "delivery: unexpected fault" in caplog.text


async def test_the_writer_goes_on_after_an_unexpected_fault(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database: Any = caller.app.services.db
    planted = Planted(database.writer._answer)
    monkeypatch.setattr(database.writer, "_answer", planted)
    lost = False
    for _ in range(20):  # the fault may meet a write of the service itself
        planted.calls = 0
        try:
            await accounts.sweep(database)
        except StoreUnavailable as fault:
            lost = "result was lost" in str(fault)
            break
    assert lost
    assert (await caller.send("hello", "v")).status == 200
    assert "writer: unexpected fault" in caplog.text
