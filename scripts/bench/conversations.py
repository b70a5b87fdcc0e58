"""Play written conversations with the knowledge engine and print transcripts to be judged.

A set is a folder with three files for each business and language: `KIND.LANG.md` (knowledge), `KIND.LANG.json` (settings of the bot) and
`KIND.LANG.conversations.json` (visitors' turns, each with what a good clerk would do). The service is real: real store, real HTTP, and a
clock that stands at the time the conversation names. Some of the conversations are marked `held_out`: they are for measuring alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp import ClientSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc import config as configuration
from chatsvc.app import App

SET = Path(__file__).resolve().parents[2] / "tests" / "answers" / "conversations"
TURN_MS = 40_000


class Clock:
    """The service's clock: stands where the conversation is."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


async def command(config: Path, *arguments: str) -> Any:
    """Run one command of the command line and return its JSON."""
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chatsvc", "-c", str(config), *arguments, "--json", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await run.communicate()
    if run.returncode:
        raise SystemExit(f"chatsvc {' '.join(arguments)} failed")
    return json.loads(out)


async def make_bot(config: Path, kind: Path, ask_back: str | None) -> tuple[str, ZoneInfo]:
    """A bot with the settings and knowledge of one business. Its id and time zone."""
    settings = json.loads(kind.with_name(kind.name + ".json").read_text("utf-8"))
    name = settings.pop("name")
    options = [part for key, value in settings.items() for part in (f"--{key.replace('_', '-')}", value)]
    if ask_back:
        options += ["--ask-back", ask_back]
    bot = await command(config, "bot", "create", name, "--model", "offline", *options)
    await command(config, "knowledge", "add", bot["id"], str(kind.with_name(kind.name + ".md")))
    return bot["id"], ZoneInfo(settings["timezone"])


async def play(session: ClientSession, url: str, clock: Clock, bot: str, zone: ZoneInfo, conversation: dict[str, Any]) -> list[str]:
    """One conversation; its transcript, a line an utterance."""
    clock.now = int(datetime.fromisoformat(conversation["now"]).replace(tzinfo=zone).timestamp() * 1000)
    weekday = datetime.fromisoformat(conversation["now"]).strftime("%A")
    lines = [f"## {conversation['id']}  ({weekday} {conversation['now']})  {conversation['about']}", ""]
    for number, turn in enumerate(conversation["turns"], start=1):
        body = {"chatbot_id": bot, "message": turn["user"], "user_id": conversation["id"]}
        async with session.post(f"{url}/api/v2/messages", json=body) as response:
            answer = await response.json()
        said = answer["data"]["reply"] if response.status == 200 else f"[{response.status} {answer['error']} {answer.get('reason', '')}]"
        lines += [
            f"{number}. visitor: {turn['user']}",
            f"   bot:     {said}".replace("\n", "\n            "),
            f"   wanted:  {turn['wants']}",
        ]
        clock.now += TURN_MS
    return [*lines, ""]


async def records(config: Path, bot: str, seen: set[str]) -> list[str]:
    """The requests and appointments of a bot that are new since the last call."""
    lines = []
    for kind in ("request", "appointment"):
        for record in reversed(await command(config, kind, "list", bot)):
            if record["id"] not in seen:
                seen.add(record["id"])
                lines.append(f"   {kind}: {json.dumps(record, ensure_ascii=False)}")
    return lines


def chosen(conversations: list[dict[str, Any]], part: str) -> Iterable[dict[str, Any]]:
    """The half of the conversations that was asked for, or all."""
    return [one for one in conversations if part == "all" or bool(one.get("held_out")) == (part == "held-out")]


async def run(options: argparse.Namespace) -> None:
    """Play the chosen conversations of all businesses."""
    kinds = sorted(path.with_suffix("") for path in options.set.glob("*.md") if options.only in path.name)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(
            "server: {listen: '127.0.0.1:0'}\nlimits: {requests_per_minute: 100000}\nmodels: {offline: {engine: knowledge}}\n"
            "plans: {enterprise: {version: 1, messages: 1000000, bots: 1000, webhooks: true, rest_api: true}}\n"
        )
        await command(config, "account", "create", "Measured")
        bots = {kind: await make_bot(config, kind, options.ask_back) for kind in kinds}
        key = (await command(config, "key", "create"))["key"]
        clock = Clock()
        async with (
            App(configuration.load(config, {}), clock=clock) as app,
            ClientSession(headers={"Authorization": f"Bearer {key}"}) as session,
        ):
            for kind, (bot, zone) in bots.items():
                seen: set[str] = set()
                conversations = json.loads(kind.with_name(kind.name + ".conversations.json").read_text("utf-8"))
                for conversation in chosen(conversations, options.part):
                    print("\n".join(await play(session, app.url, clock, bot, zone, conversation)))
                    captured = await records(config, bot, seen)
                    print("\n".join([*captured, ""]) if captured else "", flush=True)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", type=Path, default=SET, help="folder of the set (default tests/answers/conversations)")
    parser.add_argument("--part", choices=("open", "held-out", "all"), default="open", help="which half (default open)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only businesses whose file name has this in it, such as hotel.tr")
    parser.add_argument("--ask-back", choices=("on", "off"), help="the bots' setting (default: as shipped)")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
