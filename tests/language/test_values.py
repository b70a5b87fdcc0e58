"""Reading of dates, times, contact data and names: tables of sentences with what they hold, and what must be true of any text."""

import csv
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatsvc.language import values
from chatsvc.language.folding import fold_with_offsets
from chatsvc.language.tokenizer import MAX_CHARACTERS, MAX_TOKENS, ends_of, line_of
from chatsvc.language.tokens import Mention
from chatsvc.language.values import KINDS, Values
from tests.speed import within

HERE = Path(__file__).parent
ANSWERS = HERE.parent / "answers"
NOW = datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday
FLOORS = {"date": 0.97, "time": 0.95, "email": 0.99, "phone": 0.99, "name": 0.90, "nothing": 0.99}
Held = tuple[str | None, ...]


def table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [[cell.replace("\\n", "\n") for cell in row] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def held(cells: Sequence[str]) -> Held:
    return tuple(None if cell == "-" else cell for cell in cells)


def read(text: str, now: datetime = NOW, asked: str = "", country: str = "TR", language: str = "") -> Values:
    return values.read(text, now=now, asked=asked, country=country, language=language or None)


def mentions(reading: Values) -> dict[str, Mention[Any]]:
    return {kind: mention for kind in KINDS if (mention := getattr(reading, kind)) is not None}


def plain(value: object) -> str:
    """Return a value as the tables write it."""
    value = value.value if isinstance(value, Mention) else value
    return "-" if value is None else value.isoformat("minutes") if isinstance(value, time) else str(value)


def as_held(reading: Values) -> Held:
    return held([plain(getattr(reading, kind)) for kind in KINDS])


SENTENCES = [(text, datetime.fromisoformat(now), held(cells)) for now, text, *cells in table(HERE / "sentences.tsv")]
FORMS = {
    language: [(text, NOW, held(cells)) for _, text, *cells in table(HERE / f"slots_forms_{language}.tsv")] for language in ("tr", "en")
}


@pytest.mark.parametrize(("sentences", "wrong"), [(SENTENCES, 0.03), (FORMS["tr"], 0.02), (FORMS["en"], 0.02)], ids=["mixed", "tr", "en"])
def test_a_sentence_gives_what_it_holds(sentences: list[tuple[str, datetime, Held]], wrong: float) -> None:
    readings = [(text, holds, as_held(read(text, now))) for text, now, holds in sentences]
    missed = [reading for reading in readings if reading[1][:4] != reading[2][:4]]
    assert len(sentences) > 600
    assert len(missed) <= wrong * len(sentences), missed
    named = [(holds[4], result[4]) for _, holds, result in readings if holds[4]]
    assert sum(name == result for name, result in named) >= 0.85 * len(named)


@pytest.mark.parametrize("half", [0, 1], ids=["odd lines", "even lines"])
def test_each_kind_is_read_as_often_as_promised(half: int) -> None:
    every, right = Counter[str](), Counter[str]()
    for _, text, *cells in table(ANSWERS / "slots.tsv")[half::2]:
        holds, result = held(cells), as_held(read(text))
        judged = {kind: value == other for kind, value, other in zip(KINDS, holds, result, strict=True) if value is not None}
        judged = judged or {"nothing": not any(result)}
        every.update(judged.keys())
        right.update(kind for kind, is_right in judged.items() if is_right)
    assert {kind: right[kind] / every[kind] for kind, floor in FLOORS.items() if right[kind] < floor * every[kind]} == {}


@pytest.mark.parametrize("half", [0, 1], ids=["to work with", "held out"])
def test_names_are_read_and_hardly_one_where_none_is(half: int) -> None:
    """Each line of names.tsv has the language, what was asked for, the message, and its name or a dash."""
    named, nameless = list[bool](), list[bool]()
    for language, asked, text, name in table(ANSWERS / "names.tsv")[half::2]:
        value = plain(read(text, asked=asked, country="TR" if language == "tr" else "GB").name)
        (nameless if name == "-" else named).append(value == name)
    assert sum(named) >= 0.85 * len(named)
    assert sum(nameless) >= 0.95 * len(nameless)
    assert len(named) > 80


@pytest.mark.parametrize("row", table(HERE / "values.tsv")[1:], ids=lambda row: f"{row[0]} {row[1]}")
def test_a_value(row: list[str]) -> None:
    text, field, value, asked, country, language, now = (*row, *[""] * 4)[:7]
    reading = read(text, datetime.fromisoformat(now) if now else NOW, asked, country or "TR", language)
    assert plain(getattr(reading, field)) == value


def test_a_bare_value_is_not_explicit() -> None:
    assert read("adım Ferda", asked="name").name == Mention("Ferda", 5, 10, explicit=True)
    assert read("Ferda", asked="name").name == Mention("Ferda", 0, 5)


def test_the_spans_say_where_it_stands() -> None:
    text = "Adım Ayşe Yılmaz, haftaya ÇARŞAMBA saat 3 buçukta; AYSE@example.com'a yazın ya da 0532 123 45 67"
    assert {kind: text[mention.start : mention.end] for kind, mention in mentions(read(text)).items()} == {
        "name": "Ayşe Yılmaz",
        "date": "haftaya ÇARŞAMBA",
        "time": "saat 3 buçukta",
        "email": "AYSE@example.com",
        "phone": "0532 123 45 67",
    }


@pytest.mark.parametrize(
    "text", ["dün saat 3'te", "geçen salı 15:00", "last Friday at 3", "2 gün önce", "it broke on Monday last week", "yesterday"]
)
def test_a_day_gone_by_is_no_day_to_book_and_is_told_of(text: str) -> None:
    assert (read(text).gone, read(text).date, read(text).time) == (True, None, None)
    assert not read(f"{text}, yarın gelirim").gone


# --- any text ---------------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(sorted({word for text, _, _ in SENTENCES for word in text.split()}))
_TEXTS = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=14).map(" ".join))
_NOWS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1))  # noqa: DTZ001 - wall time
_DAYS = ("pazartesi", "Salı", "carsamba", "Perşembe günü", "cumaya", "CUMARTESİ", "pazar günü")


