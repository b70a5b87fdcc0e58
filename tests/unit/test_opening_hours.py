"""Opening hours as a bot's settings have them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.opening_hours import DAYS, OpeningHoursError, by_day, normalize, of_days, parse, sentence
from tests.tables import rows

NINE_TO_SIX = (540, 1080)


@pytest.mark.parametrize(
    ("text", "week"),
    [
        ("mon-fri 09:00-18:00; sat 10:00-14:00", {**{day: [NINE_TO_SIX] for day in DAYS[:5]}, "sat": [(600, 840)]}),
        ("mon 13:00-18:00; mon 09:00-12:00", {"mon": [(540, 720), (780, 1080)]}),
        ("mon 09:00-12:00; mon 12:00-18:00", {"mon": [(540, 720), (720, 1080)]}),
        ("sat-mon 09:00-18:00", {day: [NINE_TO_SIX] for day in ("sat", "sun", "mon")}),
        ("tue-mon 09:00-18:00", {day: [NINE_TO_SIX] for day in DAYS}),
        ("mon-mon 09:00-18:00", {"mon": [NINE_TO_SIX]}),
        ("sun 00:00-24:00", {"sun": [(0, 1440)]}),
        (" Mon-TUE   09:00-18:00 ;;  ", {"mon": [NINE_TO_SIX], "tue": [NINE_TO_SIX]}),
    ],
)
def test_days_and_their_spans_are_read_in_order(text: str, week: dict[str, list[tuple[int, int]]]) -> None:
    assert parse(text) == week


@pytest.mark.parametrize(("text", "form", "fault"), rows("unit/opening_hours"))
def test_hours_as_people_write_them_are_brought_into_one_form_or_refused(text: str, form: str, fault: str) -> None:
    if fault:
        with pytest.raises(ValueError, match=fault):
            parse(text)
        return
    assert normalize(text) == form
    assert parse(form) == parse(text)


@given(
    st.text(alphabet="monfrisatwed -;,:.pı'İ0123456789٣", max_size=40),
    st.dictionaries(st.sampled_from(DAYS), st.text(alphabet="-;,:.pı'İ0123456789٣ kaplı", max_size=20)),
)
def test_no_text_gives_anything_but_a_week_or_a_refusal(text: str, hours: dict[str, str]) -> None:
    with suppress(ValueError):
        typed = of_days(hours)
        assert of_days(by_day(typed)) == typed
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
    hours = of_days(typed)
    assert hours == normalize("mon 9-12, 13-18:30; tue 9-17; fri 18:00-02:00; sat 18:00-24:00; sun 0:00-24:00")
    shown = by_day(hours)
    expected = ("09:00-12:00, 13:00-18:30", "09:00-17:00", "", "", "18:00-02:00", "18:00-24:00", "00:00-24:00")
    assert shown == dict(zip(DAYS, expected, strict=True))
    assert of_days(shown) == hours
    assert (of_days({}), of_days({"mon": " ", "tue": "closed"}), by_day("")) == ("", "", dict.fromkeys(DAYS, ""))


def test_all_days_that_cannot_be_read_are_told_at_once() -> None:
    with pytest.raises(OpeningHoursError) as caught:
        of_days({"mon": "9-12", "tue": "9-", "thu": "fri 9-12", "sat": "18:00-09:00"})
    assert caught.value.facts == {"days": "tue, thu, sat"}
    assert "the hours of Tuesday, Thursday, Saturday like" in sentence(caught.value.code, caught.value.facts)
    assert sentence(caught.value.code, caught.value.facts, "tr").startswith("salı, perşembe, cumartesi için")
