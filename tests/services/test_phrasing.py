"""Phrasings that a model writes: a draft with its preview, added when it is applied."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsvc.domain.refusals import Refused
from chatsvc.engines import EngineError
from chatsvc.services.accounts import bots
from chatsvc.services.administration import perform
from chatsvc.services.knowledge import knowledge, previews
from chatsvc.services.knowledge.file_reading import read_files
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, ScriptedEngine

FAQ = b"## Parking?\nalt: where can I park\n\nBehind the house, 5 euros a night.\n\n## Breakfast?\n\nFrom 8 to 10.\n"


@pytest.fixture
async def caller(make_caller: MakeCaller) -> Caller:
    caller: Caller = await make_caller()
    await bots.change(caller.app.services, ADMIN, bot=await caller.chatbot(), language="en")
    await knowledge.add(caller.app.services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.md", FAQ)], "en"))
    return caller


async def act(caller: Caller, name: str, **arguments: Any) -> Any:
    return await perform(caller.app.services, ADMIN, name, {"bot": caller.bot, **arguments})


async def phrased(caller: Caller, **arguments: Any) -> Any:
    draft = await act(caller, "knowledge.phrase", **arguments)
    await draft.finished.wait()
    return draft


async def test_a_model_writes_phrasings_which_are_added_when_they_are_applied(caller: Caller, engine: ScriptedEngine) -> None:
    asked: list[str] = []

    def write(text: str) -> str:
        asked.append(text)
        own = ["where to leave the car", "WHERE can i park", "", "x" * 5_000]
        return "Here: " + json.dumps([own, ["morning meal", 7, *(f"breakfast {number}" for number in range(20))]])

    engine.completion = write
    draft = await phrased(caller)
    assert (draft.state, draft.counts["gained"] >= 1) == ("done", True)
    assert "1. [en] Parking? / where can I park\nBehind the house" in asked[0]
    meals = ("morning meal", *(f"breakfast {number}" for number in range(9)))  # at most ten
    assert [entry.alt for entry in draft.phrased] == [("where can I park", "where to leave the car"), meals]
    assert [entry.alt for entry in await act(caller, "knowledge.list")] == [("where can I park",), ()]
    assert await act(caller, "knowledge.phrase_apply", preview=draft.id) == previews.Phrased(caller.bot, 2, 11)
    assert [entry.alt for entry in await act(caller, "knowledge.list")] == [("where can I park", "where to leave the car"), meals]


@pytest.mark.parametrize("written", ["no list", "[1", "{}", "[[1], 2]", None])
async def test_what_is_no_list_of_phrasings_changes_nothing(caller: Caller, engine: ScriptedEngine, written: str | None) -> None:
    def write(_: str) -> str:
        if written is None:
            raise EngineError("overloaded")
        return written

    engine.completion = write
    draft = await phrased(caller)
    assert (draft.state, draft.phrased) == ("done", [])
    for tier, code in (("nothing", "tier_unknown"), ("offline", "model_missing")):
        with pytest.raises(Refused, match=code):
            await act(caller, "knowledge.phrase", tier=tier)
