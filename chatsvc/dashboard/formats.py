"""Numbers, amounts, dates and times as each language writes them."""

from datetime import UTC, datetime
from datetime import date as calendar_date

from chatsvc import timezones
from chatsvc.domain.times import DAYS, MONTHS

CENT = 10_000  # micro-dollars
_TURKISH = str.maketrans(",.", ".,")


def number(value: float, language: str, digits: int = 0) -> str:
    """Write a number: `1.234,50` in Turkish, `1,234.50` in English."""
    shown = f"{value:,.{digits}f}"
    return shown.translate(_TURKISH) if language == "tr" else shown


def percent(share: float, language: str, digits: int = 0) -> str:
    """Write a fraction as a percentage: 0.45 is `%45` in Turkish and `45%` in English."""
    shown = number(share * 100, language, digits)
    return f"%{shown}" if language == "tr" else f"{shown}%"


def money(micro_usd: int, language: str) -> str:
    """Write an amount of dollars with two digits, or with more digits if it is less than ten cents: `$12.30`, `$0.0042`."""
    digits = 2 if micro_usd == 0 or abs(micro_usd) >= 10 * CENT else 4 if abs(micro_usd) >= CENT // 100 else 6
    return f"${number(micro_usd / 1_000_000, language, digits)}"


def size(count: int, language: str) -> str:
    amount, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):  # the last one counts
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{number(amount, language, 0 if unit == 'B' or amount >= 100 else 1)} {unit}"


def moment(instant: int, zone: str) -> datetime:
    """Convert an instant (Unix milliseconds) to the local time of a zone."""
    return datetime.fromtimestamp(instant / 1000, UTC).astimezone(timezones.zone(zone) or UTC)


def date(instant: int, language: str, zone: str = "UTC") -> str:
    """Write a date: `22 Kasım 2026`, `22 November 2026`."""
    return day(moment(instant, zone), language)


def day(local: calendar_date, language: str) -> str:
    return f"{local.day} {MONTHS[language][local.month - 1]} {local.year}"


def days(first: calendar_date, last: calendar_date, language: str) -> str:
    """Write a span of days: `22 Kasım 2026`, `22 Kasım 2026 – 3 Ocak 2027`."""
    return day(first, language) if first == last else f"{day(first, language)} – {day(last, language)}"


def weekday(instant: int, language: str, zone: str = "UTC") -> str:
    return DAYS[language][moment(instant, zone).weekday()]


def clock(instant: int, zone: str = "UTC") -> str:
    """Write the time of day: `14:05`."""
    return f"{moment(instant, zone):%H:%M}"


def date_and_time(instant: int, language: str, zone: str = "UTC") -> str:
    """Write date and time: `22 Kasım 2026 14:05`."""
    return f"{date(instant, language, zone)} {clock(instant, zone)}"


def short_date(instant: int, now: int, language: str, zone: str = "UTC") -> str:
    """Write day and month, and the year if it is not the present one: `22 Kas`, `22 Nov 2025`."""
    local = moment(instant, zone)
    year = f" {local.year}" if local.year != moment(now, zone).year else ""
    return f"{local.day} {MONTHS[language][local.month - 1][:3]}{year}"


def days_ago(instant: int, now: int, zone: str = "UTC") -> int:
    """Return how many midnights of a zone have passed since an instant: 0 for today, 1 for yesterday."""
    return (moment(now, zone).date() - moment(instant, zone).date()).days
