"""Replay written conversations on a fresh service and write a transcript for a human judge.

A set is a folder with three parts:
bots.json     key of each bot: its `name`, its knowledge file (`kb`), and settings as in a file of `chatsvc bot apply`
kb/           the knowledge files
talks/*.txt   `== name | BOT | language? | user?` begins a conversation, then each line is a message; `\\n` is a line break

The service uses a real store and real HTTP. At the beginning of a conversation its clock stands at 2026-11-22 03:05 UTC, a Sunday, and each
message advances it by 20 seconds. A user of an earlier conversation comes back 26 hours later.

The transcript contains the messages (>), replies (<), captured records (+) and remarks (#). The remark "repeated" means that a reply is the
same as the one before. "forbidden" means that a reply claims that something is canceled, booked or passed on, although nothing has been
captured of this user. Use `diff` to compare two transcripts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from aiohttp import ClientSession
from harness import quantile_ms

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.config import ConfigDocument
from chatsvc.control import client
from chatsvc.services.knowledge.file_reading import read_files

START_MS = int(datetime(2026, 11, 22, 3, 5, tzinfo=UTC).timestamp() * 1000)
MESSAGE_MS = 20_000
LATER_MS = 26 * 3_600_000
SLOWEST = 10
LEFT_OUT = ("id", "request_id", "created_at", "updated_at", "source_page_host", "appointment_at", "assignee", "note")
CONFIG = """\
server: {listen: "127.0.0.1:0"}
limits: {requests_per_minute: 1000000}
models: {offline: {engine: knowledge}}
plans: {enterprise: {version: 1, messages: 1000000, bots: 1000, webhooks: true, rest_api: true}}
"""
# Statements that something has been done. Lines of lists are left out: a summary repeats the visitor's words.
DONE = re.compile(
    r"^(?!- ).*(?:"
    # "I have noted", "am passing it on", "has been canceled", "I have you down", but not "has not been" and "once it has been".
    r"(?<!once )\b(?:(?:i|we)(?:'ve| have| just)|(?<!once it )ha(?:s|ve) been|(?:booking|appointment|request|message|it)(?: is|'s))"
    r"(?: now| just| already| also)?"
    r" (?:cancel\w+|booked|reserved|moved|rescheduled|changed|passed|forwarded|noted|sent|recorded|told|you down)\b"
    r"|\b(?:am|are) (?:passing|forwarding)\b"
    # "iptal ettim", "not aldım", "ilettim", "iletiyorum", "randevunuz alındı", "kayıtlı talebiniz", but not "iletmedim".
    r"|\b(?:[iİ]ptal|not) (?:ettim|ettik|edildi|edilmiştir|aldım|aldık|alındı|alınmıştır)\b"
    r"|\b(?:ilettim|ilettik|iletildi|iletiyorum|aktardım|aktarıldı|aktarıyorum|kaydettim|kaydedildi|ertelendi|değiştirdim|değiştirildi)\b"
    r"|(?:talebiniz|randevunuz|rezervasyonunuz|kaydınız|mesajınız)[iıuü]? (?:aldım|aldık|alındı|oluşturdum|oluşturuldu|yapıldı)\b"
    r"|\bkayıtlı (?:talebiniz|randevunuz|rezervasyonunuz)\b"
    r")",
    re.IGNORECASE | re.MULTILINE,
)


class Conversation(NamedTuple):
    name: str
    bot: str
    language: str
    user: str
    is_later: bool
    messages: list[str]


@dataclass
class Exchange:
    """One message and its reply. `refusal` is the code of the error, with its reason, if there was no reply."""

    conversation: Conversation
    number: int
    reply: str
    refusal: str
    seconds: float
    captured: list[str]
    remarks: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.conversation.name}, {self.number}"

    def lines(self) -> Iterator[str]:
        yield f"{self.number} > {self.conversation.messages[self.number - 1]}"
        yield from (f"  < {line}" for line in (self.reply or f"[{self.refusal}]").split("\n"))
        yield from (f"  + {record}" for record in self.captured)
        if self.remarks:
            yield f"  # {'; '.join(self.remarks)}"


def read_talks(folder: Path) -> list[Conversation]:
    """Read the conversations of all files, in the order of their names."""
    talks: list[Conversation] = []
    for file in sorted(folder.glob("*.txt")):
        before = {talk.user for talk in talks}
        for line in file.read_text("utf-8").splitlines():
            if line.startswith("== "):
                name, bot, language, user = ([part.strip() for part in line[3:].split("|")] + ["", ""])[:4]
                talks.append(Conversation(name, bot, language, user or name, user in before, []))
            elif line.strip():
                talks[-1].messages.append(line.strip())
    return talks


@dataclass
class Service:
    """The running service, with the bots of a set."""

    document: ConfigDocument
    session: ClientSession
    url: str = ""
    key: str = ""
    now: int = START_MS
    bots: dict[str, str] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    async def command(self, operation: str, **arguments: Any) -> Any:
        return await asyncio.to_thread(client.call, self.document, operation, arguments)

    async def make_bots(self, folder: Path) -> None:
        account = (await self.command("account.create", name="Measured", plan="enterprise"))["id"]
        self.key = (await self.command("key.create", account=account))["key"]
        for key, settings in json.loads((folder / "bots.json").read_text("utf-8")).items():
            file = folder / settings.pop("kb")
            bot = (await self.command("bot.create", account=account, name=settings.pop("name"), model="offline"))["id"]
            given = {name: {"on": True, "off": False}.get(str(value), value) for name, value in settings.items()}
            await self.command("bot.apply", bot=bot, file="bots.json", text=json.dumps(given))
            read = read_files([(file.name, file.read_bytes())], settings.get("language", "tr"))
            await self.command("knowledge.add", bot=bot, files=read)
            self.bots[key] = bot

    async def say(self, conversation: Conversation, number: int) -> Exchange:
        bot = self.bots[conversation.bot]
        body = {"chatbot_id": bot, "user_id": conversation.user, "message": conversation.messages[number - 1].replace("\\n", "\n")}
        if conversation.language:
            body["language"] = conversation.language
        started = perf_counter()
        headers = {"Authorization": f"Bearer {self.key}"}
        async with self.session.post(f"{self.url}/api/v2/messages", json=body, headers=headers) as response:
            answer = await response.json()
        took = perf_counter() - started
        reply = answer["data"]["reply"] if response.status == 200 else ""
        refusal = "" if reply else f"{response.status} {answer['error']} {answer.get('reason', '')}".strip()
        captured = []
        for kind in ("request", "appointment"):
            for record in (await self.command(f"{kind}.list", bot=bot, limit=1000))["items"]:
                if record["id"] not in self._seen:
                    self._seen.add(record["id"])
                    shown = {name: value for name, value in record.items() if value and name not in LEFT_OUT}
                    captured.append(f"{kind} {json.dumps(shown, ensure_ascii=False)}")
        return Exchange(conversation, number, reply, refusal, took, captured)


async def play(folder: Path, only: str) -> AsyncIterator[Exchange]:
    """Run a service with the bots of the set, and play all conversations, one after the other."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "config.yaml"
        file.write_text(CONFIG, "utf-8")
        document = configuration.read(file, {})
        async with ClientSession() as session:
            service = Service(document, session)
            async with App(configuration.build(document), clock=lambda: service.now) as app:
                service.url = app.url
                await service.make_bots(folder)
                for conversation in read_talks(folder / "talks"):
                    service.now = START_MS + LATER_MS * conversation.is_later
                    for number in range(1, len(conversation.messages) + 1) if only in (conversation.bot, "") else ():
                        yield await service.say(conversation, number)
                        service.now += MESSAGE_MS


