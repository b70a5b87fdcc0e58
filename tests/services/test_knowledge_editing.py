"""Editing of knowledge, previews, phrasings of a model, trials, and drafts from unanswered questions: what pages do."""

import asyncio
import io
import json
from asyncio.subprocess import Process
from types import SimpleNamespace
from typing import Any

import pytest

from chatsvc.domain import refusals
from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Bot, Entry, SendMessage
from chatsvc.domain.refusals import Refused
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.accounts import bots
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.knowledge import knowledge, knowledge_work, previews, unanswered
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.services.knowledge.previews import Computation
from chatsvc.services.messages import trials
from chatsvc.services.messages.trials import Trials
from chatsvc.services.services import Services
from chatsvc.store.knowledge import Whole
from tests import conftest
from tests.fakes import ADMIN, ScriptedEngine, bot_of, failing

FAQ = b"""## Parking?
alt: where can I park

Behind the house, 5 euros a night.

## Breakfast?

From 8 to 10.
"""


async def act(services: Services, name: str, **arguments: Any) -> Any:
    return await perform(services, ADMIN, name, arguments)


@pytest.fixture
async def offline(make_caller: conftest.MakeCaller) -> conftest.Caller:
    """A customer whose bot answers from its knowledge, in English."""
    caller: conftest.Caller = await make_caller(model="offline")
    services = caller.app.services
    await bots.change(services, ADMIN, bot=await caller.chatbot(), language="en")
    await knowledge.add(services, ADMIN, bot=await caller.chatbot(), files=read_files([("faq.md", FAQ)], "en"))
    return caller


async def entries(caller: conftest.Caller) -> list[Entry]:
    return await knowledge.list_all(caller.app.services, ADMIN, bot=await caller.chatbot())


async def test_an_entry_is_created_changed_and_the_change_is_taken_back(offline: conftest.Caller) -> None:
    services, bot = offline.app.services, offline.bot
    entry = await act(services, "knowledge.set", bot=bot, question="Dogs?", answer="One a room.", alt=["pets", " ", "pets"])
    assert (entry.question, entry.alt, entry.answer, entry.language, entry.source) == ("Dogs?", ("pets",), "One a room.", "en", None)
    again = await act(services, "knowledge.set", bot=bot, entry=entry.id, question="Dogs?", answer="Two a room.", language="en-GB")
    assert (again.id, again.answer, again.language) == (entry.id, "Two a room.", "en-GB")
    matches = await knowledge.search(services, ADMIN, bot=await bot_of(services, bot), questions=["Dogs?"])
    assert matches[0].result.hits[0].entry.answer == "Two a room."
    change, *_ = (await act(services, "knowledge.history", bot=bot)).items
    await act(services, "knowledge.undo", bot=bot, change=change.origin.id)
    matches = await knowledge.search(services, ADMIN, bot=await bot_of(services, bot), questions=["Dogs?"])
    assert matches[0].result.hits[0].entry == entry
    with pytest.raises(Refused, match="change_not_undoable"):
        await act(services, "knowledge.undo", bot=bot, change=change.origin.id)
    record, *_ = (await act(services, "audit")).items
    assert (record.operation, record.outcome) == ("knowledge.undo", "refused")


async def test_all_faults_of_an_entry_are_told_at_once(offline: conftest.Caller) -> None:
    with pytest.raises(Refused) as refused:
        await act(offline.app.services, "knowledge.set", bot=offline.bot, question=" ", answer="", alt=["x" * 501], language="klingonish")
    faults: Any = refused.value.facts["faults"]
    assert [(fault["line"], fault["code"]) for fault in faults] == [
        (0, "language_unknown"),
        (0, "question_missing"),
        (0, "answer_missing"),
        (1, "phrasing_too_long"),
    ]
    with pytest.raises(Refused, match="entry_not_found"):
        await act(offline.app.services, "knowledge.set", bot=offline.bot, entry="nope", question="a", answer="b")


async def finished(services: Services, bot: str, computation: Computation) -> Computation:
    await asyncio.wait_for(computation.finished.wait(), 60)
    assert computation.state == "done"
    shown: Computation = await act(services, "knowledge.preview_show", bot=bot, preview=computation.id)
    assert shown is computation
    return shown


