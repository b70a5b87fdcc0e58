"""The values of a message with their places, and what is said beside them."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

import pytest

from chatsvc.language.values import Mention, Values, read
from tests.speed import within

NOW = dt.datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday
DEC = [dt.date(2026, 12, day) for day in range(1, 32)]
KINDS = ("date", "time", "number", "name", "phone", "email")


def values(text: str, asked: str = "", country: str = "TR") -> Values:
    return read(text, now=NOW, asked=asked, country=country)


def held(found: Values) -> dict[str, Any]:
    return {kind: mention.value for kind in KINDS if (mention := getattr(found, kind)) is not None}


@pytest.mark.parametrize(
    ("text", "asked", "number"),
    [
        ("300 kupa istiyorum", "number", 300),
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


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("first weekend in December", None),
        ("2 high chairs", None),
    ],
)
def test_a_weekend_and_a_thing_that_is_counted_are_no_days(text: str, day: dt.date | None) -> None:
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


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("My name is John Smith and my number is 020 7946 0018, do you have parking?", "do you have parking?"),
        ("4 Aralık için oda var mı", "oda var mı"),
        ("telefonum 0532 111 22 33", ""),
        ("do you deliver", "do you deliver"),
    ],
)
def test_what_is_said_beside_the_values(text: str, rest: str) -> None:
    assert values(text, country="GB" if "020" in text else "TR").rest == rest


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


def test_digits_that_are_no_number_are_told_where_one_is_asked_for() -> None:
    assert values("532 111", "phone").phone_as_written == "532 111"
    assert values("my number is 1234567").phone_as_written == "1234567"
    assert values("siparişim 1234567").phone_as_written is None
    assert values("0532 111 22 33", "phone").phone_as_written is None


def test_a_bare_value_is_not_explicit() -> None:
    cued, bare = values("adım Ferda", "name").name, values("Ferda", "name").name
    assert cued == Mention("Ferda", 5, 10, explicit=True)
    assert bare == Mention("Ferda", 0, 5)


@pytest.mark.parametrize("text", ["on friday", "later on", "depends on my wife", "hang on"])
def test_the_english_word_on_is_no_hour(text: str) -> None:
    assert read(text, now=NOW, language="en", country="GB", asked="time").time is None


def test_the_turkish_ten_alone_is_an_hour() -> None:
    assert held(read("on", now=NOW, language="tr", asked="time"))["time"] == dt.time(10)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("his name is Leo, im Paula Marsh", "Paula Marsh"),
    ],
)
def test_of_several_names_one_is_the_visitors(text: str, name: str) -> None:
    assert held(values(text))["name"] == name


def test_a_reason_behind_a_day_rejects_nothing() -> None:
    assert held(values("saturday cos half of us are not athletes"))["date"] == dt.date(2026, 11, 21)
    assert "date" not in held(values("saturday does not work"))
