"""Benchmark of the length of code paths: the number of chatsvc's modules and functions that one operation calls.

The bars are the highest allowed numbers. An operation is done twice, and the second time counts. All threads are counted, and for a command
also the service that it calls.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

from aiohttp import ClientSession, CookieJar
from harness import Bar, Report, main
from standin import model, tier

from chatsvc import config as configuration
from chatsvc import workers
from chatsvc.app import App
from chatsvc.cli.main import chatsvc
from chatsvc.local_user import caller_of
from chatsvc.platforms.telegram import pollers
from chatsvc.services.administration import perform

BARS = {  # modules and functions
    "GET /chatbots": (15, 40),
    "message without a model": (50, 200),
    "message with a model": (45, 150),
    "form of the dashboard": (30, 90),
    "key create": (20, 70),
}
PACKAGE = str(Path(sys.modules["chatsvc"].__file__ or "").parent)
PASSWORD = "violet staple harbour"  # noqa: S105  # of an instance that is thrown away
KNOWLEDGE = "## Are you open on Saturday?\nalt: saturday\n\nYes, from 10 to 14.\n\n## Do you rent bicycles?\n\nYes, for £15 a day.\n"


class Trace:
    """Recorder of the functions that are called while `is_on` is true, by file and name."""

    def __init__(self) -> None:
        self.calls: set[tuple[str, str]] = set()
        self.is_on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call":
            code = frame.f_code
            if code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
                self.calls.add((code.co_filename, code.co_qualname))

    async def count(self, act: Callable[[], Awaitable[Any]]) -> tuple[int, int]:
        """Run `act` twice, and count the modules and functions that it calls the second time."""
        await act()
        await asyncio.sleep(0.3)
        self.calls.clear()
        self.is_on = True
        await act()
        self.is_on = False
        return len({file for file, _ in self.calls}), len(self.calls)


async def _paths(folder: Path) -> dict[str, tuple[int, int]]:
    trace = Trace()
    counts = {}
    # What works in the background by itself is no part of an act.
    for module in (workers, pollers):
        for pause in [name for name in vars(module) if name.endswith("EVERY_S")]:
            setattr(module, pause, 3600.0)
    async with model() as address:
        file = folder / "config.yaml"
        tiers = tier(address).replace("{m:", "{offline: {engine: knowledge}, m:")
        file.write_text(f"server: {{listen: '127.0.0.1:0'}}\n{tiers}", "utf-8")
        config = configuration.load(file, {})
        async with (
            App(config) as app,
            ClientSession(cookie_jar=CookieJar(unsafe=True), headers={"Sec-Fetch-Site": "same-origin"}) as session,
        ):

            def do(operation: str, **arguments: Any) -> Awaitable[Any]:
                return perform(app.services, caller_of(0), operation, arguments)

            url = app.url  # read once: it is no part of an act
            account = (await do("account.create", name="Acme")).account.id
            bots = {name: (await do("bot.create", name=name, account=account, model=name, language="en")).id for name in ("offline", "m")}
            key = (await do("key.create", account=account)).secret
            (folder / "faq.md").write_text(KNOWLEDGE, "utf-8")
            await asyncio.to_thread(_command, file, "knowledge", "add", bots["offline"], str(folder / "faq.md"))
            link = (await do("operator.add", email="ada@example.com", name="Ada", account=account, role="owner")).link
            async with session.post(app.url + "/setup/" + link.rpartition("/")[2], data={"name": "Ada", "password": PASSWORD}) as page:
                page.raise_for_status()

            async def request(method: str, path: str, **options: Any) -> None:
                async with session.request(method, url + path, **options) as answer:
                    answer.raise_for_status()
                    await answer.read()

            async def send(bot: str) -> None:
                body = {"chatbot_id": bots[bot], "message": "Are you open on Saturday?", "user_id": "visitor"}
                await request("POST", "/api/v2/messages", json=body, headers=bearer)

            bearer = {"Authorization": f"Bearer {key}"}
            form = {"id": bots["offline"], "piece": "general", "description": "Answers questions."}
            counts["GET /chatbots"] = await trace.count(lambda: request("GET", "/api/v2/chatbots", headers=bearer))
            counts["message without a model"] = await trace.count(lambda: send("offline"))
            counts["message with a model"] = await trace.count(lambda: send("m"))
            counts["form of the dashboard"] = await trace.count(
                lambda: request("POST", f"/bots/{bots['offline']}", data=form, allow_redirects=False)
            )
            counts["key create"] = await trace.count(lambda: asyncio.to_thread(_command, file, "key", "create"))
    return counts


def _command(file: Path, *arguments: str) -> None:
    with redirect_stdout(StringIO()):
        chatsvc.main(["-c", str(file), *arguments, "--json"], standalone_mode=False)


async def bench() -> Report:
    with tempfile.TemporaryDirectory(prefix="chatsvc-path-") as folder:
        counts = await _paths(Path(folder))
    kinds = ("modules", "functions")
    return Report(
        [
            Bar(f"{act}: {kind}", count, most, least=False)
            for act, pair in counts.items()
            for kind, count, most in zip(kinds, pair, BARS[act], strict=True)
        ]
    )


if __name__ == "__main__":
    main(__doc__ or "", bench)
