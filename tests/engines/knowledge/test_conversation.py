"""The embedded engine over several messages: its language, small talk, follow-ups, and the answer to a question asked back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.domain.times import DAY_MS
from chatsvc.engines import Engine, EngineError, Turn, language
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.state import State, Subject
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.language import catalogue

BOT = Bot("b", "a", "Defne", None, "offline", True, 0, 0, 0)
ENGINE: Engine = KnowledgeEngine()
NOW = 1_790_000_000_000


def entry(identity: str, question: str, alt: Sequence[str], answer: str) -> Entry:
    return Entry(identity, question, tuple(alt), answer, identity[:2])


ENTRIES = [
    entry(
        "tr1",
        "Çalışma saatleriniz nedir?",
        [
            "saat kaçta açılıyorsunuz",
            "kaça kadar açıksınız",
            "bugün açık mısınız",
            "hafta sonu çalışıyor musunuz",
            "ne zaman kapanıyorsunuz",
        ],
        "Hafta içi 9 ile 18 arası, cumartesi 10 ile 14 arası açığız; pazar günleri kapalıyız.",
    ),
    entry(
        "en1",
        "What are your opening hours?",
        ["when do you open", "until when are you open", "are you open today", "when do you close", "are you open at the weekend"],
        "Monday to Friday 9 to 18, Saturday 10 to 14; closed on Sundays.",
    ),
    entry(
        "tr2",
        "Saç kesimi ne kadar?",
        ["kesim ücreti", "saç kesim fiyatı nedir", "saçımı kaça kesersiniz", "erkek saç kesimi kaç lira"],
        "Saç kesimi 600 TL, çocuklar için 400 TL.",
    ),
    entry(
        "en2",
        "How much is a haircut?",
        ["price of a haircut", "what does a cut cost", "haircut prices", "how much for a man's cut"],
        "A haircut is 600 TL, for children 400 TL.",
    ),
    entry(
        "tr3",
        "Boya yapıyor musunuz?",
        ["saç boyatmak istiyorum", "saç boyama var mı", "boya işlemi yapılıyor mu", "röfle yapıyor musunuz"],
        "Evet, saç boyama ve röfle yapıyoruz; fiyatı saçın uzunluğuna bağlı.",
    ),
    entry(
        "en3",
        "Do you dye hair?",
        ["hair colouring", "can I get my hair dyed", "do you do highlights", "do you do dyeing"],
        "Yes, we dye hair and do highlights; the price depends on the length.",
    ),
    entry(
        "tr4",
        "Nerede otopark var?",
        ["arabamı nereye park edebilirim", "otopark var mı", "park yeri var mı", "park ücretli mi"],
        "Arka sokakta ücretsiz otoparkımız var.",
    ),
    entry(
        "en5",
        "Is there a bridal package?",
        ["do you do brides", "bridal hair and make-up", "wedding package"],
        "Our bridal package is hair, make-up and a rehearsal.",
    ),
]
KNOWLEDGE = KnowledgeIndex(ENTRIES, "tr")
ANSWERS = {one.id: one.answer for one in ENTRIES}


QUIET = BOT._replace(ask_back=False)


def turn(message: str, *history: str, bot: Bot = BOT, lang: str | None = None, channel: str = "web", dialogue: str | None = None) -> Turn:
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(history)]
    return Turn(bot, channel, message, told, lang, KNOWLEDGE, "", 30.0, NOW, dialogue)


def about(*identities: str) -> str:
    """The dialogue in which entries were spoken of, the last one most recently."""
    subjects = tuple(Subject(one.question, one.id) for identity in reversed(identities) for one in ENTRIES if one.id == identity)
    return State(subjects=subjects, language=identities[-1][:2]).dump(NOW)


async def said(one: Turn) -> str:
    """The entry of the answer, else its text, or the reason for no reply. A follow-up is told without a leading yes."""
    try:
        text = (await ENGINE.reply(one)).text
    except EngineError as fault:
        return fault.reason
    leads = ("Evet, ", "Yes, ")
    return next(
        (
            identity
            for identity, answer in ANSWERS.items()
            if answer == text or (answer.startswith(leads) and answer.partition(", ")[2][1:] == text[1:])
        ),
        text,
    )


# The language


@pytest.mark.parametrize(
    ("message", "history", "given", "expected"),
    [
        ("when do you open", (), "de-AT", "de"),
        ("when do you open", ("merhaba", "Merhaba!"), None, "en"),
        ("ok", ("wann habt ihr offen", "..."), None, "de"),
        ("14:00", ("yarın gelebilir miyim", "...", "ok", "..."), None, "tr"),
        ("0532 111 22 33", ("can I come tomorrow", "..."), None, "en"),
        ("evet?", ("can I come tomorrow", "..."), None, "tr"),
        ("pizza", ("merhaba", "...", "do you have a menu", "..."), None, "en"),
        ("👍", (), None, "tr"),
        ("wifi", ("ok", "Welcome, how can I help you?"), None, "tr"),
    ],
)
def test_the_language_is_the_callers_else_the_visitors_else_the_bots(
    message: str, history: tuple[str, ...], given: str | None, expected: str
) -> None:
    assert language.of(turn(message, *history, lang=given)) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("saat kaçta açılıyorsunuz", "tr1"),
        ("saat kacta aciliyorsunuz", "tr1"),
        ("when do you open", "en1"),
        ("otopark var mı", "tr4"),
        ("is there parking", "tr4"),  # there in Turkish only
        ("do you do brides", "en5"),
        ("wedding package?", "en5"),
    ],
)
async def test_the_answer_is_in_the_visitors_language_where_the_knowledge_has_it(message: str, expected: str) -> None:
    assert await said(turn(message)) == expected


ENGLISH = "I can help you in English and Turkish. If you like, leave your name and phone number and our team will get back to you."
TURKISH = "İngilizce ve Türkçe yardımcı olabilirim. Dilerseniz adınızı ve telefonunuzu yazın, ekibimiz size dönüş yapsın."


@pytest.mark.parametrize(
    "message",
    [
        "Haben Sie heute geöffnet, opening hours?",
        "¿A qué hora abren hoy?",
        "Quels sont vos horaires d'ouverture ?",
        "Сколько стоит стрижка?",
        "كم سعر قص الشعر؟",
        "Hallo, guten Tag",
        "Bonjour",
        "Здравствуйте, добрый день",
        "merci beaucoup",
    ],
)
async def test_a_visitor_in_a_third_language_is_told_which_languages_the_bot_speaks(message: str) -> None:
    with pytest.raises(EngineError) as error:
        await ENGINE.reply(turn(message))
    assert error.value.reason == "no_answer"
    assert error.value.fallback == f"{ENGLISH}\n{TURKISH}"
    with pytest.raises(EngineError) as error:
        await ENGINE.reply(turn(message, bot=BOT._replace(language="en")))
    assert error.value.fallback == ENGLISH


@pytest.mark.parametrize(
    ("tongue", "message"),
    [("tr", "Gizem Nur"), ("tr", "ta"), ("en", "ta"), ("en", "Jürgen"), ("en", "John Smith")],
)
async def test_a_word_or_two_in_the_middle_of_a_dialogue_are_in_no_foreign_language(tongue: str, message: str) -> None:
    foreign = [Entry("1", "Jürgen", ("Gizem Nur", "ta", "John Smith"), "Known.", tongue)]
    asked = replace(turn(message, dialogue=State(language=tongue).dump(NOW)), knowledge=KnowledgeIndex(foreign, tongue))
    assert (await ENGINE.reply(asked)).text


async def test_a_visitor_in_a_third_language_may_leave_a_note() -> None:
    knowing = turn("Ich heiße Lena Vogt, meine Nummer ist 0049 30 901820")
    told = (await ENGINE.reply(replace(knowing, may_capture=True))).text
    assert told == "Thank you, let me note that down for our team. What would you like to talk about?"


async def test_a_bot_of_one_language_names_that_one_and_a_bot_that_knows_the_visitors_answers() -> None:
    english = KnowledgeIndex([entry for entry in ENTRIES if entry.language == "en"], "en")
    with pytest.raises(EngineError) as error:
        await ENGINE.reply(replace(turn("Wann habt ihr heute offen?"), knowledge=english))
    assert error.value.fallback.startswith("I can help you in English.")
    german = KnowledgeIndex([*ENTRIES, Entry("de1", "Wann habt ihr offen?", ("Öffnungszeiten",), "Montag bis Freitag.", "de")], "tr")
    assert (await ENGINE.reply(replace(turn("Wann habt ihr offen?"), knowledge=german))).text == "Montag bis Freitag."


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("do you speak English?", "I can help you in English and Turkish."),
        ("ingilizce konuşuyor musunuz", "Size İngilizce ve Türkçe yardımcı olabilirim."),
    ],
)
async def test_the_languages_spoken_are_named_unless_the_knowledge_tells_of_them(message: str, told: str) -> None:
    assert await said(turn(message)) == told
    own = Entry(
        "x",
        "Hangi dilleri konuşuyorsunuz?",
        ("what languages do you speak", "do you speak English?", "ingilizce konuşuyor musunuz"),
        "Almanca da biliyoruz.",
        "tr",
    )
    answered = await ENGINE.reply(replace(turn(message), knowledge=KnowledgeIndex([*ENTRIES, own], "tr")))
    assert answered.text == "Almanca da biliyoruz."


async def test_no_answer_has_a_sentence_for_the_visitor_in_the_visitors_language() -> None:
    for message, sentence in (("makarna nasıl pişirilir", "Bu konuda elimde bilgi yok."), ("who won the match", "I'm afraid I don't")):
        with pytest.raises(EngineError) as error:
            await ENGINE.reply(turn(message, bot=QUIET))
        assert error.value.fallback.startswith(sentence)


async def test_an_answer_in_any_language_is_better_than_none() -> None:
    assert await said(turn("bridal package bitte, was kostet das")) in {"en5", "no_answer"}
    assert await said(turn("wedding package", lang="de")) == "en5"
    assert await said(turn("otopark var mı", lang="en")) == "tr4"


async def test_a_wanted_language_outweighs_the_one_written_in() -> None:
    assert await said(turn("saç boyama var mı", lang="en")) == "en3"
    assert await said(turn("when do you open", lang="tr")) == "tr1"


# Small talk


async def talk(one: Turn) -> tuple[str, str] | None:
    """The line of small talk that a message gets, and its language."""
    text = await said(one)
    lines = ("greeting", "thanks", "noted", "goodbye", "identity", "opening")
    return next(
        ((line, tongue) for line in lines for tongue in ("tr", "en") if text == catalogue.say(f"smalltalk.{line}", tongue, name=BOT.name)),
        None,
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("slm", ("greeting", "tr")),
        ("selammm", ("greeting", "tr")),
        ("Selamün aleyküm", ("greeting", "tr")),
        ("günaydın", ("greeting", "tr")),
        ("iyi akşamlar", ("greeting", "tr")),
        ("nasılsın", ("greeting", "tr")),
        ("hi there", ("greeting", "en")),
        ("hello!!", ("greeting", "en")),
        ("good morning!", ("greeting", "en")),
        ("tsk", ("thanks", "tr")),
        ("tşk ederim", ("thanks", "tr")),
        ("teşekürler", ("thanks", "tr")),
        ("thx", ("thanks", "en")),
        ("ok thanksss", ("thanks", "en")),
        ("bye bye", ("goodbye", "en")),
        ("görüşürüz", ("goodbye", "tr")),
        ("are you a bot?", ("identity", "en")),
        ("hi, are you a real person?", ("identity", "en")),
        ("kimsin", ("identity", "tr")),
        ("robot musun yaa", ("identity", "tr")),
        ("merhaba, bir sorum var", ("greeting", "tr")),
        ("hi, quick question", ("greeting", "en")),
    ],
)
async def test_courtesies_are_known_in_many_spellings(message: str, expected: tuple[str, str]) -> None:
    assert await talk(turn(message)) == expected


@pytest.mark.parametrize(
    "message",
    [
        "merhaba, saat kaçta açılıyorsunuz",
        "selam fiyat alabilir miyim",
        "hi, how much is a haircut",
        "teşekkürler, peki pazar günleri?",
        "ok and on sundays?",
        "günaydın yer var mı",
        "good morning, are you open",
        "sabah kaçta",
        "good price",
        "great, and how much",
        "tamam adres",
        "iyi bir kuaför müsünüz",
        "who are you open for",
        "see prices",
        "bir sorum var, boya yapıyor musunuz",
    ],
)
async def test_a_question_is_never_swallowed_as_small_talk(message: str) -> None:
    assert await talk(turn(message)) is None


async def test_a_greeting_before_a_question_does_not_keep_it_from_being_answered() -> None:
    assert await said(turn("merhaba, saat kaçta açılıyorsunuz")) == "tr1"
    assert await said(turn("hi there! how much is a haircut?")) == "en2"


async def test_small_talk_comes_in_turkish_or_english() -> None:
    assert (await said(turn("thx"))).startswith("You're welcome")
    assert (await said(turn("ok", "when do you open", "..."))).startswith("All right")
    assert (await said(turn("ok", "saat kaçta açılıyorsunuz", "..."))).startswith("Tamam")
    assert (await said(turn("👋", bot=BOT._replace(language="de")))).startswith("Hello")


@pytest.mark.parametrize(
    ("message", "begins"), [("👋", "Merhaba"), ("🙏🏼", "Rica"), ("❤️", "Rica"), ("👍🏽 👍🏽", "Tamam"), ("👨‍👩‍👧", "Tamam")]
)
async def test_a_message_of_emoji_alone_is_a_gesture(message: str, begins: str) -> None:
    assert (await said(turn(message))).startswith(begins)


async def test_whoever_asks_hears_that_it_is_a_machine_unless_the_business_says_it_itself() -> None:
    assert "not a person" in await said(turn("are you a bot?"))
    assert "bir insan değilim" in await said(turn("kimsin", bot=BOT._replace(greeting="Hoş geldiniz!")))
    own = entry("tr9", "Siz kimsiniz?", ["sen kimsin", "kimsin", "robot musun", "bot musun"], "Ben salonun sanal yardımcısıyım.")
    assert (await ENGINE.reply(replace(turn("kimsin"), knowledge=KnowledgeIndex([*ENTRIES, own], "tr")))).text == own.answer


# Follow-ups


@pytest.mark.parametrize(
    ("spoken", "message", "expected"),
    [
        ("tr1", "peki pazar günleri?", "tr1"),
        ("tr1", "ya cumartesi?", "tr1"),
        ("en1", "and on Sundays?", "en1"),
        ("tr1", "pazar?", "tr1"),
        ("tr3", "ne kadar?", "tr3"),
        ("en3", "how much is it?", "en3"),
        ("tr3", "ve fiyatı?", "tr3"),
        ("en2", "and for children?", "en2"),
    ],
)
async def test_a_follow_up_leans_on_what_was_asked_before(spoken: str, message: str, expected: str) -> None:
    assert await said(turn(message, bot=QUIET, dialogue=about(spoken))) == expected


@pytest.mark.parametrize(
    ("spoken", "message"),
    [
        ("en1", "and bananas?"),
        ("en1", "why?"),
        ("tr1", "neden?"),
        ("tr1", "peki masaj?"),
        ("en1", "14:00"),
        ("en1", "John Smith"),
    ],
)
async def test_what_only_the_question_before_asked_for_is_no_answer(spoken: str, message: str) -> None:
    assert await said(turn(message, bot=QUIET, dialogue=about(spoken))) not in ANSWERS


async def test_a_question_of_its_own_is_answered_for_itself() -> None:
    assert await said(turn("otopark var mı", dialogue=about("tr1"))) == "tr4"
    assert await said(turn("how much is a haircut?", dialogue=about("en1"))) == "en2"


async def test_a_word_that_goes_on_from_something_else_does_not_hide_a_question_of_its_own() -> None:
    assert await said(turn("ve arabamı nereye park edebilirim", dialogue=about("tr1"))) == "tr4"
    assert await said(turn("and how much is a haircut", dialogue=about("en1"))) == "en2"
    assert await said(turn("also do you do brides", dialogue=about("en1"))) == "en5"
    assert await said(turn("çok teşekkürler, peki cumartesi açık mısınız", dialogue=about("tr1"))) == "tr1"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Bugün açık mısınız? Otopark var mı?", ("tr1", "tr4")),
        ("bugün açık mısınız otopark var mı", ("tr1", "tr4")),
        ("Merhaba! saç kesimi ne kadar, bir de otopark var mı", ("tr2", "tr4")),
        ("How much is a haircut? And do you do highlights? Thanks.", ("en2", "en3")),
    ],
)
async def test_two_questions_in_one_message_get_two_answers(message: str, expected: tuple[str, ...]) -> None:
    assert await said(turn(message)) == "\n\n".join(ANSWERS[one] for one in expected)


async def test_two_sentences_about_one_thing_get_one_answer() -> None:
    assert await said(turn("Bugün açık mısınız? Kaça kadar açıksınız?")) == "tr1"


# The answer to a question asked back


def asked(*identities: str, at: int = NOW) -> str:
    """The dialogue after a question back that offered entries."""
    offered = tuple(("", one.question) for identity in identities for one in ENTRIES if one.id == identity)
    return State(pending=states.OPTIONS, options=offered, language=identities[0][:2]).dump(at)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("ilki", "tr2"),
        ("birincisi", "tr2"),
        ("1", "tr2"),
        ("1.", "tr2"),
        ("bir", "tr2"),
        ("evet ilk soru", "tr2"),
        ("the first one please", "tr2"),
        ("one", "tr2"),
        ("2", "tr3"),
        ("ikincisini demek istedim", "tr3"),
        ("the second one", "tr3"),
        ("number 2", "tr3"),
        ("3", "tr4"),
        ("sonuncusu", "tr4"),
        ("the last one", "tr4"),
        ("otopark", "tr4"),
        ("saç kesimi", "tr2"),
        ("boya olan", "tr3"),
        ("Saç kesimi ne kadar?", "tr2"),
    ],
)
async def test_the_visitor_says_which_was_meant(message: str, expected: str) -> None:
    assert await said(turn(message, "saç", "...", dialogue=asked("tr2", "tr3", "tr4"))) == expected


@pytest.mark.parametrize("message", ["evet", "yes", "aynen", "evet onu", "yes that one", "evet bunu"])
async def test_a_yes_to_one_question_is_its_answer(message: str) -> None:
    assert await said(turn(message, dialogue=asked("tr3"))) == "tr3"


async def test_a_yes_to_several_asks_which_and_still_knows_them() -> None:
    again = await ENGINE.reply(turn("evet", "saç", "...", dialogue=asked("tr2", "tr3")))
    assert again.text.startswith("Hangisini demek istediniz?")
    assert await said(turn("ikincisi", dialogue=again.dialogue)) == "tr3"


async def test_a_no_is_taken_for_what_it_is() -> None:
    assert await said(turn("hayır", dialogue=asked("tr2"))) == "Anladım. Sorunuzu başka bir şekilde yazar mısınız?"
    assert (await said(turn("no", "hair", "...", dialogue=asked("en2")))).startswith("I see.")
    assert (await said(turn("hiçbiri", dialogue=asked("tr2", "tr3")))).startswith("Anladım.")
    assert (await said(turn("none of them", "hair", "...", dialogue=asked("en2", "en3")))).startswith("I see.")


async def test_another_question_is_answered_for_itself() -> None:
    assert await said(turn("saat kaçta açılıyorsunuz", dialogue=asked("tr2", "tr3"))) == "tr1"
    assert (await said(turn("teşekkürler", dialogue=asked("tr2", "tr3")))).startswith("Rica ederim")
    assert await said(turn("4", dialogue=asked("tr2", "tr3"), bot=QUIET)) == "no_answer"


@pytest.mark.parametrize(
    "note",
    [
        asked("tr2", at=NOW - 8 * DAY_MS),
        "",
        "{",
        "[]",
        "[" * 3_000,
        asked("tr2").replace('"v":2', '"v":1'),
        asked("tr2").replace(f'"at":{NOW}', '"at":"now"'),
        asked("tr2").replace('"o":[["","Saç kesimi ne kadar?"]]', '"o":"tr2"'),
        asked("tr2").replace('"o":[["","Saç kesimi ne kadar?"]]', '"o":[2,null,["tr2"]]'),
        asked("tr2").replace(f'"at":{NOW},', ""),
    ],
)
async def test_a_state_that_is_old_or_none_chooses_nothing(note: str) -> None:
    assert note != asked("tr2")
    assert await said(turn("ilki", dialogue=note, bot=QUIET)) == "no_answer"
