"""The values of a message with their places, and what is said beside them."""

from __future__ import annotations

import csv
import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsvc.language.values import Mention, Values, read
from tests.speed import within

NOW = dt.datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday
DEC = [dt.date(2026, 12, day) for day in range(1, 32)]
STAYS = Path(__file__).parents[1] / "answers" / "stays.tsv"
KINDS = ("date", "until", "time", "nights", "people", "number", "name", "phone", "email")


def values(text: str, asked: str = "", country: str = "TR") -> Values:
    return read(text, now=NOW, asked=asked, country=country)


def held(found: Values) -> dict[str, Any]:
    return {kind: mention.value for kind in KINDS if (mention := getattr(found, kind)) is not None}


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("from 4 to 6 December", 4, 6),
        ("4-6 Aralık", 4, 6),
        ("December 4 to 6", 4, 6),
        ("between 4 and 6 December", 4, 6),
        ("from the 4th to the 6th", 4, 6),
        ("from Dec 4th through Dec 6th", 4, 6),
        ("5/12 - 8/12 arası", 5, 8),
        ("4 aralıktan 6 aralığa kadar", 4, 6),
        ("ayın 4'ünden 6'sına", 4, 6),
        ("ayın 4'ü ile 6'sı arası", 4, 6),
        ("4'ünden 7'sine kadar", 4, 7),
        ("28 Aralık - 31 Aralık", 28, 31),
    ],
)
def test_a_range_has_a_first_and_a_last_day(text: str, first: int, last: int) -> None:
    found = values(text)
    assert held(found) == {"date": DEC[first - 1], "until": DEC[last - 1], "nights": last - first}
    assert found.nights is not None
    assert not found.nights.explicit
    assert found.rest == ""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Friday to Sunday", dt.date(2026, 11, 27), dt.date(2026, 11, 29)),
        ("cumadan pazara", dt.date(2026, 11, 27), dt.date(2026, 11, 29)),
        ("Mon-Wed", dt.date(2026, 11, 23), dt.date(2026, 11, 25)),
        ("Thursday to Tuesday", dt.date(2026, 11, 26), dt.date(2026, 12, 1)),
        ("23 Aralık - 2 Ocak", DEC[22], dt.date(2027, 1, 2)),
        ("30-2 Aralık", DEC[29], dt.date(2027, 1, 2)),
    ],
)
def test_the_last_day_is_counted_from_the_first(text: str, first: dt.date, last: dt.date) -> None:
    assert held(values(text)) == {"date": first, "until": last, "nights": (last - first).days}


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("move my appointment from Friday to Saturday", dt.date(2026, 11, 21)),
        ("randevumu cumadan cumartesiye alabilir miyiz", dt.date(2026, 11, 21)),
        ("cuma ya da cumartesi", dt.date(2026, 11, 27)),
        ("not Friday, Saturday", dt.date(2026, 11, 21)),
        ("salı 4 gibi", dt.date(2026, 11, 24)),
    ],
)
def test_two_days_are_no_range_where_one_is_moved_refused_or_left_open(text: str, day: dt.date) -> None:
    found = values(text)
    assert found.date is not None
    assert (found.date.value, found.until, found.nights) == (day, None, None)


def test_a_bare_range_counts_where_a_day_is_asked_for() -> None:
    for text in ("4-6", "4 to 6", "the 4th to the 6th"):
        assert held(values(text, "date")) == {"date": DEC[3], "until": DEC[5], "nights": 2}


@pytest.mark.parametrize(
    ("text", "asked", "nights"),
    [
        ("3 gece", "", 3),
        ("üç gecelik", "", 3),
        ("hafta sonu iki gece", "", 2),
        ("for a week from 12 December", "", 7),
        ("12 Aralıktan itibaren 1 hafta", "", 7),
        ("2 haftalığına geleceğiz", "", 14),
        ("for 5 days", "", 5),
        ("twenty one nights", "", 21),
        ("a week", "nights", 7),
        ("3", "nights", 3),
        ("üç", "nights", 3),
        ("in two weeks", "", None),
        ("2 haftadır bekliyorum", "", None),
        ("3 gün önce geldim", "", None),
        ("gece 11'de", "", None),
    ],
)
def test_lengths_of_a_stay(text: str, asked: str, nights: int | None) -> None:
    assert held(values(text, asked)).get("nights") == nights


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("two of us", 2),
        ("4 kişi", 4),
        ("4 kişilik masa", 4),
        ("on iki kişiyiz", 12),
        ("2 yetişkin 1 çocuk", 3),
        ("two adults and a child", 3),
        ("table for 6 on Friday at 8", 6),
        ("we're 6 tomorrow night", 6),
        ("we'll be 5", 5),
        ("party of ten", 10),
        ("just me", 1),
        ("tek kişiyim", 1),
        ("eşim ve ben", 2),
        ("my wife and I", 2),
        ("table for Friday 4 pm", None),
        ("we are open at 9", None),
        ("what do people say", None),
        ("its a kids mountain bike", None),
    ],
)
def test_numbers_of_people(text: str, people: int | None) -> None:
    assert held(values(text)).get("people") == people