def mark(exchanges: Sequence[Exchange]) -> None:
    """Add the remarks "repeated" and "forbidden" to the exchanges."""
    captured: set[str] = set()
    last = ""
    for exchange in exchanges:
        if exchange.captured:
            captured.add(exchange.conversation.user)
        if exchange.reply and exchange.reply == last and exchange.number > 1:
            exchange.remarks.append("repeated")
        if DONE.search(exchange.reply) and exchange.conversation.user not in captured:
            exchange.remarks.append("forbidden")
        last = exchange.reply


def summary(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield the lines of the figures that need no human judge."""
    conversations = len({exchange.conversation.name for exchange in exchanges})
    records = sum(len(exchange.captured) for exchange in exchanges)
    yield f"{len(exchanges)} messages in {conversations} conversations, {records} records captured"
    refusals = Counter(exchange.refusal for exchange in exchanges if exchange.refusal)
    counts = ", ".join(f"{code} {count}" for code, count in refusals.most_common()) or "none"
    yield f"refusals (502 assistant_unavailable no_answer is honest or missed): {counts}"
    for remark, means in (("repeated", "the same reply twice in a row"), ("forbidden", "said to be done, and nothing captured")):
        marked = [exchange for exchange in exchanges if remark in exchange.remarks]
        yield f"{remark} ({means}): {len(marked)}"
        yield from (f"  {exchange}" for exchange in marked)
    seconds = [exchange.seconds for exchange in exchanges]
    yield f"milliseconds a reply: median {quantile_ms(seconds, 0.5):.1f}, p99 {quantile_ms(seconds, 0.99):.1f}; the slowest:"
    for exchange in sorted(exchanges, key=lambda exchange: -exchange.seconds)[:SLOWEST]:
        yield f"  {exchange.seconds * 1000:.1f} {exchange}"


async def run(options: argparse.Namespace) -> None:
    """Replay the set, write the transcript and print the figures."""
    exchanges = [exchange async for exchange in play(options.set, options.only)]
    mark(exchanges)
    figures = list(summary(exchanges))
    lines: list[str] = []
    for exchange in exchanges:
        if exchange.number == 1:
            lines += ["", f"== {exchange.conversation.name} | {exchange.conversation.bot}"]
        lines += exchange.lines()
    options.transcript.write_text("\n".join([*(f"# {line}" for line in figures), *lines, ""]), "utf-8")
    print("\n".join(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, help="folder of the set")
    parser.add_argument("transcript", type=Path, help="file to write the transcript to")
    parser.add_argument("--only", default="", metavar="BOT", help="only the conversations with the bot of this key")
    logging.getLogger("chatsvc").setLevel(logging.ERROR)  # it warns of every reply that it refuses
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
