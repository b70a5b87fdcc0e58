"""Texts of pages, from `translations/`. Also numbers, amounts, dates and times as each language writes them.

The module also finds the preferred language and the name of a browser in the headers of a request.
"""

import re
from datetime import UTC, datetime
from datetime import date as calendar_date
from functools import lru_cache

from chatsvc import timezones, translations
from chatsvc.domain.folding import fold
from chatsvc.domain.operators import LANGUAGES
from chatsvc.domain.times import DAYS, MONTHS

_ISOLATE_ENDS, _OTHER_ENDS = "\u2069", "\u202c"
# Embeddings, overrides and isolates of the writing direction, each with the character that ends it.
_ENDS = dict.fromkeys("\u202a\u202b\u202d\u202e", _OTHER_ENDS) | dict.fromkeys("\u2066\u2067\u2068", _ISOLATE_ENDS)
_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def text(language: str, key: str, /, **values: object) -> str:
    """Return the text of `key` with its placeholders filled in. `count` chooses singular or plural. Raise KeyError for an unknown key."""
    template = translations.template(language, key, values.get("count"))
    if not values and "{" not in template:
        return template  # most texts: a page has hundreds
    return template.format(**{name: translations.shown(_closed(value), language) for name, value in values.items()})


def choices(language: str, section: str, value: str = "") -> list[tuple[str, str]]:
    """Return the (code, name) pairs of a section, such as "countries", for a form field. `value` is included even if it has no name."""
    named = _by_name(language, section)
    return named if not value or value in translations.section(section) else [*named, (value, value)]


@lru_cache
def _by_name(language: str, section: str) -> list[tuple[str, str]]:
    """Return the codes of a section with their names, sorted by name. The languages of the dashboard come first."""
    names = [(code, translations.template(language, f"{section}.{code}")) for code in translations.section(section)]
    return sorted(names, key=lambda pair: (pair[0] not in LANGUAGES, fold(pair[1])))


def name_of(language: str, section: str, code: str) -> str:
    """Return the translated name of a code, such as a country's. Return the code itself if its section of the texts has no name for it."""
    key = f"{section}.{code.replace('.', '_')}"
    return translations.template(language, key) if translations.has(key) else code


def closed(text: str) -> str:
    """Close the bidirectional control characters that a text leaves open, so that they do not reorder the text after it."""
    ends: list[str] = []
    for control in _CONTROLS.findall(text):
        if control in _ENDS:
            ends.append(_ENDS[control])
        elif control == _ISOLATE_ENDS and control in ends:
            # It ends the embeddings inside the isolate too.
            while ends.pop() != control:
                pass
        elif ends[-1:] == [control]:
            ends.pop()
    return text + "".join(reversed(ends)) if ends else text


def _closed(value: object) -> object:
    """Close the bidirectional control characters of a text, or of each text of a list."""
    if isinstance(value, list | tuple):
        return [closed(str(item)) for item in value]
    return closed(value) if isinstance(value, str) else value


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


DEFAULT_LANGUAGE, FOREIGN_LANGUAGE = "tr", "en"  # where no language is named, and where all of them are others
# The first that matches counts: most browsers also name those that they resemble.
_BROWSERS = {
    "Edge": r"Edg(?:e|A|iOS)?/(\d+)",
    "Opera": r"(?:OPR|Opera)/(\d+)",
    "Samsung Internet": r"SamsungBrowser/(\d+)",
    "Firefox": r"(?:Firefox|FxiOS)/(\d+)",
    "Chrome": r"(?:Headless)?(?:Chrome|CriOS|Chromium)/(\d+)",
    "Safari": r"Version/(\d+)\S* (?:Mobile/\S+ )?Safari/",
    "curl": r"^curl/(\d+)",
}
_SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Macintosh": "macOS"}
_SYSTEMS |= {"CrOS": "ChromeOS", "Linux": "Linux"}


def browser_name(header: str) -> str:
    """Return browser and system of a User-Agent header, such as `Firefox 145, Windows`. Return an unknown header unchanged."""
    browser = next((f"{name} {match[1]}" for name, pattern in _BROWSERS.items() if (match := re.search(pattern, header))), None)
    if browser is None:
        return header
    system = next((system for mark, system in _SYSTEMS.items() if mark in header), None)
    return f"{browser}, {system}" if system else browser


def preferred_language(header: str, own: str | None = None) -> str:
    """Return the language of a page. This is the operator's own, otherwise the one that Accept-Language prefers (RFC 9110, 12.5.4)."""
    if own in LANGUAGES:
        return own
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for part in header.split(","):
        tag, _, parameter = part.partition(";")
        preferred = tag.strip().lower().partition("-")[0]
        weight = re.fullmatch(r"\s*q\s*=\s*(\S*)\s*", parameter, re.IGNORECASE)
        try:
            quality = min(1.0, float(weight[1])) if weight else 1.0
        except ValueError:
            quality = 0.0
        if preferred in LANGUAGES and quality > best_quality:
            best, best_quality = preferred, quality
        elif preferred.isalpha() and quality > 0 and not best_quality:
            best = FOREIGN_LANGUAGE
    return best
