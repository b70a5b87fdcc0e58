"""Questions about the business itself, of business.tsv: language, question, the kind asked for, and what the reply has."""

from dataclasses import replace
from typing import Any

import pytest

from chatsvc.domain.models import Entry
from chatsvc.domain.profiles import ClosedDays, Profile, days
from chatsvc.engines.knowledge import business
from tests.engines.knowledge.desk import BOTS, NOW, Desk
from tests.tables import rows

SETTINGS: dict[str, dict[str, Any]] = {
    "en": {"phone": "01632 960417", "email": "hello@pine.example", "address": "14 Mill Row, York"},
    "tr": {"phone": "0232 000 45 45", "email": "bilgi@defne.example", "address": "Gül Sokak 3, Bornova"},
}


@pytest.mark.parametrize(("language", "question", "kind", "text"), [(*row, "", "")[:4] for row in rows("engines/knowledge/business")])
def test_the_settings_answer(language: str, question: str, kind: str, text: str) -> None:
    desk = Desk(language, **SETTINGS[language])
    assert kind in (business.kinds_of(question, desk.bot.name) or ("",))
    if kind:
        assert text in desk.say(question)


def test_what_is_not_set_is_looked_for_in_the_knowledge() -> None:
    assert "don't have information" in Desk("en").say("what is your phone number")
    assert "don't have information" in Desk("en", opening_hours=None).say("when are you open")


def test_a_closed_day_of_the_owner() -> None:
    desk = Desk("en", profile=Profile(closed=(days("2026-11-21"),)))
    assert "We are closed tomorrow. We open on Tuesday at 09:00." in desk.say("are you open tomorrow?")
    assert isinstance(days("2026-11-21"), ClosedDays)


@pytest.mark.parametrize("name", sorted(BOTS))
def test_the_name_of_the_business_is_light(name: str) -> None:
    bot = BOTS[name]
    assert business.kinds_of(f"{bot.name} {'adres' if name == 'tr' else 'address'}", bot.name) == ("address",)


@pytest.mark.parametrize(("text", "urgent"), [("kedi kanıyor!", True), ("it is urgent", True), ("no hurry", False)])
def test_urgent_words(text: str, urgent: bool) -> None:
    assert business.is_urgent(text) is urgent


@pytest.mark.parametrize(
    ("language", "hours", "text"),
    [
        ("tr", "mon-fri 09:00-13:00", "Şu anda açığız ama az kaldı; 13:00'te kapanıyoruz."),
        ("tr", "mon-fri 09:00-11:40", "Bugün 11:40'ta kapandık. Pazartesi 09:00'da açılıyoruz."),
        ("tr", "mon-fri 09:00-17:00", "Şu anda açığız; bugün 17:00'ye kadar buradayız."),
        ("tr", "mon-thu 10:00-18:00", "Bugün kapalıyız. Pazartesi 10:00'da açılıyoruz."),
        ("tr", "fri 14:00-22:00", "Şu anda kapalıyız. Bugün 14:00'te açılıyoruz."),
        ("en", "fri 07:00-10:00", "We are open now, but only until 10:00 today."),
        ("en", "fri-sat 07:00-09:15", "We closed at 09:15 today. We open tomorrow at 07:00."),
        ("en", "mon-thu 07:00-09:15", "We are closed today. We open on Monday at 07:00."),
    ],
)
def test_what_holds_now_is_said_as_people_say_it(language: str, hours: str, text: str) -> None:
    desk = Desk(language, opening_hours=hours)
    desk.turn = replace(desk.turn, now_ms=NOW + 3_600_000)
    assert desk.say("bugün açık mısınız" if language == "tr" else "are you open today") == text


def test_hours_that_stand_in_the_knowledge_alone_are_told_with_all_their_days() -> None:
    desk, hours = Desk("tr", opening_hours=None), "Salı - Pazar 12:00 - 23:00. Pazartesi kapalıyız."
    desk.turn.knowledge.entries = [Entry("h", "Çalışma saatleri", (), hours, "tr")]  # type: ignore[misc]
    assert desk.say("pazartesi de açık mısınız") == hours


def test_weekdays_count_before_a_season_and_the_sentence_that_names_the_day_is_told_beside() -> None:
    desk, week, closed = Desk("en", opening_hours=None), "We're open Tuesday to Saturday 10 to 5.30.", "On Sunday we rest."
    season = "From 20 to 31 October we are open 10 to 19:00, Sundays too."
    classes = Entry("t", "Timetable", (), "| Street dance | Sunday | 17:30-19:00 | 8 |", "en")  # no hours and no address
    desk.turn.knowledge.entries = [classes, Entry("h", "Halloween", (), f"{season} {week} {closed}", "en")]  # type: ignore[misc]
    assert desk.say("opening times?") == week
    assert "Street dance" not in desk.say("where are you")
    assert desk.say("are you open on sunday?") == f"{week} {season} {closed}"
