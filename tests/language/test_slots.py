"""The reading of dates, times and contact data: sentences with what they hold, and what must be true of any text."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatsvc.language import values
from chatsvc.language.folding import fold_with_places
from chatsvc.language.tokenizer import MAX_CHARACTERS, MAX_TOKENS, ends_of, line_of
from tests.language import slots_strangers
from tests.language.slots_cases import CASES, FRIDAY, WEDNESDAY

ALL = CASES + slots_strangers.CASES
_PIECES = st.sampled_from(sorted({word for case in ALL for word in case.text.split()}))
_TEXTS = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=14).map(" ".join))
_NOWS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1))  # noqa: DTZ001 - wall time
_DAYS = ("pazartesi", "Salı", "carsamba", "Perşembe günü", "cumaya", "CUMARTESİ", "pazar günü")


class Bare(NamedTuple):
    """The bare values of a text."""

    language: str
    date: date | None = None
    time: time | None = None
    email: str | None = None
    phone: str | None = None
    name: str | None = None


def read(text: str, *, now: datetime, language: str | None = None, country: str = "TR") -> Bare:
    found = values.read(text, now=now, language=language, country=country)
    return Bare(found.language, **{kind: mention.value for kind, mention in mentions(found).items()})


def mentions(found: values.Values) -> dict[str, values.Mention[Any]]:
    """The values of the kinds that `chatsvc parse` shows."""
    return {kind: mention for kind in values.KINDS if (mention := getattr(found, kind)) is not None}


def spelled(text: str, now: datetime) -> dict[str, str]:
    """The places of the values, as typed."""
    return {kind: text[one.start : one.end] for kind, one in mentions(values.read(text, now=now)).items()}


def test_a_sentence_gives_what_it_holds() -> None:
    wrong = []
    for case in ALL:
        found = read(case.text, now=case.now)
        if (found.date, found.time, found.email, found.phone) != (case.date, case.time, case.email, case.phone):
            wrong.append((case, found))
    assert len(wrong) <= 0.03 * len(ALL), wrong


def test_names_are_read_as_often_as_promised() -> None:
    named = [(case.name, read(case.text, now=case.now).name) for case in ALL if case.name]
    assert sum(name == found for name, found in named) >= 0.85 * len(named)


def test_there_are_enough_sentences() -> None:
    nothing = [case for case in ALL if not any((case.date, case.time, case.email, case.phone, case.name))]
    assert len(ALL) >= 400
    assert len(nothing) >= len(ALL) // 4


@settings(deadline=None)  # the first number of a country loads its plan
@given(_TEXTS, _NOWS, st.sampled_from(["TR", "GB", "US", "DE", "", "??"]))
@example("9" * 4000, FRIDAY, "TR")
@example("²³½ ٣ İİ \ud800 \x00 10:99 32.13 0/0 #", FRIDAY, "TR")
@example("in 9999 weeks 9999 ay sonra 9999 days from now", FRIDAY, "TR")
def test_no_text_makes_it_fail_and_the_answer_is_always_the_same(text: str, now: datetime, country: str) -> None:
    for kind in ("", *values.KINDS):
        asked = values.read(text, now=now, country=country, asked=kind)
        assert asked == values.read(text, now=now, country=country, asked=kind)
        assert all(0 <= one.start < one.end <= len(text) for one in mentions(asked).values())


@given(_NOWS, st.integers(0, 6), st.sampled_from(["{}", "önümüzdeki {}", "{} saat 3'te"]))
def test_a_bare_weekday_is_one_of_the_next_seven_days(now: datetime, weekday: int, form: str) -> None:
    found = read(form.format(_DAYS[weekday]), now=now).date
    assert found is not None
    assert found.weekday() == weekday
    assert timedelta(0) < found - now.date() <= timedelta(7)


@given(_NOWS, st.integers(0, 6))
def test_next_weekday_lies_in_the_next_calendar_week(now: datetime, weekday: int) -> None:
    monday = now.date() - timedelta(now.weekday())
    for form in ("haftaya {}", "gelecek hafta {}"):
        assert read(form.format(_DAYS[weekday]), now=now).date == monday + timedelta(7 + weekday)


@given(_NOWS, st.integers(1, 31))
def test_the_number_of_a_day_is_never_in_the_past_and_never_today(now: datetime, day: int) -> None:
    found = read(f"ayın {day}'i uygun mu", now=now).date
    assert found is not None
    assert found.day == day
    assert now.date() < found < now.date() + timedelta(63)


@given(_NOWS, st.dates(date(2023, 1, 1), date(2023, 12, 31)))
def test_day_and_month_is_the_next_one_today_included(now: datetime, day: date) -> None:
    found = read(f"{day.day:02}.{day.month:02} için", now=now).date
    assert found is not None
    assert (found.day, found.month) == (day.day, day.month)
    assert now.date() <= found <= now.date() + timedelta(366)


@given(st.times())
def test_a_time_of_the_24_hour_clock_is_read_as_it_stands(moment: time) -> None:
    if moment.hour >= 13 or moment.hour == 0 or moment.hour > 6:
        assert read(f"yarın {moment:%H:%M} uygun mu", now=FRIDAY).time == moment.replace(second=0, microsecond=0)


def test_a_day_on_which_the_clocks_change_is_a_day_like_any_other() -> None:
    eve = datetime(2027, 3, 27, 23, 59)  # noqa: DTZ001 - Europe moves its clocks in the night to come
    assert read("yarın 02:30", now=eve).date == date(2027, 3, 28)
    assert read("tomorrow at 02:30", now=eve).time == time(2, 30)


def test_the_other_weekday_is_that_of_the_week_after() -> None:
    assert read("öbür cuma", now=FRIDAY).date == date(2026, 12, 4)
    assert read("bu cumartesi değil öbür cumartesi", now=FRIDAY).date == date(2026, 11, 28)


def test_29_february_is_looked_for_in_a_leap_year() -> None:
    assert read("29 Şubat", now=FRIDAY).date == date(2028, 2, 29)
    assert read("29.02.2027", now=FRIDAY).date is None
    assert read("in a year", now=datetime(2028, 2, 29, 9)).date == date(2029, 2, 28)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("time", "3", time(15)),
        ("time", "3 buçuk", time(15, 30)),
        ("time", "on", time(10)),
        ("time", "9", time(9)),
        ("time", "yarım", time(12, 30)),
        ("time", "three", time(15)),
        ("time", "evet bir", time(13)),
        ("time", "bir de fön olsun", None),
        ("time", "one more thing", None),
        ("date", "the 5th", date(2026, 12, 5)),
        ("date", "5'i", date(2026, 12, 5)),
        ("date", "25", date(2026, 11, 25)),
        ("date", "yarın", date(2026, 11, 21)),
        ("name", "Ayşe Yılmaz", "Ayşe Yılmaz"),
        ("name", "ayşe yılmaz", "ayşe yılmaz"),
        ("name", "Dr. Jane Smith", "Jane Smith"),
        ("name", "hello, jane", "jane"),
        ("name", "yarın", None),
        ("name", "bilmiyorum", None),
        ("phone", "5321234567", "+905321234567"),
        ("phone", "2125551234", "+902125551234"),
        ("phone", "bilmiyorum", None),
        ("email", "ayse@example.com", "ayse@example.com"),
        ("date", "fark etmez", None),
        ("date", "half 11, same day", None),
    ],
)
def test_a_bare_answer_is_enough_for_a_question(kind: str, text: str, value: object) -> None:
    found = getattr(values.read(text, now=FRIDAY, asked=kind), kind)
    assert (found and found.value) == value


def test_the_spans_say_where_it_stands() -> None:
    text = "Adım Ayşe Yılmaz, haftaya ÇARŞAMBA saat 3 buçukta; AYSE@example.com'a yazın ya da 0532 123 45 67"
    assert spelled(text, WEDNESDAY) == {
        "name": "Ayşe Yılmaz",
        "date": "haftaya ÇARŞAMBA",
        "time": "saat 3 buçukta",
        "email": "AYSE@example.com",
        "phone": "0532 123 45 67",
    }


@pytest.mark.parametrize(
    ("text", "given_language", "country", "language"),
    [
        ("yarın saat üçte gelebilir miyim", None, "TR", "tr"),
        ("can I come tomorrow at three", None, "TR", "en"),
        ("cuma 5", None, "GB", "tr"),
        ("friday 5", None, "TR", "en"),
        ("12", None, "TR", "tr"),
        ("12", None, "GB", "en"),
        ("friday", "tr-TR", "TR", "tr"),
    ],
)
def test_the_language_is_the_one_given_or_else_that_of_the_text(text: str, given_language: str | None, country: str, language: str) -> None:
    assert read(text, now=FRIDAY, language=given_language, country=country).language == language


@pytest.mark.parametrize(
    ("text", "country", "number"),
    [
        ("07911 123456", "GB", "+447911123456"),
        ("(415) 555-2671", "US", "+14155552671"),
        ("0151 12345678", "DE", "+4915112345678"),
        ("+90 532 123 45 67", "GB", "+905321234567"),
    ],
)
def test_a_number_without_a_prefix_is_one_of_the_bots_country(text: str, country: str, number: str) -> None:
    assert read(text, now=FRIDAY, country=country).phone == number


@pytest.mark.parametrize(
    "text",
    ["9" * 4_000, "yarın " * 700, "@" * 4_000, "0532 123 45 67 " * 270, "a'" * 2_000, "pazartesi salı " * 270, "1/1 " * 1_000, "x" * 4_000],
)
def test_of_a_long_message_only_the_two_ends_are_read(text: str) -> None:
    kept, _ = ends_of(text)
    assert len(kept) <= MAX_CHARACTERS + 1
    assert len(line_of(fold_with_places(kept)).tokens) <= MAX_TOKENS + 2
    middle = text[:1_500] + " Adım Ayşe, yarın 15:00, 0532 123 45 67 " + text[-1_500:]
    assert read(middle, now=FRIDAY) == read(text[:1_500] + " " * 40 + text[-1_500:], now=FRIDAY)


@pytest.mark.no_cover  # long texts, whose lines shorter ones run too
@settings(deadline=None)  # on a busy machine any of them may be slow
@given(st.text(alphabet="abc \n", min_size=1_500, max_size=3_000))
def test_what_stands_at_the_ends_of_a_long_message_is_found_where_it_stands(filler: str) -> None:
    text = f"Adım Ayşe Yılmaz, {filler} 0532 123 45 67 ayse@example.com"
    assert spelled(text, FRIDAY) == {"name": "Ayşe Yılmaz", "phone": "0532 123 45 67", "email": "ayse@example.com"}


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("pazrtesi", date(2026, 11, 23)),
        ("pazaar günü", date(2026, 11, 22)),
        ("çarşanba", date(2026, 11, 25)),
        ("persembeye", date(2026, 11, 26)),
        ("cumartsi", date(2026, 11, 21)),
        ("wensday", date(2026, 11, 25)),
        ("thrusday", date(2026, 11, 26)),
        ("3 subta", date(2027, 2, 3)),
        ("3 aprli", date(2027, 4, 3)),
        *((word, None) for word in ["saniye", "satışı", "yakında", "elimde", "bundan", "bira", "önünde", "cuisine", "salute"]),
        *(
            (f"3 {word}", None)
            for word in ["kesim", "kaşık", "kapım", "karım", "subay", "matı", "sales", "many", "merch", "margin", "ayrıl"]
        ),
        ("is there a sale on", None),
        ("we march in", None),
        ("may I", None),
    ],
)
def test_a_slip_in_the_name_of_a_day_is_forgiven_and_no_other_word_is_taken_for_one(text: str, day: date | None) -> None:
    assert read(text, now=FRIDAY).date == day


@pytest.mark.parametrize(
    "text", ["dün saat 3'te", "geçen salı 15:00", "last Friday at 3", "2 gün önce", "it broke on Monday last week", "yesterday"]
)
def test_a_day_gone_by_is_no_day_to_book_and_is_told_of(text: str) -> None:
    found = values.read(text, now=FRIDAY)
    assert found.gone
    assert (found.date, found.time) == (None, None)
    assert not values.read(f"{text}, yarın gelirim", now=FRIDAY).gone
