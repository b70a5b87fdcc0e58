"""Conversions between instants (milliseconds since the epoch, UTC) and the formats of help/interface.md 5."""

import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day

from chatsvc.timezones import zone

MINUTE_MS, DAY_MS = 60_000, 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now_ms() -> int:
    """Return the current time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def utc(instant: int) -> datetime:
    """Return an instant as a datetime in UTC; raises OverflowError past the year 9999."""
    return _EPOCH + timedelta(milliseconds=instant)


def without_fraction(instant: int) -> str:
    """Format an instant as in a chatbot (help/interface.md 5.1): `2026-11-20T15:14:28Z`."""
    return utc(instant).isoformat(timespec="seconds")[:19] + "Z"


def with_millis(instant: int) -> str:
    """Format an instant as in a message exchange (help/interface.md 5.3): `2026-11-20T15:14:28.123Z`."""
    return utc(instant).isoformat(timespec="milliseconds")[:23] + "Z"


def without_zone(instant: int) -> str:
    """Format an instant as in a conversation (help/interface.md 5.4): `2026-11-20T15:14:28.123`, UTC."""
    return utc(instant).isoformat(timespec="milliseconds")[:23]


def day(instant: int) -> str:
    """Format the day of an instant in UTC: `2026-11-20`."""
    return utc(instant).isoformat()[:10]


def month(instant: int) -> str:
    """Format the month of an instant in UTC, to which a message is charged: `2026-11`."""
    return utc(instant).isoformat()[:7]


def start_of_day(instant: int) -> int:
    """Return 00:00:00.000 UTC of the instant's day."""
    return instant - instant % DAY_MS


def parse_utc(text: str) -> int:
    """Parse an ISO 8601 date or date and time, in UTC if it has no zone. Raises ValueError, and OverflowError past the year 9999."""
    moment = datetime.fromisoformat(text.strip())
    # Moved to UTC before it is counted: what the calendar has no date for could be kept, but never written again.
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def existing(local: datetime, zone_of_it: tzinfo) -> datetime:
    """Return a local time, moved forward if the clocks skip it. `zone_of_it` is the time zone; the times are naive."""
    return local.replace(tzinfo=zone_of_it).astimezone(UTC).astimezone(zone_of_it).replace(tzinfo=None)


def local(instant: int, zone_name: str) -> datetime:
    """Return the naive local time of an instant in a time zone, or in UTC if the zone is unknown."""
    return datetime.fromtimestamp(instant / 1000, zone(zone_name) or UTC).replace(tzinfo=None)


def start_of_local_day(instant: int, zone_name: str) -> int:
    """Return the instant at which the day of an instant began in a time zone. If the zone is unknown, use UTC."""
    moment = datetime.fromtimestamp(instant / 1000, zone(zone_name) or UTC)
    return int(moment.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)


def local_day(instant: int, zone_name: str) -> int:
    """Return the day of an instant in a time zone, as 00:00:00.000 UTC of the same date."""
    return (local(instant, zone_name).toordinal() - _EPOCH.toordinal()) * DAY_MS


MONTHS = {
    "en": ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
    "tr": ["Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"],
}
DAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "tr": ["Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi", "Pazar"],
}


def in_words(day: date, clock: time_of_day | None, language: str) -> str:
    """Format a local date and time for a person: `Tue 1 December 2026, 09:30`, `1 Aralık 2026 Salı, 09.30`. English is the default."""
    if language == "tr":
        shown = f"{day.day} {MONTHS['tr'][day.month - 1]} {day.year} {DAYS['tr'][day.weekday()]}"
        return f"{shown}, {clock:%H.%M}" if clock else shown
    shown = f"{DAYS['en'][day.weekday()][:3]} {day.day} {MONTHS['en'][day.month - 1]} {day.year}"
    return f"{shown}, {clock:%H:%M}" if clock else shown
