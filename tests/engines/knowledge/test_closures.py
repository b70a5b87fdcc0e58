"""Opening hours of days, months and holidays, stated in the knowledge or not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex

POOL = {
    "Bakım": "Ağustosta bakım için kapalıyız. Resmi tatillerde 10:00-17:00 arası açığız.",
    "Yüzme kursu": "Çocuk kursu haftada 2 gün, aylık 1.600 TL. Yetişkin kursu akşam 20:00.",
    "Küçük havuz": "Küçük havuz ekimde kapalı. 60 cm derinlikte.",
    "Kafe": "Tost ve çay var, fiyatlar duvarda.",
}
RENTAL = {
    "Christmas": "Closed 24 December to 2 January. Cars can stay out over the break.",
    "Vans": "Nine seats, £85 a day. Not in February, when they are in the garage.",
    "Inventory": "We are closed on March 15 for stocktaking.",
    "Winter tyres": "Fitted from November to March, free of charge.",
}


def asked(message: str, facts: dict[str, str], tongue: str, *, at: str = "2026-12-01T10:00", country: str = "") -> Turn:
    index = KnowledgeIndex([Entry(name, name, (), answer, tongue) for name, answer in facts.items()], tongue)
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue, opening_hours="mon-sat 08:00-18:00; sun 09:00-13:00")
    bot = bot._replace(country=country or ("TR" if tongue == "tr" else "GB"), timezone="Europe/London")
    now = int(datetime.fromisoformat(at).replace(tzinfo=ZoneInfo("Europe/London")).timestamp() * 1_000)
    return Turn(bot, "api", message, (), None, index, "", 30.0, now)


async def said(turn: Turn) -> str:
    return (await KnowledgeEngine().reply(turn)).text


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("are you open on boxing day", "Closed 24 December to 2 January."),
        ("open on 28 december?", "Closed 24 December to 2 January."),
        ("are you open on 1 january", "Closed 24 December to 2 January."),
        ("are u open in january", "Closed 24 December to 2 January."),
        ("are you open on 3 january", "Sunday 3 January 2027 we are open 09:00-13:00"),
        ("are you open on 15 march", "closed on March 15"),
        ("are you open on 16 march", "Tuesday 16 March 2027 we are open"),
        ("are you open on 10 february", "Wednesday 10 February 2027 we are open"),
        ("do you open at easter", "Our usual hours are Monday-Saturday 08:00-18:00, Sunday 09:00-13:00. I don't know"),
        ("are you open in summer", "I don't know whether other hours apply then"),
    ],
)
async def test_a_closure_that_the_knowledge_states_comes_before_computed_hours(message: str, holds: str) -> None:
    assert holds in await said(asked(message, RENTAL, "en"))


@pytest.mark.parametrize(
    ("message", "starts"),
    [
        ("ağustosta açık mısınız", "Ağustosta bakım için kapalıyız."),
        ("12 ağustosta açık mısınız", "Ağustosta bakım için kapalıyız."),
        ("bayramda açık mısınız", "Resmi tatillerde 10:00-17:00 arası açığız."),
        ("19 mayısta açık mısınız", "Resmi tatillerde 10:00-17:00 arası açığız."),
        ("ekimde açık mısınız", "Normal çalışma saatlerimiz: Pazartesi-Cumartesi 08:00-18:00"),
        ("kışın açık mısınız", "Normal çalışma saatlerimiz: Pazartesi-Cumartesi 08:00-18:00"),
        ("şu an açık mısınız", "Çalışma saatlerimiz: Pazartesi-Cumartesi 08:00-18:00, Pazar 09:00-13:00. Evet, şu anda açığız"),
    ],
)
async def test_months_and_holidays_are_answered_from_what_is_stated_of_the_business(message: str, starts: str) -> None:
    assert (await said(asked(message, POOL, "tr"))).startswith(starts)


async def test_the_present_day_is_checked_against_what_is_stated() -> None:
    assert (await said(asked("açık mısınız", POOL, "tr", at="2026-08-05T11:00"))).startswith("Ağustosta bakım için kapalıyız.")
    assert (await said(asked("açık mısınız", POOL, "tr", at="2026-09-02T11:00"))).endswith(
        "Evet, şu anda açığız; bugün 18:00 saatine kadar açığız (Çarşamba)."
    )


@pytest.mark.parametrize("message", ["kafe kaça kadar", "tost kaçta bitiyor"])
async def test_the_hours_of_something_else_are_not_those_of_the_business(message: str) -> None:
    try:
        told = await said(asked(message, POOL, "tr"))
    except EngineError:
        return
    assert "açığız" not in told


@pytest.mark.parametrize(
    ("tongue", "first", "then", "holds"),
    [
        ("en", "are you open on sunday", "what about monday", "Monday we are open 08:00-18:00."),
        ("en", "when do you open", "and sundays?", "Sunday we are open 09:00-13:00."),
        ("tr", "kaçta açılıyorsunuz", "ya pazar?", "Pazar günü 09:00-13:00"),
        ("tr", "cumartesi açık mısınız", "peki ağustosta?", "Ağustosta bakım için kapalıyız."),
    ],
)
async def test_a_day_after_a_question_about_opening_hours_is_about_them(tongue: str, first: str, then: str, holds: str) -> None:
    turn = asked(first, RENTAL if tongue == "en" else POOL, tongue)
    told = await KnowledgeEngine().reply(turn)
    history = (HistoryMessage("user", first), HistoryMessage("assistant", told.text))
    assert holds in await said(replace(turn, message=then, history=history, dialogue=told.dialogue))


@pytest.mark.parametrize(
    ("message", "tongue", "country", "holds"),
    [
        ("are you open on thanksgiving", "en", "US", "Normally we would be open 08:00-18:00 on Thursday 26 November 2026"),
        ("are you open the day after thanksgiving", "en", "US", "Friday 27 November 2026 we are open"),
        ("noelin ertesi günü açık mısınız", "tr", "TR", "26 Aralık"),
        ("pazar kapalı değil mi?", "tr", "TR", "Pazar günü 09:00-13:00 saatleri arasında açığız"),
        ("hafta sonu açık mısınız", "tr", "TR", "(Cumartesi) günü 08:00-18:00 saatleri arasında açığız. Pazar günü 09:00-13:00"),
    ],
)
async def test_holidays_their_neighbours_and_weekdays_are_days(message: str, tongue: str, country: str, holds: str) -> None:
    assert holds in await said(asked(message, {"Wifi": "Free."}, tongue, country=country, at="2026-11-20T10:00"))
