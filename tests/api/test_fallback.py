"""Fallback to a bot's knowledge where its model fails. The origin stored with each reply."""

import pytest

from chatsvc.control import rendering
from chatsvc.domain.models import Usage
from chatsvc.engines import Evidence, Reply
from chatsvc.services.accounts import bots
from chatsvc.services.conversations import conversations
from chatsvc.services.knowledge import knowledge
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.messages import messages
from tests.api.test_transfer import taken_out
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine, failing

FAQ = "language: en\n\n## When are you open?\nalt: opening hours\n\nFrom nine to six.\n\n## Do you repair bicycles?\n\nYes, all makes.\n"
ASKED = "when are you open"


@pytest.fixture
async def desk(caller: Caller) -> Caller:
    """A bot with a model, knowledge and a fallback."""
    await knowledge.add(caller.app.services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.en.md", FAQ.encode())], "en"))
    await bots.change(caller.app.services, ADMIN, bot=await caller.chatbot(), fallback="knowledge")
    return caller


async def test_where_the_model_fails_the_knowledge_answers(desk: Caller, engine: ScriptedEngine) -> None:
    for reason in ("overloaded", "timeout", "not_configured", "empty", "bad_response"):
        engine.script = failing(reason)
        answer = await desk.send(ASKED, reason)
        assert (answer.status, answer.json["data"]["reply"]) == (200, "From nine to six.")
    # What the knowledge does not know is the model's failure, and that there is no answer is its answer.
    assert (await desk.send("which team is the champion of 1987", "v")).json["reason"] == "bad_response"
    engine.script = failing("no_answer")
    assert (await desk.send(ASKED, "v")).json["reason"] == "no_answer"
    await bots.change(desk.app.services, ADMIN, bot=await desk.chatbot(), fallback="none")
    engine.script = failing("overloaded")
    assert (await desk.send(ASKED, "v")).json["reason"] == "overloaded"


async def test_a_model_that_never_answers_leaves_time_for_the_knowledge(
    desk: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "FALLBACK_S", desk.app.config.anthropic.timeout_s - 1)
    engine.delay_s = 60
    answer = await desk.send(ASKED, "v")
    assert (answer.status, answer.json["data"]["reply"]) == (200, "From nine to six.")
    assert engine.turns[0].timeout_s <= 1.0


async def test_the_origin_of_a_reply_is_the_operators_alone(desk: Caller, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("Hi.", Usage(1, 1), evidence=Evidence((("k1", 0.75), ("k2", 0.5))))
    await desk.send("hello", "v")
    engine.script = failing("overloaded")
    await desk.send(ASKED, "v")
    engine.script = lambda _: Reply("Bye.")
    await desk.send("bye", "v")
    (listed,) = (await desk.get("/conversations")).json["data"]
    shown = await conversations.show(desk.app.services, ADMIN, conversation=listed["id"])
    asked, hi, _, fallen, _, bye = (message["evidence"] for message in rendering.thread(shown)["messages"])  # type: ignore[attr-defined]
    assert (asked, bye) == (None, None)
    assert hi == {"entries": [{"id": "k1", "score": 0.75}, {"id": "k2", "score": 0.5}], "decision": None, "confidence": None}
    entries = {entry.answer: entry.id for entry in await knowledge.list_all(desk.app.services, ADMIN, bot=await desk.chatbot())}
    assert (fallen["entries"][0]["id"], fallen["decision"]) == (entries["From nine to six."], "answer")
    assert 0.5 < fallen["confidence"] <= 1
    detail = (await desk.get(f"/conversations/{listed['id']}")).json["data"]
    assert {tuple(message) for message in detail["messages"]} == {("id", "role", "content", "created_at")}


async def test_the_origin_of_a_reply_moves_and_goes_with_its_message(desk: Caller, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("Hi.", Usage(1, 1), evidence=Evidence((("k1", 0.75),)))
    await desk.send("hello", "v")
    messages = [record for kind, record in await taken_out(desk.app.services, desk.account) if kind == "message"]
    assert [record["evidence"] for record in messages] == [
        None,
        '{"entries": [{"id": "k1", "score": 0.75}], "decision": null, "confidence": null}',
    ]
    await conversations.erase(desk.app.services, ADMIN, user_id="v")
    assert [kind for kind, _ in await taken_out(desk.app.services, desk.account) if kind == "message"] == []
