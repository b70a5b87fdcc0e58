"""Layout of the calendar: rows, lanes, opening hours and appointments that are too many at once."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from chatsvc.dashboard.calendar_grid import Grid, lay_out
from chatsvc.domain.captures import Appointment, InboxItem, Request
from chatsvc.domain.models import Bot

BOT = Bot("b", "a", "Salon", None, "offline", True, 0, 0, 0, timezone="Europe/Istanbul")
ZONE = ZoneInfo("Europe/Istanbul")
DAY = date(2026, 11, 27)
HOURS = "Mon-Fri 09:00-12:00, 13:00-18:00"
OPEN = BOT._replace(opening_hours=HOURS)


def appointment(clock: str, name: str = "", day: date = DAY) -> InboxItem:
    hour, minute = map(int, clock.split(":"))
    begins_at = int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=ZONE).timestamp() * 1000)
    request = Request("r", "appointment", "new", "", name, None, None, "", 0)
    return InboxItem(request, Appointment(f"{name}{clock}", request, "pending", str(day), clock, begins_at, 0), BOT.id, "c", "api", ())


def grid(*clocks: str, bot: Bot = OPEN) -> Grid:
    return lay_out([DAY], [bot], [appointment(clock) for clock in clocks], ZONE, None)


def test_an_appointment_takes_as_many_rows_as_it_is_long() -> None:
    laid = grid("10:00", bot=OPEN._replace(appointment_minutes=90))
    assert (laid.per_hour, [row.clock for row in laid.rows][::2]) == (2, [f"{hour:02}:00" for hour in range(9, 18)])
    ((cell,),) = [[cell for cell in row.cells if cell.block] for row in laid.rows if any(cell.block for cell in row.cells)]
    assert (cell.rows, sum(len(row.cells) for row in laid.rows)) == (3, 18 - 2)


def test_hours_outside_the_opening_hours_are_closed_and_appointments_stand_there_all_the_same() -> None:
    laid = grid("07:30", "18:00")
    closed = {f"{cell.begin:%H:%M}" for row in laid.rows for cell in row.cells if not cell.is_open}
    assert closed == {"07:00", "07:30", "08:00", "08:30", "12:00", "12:30", "18:00", "18:30"}
    sunday = lay_out([date(2026, 11, 29)], [OPEN], [], ZONE, None)
    assert not any(cell.is_open for row in sunday.rows for cell in row.cells)


def test_without_hours_every_time_is_open_and_the_usual_day_is_shown() -> None:
    laid = grid(bot=BOT._replace(opening_hours=None))
    assert (laid.rows[0].clock, len(laid.rows)) == ("08:00", 22)
    assert all(cell.is_open for row in laid.rows for cell in row.cells)


@pytest.mark.parametrize(
    ("clocks", "at_once", "lanes", "over"),
    [
        (("10:00", "10:30"), 1, 1, 0),
        (("10:00", "10:15"), 1, 2, 2),
        (("10:00", "10:15"), 2, 2, 0),
        (("10:00", "10:00", "10:15", "11:00"), 2, 3, 3),
    ],
)
def test_appointments_at_the_same_time_stand_beside_each_other(clocks: tuple[str, ...], at_once: int, lanes: int, over: int) -> None:
    laid = grid(*clocks, bot=OPEN._replace(appointments_at_once=at_once))
    assert (len(laid.columns[0].lanes), len(laid.over)) == (lanes, over)


def test_a_day_has_a_column_for_each_person_and_one_for_nobody() -> None:
    appointments = [appointment("10:00", "Ada"), appointment("10:00"), appointment("11:00", "Ada")]
    laid = lay_out([DAY], [BOT], appointments, ZONE, lambda row: row.request.visitor_name or "")
    assert [(column.person, sum(map(len, column.lanes))) for column in laid.columns] == [("Ada", 2), ("", 1)]


def test_hours_of_a_bot_elsewhere_are_shown_in_the_zone_of_the_page() -> None:
    laid = grid(bot=BOT._replace(opening_hours="Mon-Fri 09:00-12:00", timezone="Europe/London"))
    assert (laid.rows[0].clock, len(laid.rows)) == ("12:00", 6)
