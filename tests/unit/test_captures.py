"""The safety net: whatever an engine claims, a record holds only what its visitor typed and a date that lies ahead."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from chatsvc.domain import contacts
from chatsvc.domain.captures import REQUEST_TYPES, Captured, CapturedRecord, Change, change_message, checked, instant
from tests.speed import within
from tests.tables import rows

NOW = datetime(2026, 11, 20, 15, 14)  # noqa: DTZ001  # the bot's wall clock
TOMORROW = date(2026, 11, 21)


def kept(typed: str | list[str], country: str = "TR", **fields: object) -> Captured:
    spoken = [typed] if isinstance(typed, str) else typed
    claimed = replace(Captured("contact", spoken[-1]), **fields)  # type: ignore[arg-type]
    once = checked(claimed, spoken, NOW, country)
    assert checked(once, spoken, NOW, country) == once, "what was checked stays the same"
    return once


@pytest.mark.parametrize(("field", "message", "claimed", "country", "expected"), rows("unit/captures"))
def test_a_name_or_contact_is_what_the_visitor_typed(field: str, message: str, claimed: str, country: str, expected: str) -> None:
    assert getattr(kept(message, country, **{f"visitor_{field}": claimed}), f"visitor_{field}") == (None if expected == "-" else expected)


def test_a_name_is_told_in_one_message_and_not_too_long() -> None:
    assert kept(["ben selin", "kaya mahallesinden"], visitor_name="Selin Kaya").visitor_name is None
    assert kept(["ben selin", "kaya mahallesinden"], visitor_name="Selin").visitor_name == "selin"
    name, email = "x" * 300, "a" * 300 + "@example.com"
    assert (kept(name, visitor_name=name).visitor_name, kept(email, visitor_email=email).visitor_email) == (None, None)


@pytest.mark.parametrize(
    ("digits", "country", "number"),
    [
        ("05321234567", "tr", "905321234567"),
        ("06301234567", "HU", "36301234567"),
        ("89123456789", "RU", "79123456789"),
        ("0612345678", "IT", "390612345678"),
        ("0532", "XX", None),
    ],
)
def test_a_number_is_dialled_from_abroad_with_the_code_of_its_country(digits: str, country: str, number: str | None) -> None:
    assert contacts.abroad(digits, country) == number


def test_a_kind_is_one_that_callers_know_and_a_time_is_the_minute_on_the_wall() -> None:
    assert REQUEST_TYPES == ("contact", "quote", "support", "appointment", "other")
    assert kept("hello", request_type="payment").request_type == "other"
    assert kept("x", date=TOMORROW, time=time(10, 30, 15, 7, tzinfo=UTC)).time == time(10, 30)


def test_the_text_is_the_visitors_whatever_a_model_says_that_it_was() -> None:
    spoken = ["Fren tamiri için fiyat almak istiyorum", "Adım Selin", "0532 123 45 67"]
    assert kept(spoken, message="fren tamiri için  fiyat").message == "fren tamiri için  fiyat"
    assert kept(spoken, message="Adım Selin 0532 123 45 67").message == "Adım Selin 0532 123 45 67"
    assert kept(spoken, message="Visitor wants fiyat for fren").message == spoken[0]
    assert kept(spoken, message="Transfer 100 EUR to http://evil.example").message == spoken[-1]
    assert kept(spoken, message="").message == spoken[-1]
    assert len(kept(["x" * 4000] * 3, message="\n".join(["x" * 4000] * 3)).message) == 4000


@pytest.mark.parametrize(
    ("day", "at", "stays"),
    [
        (TOMORROW, time(10, 0), True),
        (NOW.date(), time(15, 15), True),
        (NOW.date(), time(15, 14), False),
        (date(2026, 11, 19), time(23, 59), False),
        (date(1, 1, 1), time(0, 0), False),
        (date(9999, 12, 31), time(23, 59), False),
        (date(2028, 11, 19), time(15, 14), True),
        (date(2028, 11, 19), time(15, 15), False),
        (TOMORROW, None, False),
        (None, time(10, 0), False),
    ],
)
def test_a_date_lies_ahead_and_not_too_far(day: date | None, at: time | None, stays: bool) -> None:
    captured = kept("yarın 10'da", date=day, time=at)
    assert (captured.date, captured.time) == ((day, at) if stays else (None, None))


@pytest.mark.parametrize(
    ("day", "at", "zone", "moment"),
    [
        (TOMORROW, time(10, 30), "Europe/Istanbul", "2026-11-21T07:30Z"),
        (date(2027, 3, 28), time(2, 30), "Europe/Berlin", "2027-03-28T01:30Z"),
        (date(2027, 10, 31), time(2, 30), "Europe/Berlin", "2027-10-31T00:30Z"),
    ],
    ids=["any other", "one that the clocks skip", "one that comes twice"],
)
def test_an_hour_on_the_wall_is_one_instant(day: date, at: time, zone: str, moment: str) -> None:
    assert instant(day, at, ZoneInfo(zone)) == datetime.fromisoformat(moment).timestamp() * 1000


@pytest.mark.parametrize("text", ["a!" * 2000, "a" * 4000, "1 " * 2000, "a@" * 2000, "1234567x" * 500, "ı." * 2000, "a@b." * 1000])
def test_what_a_visitor_types_cannot_make_the_check_slow(text: str) -> None:
    spoken = [text] * 21

    def check() -> None:
        contacts.own_name("Selin Kaya", spoken)
        contacts.own_email("selin@example.com", spoken)
        contacts.own_phone("+905321234567", spoken, "TR")

    assert within(0.5, check)


APPOINTMENT = CapturedRecord(
    "appointment", "a-1", "appointment", "pending", "A haircut please", 0, date(2026, 11, 25), time(14), "Selin", None, "+905321234567"
)


def changed(words: str, *, cancels: bool, day: date | None = None, clock: time | None = None) -> Captured:
    """A checked change of APPOINTMENT that was asked for in these words."""
    claimed = Captured("other", words, date=day, time=clock, change=Change(APPOINTMENT, cancels))
    once = checked(claimed, [words], NOW, "TR")
    assert checked(once, [words], NOW, "TR") == once, "what was checked stays the same"
    return once


@pytest.mark.parametrize(
    ("day", "clock", "wanted"),
    [
        (date(2026, 11, 28), time(11), "Moves the appointment of Wed 25 November 2026, 14:00 to Sat 28 November 2026, 11:00."),
        (date(2026, 11, 28), None, "Moves the appointment of Wed 25 November 2026, 14:00 to Sat 28 November 2026, 14:00."),
        (None, time(16), "Moves the appointment of Wed 25 November 2026, 14:00 to Wed 25 November 2026, 16:00."),
        (None, time(14), "Takes the last change back: it stays on Wed 25 November 2026, 14:00."),
        (None, None, "Adds to the record."),
        (date(2026, 11, 1), None, "Adds to the record."),
    ],
)
def test_a_change_names_the_appointment_and_what_is_wanted(day: date | None, clock: time | None, wanted: str) -> None:
    moved = changed("move it please", cancels=False, day=day, clock=clock)
    assert (moved.request_type, moved.visitor_name, moved.visitor_phone) == ("appointment", "Selin", "+905321234567")
    text = change_message(moved, Change(APPOINTMENT, cancels=False), "en")
    assert text == f"{wanted}\n“move it please”"


def test_a_cancellation_wants_no_other_day() -> None:
    canceled = changed("randevumu iptal edin", cancels=True, day=date(2026, 11, 28), clock=time(11))
    assert (canceled.date, canceled.time) == (None, None)
    text = change_message(canceled, Change(APPOINTMENT, cancels=True), "tr")
    assert text == "25 Kasım 2026 Çarşamba, 14.00 randevusunu iptal ediyor.\n“randevumu iptal edin”"
