"""The embedded engine: small talk, answers, questions back and honest silence."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Engine, EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy import rules
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.language import catalogue
from tests.engines.knowledge.test_index import SAMPLE

BOT = Bot("b", "a", "Pedal", None, "offline", True, 0, 0, 0)
QUIET = BOT._replace(ask_back=False)
ENGINE: Engine = KnowledgeEngine()
UNSURE = "sea"
UNSURE_TURKISH = "vapur"


def turn(message: str, *, bot: Bot = BOT, channel: str = "web", language: str | None = None, history: Sequence[str] = ()) -> Turn:
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(history)]
    return Turn(bot, channel, message, told, language, SAMPLE, "", 30.0, 0)


async def say(message: str, **rest: Any) -> str:
    return (await ENGINE.reply(turn(message, **rest))).text


def answer_of(identity: str) -> str:
    return next(entry.answer for entry in SAMPLE.entries if entry.id == identity)


async def test_a_question_is_answered_with_the_entrys_answer_and_costs_nothing() -> None:
    reply = await ENGINE.reply(turn("What are your opening hours?", channel="api"))
    assert reply.text == answer_of("en1")
    assert reply.usage.total == 0


async def test_the_answer_comes_in_the_language_of_the_question() -> None:
    assert await say("kredi kartı geçiyor mu") == answer_of("tr5")
    assert await say("do you take credit cards") == answer_of("en5")
    assert await say("whatsapp numarası", language="en") == answer_of("en19")


@pytest.mark.parametrize(
    ("message", "line", "tongue"),
    [
        ("Merhaba!", "greeting", "tr"),
        ("selam, iyi günler", "greeting", "tr"),
        ("Hello there 🙂", "greeting", "en"),
        ("hi Pedal, how are you?", "greeting", "en"),
        ("Çok teşekkür ederim, iyi günler", "thanks", "tr"),
        ("ok thanks", "thanks", "en"),
        ("Tamam", "noted", "tr"),
        ("Thank you, bye!", "goodbye", "en"),
    ],
)
async def test_small_talk_gets_its_line(message: str, line: str, tongue: str) -> None:
    assert await say(message) == catalogue.say(f"smalltalk.{line}", tongue, name=BOT.name)


@pytest.mark.parametrize("message", ["merhaba, kaçta açılıyorsunuz?", "thanks. but do you take cards?"])
async def test_a_question_beside_small_talk_is_answered(message: str) -> None:
    assert await say(message) in {entry.answer for entry in SAMPLE.entries}


async def test_a_greeting_is_the_bots_own_or_names_the_bot() -> None:
    assert await say("merhaba") == "Merhaba, ben Pedal. Size nasıl yardımcı olabilirim?"
    assert await say("hi") == "Hello, I'm Pedal. How can I help you?"
    assert await say("merhaba", bot=BOT._replace(greeting="Hoş geldiniz!")) == "Hoş geldiniz!"
    assert await say("teşekkürler", bot=BOT._replace(greeting="Hoş geldiniz!")) == "Rica ederim! Başka bir sorunuz olursa buradayım."


async def test_a_bots_name_with_braces_is_only_a_name() -> None:
    assert await say("hi", bot=BOT._replace(name="{0} {name}")) == "Hello, I'm {0} {name}. How can I help you?"


async def test_small_talk_follows_the_wanted_language_else_the_bots() -> None:
    assert (await say("hi", language="tr-TR")).startswith("Merhaba")
    assert (await say("ok")).startswith("Tamam")
    assert (await say("ok", bot=BOT._replace(language="en"))).startswith("All right")
    assert (await say("ok", bot=BOT._replace(language="de"))).startswith("All right")


async def test_an_unsure_engine_asks_back_in_the_visitors_language() -> None:
    english = await say(UNSURE)
    assert english.startswith("Did you mean")
    assert "- Where is your shop?" in english
    assert 1 <= english.count("\n- ") <= 3
    turkish = await say(UNSURE_TURKISH)
    assert "demek istediniz?" in turkish
    assert "- Dükkânınız nerede?" in turkish
    assert "Where is" not in turkish


@pytest.mark.parametrize(
    ("channel", "ask_back", "asks"), [("api", None, True), ("api", False, False), ("web", False, False), ("whatsapp", None, True)]
)
async def test_asking_back_is_a_setting_that_is_on_by_default_on_every_channel(channel: str, ask_back: bool | None, asks: bool) -> None:
    bot = BOT._replace(ask_back=ask_back)
    if asks:
        assert "Did you mean" in await say(UNSURE, bot=bot, channel=channel)
    else:
        with pytest.raises(EngineError) as error:
            await say(UNSURE, bot=bot, channel=channel)
        assert error.value.reason == "no_answer"


@pytest.mark.parametrize("message", ["do you have vegan pizza", "makarna nasıl pişirilir", "...", "?", "\ud800"])
async def test_what_the_knowledge_does_not_hold_is_no_answer(message: str) -> None:
    with pytest.raises(EngineError) as error:
        await say(message)
    assert error.value.reason == "no_answer"


async def test_the_error_tells_nothing_of_the_visitors_words() -> None:
    with pytest.raises(EngineError) as error:
        await say("makarna nasıl pişirilir")
    assert "makarna" not in str(error.value)


async def test_a_short_follow_up_leans_on_the_question_before() -> None:
    history = ("do you deliver to my hotel", answer_of("en12"))
    for before in ((), ("hello", "Hello!")):
        with pytest.raises(EngineError):
            await say("and to the airport?", history=before, bot=QUIET)
    assert "villages around" in await say("and villas?", history=history, channel="api")


async def test_a_follow_up_does_not_get_the_answer_before_once_more() -> None:
    history = ("what are your opening hours", answer_of("en1"))
    for message in ("vegan pizza", "why?"):
        with pytest.raises(EngineError):
            await say(message, history=history, bot=QUIET)


async def test_one_likely_entry_is_asked_about_alone() -> None:
    assert (await say(UNSURE)).startswith("Did you mean this?\n\n- Where is your shop?")


ONE_ENTRY = KnowledgeIndex(
    [
        Entry(
            "1",
            "When are you open?",
            ("opening hours", "are you open on saturday", "until when are you there"),
            "Monday to Friday from 9 to 18, Saturday from 10 to 14.",
            "tr",
        )
    ],
    "tr",
)


@pytest.mark.parametrize("question", ["Where are you?", "Who are you?", "Do you sell bananas?", "what is it"])
def test_a_bot_that_knows_one_thing_does_not_answer_everything_with_it(question: str) -> None:
    assert ONE_ENTRY.search(question).decision != "answer"
    assert ONE_ENTRY.search("are you open on saturday").decision == "answer"


async def test_a_new_question_is_not_answered_by_the_one_before() -> None:
    bananas = turn("Do you sell bananas?", history=("Are you open on Saturday?", "Monday to Friday ..."))
    with pytest.raises(EngineError):
        await ENGINE.reply(replace(bananas, knowledge=ONE_ENTRY))
    saturday = turn("and saturday?", history=("When are you open?", "Monday to Friday ..."))
    assert "Monday to Friday" in (await ENGINE.reply(replace(saturday, knowledge=ONE_ENTRY))).text


@pytest.mark.parametrize(
    ("entries", "message", "apart"),
    [(1, "where is the moon", False), (1, "where is the moon " * 100, True), (5_000, "where is the moon", True)],
    ids=["short", "long message", "large knowledge"],
)
async def test_what_may_take_long_does_not_hold_the_event_loop(
    entries: int, message: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided_by: list[threading.Thread] = []

    def decide(_: Turn) -> Reply:
        decided_by.append(threading.current_thread())
        return Reply("ok")

    monkeypatch.setattr(rules, "reply", decide)
    knowledge = KnowledgeIndex([SAMPLE.entries[0]._replace(id=str(number)) for number in range(entries)], "tr")
    await ENGINE.reply(replace(turn(message), knowledge=knowledge))
    assert [(thread is not threading.main_thread()) for thread in decided_by] == [apart]