async def test_a_preview_lists_past_questions_that_would_get_another_answer(offline: conftest.Caller) -> None:
    services, bot = offline.app.services, offline.bot
    await offline.send("where can I park", "v")
    parking, _ = await entries(offline)
    changed = await act(
        services, "knowledge.preview", bot=bot, entry=parking.id, question="Parking?", alt=["where can I park"], answer="In the yard."
    )
    computation = await finished(services, bot, changed)
    assert computation.counts == {"changed": 2}
    asked = {change.question: (change.origin, change.answer_before, change.answer_after) for change in computation.changes}
    assert asked["where can I park"] == ("asked", "Behind the house, 5 euros a night.", "In the yard.")
    files = read_files([("faq.md", FAQ.partition(b"## Breakfast")[0])], "en")
    replaced = await finished(services, bot, await act(services, "knowledge.preview", bot=bot, files=files))
    assert [(change.kind, change.question) for change in replaced.changes] == [("lost", "Breakfast?")]
    assert await entries(offline) == [parking, (await entries(offline))[1]]
    for given in ({}, {"entry": "nope"}):
        with pytest.raises(Refused, match=r"nothing_to_change|entry_not_found"):
            await act(services, "knowledge.preview", bot=bot, **given)


async def test_a_preview_belongs_to_its_bot_and_old_ones_are_evicted(offline: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services = offline.app.services
    other = await bots.create(services, ADMIN, name="Other", account=offline.account, model="offline")
    monkeypatch.setattr(previews, "MOST_KEPT", 1)

    async def never(*_: object) -> list[dict[str, Any]]:
        await asyncio.sleep(60)
        return []

    async def broken(*_: object) -> list[dict[str, Any]]:
        raise knowledge_work.WorkFailed("x")

    monkeypatch.setattr(previews, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(knowledge_work, "run", never)
    first = await act(services, "knowledge.lint", bot=offline.bot)
    assert first.state == "running"
    with pytest.raises(Refused, match="preview_not_found"):
        await act(services, "knowledge.preview_show", bot=other.id, preview=first.id)
    monkeypatch.setattr(knowledge_work, "run", broken)
    second = await act(services, "knowledge.lint", bot=offline.bot)
    assert second.state == "failed"
    with pytest.raises(Refused, match="preview_not_found"):
        await act(services, "knowledge.preview_show", bot=offline.bot, preview=first.id)
    await asyncio.wait_for(first.finished.wait(), 20)
    assert first.state == "failed"
    monkeypatch.setattr(knowledge_work, "run", never)
    monkeypatch.setattr(previews, "_LONGEST_S", 0.01)
    assert (await act(services, "knowledge.lint", bot=offline.bot)).state == "failed"


async def test_previews_of_one_account_do_not_hold_up_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    async def never(work: Any, _: object) -> None:
        begun.append(work["bot"]["account_id"])
        await asyncio.sleep(60)

    monkeypatch.setattr(previews, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(knowledge_work, "run", never)
    computations = previews.Computations(SimpleNamespace(node="a service"))  # type: ignore[arg-type]
    for account in "aab":
        bot = Bot("bot", account, "Quay Inn", None, "offline", True, 0, 0, 0)
        await computations.run(bot, Computation("bot", "lint"), Whole([], []))
    assert begun == ["a", "b"]
    await computations.close()


async def test_the_check_of_a_knowledge_runs_in_a_process_of_its_own(offline: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    services, bot, killed = offline.app.services, offline.bot, list[Process]()
    monkeypatch.setattr(Process, "kill", killed.append)
    monkeypatch.setattr("chatsvc.domain.knowledge_findings.findings", lambda *_: 1 / 0)  # not called in this process
    await act(services, "knowledge.set", bot=bot, question="breakfast", answer="From 8 to 10.")
    check = await finished(services, bot, await act(services, "knowledge.lint", bot=bot))
    assert {"duplicate_phrasing", "phone_missing"} <= {finding.kind for finding in check.findings}
    assert all(finding.sentence("tr") != finding.sentence() for finding in check.findings)
    for program, work in ((["/bin/true"], {"kind": "x" * 1_000_000}), (["/nowhere/chatsvc"], {})):
        monkeypatch.setattr(knowledge_work, "program", lambda _, program=program: program)
        with pytest.raises(knowledge_work.WorkFailed):
            await knowledge_work.run(work, lambda *_: None)
    assert killed == [], "each has ended by itself"


async def test_a_group_of_unanswered_questions_becomes_an_entry_or_phrasings(offline: conftest.Caller) -> None:
    services, bot = offline.app.services, offline.bot
    shown = await bot_of(services, bot)
    for text in ("can I bring my dog", "can I bring my dog?", "can I bring our dogs along"):
        await unanswered.note(services, shown, SendMessage(bot, text, "v"), "web")
    ((group, _),) = await act(services, "knowledge.unanswered", bot=bot)
    assert (group.times, group.channels, group.answered) == (3, ["web"], False)
    _, breakfast = await entries(offline)
    changed = await act(services, "unanswered.add", bot=bot, question=group.id, entry=breakfast.id)
    assert changed.alt == ("can I bring my dog", "can I bring our dogs along")
    assert await act(services, "unanswered.add", bot=bot, question=group.id, entry=breakfast.id) == changed
    assert await act(services, "knowledge.unanswered", bot=bot, answered=False) == []
    for name, given in (("answer", {}), ("add", {"entry": breakfast.id})):
        with pytest.raises(Refused, match="question_not_found"):
            await act(services, f"unanswered.{name}", bot=bot, question=999, **given)
    with pytest.raises(Refused, match="entry_not_found"):
        await act(services, "unanswered.add", bot=bot, question=group.id, entry="nope")
    assert (await act(services, "knowledge.forget_unanswered", bot=bot, question=group.id)).cleared == 2
    for text in ("is there a swimming pool", "is there a swimming pool", "do you sell helmets"):
        await unanswered.note(services, shown, SendMessage(bot, text, "v"), "web")
    first = await act(services, "unanswered.list", bot=bot, limit=1)
    second = await act(services, "unanswered.list", bot=bot, limit=1, after=first.next)
    assert [group.question for group in first.items + second.items] == ["is there a swimming pool", "do you sell helmets"]
    assert second.next is None
    assert (await act(services, "unanswered.list", bot=bot, q="SELL Helmets")).items == second.items


async def say(caller: conftest.Caller, text: str | None, trial: str | None = None) -> trials.Trial:
    answer: trials.Trial = await act(caller.app.services, "bot.try", bot=caller.bot, text=text, trial=trial)
    return answer


async def test_a_trial_answers_as_the_bot_and_stores_nothing(offline: conftest.Caller) -> None:
    services = offline.app.services
    trial = await say(offline, "where can I park")
    (turn,) = trial.turns
    assert turn.text.startswith("Behind the house")
    assert (turn.decision, turn.failure, next(entry.question for entry, _ in turn.entries)) == ("answer", None, "Parking?")
    assert turn.search.hits[0].why
    again = await say(offline, "how much is that", trial.id)
    assert again is trial
    assert "That is all I know about this" in trial.turns[1].text  # the same text is not told twice
    missed = await say(offline, "what is the tensile strength of basalt", trial.id)
    assert missed.turns[2].failure == "no_answer"
    assert (await conversations.list_all(services, ADMIN, bot=await offline.chatbot())).items == []
    assert (await offline.chatbot()).messages_used == 0
    assert await unanswered.groups(services, ADMIN, bot=await offline.chatbot()) == []
    assert (await say(offline, None, trial.id)).turns == trial.turns
    assert (await say(offline, None, "unknown")).turns == []
    for text, code in ((" ", "text_empty"), ("x" * 4001, "text_too_long")):
        with pytest.raises(Refused, match=code):
            await say(offline, text)


async def test_a_trial_remembers_what_it_captured(caller: conftest.Caller, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("Noted.", captured=Captured("contact", "call me", "Selin Kaya", None, "+905321234567"), dialogue="x")
    trial = await say(caller, "call me: Selin Kaya, +90 532 123 45 67")
    (record,) = trial.captured
    assert (record.visitor_phone, trial.turns[0].captured) == ("+905321234567", record)
    engine.script = lambda turn: Reply(f"{len(turn.captured)} {turn.dialogue} {len(turn.history)}")
    assert (await say(caller, "is it noted?", trial.id)).turns[1].text == "1 x 2"
    assert (await act(caller.app.services, "request.list", bot=caller.bot)).items == []


async def test_a_trial_falls_back_as_the_bot_does_and_tells_what_failed(
    caller: conftest.Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, bot = caller.app.services, caller.bot
    assert (await say(caller, "hello")).turns[0].text == "echo: hello"
    engine.script = failing("overloaded")
    assert (await say(caller, "hello")).turns[0].failure == "overloaded"
    await bots.change(services, ADMIN, bot=await bot_of(services, bot), fallback="knowledge", language="en")
    await knowledge.add(services, ADMIN, bot=await bot_of(services, bot), files=read_files([("faq.md", FAQ)], "en"))
    assert (await say(caller, "where can I park")).turns[0].text.startswith("Behind the house")

    def silent(_: Turn) -> Reply:
        raise EngineError("no_answer", fallback="I do not know.")

    engine.script = silent
    turn = (await say(caller, "where can I park")).turns[0]
    assert (turn.failure, turn.text) == ("no_answer", "I do not know.")
    engine.script, engine.delay_s = failing("overloaded"), 5
    monkeypatch.setattr(type(services.config.anthropic), "timeout_s", 0.05, raising=False)
    assert (await say(caller, "breakfast?")).turns[0].text == "From 8 to 10."
    monkeypatch.setattr(trials, "MOST_TRIALS", 1)
    first, _ = services.part(Trials).of(bot, None), services.part(Trials).of(bot, None)
    assert services.part(Trials).of(bot, first.id) is not first


async def profile(services: Services, bot: str) -> Any:
    from chatsvc.domain import profiles

    shown: Bot = await bot_of(services, bot)
    return profiles.load(shown.profile)


async def test_texts_forms_and_closed_days_are_set_one_by_one(offline: conftest.Caller) -> None:
    services, bot = offline.app.services, offline.bot
    room = {"name": "Room", "kind": "choice", "choices": ["sea", "garden"], "ask": {"en": "Which room?"}, "required": False}
    await act(
        services,
        "bot.set",
        bot=bot,
        closed=["2026-12-31", "2027-01-01..2027-01-15"],
        form_of_address="familiar",
        texts={"done": {"en": "Noted."}},
        forms={"appointment": {"is": "nights", "fields": [room]}, "quote": {"fields": []}},
        greeting="Hi",
    )
    await act(services, "bot.set", bot=bot, texts={"done": {"tr": "Aldım."}, "summary": {"en": "So:"}})
    shown = await profile(services, bot)
    assert shown.form_of_address == "familiar"
    assert len(shown.closed) == 2
    assert shown.texts == {"done": {"en": "Noted.", "tr": "Aldım."}, "summary": {"en": "So:"}}
    assert shown.form("appointment").fields[0].choices == ("sea", "garden")
    assert (await bot_of(services, bot)).greeting == "Hi"
    await act(services, "bot.set", bot=bot, texts={"done": {"en": "", "tr": " "}}, forms={"appointment": {}}, closed=[])
    shown = await profile(services, bot)
    assert shown.texts == {"summary": {"en": "So:"}}
    assert "appointment" not in shown.forms
    assert shown.closed == ()


async def test_faults_of_settings_name_the_field(offline: conftest.Caller) -> None:
    with pytest.raises(Refused) as refused:
        await act(
            offline.app.services,
            "bot.set",
            bot=offline.bot,
            closed=["tomorrow"],
            texts={"done": {"en": "{nobody}"}, "no_such_sentence": {"en": "x"}},
            forms={"quote": {"fields": [{"name": "A", "kind": "colour"}]}},
        )
    assert refused.value.code == refusals.bot_settings_invalid.code
    faults: Any = refused.value.facts["faults"]
    assert [(fault["field"], fault["code"]) for fault in faults] == [
        ("closed.0", "no_day"),
        ("texts", "sentence_unknown"),
        ("texts.done.en", "placeholders"),
        ("forms.quote.fields.0.kind", "none_of"),
    ]


def test_the_process_answers_with_lines_of_progress_items_and_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = Bot("b", "a", "Inn", None, "offline", True, 0, 0, 0, language="en")._asdict()
    version: tuple[list[Entry], list[Any]] = (
        [Entry("1", "Parking?", (), "Behind the house.", "en"), Entry("2", "parking", (), "Yes.", "en")],
        [],
    )
    versions = [version, ([], [])]
    preview = {"kind": "preview", "bot": bot, "versions": versions, "questions": [["parking", "asked", 3]], "now_ms": 0, "phrasings": True}
    monkeypatch.setattr("os.nice", lambda _: 0)
    monkeypatch.setattr(knowledge_work, "_EVERY_S", 0.0)
    for work, kinds in (
        (preview, {"lost"}),
        ({"kind": "lint", "bot": bot, "versions": [version], "everything": True}, {"duplicate_phrasing"}),
    ):
        source, target = io.TextIOWrapper(io.BytesIO(json.dumps(work).encode())), io.StringIO()
        monkeypatch.setattr("sys.stdin", source)
        monkeypatch.setattr("sys.stdout", target)
        knowledge_work.main()
        lines = [json.loads(line) for line in target.getvalue().splitlines()]
        assert lines[-1] == ["end"]
        assert {kind for kind, *_ in lines} == {"progress", "item", "end"}
        assert kinds <= {values[0]["kind"] for kind, *values in lines if kind == "item"}


async def phrased(offline: conftest.Caller, **arguments: Any) -> Any:
    draft = await act(offline.app.services, "knowledge.phrase", bot=offline.bot, **arguments)
    await draft.finished.wait()
    return draft


async def test_a_model_writes_phrasings_which_are_added_when_they_are_applied(offline: conftest.Caller, engine: ScriptedEngine) -> None:
    asked: list[str] = []

    def write(text: str) -> str:
        asked.append(text)
        own = ["where to leave the car", "WHERE can i park", "", "x" * 5_000]
        return "Here: " + json.dumps([own, ["morning meal", 7, *(f"breakfast {number}" for number in range(20))]])

    engine.completion, services, bot = write, offline.app.services, offline.bot
    draft = await phrased(offline)
    assert (draft.state, draft.counts["gained"] >= 1) == ("done", True)
    assert "1. [en] Parking? / where can I park\nBehind the house" in asked[0]
    meals = ("morning meal", *(f"breakfast {number}" for number in range(9)))  # at most ten
    assert [entry.alt for entry in draft.phrased] == [("where can I park", "where to leave the car"), meals]
    assert [entry.alt for entry in await entries(offline)] == [("where can I park",), ()]
    assert await act(services, "knowledge.phrase_apply", bot=bot, preview=draft.id) == previews.Phrased(bot, 2, 11)
    assert [entry.alt for entry in await entries(offline)] == [("where can I park", "where to leave the car"), meals]


@pytest.mark.parametrize("written", ["[no list]", "[[1], 2]", None])
async def test_what_is_no_list_of_phrasings_changes_nothing(offline: conftest.Caller, engine: ScriptedEngine, written: str | None) -> None:
    def write(_: str) -> str:
        if written is None:
            raise EngineError("overloaded")
        return written

    engine.completion = write
    draft = await phrased(offline)
    assert (draft.state, draft.phrased) == ("done", [])
    for tier, code in (("nothing", "tier_unknown"), ("offline", "model_missing")):
        with pytest.raises(Refused, match=code):
            await act(offline.app.services, "knowledge.phrase", bot=offline.bot, tier=tier)


@pytest.mark.postgres
async def test_a_run_that_is_kept_is_among_the_latest_twenty(caller: conftest.Caller) -> None:
    services, bot = caller.app.services, caller.bot
    await act(services, "test.add", bot=bot, ask="open?", decision="answer")
    await act(services, "test.run", bot=bot)
    assert (await act(services, "test.show", bot=bot)).runs == []
    for _ in range(22):
        await act(services, "test.run", bot=bot, keep=True)
    runs = (await act(services, "test.show", bot=bot)).runs
    assert len(runs) == 20
    assert (runs[0].tests, runs[0].failed, runs[0].questions) == (1, 1, ["open?"])
