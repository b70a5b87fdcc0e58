"""Follow-ups: short messages that stay with the entry spoken of, and those that name another one."""

from __future__ import annotations

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import State, Subject
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.language import catalogue
from tests.fakes import START

HOTEL = {
    "Odalar ve fiyatlar": "Çift kişilik 2.600 TL, üç kişilik 3.300 TL. Kahvaltı dahildir. Suit odamız 4.800 TL, jakuzili.",
    "Kahvaltı": "07:00-10:00 arası açık büfe, terasta. Dışarıdan gelenlere kişi başı 450 TL.",
    "Otopark": "Otelin altında kapalı otopark var, günlüğü 200 TL. Yükseklik sınırı 1,90 m, minibüs girmez. Elektrikli şarj yok.",
    "Spa": "Hamam ve sauna 10:00-21:00 arası, konuklara ücretsiz. Masaj 60 dakika 1.600 TL. Masöz Elif Hanım pazartesi izinli. "
    "Çocuklar 14 yaşından küçükse alınmıyor.",
    "Transfer": "Havalimanından alıyoruz, 4 kişiye kadar 1.200 TL, minibüs 2.000 TL. Bir gün önce haber verin.",
    "Çocuk": "6 yaşa kadar ücretsiz, 7-12 yaş yarı fiyat. Beşik ücretsiz veriyoruz.",
    "Toplantı salonu": "60 kişilik salon, yarım gün 5.000 TL, tam gün 8.500 TL. Projeksiyon dahil, ikram kişi başı 250 TL ek. "
    "Sorumlusu Tolga Bey, 0532 000 11 22.",
    "Alkol": "Bira 180 TL, kadeh şarap 250 TL. Kendi şarabınızı getirirseniz şişe başı 400 TL mantar parası.",
    "Fasıl": "Cuma ve cumartesi 21:00-00:30, fix menü kişi başı 1.800 TL, yerli içki sınırsız. Kapora kişi başı 500 TL.",
    "Gece doktoru": "Gece 0544 999 00 11, Veteriner Onur Bey. Gece muayenesi 2.000 TL.",
}
CLINIC = {
    "Check-up": "£45 including two x-rays. Takes about 25 minutes. We recommend one every six months.",
    "Whitening": "Home kit £220, in the chair £350. Takes 90 minutes in the chair. Results last around two years. Not for under 18s.",
    "Parking": "Three spaces behind the building, free. If they're full, the Mill Lane car park is 2 minutes away, £1.20 an hour.",
    "Implants": "From £2,100 per tooth. Dr. Patel does them. The whole thing takes 3 to 6 months. First a consultation, £50.",
    "Fillings": "White fillings £90 to £160 depending on size. One visit usually.",
    "Booking": "Two weeks ahead is best, in summer four. Deposit £50, back if you cancel 5 days before.",
    "Colour": "Full colour from £75, half head £90. Patch test 48 hours before, free. In the chair with our colour team until done.",
    "Children": "Under 18 half price. Under 5 free. We don't see NHS children any more.",
    "Where": "14 Castle St., next to Boots. Ring the bell. No parking, use the multi-storey on Park Rd. £1.80 an hour.",
    "Hearing": "Free hearing check with Martin on Mondays and Wednesdays. Hearing aids from £495, four year guarantee.",
    "Catering": "Half trays of pasta $45, feeds 8. Delivery of trays $20.",
    "Delivery": "Within 4 miles, $4, free over $40. About 45 minutes, Fridays more like an hour.",
    "Nails": "Gel £32, plain manicure £20. Chloe is in Wednesday to Saturday. Pedicure £35.",
    "Pool": "25 metres, 28 degrees. Lanes until 9pm. Kids swim Saturdays 10-12.",
    "Prices": "General English £180 a week, exam classes £240 a month. Registration £50 once. From 8 weeks 10% off.",
    "Refunds": "Until 14 days before the start everything except registration. After that half. Nothing once it has begun.",
    "Classes": "Exam classes in the evening 18:00-20:00 twice a week. General English in the mornings. At most 12 people in a class.",
}


