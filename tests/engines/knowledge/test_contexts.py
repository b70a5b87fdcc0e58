"""The topic of a message: stories with one question, follow-ups on the last entry, and fitting offers."""

from __future__ import annotations

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import OPTIONS, State, Subject
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

KENNEL = {
    "Konaklama ücreti": "Küçük ırk köpek gecelik 450 TL, büyük ırk 600 TL, kedi 350 TL.",
    "Gezdirme": "Günde 3 kez bahçeye çıkıyorlar, her biri 40 dakika. Kediler ayrı katta.",
    "Tıraş ve banyo": "Banyo 400 TL, tıraş 700 TL'den başlar. Kuaförümüz Melis, salı ve cuma.",
    "Ziyaret": "Her gün 14:00-16:00 arası tesisi gezebilirsiniz.",
    "Aşılar": "Karma ve kuduz aşısı tam olmalı, karneyi getirin.",
    "Adres": "Ovacık Mah. Çiftlik Yolu No:8 Urla. Kahverengi kapı.",
    "İptal": "5 gün öncesine kadar kapora iade. Sonra iade yok.",
}
BAKERY = {
    "Custom cakes": "From $65 for 8 inches, serves 12. We need 4 days notice, half is paid upfront. Ask for Lena.",
    "Wedding cakes": "Tastings on Thursdays at 4pm, $25 for two, taken off the order. Minimum order $400.",
    "Gluten free": "We bake gluten free bread on Wednesdays only. Same kitchen, so not for celiacs.",
    "Nuts": "Everything may contain traces of nuts.",
    "Bread": "Sourdough $8, rye $9, baguette $3.50. Out of the oven at 7am.",
    "Payment": "Cards, cash, Apple Pay. No checks.",
    "Location": "212 Elm Street, corner of 3rd. Street parking free for 30 minutes.",
    "Delivery": "Within 5 miles for orders over $40, fee $7. Not on Sundays.",
}
STORY_EN = (
    "So we're getting married in June, well my fiance wants July but his mom said June because of the heat, anyway we've "
    "looked at four places, they were all far too expensive, and my sister said yours was best. Could we taste the wedding cakes first?"
)
STORY_TR = (
    "merhabalar biz her sene eşimin ailesini görmeye gideriz, normalde komşumuz bakardı bizimkine ama o da taşındı, Pamuk on "
    "bir yaşında huysuz bir kedi, gürültüden hiç hoşlanmaz, aklım onda kalacak, tesisi önceden gezebiliyor muyuz"
)


def turn(
    message: str, facts: dict[str, str], tongue: str, *history: str, dialogue: str | None = None, ask_back: bool | None = None
) -> Turn:
    index = KnowledgeIndex([Entry(name, name, (), answer, tongue) for name, answer in facts.items()], tongue)
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue, ask_back=ask_back)
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(history)]
    return Turn(bot, "api", message, told, None, index, "", 30.0, 0, dialogue, True)


async def reply(message: str, facts: dict[str, str], tongue: str, *history: str, dialogue: str | None = None) -> Reply:
    return await KnowledgeEngine().reply(turn(message, facts, tongue, *history, dialogue=dialogue))


async def test_the_question_of_a_long_story_is_answered() -> None:
    assert "Tastings on Thursdays" in (await reply(STORY_EN, BAKERY, "en")).text
    assert KENNEL["Ziyaret"] in (await reply(STORY_TR, KENNEL, "tr")).text


