"""Long work: one bounded pool with a share for each account; work ends when its caller has gone, and uploads wait before they are read."""

import asyncio
import gc
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Response

from chatsvc import __main__ as entry
from chatsvc import background
from chatsvc.background import WorkPool
from chatsvc.dashboard import front_end
from chatsvc.domain.models import Bot, SendMessage
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts.bot_file_reader import BotFileReader
from chatsvc.services.administration import perform
from chatsvc.services.knowledge import knowledge, unanswered
from chatsvc.services.knowledge.knowledge import Piece
from chatsvc.services.operations import backups
from chatsvc.services.services import Services
from chatsvc.store import audit
from tests import conftest
from tests.fakes import ADMIN


class Blocked:
    """Work that stays in its threads until it is released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.release = threading.Event()

    def work(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self.begun.append(name)
            assert self.release.wait(20)
            return name

        return run

    async def until(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.begun) < count:  # noqa: ASYNC110  # threads have no asyncio.Event
                await asyncio.sleep(0.001)


async def test_an_account_has_its_share_of_a_bounded_pool() -> None:
    pool, blocked = WorkPool(4, 2), Blocked()
    crowd = [asyncio.create_task(pool.run(blocked.work("a"), "a")) for _ in range(300)]
    others = [asyncio.create_task(pool.run(blocked.work(name), name)) for name in ("b", "c", "d")]
    await blocked.until(4)
    assert sorted(blocked.begun) == ["a", "a", "b", "c"]
    for task in crowd[2:]:
        task.cancel()
    await asyncio.wait(crowd[2:])
    blocked.release.set()
    assert await asyncio.gather(*crowd[:2], *others) == ["a", "a", "b", "c", "d"]
    assert len(blocked.begun) == 5  # what waited went with its caller
    assert await pool.run(lambda: "free", "a") == "free"


async def test_work_ends_when_its_caller_has_gone() -> None:
    pool, begun, ended = WorkPool(1, 1), threading.Event(), threading.Event()

    def steps() -> None:
        background.on_abandonment(ended.set)
        begun.set()
        while True:
            background.proceed()

    task = asyncio.create_task(pool.run(steps, "a"))
    assert await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    assert await pool.run(ended.is_set, "a")  # the slot is free once the work has ended


async def test_uploads_are_read_when_it_is_their_turn(caller: conftest.Caller) -> None:
    services, read = caller.app.services, list[str]()
    bot = await perform(services, ADMIN, "bot.show", {"bot": caller.bot})

    def upload() -> list[tuple[str, bytes]]:
        read.append("a.md")
        return [("a.md", b"## Open?\n\nFrom 9.\n")]

    async with services.file_readers.slot(bot.account_id):
        waiting = [asyncio.create_task(knowledge.read_files(services, bot, upload)) for _ in range(3)]
        other = bot._replace(account_id="another")
        (file,) = await knowledge.read_files(services, other, [("b.md", b"## Pay?\n\nCash.\n")])
        assert (file["name"], read) == ("b.md", [])
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
    results = await asyncio.gather(*waiting[1:])
    assert [result[0]["name"] for result in results] == ["a.md"] * 2
    assert len(read) == 2


async def test_pieces_are_compared_in_a_thread(caller: conftest.Caller) -> None:
    threads = list[threading.Thread]()

    class Pieces(list[Piece]):
        def __iter__(self) -> Iterator[Piece]:
            threads.append(threading.current_thread())
            return super().__iter__()

    arguments = {"bot": caller.bot, "source": "a.md", "pieces": Pieces([Piece("Open?", "From 9.", "en")])}
    compared = await perform(caller.app.services, ADMIN, "knowledge.compare", arguments)
    assert compared.counts == {"new": 1}
    # With 50,000 entries of the source the event loop would stand still.
    assert threads
    assert threading.current_thread() not in threads


async def test_no_question_is_judged_again_by_a_request(caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services = caller.app.services
    bot = await perform(services, ADMIN, "bot.show", {"bot": caller.bot})
    letters = random.Random(1)
    for _ in range(40):
        await _ask(services, bot, " ".join(["can I bring", *("".join(letters.sample("abdefgiklmnoprstuvz", 7)) for _ in range(3))]))
    shown = await perform(services, ADMIN, "unanswered.list", {"bot": bot.id, "answered": False})
    assert len(shown.items) == unanswered.PAGE
    judged = list[str]()
    monkeypatch.setattr(unanswered, "is_question", lambda question, _: judged.append(question))
    monkeypatch.setattr("chatsvc.engines.knowledge.questions.entry_for", lambda *values: judged.append(values[-1]))
    for operation in ("unanswered.list", "knowledge.unanswered"):
        assert await perform(services, ADMIN, operation, {"bot": bot.id, "answered": False})
    await perform(services, ADMIN, "today", {})
    await perform(services, ADMIN, "usage.quality", {})
    assert judged == []


async def _ask(services: Services, bot: Bot, text: str) -> None:
    await unanswered.note(services, bot, SendMessage(bot.id, text, "v"), "web")


async def test_a_page_that_nobody_awaits_any_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_end, "_LOOK_S", 0.01)
    request, ended = make_mocked_request("GET", "/"), asyncio.Event()

    async def page() -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Response()

    monkeypatch.setattr(type(request), "transport", None)
    response = await front_end._while_connected(request, page())
    assert (response.status, ended.is_set()) == (499, True)


async def test_a_change_that_has_begun_is_completed(caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services, begun, record = caller.app.services, asyncio.Event(), audit.record

    def recorded(*values: Any) -> Any:
        begun.set()
        return record(*values)

    monkeypatch.setattr(audit, "record", recorded)
    change = asyncio.create_task(perform(services, ADMIN, "bot.set", {"bot": caller.bot, "name": "Renamed"}))
    await begun.wait()
    change.cancel()
    await asyncio.wait([change])
    async with asyncio.timeout(20):
        while (await perform(services, ADMIN, "bot.show", {"bot": caller.bot})).name != "Renamed":  # noqa: ASYNC110  # of the store
            await asyncio.sleep(0.01)


async def test_a_bots_file_is_read_in_a_thread(caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    read_text = BotFileReader.read_text

    def noted(reader: BotFileReader, *arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return read_text(reader, *arguments)

    monkeypatch.setattr(BotFileReader, "read_text", noted)
    text = "".join(f"colour{number}: red\n" for number in range(1000))
    for operation in ("bot.apply", "bot.compare"):
        with pytest.raises(Refused, match="bot_file_invalid") as caught:
            await perform(caller.app.services, ADMIN, operation, {"bot": caller.bot, "file": "b.yaml", "text": text})
        faults = caught.value.facts["faults"]
        assert isinstance(faults, list)
        assert len(faults) == 200  # a page with all of them would be drawn for a second
    assert len(threads) == 2
    assert threading.get_ident() not in threads


@pytest.mark.sqlite
async def test_the_folder_of_backups_is_read_and_thinned_out_in_a_thread(
    caller: conftest.Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, threads, unlink = caller.app.services, [], Path.unlink
    settings = replace(services.config.backup, every_s=60, keep=1, folder=tmp_path / "backups")
    monkeypatch.setattr(services, "config", replace(services.config, backup=settings))

    def watched(path: Path, missing_ok: bool = False) -> None:
        threads.append(threading.get_ident())
        unlink(path, missing_ok=missing_ok)

    settings.folder.mkdir()
    (settings.folder / "chatsvc-20200101T000000Z.backup").touch()
    monkeypatch.setattr(Path, "unlink", watched)
    name = await backups.keep(services)
    assert [file.name for file in settings.folder.iterdir()] == [name]
    assert threads
    assert threading.get_ident() not in threads
    assert await backups.keep(services) is None


def test_a_command_that_works_for_long_collects_its_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    before, collects = gc.get_threshold(), []
    monkeypatch.setattr("chatsvc.cli.main.main", lambda: collects.append(gc.isenabled()))
    monkeypatch.setattr("sys.argv", ["chatsvc"])
    monkeypatch.setattr(gc, "freeze", lambda: None)
    try:
        entry.main()
    finally:
        gc.enable()
        gc.set_threshold(*before)
    assert collects == [True]