def about(*spoken: str) -> str:
    """The dialogue in which entries were spoken of, the last one most recently."""
    return State(subjects=tuple(Subject(name, name) for name in reversed(spoken))).dump(START)


async def reply(message: str, spoken: str, knowledge: dict[str, str]) -> str:
    tongue = "tr" if knowledge is HOTEL else "en"
    index = KnowledgeIndex([Entry(name, name, (), answer, tongue) for name, answer in knowledge.items()], tongue)
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue)
    told = [HistoryMessage("user", spoken.lower()), HistoryMessage("assistant", knowledge[spoken])]
    offer = "\n\n" + catalogue.say("offer.again", tongue)
    try:
        return (
            await KnowledgeEngine().reply(Turn(bot, "api", message, told, None, index, "", 30.0, START, about(spoken), True))
        ).text.removesuffix(offer)
    except EngineError:
        return "no_answer"


@pytest.mark.parametrize(
    ("spoken", "message", "expected"),
    [
        ("Odalar ve fiyatlar", "kahvaltı dahil mi", "Kahvaltı dahildir."),
        ("Otopark", "minibüsle geliyoz sığar mı", "Yükseklik sınırı 1,90 m, minibüs girmez."),
        ("Otopark", "elektrikli araba var bizde şarj", "Elektrikli şarj yok."),
        ("Spa", "çocukla girebilir miyiz", "Çocuklar 14 yaşından küçükse alınmıyor."),
        ("Spa", "kim yapıyo", "Masöz Elif Hanım pazartesi izinli."),
        ("Toplantı salonu", "kiminle konuşayım", "Sorumlusu Tolga Bey"),
        ("Toplantı salonu", "kimle konuşucam", "Sorumlusu Tolga Bey, 0532 000 11 22."),
        ("Fasıl", "içki dahil mi", "yerli içki sınırsız"),
        ("Fasıl", "kaçta bitiyo", "21:00-00:30"),
        ("Gece doktoru", "doktor kim", "Veteriner Onur Bey"),
        ("Transfer", "ne zaman söylemem lazım", "Bir gün önce haber verin."),
        ("Toplantı salonu", "numarası ne", "0532 000 11 22"),
        ("Spa", "çocuk için", "Çocuklar 14 yaşından küçükse alınmıyor."),
    ],
)
async def test_a_short_message_stays_with_the_entry_spoken_of_in_turkish(spoken: str, message: str, expected: str) -> None:
    said = await reply(message, spoken, HOTEL)
    assert expected in said
    assert set(facts.sentences(said)) <= set(facts.sentences(HOTEL[spoken]))


@pytest.mark.parametrize(
    ("spoken", "message", "expected"),
    [
        ("Whitening", "how long does it last", "Results last around two years."),
        ("Whitening", "whats cheaper", "Home kit £220, in the chair £350."),
        ("Check-up", "how often should i come", "We recommend one every six months."),
        ("Parking", "what if its full", "If they're full"),
        ("Pool", "how warm is it", "28 degrees"),
        ("Nails", "who does them", "Chloe is in"),
        ("Hearing", "who does it", "with Martin on Mondays"),
        ("Prices", "and registration?", "Registration £50 once."),
        ("Classes", "how many in a class", "At most 12 people in a class."),
        ("Booking", "do i get it back", "back if you cancel 5 days before"),
        ("Booking", "in july", "in summer four"),
        ("Colour", "when", "Patch test 48 hours before, free."),
    ],
)
async def test_a_short_message_stays_with_the_entry_spoken_of_in_english(spoken: str, message: str, expected: str) -> None:
    said = await reply(message, spoken, CLINIC)
    assert expected in said
    assert set(facts.sentences(said)) <= set(facts.sentences(CLINIC[spoken]))


@pytest.mark.parametrize(
    ("knowledge", "spoken", "message", "expected"),
    [
        (HOTEL, "Odalar ve fiyatlar", "kahvaltı kaçta", "07:00-10:00"),
        (HOTEL, "Spa", "çocuk fiyatı", "6 yaşa kadar ücretsiz"),
        (HOTEL, "Spa", "otopark ücretli mi", "günlüğü 200 TL"),
        (CLINIC, "Implants", "how long is a filling", "One visit usually."),
        (CLINIC, "Whitening", "nails?", "Gel £32"),
        (CLINIC, "Check-up", "how much are bananas", "no_answer"),
        (HOTEL, "Otopark", "helikopter pisti", "no_answer"),
    ],
)
async def test_another_subject_leaves_the_entry_spoken_of(knowledge: dict[str, str], spoken: str, message: str, expected: str) -> None:
    assert expected in await reply(message, spoken, knowledge)