@pytest.mark.parametrize(
    ("text", "asked", "number"),
    [
        ("300 kupa istiyorum", "", 300),
        ("1.500 tane", "", 1500),
        ("dört", "number", 4),
        ("bir", "number", 1),
        ("one", "number", 1),
        ("one moment", "", None),
        ("4 Aralık saat 15:00", "", None),
        ("0532 111 22 33", "", None),
        ("December 4 to 6", "", None),
    ],
)
def test_other_numbers(text: str, asked: str, number: int | None) -> None:
    assert held(values(text, asked)).get("number") == number


def test_first_and_last_days_nights_and_people_are_read() -> None:
    """Each line: a message, its first day, its last day, nights and people; a dash for none."""
    with STAYS.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    right = 0
    for text, *expected in lines:
        found = held(values(text))
        right += [str(found.get(kind, "-")) for kind in ("date", "until", "nights", "people")] == expected
    assert right >= 0.95 * len(lines)
    assert len(lines) > 50


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Saturday of the first weekend in December", dt.date(2026, 12, 5)),
        ("first wknd in december, thinking of bikes for the sunday", dt.date(2026, 12, 6)),
        ("first weekend in December", None),
        ("2 high chairs", None),
    ],
)
def test_a_day_of_a_weekend_is_read_and_a_thing_that_is_counted_is_none(text: str, day: dt.date | None) -> None:
    assert held(values(text, "date")).get("date") == day


def test_an_hour_before_a_thing_is_an_hour() -> None:
    assert held(values("cumartesi 20:00 masa ayırtmak istiyorum")).get("time") == dt.time(20)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("randevum 4 aralıktaydı onu 5 aralığa alalım", DEC[4]),
        ("a fortnight on Tuesday", DEC[7]),
        ("last Friday in November", dt.date(2026, 11, 27)),
        ("check in 12/12 check out 14/12", DEC[11]),
        ("temmuzda 2 hafta", None),
    ],
)
def test_days_that_were_read_wrong(text: str, day: dt.date | None) -> None:
    assert held(values(text)).get("date") == day


def test_a_long_message_is_read_at_once() -> None:
    for piece in ("a", "1 ", "12 aralık ", "from 4 to 6 December ", "Ali Veli ", "0532 111 22 33, ", "my name is ", "\n", "x'"):
        text = (piece * 20_000)[:20_000]
        for asked in ("", "name", "date"):
            assert within(0.05, partial(values, text, asked)), (piece, asked)


def test_all_values_count_at_once() -> None:
    found = values("adım Ferda Keskin, 4-6 Aralık, 2 kişi, 05331112233, ferda@example.com, havuz var mı?")
    assert held(found) == {
        "date": DEC[3],
        "until": DEC[5],
        "nights": 2,
        "people": 2,
        "name": "Ferda Keskin",
        "phone": "+905331112233",
        "email": "ferda@example.com",
    }
    assert found.language == "tr"
    assert found.rest == "havuz var mı?"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("My name is John Smith and my number is 020 7946 0018, do you have parking?", "do you have parking?"),
        ("4 kişiyiz, otopark var mı", "otopark var mı"),
        ("4 Aralık için oda var mı", "oda var mı"),
        ("what do you charge for two nights", "what do you charge"),
        ("telefonum 0532 111 22 33", ""),
        ("do you deliver", "do you deliver"),
    ],
)
def test_what_is_said_beside_the_values(text: str, rest: str) -> None:
    assert values(text, country="GB" if "020" in text else "TR").rest == rest


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("çarşamba öğleden sonra", "afternoon"),
        ("akşam 7", "evening"),
        ("tonight", "evening"),
        ("in the morning please", "morning"),
        ("good evening", None),
        ("iyi akşamlar", None),
        ("3 gece", None),
        ("3'ü 10 geçe", None),
    ],
)
def test_the_part_of_the_day(text: str, part: str | None) -> None:
    assert values(text).part_of_day == part


