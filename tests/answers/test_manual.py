"""Example conversations of the manual's page `knowledge`, played with the running service: each reply is what the page says."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from chatsvc.domain import profiles
from chatsvc.services.accounts import bot_files
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.file_reading import read_files
from tests.conftest import MakeCaller
from tests.fakes import ADMIN

PAGE = Path(__file__).resolve().parents[2] / "chatsvc" / "help" / "knowledge.md"
_SECTION = re.compile(r"^### (?P<title>.+?)\n(?P<body>.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A bot's file, its knowledge, and a conversation: messages of the visitor, each with the reply without blank lines."""

    title: str
    file: str
    entries: str
    turns: list[tuple[str, str]]


def examples() -> list[Example]:
    text = PAGE.read_text("utf-8").partition("## Example conversations")[2]
    listed = []
    for section in _SECTION.finditer(text):
        blocks = {block["kind"]: block["text"] for block in _BLOCK.finditer(section["body"])}
        parts = re.split(r"^Visitor: ", blocks["text"], flags=re.MULTILINE)[1:]
        turns = [tuple(part.rstrip("\n").split("\nBot: ", 1)) for part in parts]
        listed.append(Example(section["title"], blocks["yml"], blocks["markdown"], [(message, plain(reply)) for message, reply in turns]))
    return listed


def plain(reply: str) -> str:
    """Return the lines of a reply that hold something, without their indentation."""
    return "\n".join(line.strip() for line in reply.splitlines() if line.strip())


EXAMPLES = examples()


def test_the_page_has_an_example_of_each_of_six_kinds_of_business_in_both_languages() -> None:
    assert len(EXAMPLES) == 6
    assert all(sum(f"language: {tag}" in example.file for example in EXAMPLES) >= 2 for tag in ("tr", "en"))
    assert all(len(example.turns) >= 5 for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
async def test_the_service_replies_as_the_manual_says(example: Example, make_caller: MakeCaller) -> None:
    caller = await make_caller(model="offline")
    services = caller.app.services
    await bot_files.apply(services, ADMIN, bot=await caller.chatbot(), file="bot.yaml", text=example.file)
    await knowledge.add(services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.md", example.entries.encode())], "en"))
    for message, reply in example.turns:
        answer = await caller.send(message, "visitor")
        assert plain(answer.json["data"]["reply"]) == reply


async def test_the_bots_file_on_the_page_is_one_that_a_bot_takes(make_caller: MakeCaller) -> None:
    caller = await make_caller(model="offline")
    text = PAGE.read_text("utf-8").partition("## The bot's own words")[2]
    block = _BLOCK.search(text)
    assert block is not None
    changed = await bot_files.apply(caller.app.services, ADMIN, bot=await caller.chatbot(), file="bot.yaml", text=block["text"])
    profile = profiles.load(changed.profile)
    assert [field.name for field in profile.forms["appointment"].fields] == ["Oda", "Not"]
    assert profile.texts.keys() == {"smalltalk.greeting", "privacy"}