@pytest.mark.parametrize(
    ("spoken", "message", "expected"),
    [
        ("Check-up", "and for my 7yr old?", "Under 18 half price."),
        ("Where", "where can i park", "No parking, use the multi-storey on Park Rd."),
        ("Nails", "do u deliver", "Within 4 miles, $4, free over $40."),
        ("Nails", "do you do the mobility scooter repair with it", "no_answer"),
    ],
)
async def test_a_message_is_understood_by_what_it_implies(spoken: str, message: str, expected: str) -> None:
    assert expected in await reply(message, spoken, CLINIC)


async def test_an_entry_told_earlier_answers_a_fact_that_the_last_one_lacks() -> None:
    index = KnowledgeIndex([Entry(name, name, (), answer, "en") for name, answer in CLINIC.items()], "en")
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language="en")
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(("nails", CLINIC["Nails"], "fillings", ""))]
    told[-1] = HistoryMessage("assistant", CLINIC["Fillings"])
    said = (
        await KnowledgeEngine().reply(
            Turn(bot, "api", "who does it", tuple(told), None, index, "", 30.0, START, about("Nails", "Fillings"), True)
        )
    ).text
    assert "Chloe" in said


@pytest.mark.parametrize("spoken", ["Nails", "Check-up", "Parking", "Classes"])
async def test_the_telephone_is_that_of_the_business_whatever_was_spoken_of(spoken: str) -> None:
    assert "01865 555 014" in await reply("what's your phone", spoken, {**CLINIC, "Contact": "Ring us: 01865 555 014."})


async def test_a_word_of_the_question_leads_before_a_synonym() -> None:
    index = KnowledgeIndex([Entry("t", "Transfer", (), f"{HOTEL['Transfer']} Otogardan da var, 400 TL.", "tr")], "tr")
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0)
    told = (HistoryMessage("user", "transfer"), HistoryMessage("assistant", index.entries[0].answer))
    said = (await KnowledgeEngine().reply(Turn(bot, "api", "otogar?", told, None, index, "", 30.0, START, about("Transfer"), True))).text
    assert said.startswith("Otogardan da var, 400 TL.")


async def test_a_title_in_an_unsure_message_makes_a_hedged_answer() -> None:
    said = await reply("i lost a tooth at rugby and want implants, what would that cost me", "Pool", CLINIC)
    assert CLINIC["Implants"] in said or "From £2,100 per tooth." in said


async def test_a_sentence_told_alone_still_shows_what_is_spoken_of() -> None:
    index = KnowledgeIndex([Entry(name, name, (), answer, "en") for name, answer in CLINIC.items()], "en")
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language="en")
    told: list[HistoryMessage] = []
    dialogue = None
    for message, expected in (
        ("whitening", "Home kit £220"),
        ("how long does it last", "Results last around two years."),
        ("and how much is it?", "Home kit £220, in the chair £350."),
        ("how long does it take", "Takes 90 minutes in the chair."),
    ):
        said = await KnowledgeEngine().reply(Turn(bot, "api", message, tuple(told), None, index, "", 30.0, START, dialogue, True))
        assert expected in said.text
        told += [HistoryMessage("user", message), HistoryMessage("assistant", said.text)]
        dialogue = said.dialogue


@pytest.mark.parametrize("message", ["when are you open", "are you open on sundays?", "are you open on mondays"])
async def test_opening_hours_are_those_of_the_business_whatever_was_spoken_of(message: str) -> None:
    kayaks = {"Opening hours": "Daily 9 to 17, closed on Mondays.", "Kayaks": "2 hours 20 euros, a day 45 euros."}
    assert await reply(message, "Kayaks", kayaks) == kayaks["Opening hours"]
