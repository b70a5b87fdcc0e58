"""Days, months and seasons for which the knowledge says that the business is closed or open: holidays, a winter break."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge.search import amounts, facts
from chatsvc.language import values
from chatsvc.language.folding import words
from chatsvc.language.wordlists import LanguageWords

_WORDS = LanguageWords("closures.txt")
_OWN, _BARE, _BESIDE = (_WORDS.any_of(name, "[ ](?:{})[ ]") for name in ("own", "bare", "beside"))
_SEASONS = {name: _WORDS.any_of(name, "[ ](?:{})[ ]") for name in _WORDS.names("season ")}
_HOLIDAYS = "season holidays"
_TIME = ("weekday ", "month ", "seasons", "number ", "joining", "spanning")  # lists of facts.txt whose words tell a time
_MOST = 3_000  # entries; in more, the likely ones are searched for
_QUERY = "closed open holidays / kapalı açık tatil bayram"
_YEAR = timedelta(days=364)


class Period(NamedTuple):
    """Times that a question or a statement names: a day, months, or seasons and holidays without a date."""

    day: date | None = None
    months: frozenset[int] = frozenset()
    seasons: frozenset[str] = frozenset()


def named(text: str) -> Period:
    """Return the months and seasons that a text names."""
    line = _line(text)
    return Period(None, amounts.read(text).months, frozenset(name for name, pattern in _SEASONS.items() if pattern.search(line)))


def of_day(day: date, *, holiday: bool) -> Period:
    """Return the period of one day; a public holiday belongs to the holidays too."""
    return Period(day, frozenset(), frozenset({_HOLIDAYS}) if holiday else frozenset())


def beside_time(said: Sequence[str]) -> list[str]:
    """Return the folded words that belong to no day, month or season, and to no question about opening hours."""
    kept = []
    for word, lists in zip(said, amounts.LABELS.marked(said), strict=True):
        if word.isdigit() or any(name.startswith(_TIME) for name in lists):
            continue
        if not any(pattern.search(f" {word} ") for pattern in (_BESIDE, _BARE, *_SEASONS.values())):
            kept.append(word)
    return kept


def stated(knowledge: Knowledge, asked: Period, holidays: Sequence[str], language: str, country: str) -> str | None:
    """Return the sentence of the knowledge about the business on the day, in the month or the season asked for. None without one.

    `holidays` are names of the day asked for. Entries in the visitor's language come first.
    """
    entries = knowledge.entries
    if len(entries) > _MOST:
        entries = [hit.entry for hit in knowledge.search(_QUERY).hits]
    for entry in sorted(entries[:_MOST], key=lambda one: primary(one.language) != language):
        for sentence in _statements(entry):
            if _concerns(sentence, entry.language, asked, holidays, country):
                return sentence
    return None


@lru_cache(maxsize=4_096)
def _statements(entry: Entry) -> tuple[str, ...]:
    """Return the sentences of an entry that say when the business itself is closed or open."""
    found = []
    for fact in facts.of(entry):
        line = _line(fact.text)
        if _OWN.search(line) or (_BARE.search(line) and not beside_time(words(fact.text))):
            found.append(fact.text)
    return tuple(found)


def _concerns(sentence: str, language: str, asked: Period, holidays: Sequence[str], country: str) -> bool:
    stated = named(sentence)
    if not stated.seasons.isdisjoint(asked.seasons) or any(f" {name}" in _line(sentence) for name in holidays):
        return True
    if asked.day is None:
        return not stated.months.isdisjoint(asked.months)
    if asked.day.month not in stated.months:
        return False
    # Read from a year before, so that the day that a sentence names is the one asked for, or the first of a range around it.
    then = datetime.combine(asked.day - _YEAR, time())
    found = values.read(sentence, now=then, language=primary(language), country=country)
    if found.date is None:
        return True  # the whole month
    return found.date.value <= asked.day <= (found.until or found.date).value


def _line(text: str) -> str:
    return f" {' '.join(words(text))} "
