"""POST /messages (SPEC.md 4.3)."""

from __future__ import annotations

from tests.conftest import Caller
from tests.fakes import ScriptedEngine


async def test_a_message_goes_in_and_the_reply_comes_out(caller: Caller) -> None:
    answer = await caller.send("hello", "visitor-1")
    assert answer.status == 200
    assert answer.json == {
        "success": True,
        "data": {
            "chatbot_id": caller.bot,
            "user_id": "visitor-1",
            "session_id": "api:visitor-1",
            "channel": "api",
            "message": "hello",
            "reply": "echo: hello",
            "created_at": "2026-11-20T12:14:28.123Z",
        },
    }


async def test_the_language_override_and_the_history_reach_the_engine(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send("first", "v")
    await caller.send("second", "v", language="en-GB")
    assert engine.turns[1].language == "en-GB"
    assert [(m.role, m.content) for m in engine.turns[1].history] == [("user", "first"), ("assistant", "echo: first")]