@pytest.mark.parametrize(
    ("tongue", "spoken", "message", "lead"),
    [
        ("en", "Custom cakes", "how long before do i have to tell you", "We need 4 days notice"),
        ("en", "Custom cakes", "who do i talk to", "Ask for Lena."),
        ("tr", "Tıraş ve banyo", "hangi günler geliyo", "Kuaförümüz Melis, salı ve cuma."),
        ("tr", "Gezdirme", "kaç dakika", "Günde 3 kez bahçeye çıkıyorlar, her biri 40 dakika."),
        ("tr", "Konaklama ücreti", "kedim için kaç para olur acaba", "kedi 350 TL"),
    ],
)
async def test_a_fact_of_the_entry_spoken_of_is_found_without_its_subject(tongue: str, spoken: str, message: str, lead: str) -> None:
    facts = KENNEL if tongue == "tr" else BAKERY
    dialogue = State(subjects=(Subject(spoken, spoken),)).dump(0)
    told = (await reply(message, facts, tongue, spoken.lower(), facts[spoken], dialogue=dialogue)).text
    assert lead in told
    assert told.startswith(lead) or len(facts[spoken]) < 120


async def test_a_question_without_a_subject_is_about_the_business() -> None:
    assert (await reply("where is it", BAKERY, "en")).text.startswith("212 Elm Street")
    assert (await reply("neresi", KENNEL, "tr")).text.startswith("Ovacık Mah.")


@pytest.mark.parametrize(("message", "name"), [("do u take checks", "Payment"), ("apple pay?", "Payment")])
async def test_a_short_message_whose_words_stand_in_one_entry_alone_is_answered(message: str, name: str) -> None:
    assert sorted((await reply(message, BAKERY, "en")).text.split()) == sorted(BAKERY[name].split())


async def test_entries_that_share_no_word_with_the_message_are_not_offered() -> None:
    for message, facts, tongue in (("dolar kaç tl oldu", KENNEL, "tr"), ("what is the capital of peru", BAKERY, "en")):
        with pytest.raises(EngineError):
            await reply(message, facts, tongue)


async def test_naming_another_entry_is_no_choice_among_those_offered() -> None:
    offer = State(pending=OPTIONS, options=(("", "Gluten free"),)).dump(0)
    assert (await reply("nuts?", BAKERY, "en", dialogue=offer)).text == BAKERY["Nuts"]


async def test_of_several_questions_an_unsure_one_is_answered_if_it_shares_a_word() -> None:
    both = (await reply("how much is the rye? do you deliver in town?", BAKERY, "en")).text
    assert "rye $9" in both
    assert BAKERY["Delivery"] in both


async def test_a_question_in_a_form_is_not_answered_with_opening_hours() -> None:
    knowing = turn("tıraş için randevu istiyorum", KENNEL, "tr")
    bot = knowing.bot._replace(opening_hours="mon-fri 09:00-18:00")
    started = await KnowledgeEngine().reply(Turn(bot, "api", knowing.message, (), None, knowing.knowledge, "", 30.0, START, None, True))
    asked = Turn(bot, "api", "akvaryum satıyor musunuz", (), None, knowing.knowledge, "", 30.0, START, started.dialogue, True)
    assert "09:00" not in (await KnowledgeEngine().reply(asked)).text
    free = Turn(bot, "api", "hangi saatler müsait?", (), None, knowing.knowledge, "", 30.0, START, started.dialogue, True)
    assert "09:00-18:00" in (await KnowledgeEngine().reply(free)).text


@pytest.mark.parametrize(("message", "reply_start"), [("forget it", "All right."), ("ok sorry", "All right."), ("ta", "You're welcome")])
async def test_letting_go_and_courtesies_get_a_short_reply(message: str, reply_start: str) -> None:
    assert (await reply(message, BAKERY, "en", "do you sell shoes", "No.")).text.startswith(reply_start)


@pytest.mark.parametrize(("message", "tongue"), [("ne sıklıkla geziyorlar", "tr"), ("ok do i need to leave money", "en")])
async def test_questions_are_not_taken_for_insults_or_demands(message: str, tongue: str) -> None:
    try:
        told = (await reply(message, KENNEL if tongue == "tr" else BAKERY, tongue)).text
    except EngineError:
        return
    assert "üzgünüm" not in told
    assert "sorry" not in told
