"""Public holidays: those that a text names, and whether a day is one."""

from datetime import date, timedelta
from functools import cache

from chatsvc.language import catalogue
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("language/holidays.txt")
_BY_COUNTRY = {country: frozenset(days) for country, days in _FILE.group("").items()}
_THURSDAY = 3
_THANKSGIVING = "thanksgiving"


@cache
def _names(language: str) -> tuple[tuple[str, str], ...]:
    """Return the names of days in a language with their month and day, the longest first: "yılbaşı günü" is not "yılbaşı"."""
    named = _words(language).group("day ")
    return tuple(
        sorted(((f" {name}", day) for day, names in named.items() for name in names), key=lambda name_and_day: -len(name_and_day[0]))
    )


@cache
def _words(language: str) -> WordFile:
    return WordFile(f"languages/{language if language in catalogue.languages() else catalogue.FALLBACK}/holidays.txt")


def named(text: str, language: str, today: date) -> date | None:
    """Return the next day that a text names by a holiday: "christmas eve", "yılbaşında", "the day after thanksgiving".

    None where a holiday only tells another day: "the Monday after Christmas".
    """
    line = f" {' '.join(words(text))} "
    day = next((day for name, day in _names(language) if (name[:-1] if name.endswith("*") else f"{name} ") in line), None)
    if day is None:
        return None
    holiday = _thanksgiving(today.year) if day == _THANKSGIVING else date.fromisoformat(f"{today.year}-{day}")
    holiday = holiday if holiday >= today or day == _THANKSGIVING else holiday.replace(year=today.year + 1)
    own = _words(language)
    shift = next((days for days in ("1", "-1") if any(f" {name} " in line for name in own.items(f"shift {days}"))), None)
    if shift:
        return holiday + timedelta(days=int(shift))
    return None if any(f" {name} " in line for name in own.items("beside")) else holiday


def is_one(day: date, country: str) -> bool:
    """Return whether a day is a public holiday, or one on which many businesses close."""
    name = f"{day:%m-%d}"
    if country == "US" and day == _thanksgiving(day.year):
        return True
    return name in _BY_COUNTRY["any"] or name in _BY_COUNTRY.get(country, ())


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 21)
