"""Opening hours as a bot's settings have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.opening_hours import DAYS, OpeningHoursError, by_day, normalize, of_days, parse, sentence

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
    ("text", "form"),
    [
        ("Mon-Fri 9-18", "mon-fri 09:00-18:00"),
        ("Pzt-Cum 09.00-18.00", "mon-fri 09:00-18:00"),
        ("Pazartesi-Cuma 9:00-18:00, Cumartesi 10-14", "mon-fri 09:00-18:00; sat 10:00-14:00"),
        ("PAZARTESİ - CUMA: 9 – 18", "mon-fri 09:00-18:00"),
        ("Pazartesi'den Cuma'ya 9'dan 18'e kadar", "mon-fri 09:00-18:00"),
        ("Monday to Friday from 9 a.m. to 6 p.m.", "mon-fri 09:00-18:00"),
        ("her gün 9-22", "mon-sun 09:00-22:00"),
        ("daily 9am-6pm", "mon-sun 09:00-18:00"),
        ("her gün 9-22, Pazar kapalı", "mon-sat 09:00-22:00"),
        ("daily 9-22; Sunday 10-18", "mon-sat 09:00-22:00; sun 10:00-18:00"),
        ("Salı-Pazar 10:00-23:00 (Pazartesi kapalı)", "tue-sun 10:00-23:00"),
        ("hafta içi 9-12 ve 13-18", "mon-fri 09:00-12:00; mon-fri 13:00-18:00"),
        ("Mo-Fr 8:00-12:00, 13:00-17:00", "mon-fri 08:00-12:00; mon-fri 13:00-17:00"),
        ("Mon, Wed & Fri 9:30-17:30", "mon 09:30-17:30; wed 09:30-17:30; fri 09:30-17:30"),
        ("weekends 10-4", "sat-sun 10:00-16:00"),
        ("mon 9-6", "mon 09:00-18:00"),
        ("mon 1-6pm", "mon 13:00-18:00"),
        ("mon 9-6pm", "mon 09:00-18:00"),
        ("mon 12am-12pm", "mon 00:00-12:00"),
        ("Fri 20:00-02:00", "fri 20:00-24:00; sat 00:00-02:00"),
        ("24/7", "mon-sun 00:00-24:00"),
        ("Mon 24 saat", "mon 00:00-24:00"),
        ("cumartesi günleri 10-14", "sat 10:00-14:00"),
    ],
)
def test_hours_as_people_write_them_are_brought_into_one_form(text: str, form: str) -> None:
    assert normalize(text) == form
    assert parse(form) == parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no opening hours"),
        (" ; ", "no opening hours"),
        ("Pazar kapalı", "no opening hours"),
        ("mon", "'mon' has no hours; write days and hours, such as"),
        ("mon 9", "'9' has no closing time; write"),
        ("mon 9-", "'9' has no closing time; write"),
        ("09:00-18:00", "'09:00' stands where a day is expected; write"),
        ("mon tue- 9-18", "'-' has no hours|'tue' has no hours|where a day"),
        ("mon ٠٩:٠٠-١٨:٠٠", "cannot be read; write"),
        ("pzz 09:00-18:00", "'pzz' is no day; write"),
        ("mon-fry 09:00-18:00", "'fry' is no day; write"),
        ("mon 18:00-09:00", "18:00-09:00 closes before it opens"),
        ("mon 09:00-09:00", "closes before it opens"),
        ("mon 09:60-18:00", "09:60 is no time of day"),
        ("mon 09:00-25:00", "no time of day"),
        ("mon 13pm-14pm", "no time of day"),
        ("mon 09:00-24:01", "no time of day"),
        ("mon 09:00-13:00; mon 12:00-18:00", "the hours of mon overlap"),
        ("mon-wed 09:00-13:00; tue 12:59-18:00", "the hours of tue overlap"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_expected(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


@given(st.text(alphabet="monfrisatwed -;,:.pı'İ0123456789٣", max_size=40))
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
    assert parse(normalize(text)) == week


def test_the_hours_of_single_days_make_a_week_and_come_back_day_by_day() -> None:
    typed = {"mon": "9-12, 13-18.30", "tue": "9:00–17", "wed": "kapalı", "fri": "18:00-02:00", "sat": "18:00-24:00", "sun": "24 saat"}
    kept = of_days(typed)
    assert kept == normalize("mon 9-12, 13-18:30; tue 9-17; fri 18:00-02:00; sat 18:00-24:00; sun 0:00-24:00")
    shown = by_day(kept)
    assert shown == {
        "mon": "09:00-12:00, 13:00-18:30",
        "tue": "09:00-17:00",
        "wed": "",
        "thu": "",
        "fri": "18:00-02:00",
        "sat": "18:00-24:00",
        "sun": "00:00-24:00",
    }
    assert of_days(shown) == kept
    assert (of_days({}), of_days({"mon": " ", "tue": "closed"}), by_day("")) == ("", "", dict.fromkeys(DAYS, ""))


def test_all_days_that_cannot_be_read_are_told_at_once() -> None:
    with pytest.raises(OpeningHoursError) as caught:
        of_days({"mon": "9-12", "tue": "9-", "thu": "fri 9-12", "sat": "18:00-09:00"})
    assert caught.value.facts == {"days": "tue, thu, sat"}
    assert "the hours of Tuesday, Thursday, Saturday like" in sentence(caught.value.code, caught.value.facts)
    assert sentence(caught.value.code, caught.value.facts, "tr").startswith("salı, perşembe, cumartesi için")


@given(st.dictionaries(st.sampled_from(DAYS), st.text(alphabet="-;,:.pı'İ0123456789٣ kaplı", max_size=20)))
def test_hours_of_days_are_a_week_that_comes_back_or_a_refusal(hours: dict[str, str]) -> None:
    try:
        kept = of_days(hours)
    except ValueError:
        return
    assert of_days(by_day(kept)) == kept