@pytest.mark.parametrize(
    ("text", "flexible"),
    [
        ("any day is fine", True),
        ("whenever suits you", True),
        ("I don't mind", True),
        ("fark etmez", True),
        ("siz seçin", True),
        ("en yakın gün olsun", True),
        ("the first available slot", True),
        ("Friday please", False),
        ("cuma olsun", False),
        ("is anybody there", False),
    ],
)
def test_any_day_will_do(text: str, flexible: bool) -> None:
    assert values(text).flexible is flexible


def test_what_is_refused_past_or_in_no_calendar() -> None:
    friday = values("cuma").date
    assert friday is not None
    assert values("not Friday").rejected_date == values("cuma olmaz").rejected_date == friday.value
    assert values("cuma").rejected_date is None
    assert (values("31 Şubat").never, values("dün").gone, values("yarın").gone) == (True, True, False)


def test_digits_that_are_no_number_are_told_where_one_is_asked_for() -> None:
    assert values("532 111", "phone").phone_as_written == "532 111"
    assert values("my number is 1234567").phone_as_written == "1234567"
    assert values("siparişim 1234567").phone_as_written is None
    assert values("0532 111 22 33", "phone").phone_as_written is None


def test_a_bare_value_is_not_explicit() -> None:
    cued, bare = values("adım Ferda", "name").name, values("Ferda", "name").name
    assert cued == Mention("Ferda", 5, 10, explicit=True)
    assert bare == Mention("Ferda", 0, 5)


@settings(max_examples=200)
@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(st.sampled_from(("4-6", "Aralık", "to", "3", "gece", "kişi", "adım", "Ayşe", "\n", "for")), max_size=12).map(" ".join),
    )
)
def test_spans_lie_in_the_message(text: str) -> None:
    for asked in ("", "date", "name", "nights", "phone"):
        found = values(text, asked)
        for kind in KINDS:
            mention = getattr(found, kind)
            assert mention is None or 0 <= mention.start < mention.end <= len(text)


def test_sums_and_single_days_count_neither_people_nor_nights() -> None:
    assert values("yani 3000 + ozon 300 toplam 3300 mü").people is None
    assert (values("ok and just one day?").nights, values("dişi, 7 aylık", "date").date) == (None, None)
    sunday = values("can my sister pick him up instead of me sunday").date
    assert sunday is not None
    assert sunday.value.weekday() == 6


@pytest.mark.parametrize("text", ["on friday", "later on", "depends on my wife", "hang on"])
def test_the_english_word_on_is_no_hour(text: str) -> None:
    assert read(text, now=NOW, language="en", country="GB", asked="time").time is None


def test_the_turkish_ten_alone_is_an_hour() -> None:
    assert held(read("on", now=NOW, language="tr", asked="time"))["time"] == dt.time(10)


@pytest.mark.parametrize(
    ("text", "later", "month"),
    [
        ("two weeks later", True, None),
        ("2 hafta sonraya alalım", True, None),
        ("in two weeks", False, None),
        ("5 January", False, None),
        ("in January", False, 1),
        ("ocakta", False, 1),
        ("may I come", False, None),
    ],
)
def test_a_day_may_be_counted_from_another_one_and_a_month_stand_alone(text: str, later: bool, month: int | None) -> None:
    found = values(text)
    assert (found.later, found.month) == (later, month)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("can you put 2 of us down, Priya Nair and Joe Nair", "Priya Nair"),
        ("ikimizi yazın Ayşe Kaya ve Fatma Kaya", "Ayşe Kaya"),
        ("his name is Leo, im Paula Marsh", "Paula Marsh"),
    ],
)
def test_of_several_names_one_is_the_visitors(text: str, name: str) -> None:
    assert held(values(text))["name"] == name


def test_a_reason_behind_a_day_rejects_nothing() -> None:
    assert held(values("saturday cos half of us are not athletes"))["date"] == dt.date(2026, 11, 21)
    assert "date" not in held(values("saturday does not work"))
