"""Layout of appointments as a calendar. Each day or person has a column, and each half or quarter of an hour a row."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from chatsvc import timezones
from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import Bot

DAY_MINUTES = 24 * 60
_USUAL = (8 * 60, 19 * 60)  # shown of a day on which the business is always open


class Block(NamedTuple):
    """An appointment with its local begin and end. Counted from midnight, `first` is its first row, `behind` the row after its last row.

    `is_over` is true if, during this appointment, the bot has more appointments at the same time than it accepts.
    """

    item: InboxItem
    begin: datetime
    end: datetime
    first: int
    behind: int
    is_over: bool


class CalendarCell(NamedTuple):
    """A cell of a calendar. It shows the appointment of `block` over `rows` rows, or a free time. `is_open` is true in opening hours."""

    begin: datetime
    rows: int = 1
    block: Block | None = None
    is_open: bool = True


class Column(NamedTuple):
    """A column of a calendar, for a day or for one person on a day. Overlapping appointments are in separate lanes, side by side."""

    day: date
    person: str
    open: list[tuple[int, int]]
    lanes: list[list[Block]]


class Row(NamedTuple):
    """A row of a calendar. `clock` is the time of day if an hour begins in this row, otherwise None."""

    clock: str | None
    cells: list[CalendarCell]


class Grid(NamedTuple):
    """A calendar as a table. `per_hour` is the number of rows for an hour. `over` are the blocks whose `is_over` is true."""

    columns: list[Column]
    rows: list[Row]
    per_hour: int
    over: list[Block]


def lay_out(
    days: Sequence[date],
    bots: Iterable[Bot],
    items: Sequence[InboxItem],
    zone: ZoneInfo,
    person_of: Callable[[InboxItem], str] | None,
) -> Grid:
    """Lay out appointments in a calendar with a column for each day. With `person_of`, each person that it returns has one on each day."""
    known = {bot.id: bot for bot in bots}
    starts = [(item, datetime.fromtimestamp(item.appointment.begins_at / 1000, zone)) for item in items if item.appointment]
    is_exact = any(bot.appointment_minutes % 30 for bot in known.values()) or any(start.minute % 30 for _, start in starts)
    step = 15 if is_exact else 30
    persons = sorted({person_of(item) for item in items}, key=lambda name: (not name, name)) if person_of else []
    columns: dict[tuple[date, str], Column] = {}
    for day in days:
        hours = _open(day, known.values(), zone)
        columns |= {(day, person): Column(day, person, hours, []) for person in persons or [""]}
    for item, begin in sorted(starts, key=lambda start: start[1]):
        column = columns.get((begin.date(), person_of(item) if person_of else ""))
        if column is not None:
            block = _block(item, known.get(item.bot_id), begin, [start for other, start in starts if other.bot_id == item.bot_id], step)
            lane = next((lane for lane in column.lanes if lane[-1].behind <= block.first), [])
            if not lane:
                column.lanes.append(lane)
            lane.append(block)
    shown = list(columns.values())
    blocks = [block for column in shown for lane in column.lanes for block in lane]
    return Grid(shown, _table(shown, blocks, step, zone), 60 // step, [block for block in blocks if block.is_over])


def _block(item: InboxItem, bot: Bot | None, begin: datetime, starts: Sequence[datetime], step: int) -> Block:
    """Make the block of an appointment. `starts` are the beginnings of all appointments of the same bot, `step` the minutes of a row."""
    minutes = bot.appointment_minutes if bot else 30
    # Instants, since clocks may be set back meanwhile.
    instant, length_s = begin.timestamp(), minutes * 60
    beside = [start.timestamp() for start in starts if abs(start.timestamp() - instant) < length_s]
    most = max(sum(start <= moment < start + length_s for start in beside) for moment in beside if moment >= instant)
    minute = begin.hour * 60 + begin.minute
    first = minute // step
    behind = max(first + 1, min(-(-(minute + minutes) // step), DAY_MINUTES // step))
    return Block(item, begin, begin + timedelta(minutes=minutes), first, behind, most > (bot.appointments_at_once if bot else 1))


def _open(day: date, bots: Iterable[Bot], zone: ZoneInfo) -> list[tuple[int, int]]:
    """Return the spans (in minutes since midnight) in which any of the bots is open on a day. A bot without hours is always open."""
    spans = []
    for bot in bots:
        try:
            week = opening_hours.parse(bot.opening_hours) if bot.opening_hours else None
        except ValueError:
            week = None
        if week is None:
            return [(0, DAY_MINUTES)]
        own, closed = timezones.zone(bot.timezone) or UTC, profiles.load(bot.profile)
        midnight = datetime.combine(day, time(), zone)
        for local in (day - timedelta(days=1), day, day + timedelta(days=1)):
            for opens, closes in [] if closed.is_closed(local) else week.get(opening_hours.DAYS[local.weekday()], []):
                begin = datetime.combine(local, time(), own) + timedelta(minutes=opens)
                minute = int((begin - midnight).total_seconds() / 60)
                spans.append((max(0, minute), min(DAY_MINUTES, minute + closes - opens)))
    return sorted(span for span in spans if span[0] < span[1])


def _table(columns: list[Column], blocks: list[Block], step: int, zone: ZoneInfo) -> list[Row]:
    spans = [span for column in columns for span in column.open]
    if all(span == (0, DAY_MINUTES) for span in spans):
        spans = [_USUAL]
    hour = 60 // step
    first = min([opens // 60 * hour for opens, _ in spans] + [block.first // hour * hour for block in blocks])
    last = max([-(-closes // 60) * hour for _, closes in spans] + [-(-block.behind // hour) * hour for block in blocks])
    rows = [Row(f"{row // hour:02}:00" if row % hour == 0 else None, []) for row in range(first, last)]
    for column in columns:
        for lane in column.lanes or [[]]:
            taken = {block.first: block for block in lane}
            row = first
            while row < last:
                block, minute = taken.get(row), row * step
                begin = datetime.combine(column.day, time(minute // 60, minute % 60), zone)
                height = block.behind - row if block else 1
                is_open = any(opens <= minute < closes for opens, closes in column.open)
                rows[row - first].cells.append(CalendarCell(begin, height, block, is_open))
                row += height
    return rows
