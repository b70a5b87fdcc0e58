"""Opening hours as a bot's settings have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.opening_hours import DAYS, parse

NINE_TO_SIX = (540, 1080)


def test_a_span_of_days_and_a_single_day_are_read() -> None:
    week = parse("mon-fri 09:00-18:00; sat 10:00-14:00")
    assert week == {**{day: [NINE_TO_SIX] for day in DAYS[:5]}, "sat": [(600, 840)]}


def test_a_day_may_have_a_break_and_its_spans_come_in_order() -> None:
    assert parse("mon 13:00-18:00; mon 09:00-12:00") == {"mon": [(540, 720), (780, 1080)]}
    assert parse("mon 09:00-12:00; mon 12:00-18:00") == {"mon": [(540, 720), (720, 1080)]}


def test_a_span_of_days_may_go_over_the_end_of_the_week() -> None:
    assert set(parse("sat-mon 09:00-18:00")) == {"sat", "sun", "mon"}
    assert set(parse("tue-mon 09:00-18:00")) == set(DAYS)
    assert set(parse("mon-mon 09:00-18:00")) == {"mon"}


def test_a_day_may_last_from_midnight_to_midnight() -> None:
    assert parse("sun 00:00-24:00") == {"sun": [(0, 1440)]}


def test_capitals_spaces_and_a_last_semicolon_do_not_matter() -> None:
    assert parse(" Mon-FRI   09:00-18:00 ;;  ") == parse("mon-fri 09:00-18:00")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no opening hours"),
        (" ; ", "no opening hours"),
        ("mon", "not of the form"),
        ("09:00-18:00", "not of the form"),
        ("mon 9:00-18:00", "not of the form"),
        ("mon 09:00 - 18:00", "not of the form"),
        ("mon, tue 09:00-18:00", "not of the form"),
        ("mon 09:00-18:00, tue 09:00-18:00", "not of the form"),
        ("mon ٠٩:٠٠-١٨:٠٠", "not of the form"),
        ("pzt 09:00-18:00", "names a day other than"),
        ("mon-fry 09:00-18:00", "names a day other than"),
        ("mon 18:00-09:00", "closes before it opens"),
        ("mon 09:00-09:00", "closes before it opens"),
        ("mon 09:60-18:00", "no time of day"),
        ("mon 09:00-25:00", "no time of day"),
        ("mon 09:00-24:01", "no time of day"),
        ("mon 09:00-13:00; mon 12:00-18:00", "the hours of mon overlap"),
        ("mon-wed 09:00-13:00; tue 12:59-18:00", "the hours of tue overlap"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


@given(st.text(alphabet="monfrisatwed -;:0123456789٣", max_size=40))
def test_no_text_gives_anything_but_a_week_or_a_refusal(text: str) -> None:
    try:
        week = parse(text)
    except ValueError:
        return
    for day, spans in week.items():
        assert day in DAYS
        assert spans == sorted(spans)
        for opens, closes in spans:
            assert 0 <= opens < closes <= 1440