@settings(deadline=None)  # the first number of a country loads its plan
@given(_TEXTS, _NOWS, st.sampled_from(["TR", "GB", "US", "DE", "", "??"]))
@example("9" * 4000, NOW, "TR")
@example("²³½ ٣ İİ \ud800 \x00 10:99 32.13 0/0 #", NOW, "TR")
@example("in 9999 weeks 9999 ay sonra 9999 days from now", NOW, "TR")
def test_no_text_makes_it_fail_and_the_answer_is_always_the_same(text: str, now: datetime, country: str) -> None:
    for kind in ("", *KINDS):
        asked = read(text, now, kind, country)
        assert asked == read(text, now, kind, country)
        assert all(0 <= mention.start < mention.end <= len(text) for mention in mentions(asked).values())


def day_of(text: str, now: datetime) -> date:
    mention = read(text, now).date
    assert mention is not None
    return mention.value


@given(_NOWS, st.integers(0, 6), st.sampled_from(["{}", "önümüzdeki {}", "{} saat 3'te"]))
def test_a_bare_weekday_is_one_of_the_next_seven_days(now: datetime, weekday: int, form: str) -> None:
    day = day_of(form.format(_DAYS[weekday]), now)
    assert day.weekday() == weekday
    assert timedelta(0) < day - now.date() <= timedelta(7)


@given(_NOWS, st.integers(0, 6), st.sampled_from(["haftaya {}", "gelecek hafta {}"]))
def test_next_weekday_lies_in_the_next_calendar_week(now: datetime, weekday: int, form: str) -> None:
    assert day_of(form.format(_DAYS[weekday]), now) == now.date() - timedelta(now.weekday()) + timedelta(7 + weekday)


@given(_NOWS, st.integers(1, 31))
def test_the_number_of_a_day_is_never_in_the_past_and_never_today(now: datetime, number: int) -> None:
    day = day_of(f"ayın {number}'i uygun mu", now)
    assert day.day == number
    assert now.date() < day < now.date() + timedelta(63)


@given(_NOWS, st.dates(date(2023, 1, 1), date(2023, 12, 31)))
def test_day_and_month_is_the_next_one_today_included(now: datetime, named: date) -> None:
    day = day_of(f"{named.day:02}.{named.month:02} için", now)
    assert (day.day, day.month) == (named.day, named.month)
    assert now.date() <= day <= now.date() + timedelta(366)


@given(st.times().filter(lambda moment: moment.hour > 6 or moment.hour == 0))
def test_a_time_of_the_24_hour_clock_is_read_as_it_stands(moment: time) -> None:
    assert plain(read(f"yarın {moment:%H:%M} uygun mu").time) == f"{moment:%H:%M}"


# --- long texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["9" * 4_000, "yarın " * 700, "@" * 4_000, "0532 123 45 67 " * 270, "a'" * 2_000, "pazartesi salı " * 270, "1/1 " * 1_000, "x" * 4_000],
)
def test_of_a_long_message_only_the_two_ends_are_read(text: str) -> None:
    ends, _ = ends_of(text)
    assert len(ends) <= MAX_CHARACTERS + 1
    assert len(line_of(fold_with_offsets(ends)).tokens) <= MAX_TOKENS + 2
    middle = text[:1_500] + " Adım Ayşe, yarın 15:00, 0532 123 45 67 " + text[-1_500:]
    assert as_held(read(middle)) == as_held(read(text[:1_500] + " " * 40 + text[-1_500:]))


@pytest.mark.no_cover  # long texts, whose lines shorter ones run too
@settings(deadline=None)  # on a busy machine any of them may be slow
@given(st.text(alphabet="abc \n", min_size=1_500, max_size=3_000))
def test_what_stands_at_the_ends_of_a_long_message_is_found_where_it_stands(filler: str) -> None:
    text = f"Adım Ayşe Yılmaz, {filler} 0532 123 45 67 ayse@example.com"
    places = {kind: text[mention.start : mention.end] for kind, mention in mentions(read(text)).items()}
    assert places == {"name": "Ayşe Yılmaz", "phone": "0532 123 45 67", "email": "ayse@example.com"}


def test_a_long_message_is_read_at_once() -> None:
    for piece in ("a", "1 ", "12 aralık ", "from 4 to 6 December ", "Ali Veli ", "0532 111 22 33, ", "my name is ", "\n", "x'"):
        text = (piece * 20_000)[:20_000]
        for asked in ("", "name", "date"):
            assert within(0.05, partial(read, text, asked=asked)), (piece, asked)
