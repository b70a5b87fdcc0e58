"""What visitors asked in vain is kept for the administrator, and never changes what the caller gets."""

from __future__ import annotations

from typing import Any

from chatsvc.app import App
from chatsvc.engines import EngineError
from chatsvc.usecases import accounts, knowledge, unanswered
from tests.api.support import envelope, execute, out_of_reach
from tests.conftest import Caller
from tests.fakes import FakeClock, ScriptedEngine, failing


async def groups(caller: Caller) -> list[dict[str, Any]]:
    """What the command would show."""
    return await unanswered.groups(caller.app.services, bot=caller.bot)


async def test_a_question_without_an_answer_is_counted_whatever_its_spelling(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    engine.script = failing("no_answer")
    await caller.send("Şemsiye tamir ediyor musunuz?", "v")
    clock.advance(60)
    await caller.send("semsiye  TAMIR ediyor musunuz", language="tr-TR")
    assert await groups(caller) == [
        {
            "question": "Şemsiye tamir ediyor musunuz?",
            "count": 2,
            "asked": ["Şemsiye tamir ediyor musunuz?"],
            "language": "tr",
            "last_asked_at": "2026-11-20T12:15:28.123Z",
            "nearest": None,
        }
    ]


async def test_only_what_the_knowledge_has_no_answer_to_is_kept(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send("answered")
    for reason in ("timeout", "refused", "empty"):
        engine.script = failing(reason)
        await caller.send(f"failed: {reason}")
    engine.script = failing("no_answer")
    await caller.send("?!")
    assert await groups(caller) == []


async def test_a_nod_a_number_or_a_greeting_is_no_question(caller: Caller, engine: ScriptedEngine) -> None:
    engine.script = failing("no_answer")
    for message in ("evet", "Yes please!", "hayır teşekkürler", "tamam", "1234", "0532 123 45 67", "merhaba", "no", "14:30"):
        await caller.send(message)
    assert await groups(caller) == []
    await caller.send("yes, but do you have a terrace")
    assert [one["question"] for one in await groups(caller)] == ["yes, but do you have a terrace"]


async def test_near_questions_are_one_group_and_the_nearest_entry_is_named(caller: Caller, engine: ScriptedEngine) -> None:
    await knowledge.add(caller.app.services, bot=caller.bot, files=[("faq.md", "## Do you repair bikes?\nlanguage: en\n\nYes.")])
    engine.script = failing("no_answer")
    for message in ("opening hours on christmas", "do you repair umbrelas", "do you repair umbrellas?", "can you repair my umbrellas"):
        await caller.send(message, language="en")
    found = {one["question"]: one for one in await groups(caller)}
    assert sorted(one["count"] for one in found.values()) == [1, 3]
    together = next(one for one in found.values() if one["count"] == 3)
    assert together["nearest"]["question"] == "Do you repair bikes?"
    assert 0 < together["nearest"]["score"] < 1


async def test_how_to_reach_the_visitor_is_not_kept_and_little_of_a_long_text(caller: Caller, engine: ScriptedEngine) -> None:
    engine.script = failing("no_answer")
    await caller.send("Ara beni: +90 (532) 123 45 67 ya da ayse@example.com, 12 kişilik yer var mı?")
    await caller.send("x" * 4000)
    kept = [one["question"] for one in await groups(caller)]
    assert sorted(kept) == ["Ara beni: … ya da … 12 kişilik yer var mı?", "x" * 500]


async def test_a_store_that_cannot_keep_the_question_changes_nothing_for_the_caller(
    app: App, caller: Caller, engine: ScriptedEngine
) -> None:
    engine.script = failing("no_answer")
    before = await caller.send("first")
    async with out_of_reach(app, "unanswered_questions"):
        after = await caller.send("second")
    assert (after.status, after.json) == (before.status, before.json)
    assert after.json == envelope("assistant_unavailable", reason="no_answer")
    assert [one["question"] for one in await groups(caller)] == ["first"]


async def test_a_question_is_not_kept_in_the_log_and_goes_with_its_account(
    app: App, caller: Caller, engine: ScriptedEngine, caplog: Any
) -> None:
    def script(_: object) -> Any:
        raise EngineError("no_answer", "decision abstain")

    engine.script = script
    async with out_of_reach(app, "unanswered_questions"):
        await caller.send("unforgettable words")
    await caller.send("unforgettable words")
    assert "could not be noted" in caplog.text
    assert "unforgettable" not in caplog.text
    assert await execute(app, "SELECT times FROM unanswered_questions") == [(1,)]
    await accounts.delete(app.services, account=caller.account)
    from chatsvc.store.accounts import sweep

    while await sweep(app.services.db):
        pass
    assert await execute(app, "SELECT times FROM unanswered_questions") == []
