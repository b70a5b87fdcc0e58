"""Answers that say so where the nearest entry may not have what is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

CAMP = {
    "Pitches": "Tent £22 a night for two, campervan with hookup £31. Extra adult £8.",
    "glamping pods": "£75 a night, sleeps 4, min 2 nights. Beds made up, kettle, heater.",
    "Dogs": "Welcome on tent pitches, £3 a night, on the lead. Not in the pods.",
    "Lake": "Swimming at own risk, no lifeguard. Kayak £12 an hour, paddleboard £15.",
    "Food": "Pizza van Fri + Sat from 5. The Plough pub is 10 mins' walk, does a Sunday roast.",
    "Eye test": "£28, takes about 25 mins. Free if you're over 60.",
    "Dry eyes": "Assessment £40 with Dr Anand, drops from £12.",
    "how often should i get tested": "Every two years.",
    "What do i need to bring to the test": "Your current glasses, list of your medicines. Wearers of lenses leave them out 2 hours before.",
    "How long do my new glasses take?": "Single vision 3 working days, varifocals 7-10. We text you when they're ready.",
}
BAKERY = {
    "Köpek eğitimi": "Temel itaat 8 ders 9.600 TL, Volkan hoca veriyor. Yavru sosyalleşme cumartesi, 400 TL.",
    "Agresif köpek": "Önce deneme günü yapıyoruz 350 lira. Yasaklı ırklardan almıyoruz.",
    "Köpek konaklama": "Gecelik küçük ırk 600 TL, büyük ırk 850. Günde 3 kere gezdiriyoruz.",
    "Kedi oteli": "Kediler ayrı binada, gecesi 450 lira, kum bizden.",
    "Börek poğaça": "Su böreği kilosu 480, poğaça tanesi 30. Peynirli, patatesli, zeytinli.",
    "Ehliyet yenileme": "Onu nüfus müdürlüğü yapıyor biz bakmıyoruz.",
    "Ehliyet kaç yaşında alınır": "B sınıfı 18. Kursa 17,5 yaşında yazılabilirsiniz.",
    "B ehliyet ücreti": "14.500 TL manuel, 16.000 TL otomatik. Teorik dahil.",
    "Direksiyon özel ders": "Ehliyeti olanlara saati 1.000 TL, 5 ders 4.500.",
}
NEAR = {"en": "I may not have exactly what you are asking.", "tr": "Sorduğunuzun tam yanıtı bende olmayabilir."}


def index_of(knowledge: dict[str, str]) -> KnowledgeIndex:
    tongue = "en" if "Dogs" in knowledge else "tr"
    return KnowledgeIndex([Entry(name, name, (), answer, tongue) for name, answer in knowledge.items()], tongue)


async def talk(knowledge: dict[str, str], *messages: str, ask_back: bool | None = None) -> Reply:
    """The reply to the last of several messages."""
    index = index_of(knowledge)
    tongue = "en" if "Dogs" in knowledge else "tr"
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue, ask_back=ask_back)
    turn = Turn(bot, "api", "", (), None, index, "", 30.0, START, None, True)
    said = Reply("")
    for message in messages:
        turn = replace(turn, message=message)
        said = await KnowledgeEngine().reply(turn)
        history = (*turn.history, HistoryMessage("user", message), HistoryMessage("assistant", said.text))
        turn = replace(turn, history=history, dialogue=said.dialogue)
    return said


@pytest.mark.parametrize(
    ("knowledge", "message", "entry"),
    [
        (CAMP, "do you take cats", "Dogs"),  # a thing of the same kind
        (CAMP, "how deep is the lake", "Lake"),  # a measure that it does not state
        (CAMP, "how much does the sunday roast cost", "Food"),  # no price
        (CAMP, "are dogs allowed in the glamping pods", "Dogs"),  # a word that another entry is called by
        (BAKERY, "simit var mı", "Börek poğaça"),
    ],
)
async def test_the_nearest_entry_is_told_as_such(knowledge: dict[str, str], message: str, entry: str) -> None:
    tongue = "en" if knowledge is CAMP else "tr"
    said = (await talk(knowledge, message)).text
    assert said.startswith(NEAR[tongue])
    assert f"“{entry}”" in said
    assert set(facts.sentences(knowledge[entry])) <= set(facts.sentences(said.partition("\n\n")[2]))


@pytest.mark.parametrize(
    ("knowledge", "message", "entry"),
    [
        (CAMP, "can i bring the dog", "Dogs"),
        (CAMP, "do you take puppies", "Dogs"),
        (CAMP, "can you swim in the lake", "Lake"),
        (CAMP, "how much is a kayak", "Lake"),
        (CAMP, "thanks, and how much is an eye test?", "Eye test"),
        (BAKERY, "slm köpek eğitimi kaç para", "Köpek eğitimi"),
        (BAKERY, "börek ne kadar", "Börek poğaça"),
        (BAKERY, "how much is cat boarding", "Kedi oteli"),  # in another language
    ],
)
async def test_an_entry_that_has_what_is_asked_for_is_told_as_the_answer(knowledge: dict[str, str], message: str, entry: str) -> None:
    said = (await talk(knowledge, message)).text
    assert set(facts.sentences(said)) <= set(facts.sentences(knowledge[entry]))


async def test_a_bot_that_must_not_hedge_tells_the_nearest_entry_as_it_is() -> None:
    assert (await talk(CAMP, "how much does the sunday roast cost", ask_back=False)).text.startswith("Pizza van")


async def test_a_bare_question_stays_with_the_entry_spoken_of() -> None:
    said = (await talk(BAKERY, "köpek eğitimi kaç para", "kaç hafta sürüyo")).text
    assert said.startswith(NEAR["tr"])
    assert "Temel itaat" in said


async def test_another_entry_is_offered_first_where_its_title_is_named() -> None:
    assert (await talk(CAMP, "can i bring the dog", "how much is a pod for a week")).choices[0] == "glamping pods"


async def test_what_fits_two_entries_alike_is_asked_back() -> None:
    assert (await talk(BAKERY, "kedi eğitimi")).choices == ("Kedi oteli", "Köpek eğitimi")


async def test_options_leave_out_entries_without_the_fact_asked_for() -> None:
    said = await talk(BAKERY, "slm ehliyet kaça")  # "Ehliyet yenileme" comes first in the search
    assert "Direksiyon özel ders" in said.text
    assert "yenileme" not in said.text


async def test_a_title_that_is_the_whole_subject_is_answered() -> None:
    assert (await talk(CAMP, "how much for an eye test?")).text.startswith("£28")


@pytest.mark.parametrize(
    ("message", "holds"),
    [("how long is it", "25 mins"), ("how much is it", "£28")],
)
async def test_a_bare_question_in_a_form_is_about_its_matter(message: str, holds: str) -> None:
    said = (await talk(CAMP, "can i book an eye test for tuesday at 10", message)).text
    assert holds in said
    assert "varifocals" not in said


async def test_the_founding_of_a_business_is_no_question_about_opening_hours() -> None:
    for message in ("when was the shop opened", "pastane ne zaman açıldı"):
        with pytest.raises(EngineError, match="no_answer"):
            await talk(BAKERY, message)


async def test_an_offer_is_not_accepted_by_a_question_about_opening_hours() -> None:
    index = index_of(CAMP)
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language="en", opening_hours="mon-fri 09:00-17:30; sat 09:00-16:00")
    offered = await KnowledgeEngine().reply(Turn(bot, "api", "can i come for an eye test?", (), None, index, "", 30.0, START, None, True))
    told = (HistoryMessage("user", "can i come for an eye test?"), HistoryMessage("assistant", offered.text))
    turn = Turn(bot, "api", "when do you open on saturday", told, None, index, "", 30.0, START, offered.dialogue, True)
    assert "09:00-16:00" in (await KnowledgeEngine().reply(turn)).text


@pytest.mark.parametrize("message", ["do you have a phone number", "who owns the shop"])
async def test_an_entry_without_any_of_the_words_is_not_told(message: str) -> None:
    with pytest.raises(EngineError, match="no_answer"):
        await talk({**CAMP, "Wifi": "Only in the barn. Phone signal EE ok, O2 none."}, message)


async def test_a_bare_word_that_only_means_the_same_is_hedged() -> None:
    cafe = {"içecek": "Çay 25, filtre kahve 80, limonata 75. Alkol yok.", "Börek": "Su böreği 480."}
    assert (await talk(cafe, "simit")).text.startswith(NEAR["tr"])
    assert (await talk(cafe, "bira")).text.startswith("Alkol yok.")
    assert (await talk(cafe, "kahve")).text.startswith("Çay 25")
    assert (await talk({**cafe, "Aşılar": "Karma aşı şart."}, "aşı")).text == "Karma aşı şart."


async def test_the_question_at_the_end_of_a_story_goes_before_a_wish_within_it() -> None:
    camp = {**CAMP, "Fires": "Only in our fire pits, hire £5. No fires on the grass."}
    index = KnowledgeIndex([Entry(name, name, (), answer, "en") for name, answer in camp.items()], "en")
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language="en")
    story = (
        "We're two families, four adults and five kids between 2 and 11, looking at the last week of July. The little ones love "
        "toasting things so we'd want somewhere to do that. Is having a fire allowed?"
    )
    said = await KnowledgeEngine().reply(Turn(bot, "api", story, (), None, index, "", 30.0, START, None, True))
    assert said.text.startswith("Only in our fire pits")
    outright = story.replace("Is having", "I'd like to book an appointment for a visit. Is having")
    said = await KnowledgeEngine().reply(Turn(bot, "api", outright, (), None, index, "", 30.0, START, None, True))
    assert "let me take down your request" in said.text


async def test_a_question_with_a_weak_wish_gets_an_offer_and_no_form() -> None:
    said = await talk(BAKERY, "pazar günü teslim alabilir miyim")
    assert said.text == "Bu konuda elimde bilgi yok.\n\nSizin için bir talep oluşturayım mı?"


async def test_late_arrival_cancels_nothing() -> None:
    assert (await talk(CAMP, "we wont be there till 11 at night")).text.startswith("I have no ready answer to that.")


async def test_a_name_with_a_capital_is_a_person_though_it_is_a_word_too() -> None:
    inn = {"Rooms": "Sea view £120, garden view £100.", "Parking": "Free behind the house."}
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language="en")
    index = KnowledgeIndex([Entry(name, name, (), answer, "en") for name, answer in inn.items()], "en")
    said = await KnowledgeEngine().reply(Turn(bot, "api", "is Deniz there?", (), None, index, "", 30.0, START, None, True))
    assert "someone from our team gets back to you" in said.text


async def test_a_question_in_a_form_is_answered_before_the_reason_for_asking_is_given() -> None:
    school = {"Kayıt için ne lazım": "Kimlik, diploma fotokopisi, sağlık raporu.", "Adres": "Cumhuriyet Mah. 12"}
    said = (await talk(school, "kayıt olmak istiyorum", "adım Emre Kılıç", "diploma şart mı")).text
    assert said.startswith("Kimlik, diploma fotokopisi")
    assert "dönebilmesi için soruyorum" in (await talk(school, "kayıt olmak istiyorum", "adım Emre Kılıç", "şart mı")).text
