"""Instants and the four ways in which they are written."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatsvc import timezones
from chatsvc.domain import times
from tests.tables import rows

instants = st.integers(0, 253_402_300_799_999)  # up to the end of the year 9999


@example(1_796_083_200_000)  # midnight before the first of a month
@given(instants)
def test_every_format_says_the_same_instant(instant: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)
    assert times.with_millis(instant) == moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert times.without_fraction(instant) == moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    assert times.without_zone(instant) == moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    assert times.day(instant) == moment.date().isoformat()
    assert times.month(instant) == moment.date().isoformat()[:7]
    assert times.with_millis(times.start_of_day(instant)) == f"{moment.date().isoformat()}T00:00:00.000Z"
    assert times.parse_utc(times.with_millis(instant)) == times.parse_utc(times.without_zone(instant)) == instant
    assert times.parse_utc(times.day(instant)) == times.start_of_day(instant)


@pytest.mark.parametrize(("text", "same"), rows("unit/times"))
def test_a_date_or_a_date_and_time_is_utc_unless_it_says_otherwise(text: str, same: str) -> None:
    assert times.with_millis(times.parse_utc(text)) == same


NO_DATES = ["", "tomorrow", "31.01.2027", "2027-02-29", "2027-13-01", "2027-01-31T25:00", "18:00", "1795176868"]


@pytest.mark.parametrize("text", [*NO_DATES, "9999-12-31T23:59:59-01:00", "0001-01-01T00:00+01:00"])
def test_what_is_no_date_or_none_that_could_be_shown_in_utc_is_refused(text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        times.parse_utc(text)


ZONES = {
    "an older one of the system": ("# version 2020a\n", 1),
    "one that names no version": ("something else\n", 1),
    "a newer one of the system": ("# version 9999a\n", 0),
}


@pytest.mark.parametrize(("first", "switches"), ZONES.values(), ids=ZONES)
def test_the_newer_time_zones_are_used(first: str, switches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Europe").mkdir()
    (tmp_path / "tzdata.zi").write_text(first)
    monkeypatch.setattr(zoneinfo, "TZPATH", (str(tmp_path),))
    used = list[tuple[str, ...]]()
    monkeypatch.setattr(zoneinfo, "reset_tzpath", lambda **to: used.append(to["to"]))
    timezones.use_newest_zones.cache_clear()
    older = timezones.use_newest_zones()
    assert (older is not None, len(used)) == (bool(switches), switches)
    timezones.use_newest_zones.cache_clear()


def test_an_hour_that_the_clocks_skip_is_moved_on_by_the_rules_of_this_year() -> None:
    timezones.use_newest_zones()
    vancouver = datetime(2026, 12, 10, 17, tzinfo=timezones.zone("America/Vancouver"))
    assert vancouver.utcoffset() == timedelta(hours=-7)
    london = timezones.zone("Europe/London")
    assert london is not None
    assert times.existing(datetime(2027, 3, 28, 1, 30), london) == datetime(2027, 3, 28, 2, 30)  # noqa: DTZ001  # wall clocks
    assert times.existing(datetime(2027, 3, 28, 2, 30), london) == datetime(2027, 3, 28, 2, 30)  # noqa: DTZ001
