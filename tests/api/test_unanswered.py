"""Unanswered questions are kept for the administrator and never change the caller's answer."""

from dataclasses import replace
from typing import Any

from chatsvc import workers
from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Retention
from chatsvc.control import rendering
from chatsvc.engines import EngineError
from chatsvc.services.accounts import accounts
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.knowledge import knowledge, unanswered
from chatsvc.services.knowledge.file_reading import read_files
from chatsvc.store.accounts import sweep
from tests.api.support import envelope, execute, out_of_reach
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing


async def groups(caller: Caller) -> list[dict[str, Any]]:
    """The groups that the command would show."""
    return [rendering.unanswered_group(group) for group in await unanswered.groups(caller.app.services, ADMIN, bot=await caller.chatbot())]


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


async def test_only_a_question_without_an_answer_is_kept(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send("answered")
    for reason in ("timeout", "refused", "empty"):
        engine.script = failing(reason)
        await caller.send(f"failed: {reason}")
    engine.script = failing("no_answer")
    for message in ("?!", "evet", "Yes please!", "hayır teşekkürler", "tamam", "1234", "0532 123 45 67", "merhaba", "no", "14:30"):
        await caller.send(message)
    assert await groups(caller) == []
    await caller.send("yes, but do you have a terrace")
    assert [group["question"] for group in await groups(caller)] == ["yes, but do you have a terrace"]


async def test_near_questions_are_one_group_and_the_nearest_entry_is_named(caller: Caller, engine: ScriptedEngine) -> None:
    await knowledge.add(
        caller.app.services,
        ADMIN,
        bot=await caller.chatbot(),
        files=read_files([("faq.md", b"## Do you repair bikes?\nlanguage: en\n\nYes.")], "tr"),
    )
    engine.script = failing("no_answer")
    for message in ("opening hours on christmas", "do you repair umbrelas", "do you repair umbrellas?", "can you repair my umbrellas"):
        await caller.send(message, language="en")
    by_question = {group["question"]: group for group in await groups(caller)}
    assert sorted(group["count"] for group in by_question.values()) == [1, 3]
    together = next(group for group in by_question.values() if group["count"] == 3)
    assert together["nearest"]["question"] == "Do you repair bikes?"
    assert 0 < together["nearest"]["score"] < 1
    assert next(group for group in by_question.values() if group["count"] == 1)["nearest"] is None


async def test_a_group_closes_with_an_answer_and_opens_when_it_is_missed_again(
    caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    async def is_open() -> bool:
        shown = await perform(caller.app.services, ADMIN, "today", {"account": caller.account})
        unanswered_groups = await unanswered.groups(caller.app.services, ADMIN, bot=await caller.chatbot(), answered=False)
        assert [group.question for _, group in shown.questions] == [group.question for group, _ in unanswered_groups]
        return bool(unanswered_groups)

    engine.script = failing("no_answer")
    await caller.send("Do you repair umbrellas?", language="en")
    assert await is_open()
    clock.advance(60)
    file = ("faq.md", b"## Do you repair umbrellas?\nlanguage: en\n\nYes, within a week.")
    await knowledge.add(caller.app.services, ADMIN, bot=await caller.chatbot(), files=read_files([file], "en"))
    assert not await is_open()
    clock.advance(60)
    await caller.send("Do you repair umbrellas?", language="en")
    assert await is_open()


NAMED = [
    ("Benim adım Ayşe Yılmaz, şemsiye tamir ediyor musunuz?", ["Ayşe", "Yılmaz"]),
    ("My name is John Carpenter, do you mend umbrellas?", ["John", "Carpenter"]),
    ("Do you mend umbrellas? I am reachable at ayse [at] example [dot] com", ["ayse"]),
    ("Do you mend umbrellas? call 0532.123.45.67 or +44 7700 900123 or 0212 555 12 34", ["0532", "7700", "0212", "900123"]),
    ("Do you mend umbrellas? Regards, Zebedee Quuxworth", ["Zebedee", "Quuxworth"]),
    ("şemsiye tamir ediyor musunuz? Saygılarımla Zebedee Quuxworth", ["Zebedee", "Quuxworth"]),
    ("do you know Zebedee Quuxworth at 12 Hidden Street who mends umbrellas?", ["Zebedee", "Quuxworth", "Hidden"]),
    ("şemsiyemi Gülbahar Sok. No: 14 adresinden alır mısınız?", ["Gülbahar", "14"]),
    ("do you mend umbrellas? write to @zebedee_quux", ["zebedee"]),
    ("a@example.com, b@example.com and c@example.com want umbrellas " + "x" * 430 + " d@example.com", ["@", "a@", "example.co"]),
]


async def test_a_name_told_earlier_is_not_kept_in_a_later_question(caller: Caller, engine: ScriptedEngine) -> None:
    await caller.send("Hi, my name is Quibble Farnworth", "v")
    engine.script = failing("no_answer")
    await caller.send("I am Ottoline Grabb", "w")
    for user in ("v", "w"):
        await caller.send("do you mend umbrellas for quibble farnworth and ottoline grabb?", user)
    assert sorted(wording for group in await groups(caller) for wording in group["asked"]) == [
        "do you mend umbrellas for quibble farnworth and …",
        "do you mend umbrellas for … and ottoline grabb?",
    ]


async def test_neither_names_nor_contact_data_are_kept_and_little_of_a_long_text(caller: Caller, engine: ScriptedEngine) -> None:
    engine.script = failing("no_answer")
    await caller.send("Ara beni: +90 (532) 123 45 67 ya da ayse@example.com, 12 kişilik yer var mı?")
    await caller.send("x" * 4000)
    questions = sorted(group["question"] for group in await groups(caller))
    assert questions == ["Ara beni: … ya da …, 12 kişilik yer var mı?", "x" * 500]
    await unanswered.forget(caller.app.services, ADMIN, bot=await caller.chatbot())
    columns = "SELECT q.folded, q.question, a.wording FROM unanswered_questions q JOIN unanswered_askers a ON a.question = q.number"
    for message, gone in NAMED:
        await caller.send(message, "v")
        (group,) = await groups(caller)
        assert "umbrella" in group["question"] or "emsiye" in group["question"]
        (row,) = await execute(caller.app, columns)
        assert not [text for text in gone for column in (*row, group["question"]) if text.lower() in column.lower()], message
        await conversations.erase(caller.app.services, ADMIN, user_id="v")


async def test_what_a_visitor_asked_goes_when_it_is_erased_and_the_others_still_count(
    caller: Caller, engine: ScriptedEngine, config: Config
) -> None:
    engine.script = failing("no_answer")
    for visitor, message in (
        ("v", "Grunwald UMBRELLAS?"),
        ("w", "grunwald umbrellas"),
        ("v", "a Zanzibar parasol"),
        ("v", "grunwald umbrellas"),
    ):
        await caller.send(message, visitor)
    await caller.send("Grunwald umbrellas!")
    assert {group["question"]: group["count"] for group in await groups(caller)} == {"Grunwald UMBRELLAS?": 4, "a Zanzibar parasol": 1}
    erased = await conversations.erase(caller.app.services, ADMIN, user_id="v")
    assert (erased.erased.questions, erased.erased.conversations) == (2, 0)
    assert {group["question"]: group["count"] for group in await groups(caller)} == {"grunwald umbrellas": 2}
    files = [file.read_bytes() for file in config.data_dir.iterdir() if file.is_file()]
    assert not [text for text in (b"Zanzibar", b"zanzibar", b"UMBRELLAS") for content in files if text in content]
    await conversations.erase(caller.app.services, ADMIN, user_id="w")
    assert {group["question"]: group["count"] for group in await groups(caller)} == {"grunwald umbrellas": 1}


async def test_questions_of_an_older_version_lose_their_personal_data(caller: Caller, engine: ScriptedEngine) -> None:
    engine.script = failing("no_answer")
    await caller.send("Do you mend umbrellas? Mail …", "v")
    for folded in ("do you mend umbrellas mail ann example com", "do you mend umbrellas mail bob example com"):
        name = folded.split()[5]
        await execute(
            caller.app,
            "INSERT INTO unanswered_questions (bot_id, folded, question, language, times, first_asked_at, last_asked_at)"
            " VALUES (:1, :2, :3, 'en', 2, 1, 2)",
            *(caller.bot, folded, f"Do you mend umbrellas? Mail {name}@example.com"),
        )
    await unanswered.mask(caller.app.services)
    assert [(group["question"], group["count"]) for group in await groups(caller)] == [("Do you mend umbrellas? Mail …", 5)]
    assert await execute(caller.app, "SELECT count(*), min(masked) FROM unanswered_questions") == [(1, 1)]
    assert await execute(caller.app, "SELECT user_id, times FROM unanswered_askers") == [("v", 1)]


async def test_questions_go_with_the_days_of_conversations(caller: Caller, engine: ScriptedEngine, clock: FakeClock) -> None:
    engine.script = failing("no_answer")
    await caller.send("old umbrellas", "v")
    await caller.send("do you mend all umbrellas", "v")
    await caller.send("anonymous umbrellas")
    clock.advance(20 * 86_400)
    await caller.send("do you mend all umbrellas", "w")
    clock.advance(11 * 86_400)
    services = caller.app.services
    services.config = replace(services.config, retention=Retention(30, None, None))
    await workers.delete_old(services)
    assert {group["question"]: group["count"] for group in await groups(caller)} == {"do you mend all umbrellas": 1}


async def test_a_store_that_cannot_keep_the_question_changes_nothing_and_its_text_is_in_no_log(
    app: App, caller: Caller, engine: ScriptedEngine, caplog: Any
) -> None:
    def script(_: object) -> Any:
        raise EngineError("no_answer", "decision abstain")

    engine.script = script
    before = await caller.send("what are unforgettable words")
    async with out_of_reach(app, "unanswered_questions"):
        after = await caller.send("what are other unforgettable words")
    assert (after.status, after.json) == (before.status, before.json)
    assert after.json == envelope("assistant_unavailable", reason="no_answer")
    assert "could not be noted" in caplog.text
    assert "unforgettable" not in caplog.text
    assert await execute(app, "SELECT times FROM unanswered_questions") == [(1,)]
    await accounts.delete(app.services, ADMIN, account=caller.account)
    while await sweep(app.services.db):
        pass
    assert await execute(app, "SELECT times FROM unanswered_questions") == []
