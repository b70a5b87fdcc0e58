"""Facts about the business itself, answered from the bot's settings before any search: hours, holidays, address, telephone, name."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import filterfalse
from weakref import WeakKeyDictionary

from chatsvc.domain.models import Bot
from chatsvc.domain.opening_hours import clock_of
from chatsvc.engines import Knowledge, hours
from chatsvc.engines.knowledge.search import facts
from chatsvc.engines.knowledge.search.tokens import stem
from chatsvc.language import values
from chatsvc.language.catalogue import FALLBACK, BotSentences
from chatsvc.language.folding import words
from chatsvc.language.wordlists import LanguageWords, WordFile

_KINDS = ("name", "address", "phone", "email", "site", "hours")
_WORDS = LanguageWords("business.txt")
_MOST_WORDS = 25
_SOON = 60  # minutes before the business closes
_MOST_PLACE = 16  # words of an address
_LONGEST_HOURS = 300  # characters of a section about the hours that is told whole
_MOST_READ, _LONGEST_READ = 400, 4_000  # entries, and characters of each, in which the knowledge may state a fact about the business
_PHONE = re.compile(r"(?<![\w+,.])\+?\(?\d[\d ()/-]{5,24}\d(?!\w)")
_CLAUSE = _WORDS.any_of("joins", r"[,;.!?]\s|\n|\s(?i:{})\s")
_MAIL = re.compile(r"[^\s@]@[^\s@]{1,64}\.\w")
_HOLIDAY_WORDS = LanguageWords("holidays.txt").files
_HOLIDAYS = WordFile("language/holidays.txt").group("")  # by country, also days on which many businesses close
_CLOCKS = re.compile(r"\d{1,2}(?:[:.]\d\d)?\s?(?:am|pm)?\s?(?:[-–]|to|ile|until)\s?\d{1,2}(?:[:.]\d\d)?")


class WordSet:
    """Set of folded words. A word that is listed with a star at its end matches with any ending."""

    def __init__(self, name: str) -> None:
        items = _WORDS.items(name)
        self._whole = frozenset(item for item in items if not item.endswith("*"))
        self._stems = tuple(item[:-1] for item in items if item.endswith("*"))

    def __contains__(self, word: str) -> bool:
        return word in self._whole or word.startswith(self._stems)

    def has_any(self, given: Iterable[str]) -> bool:
        return any(map(self.__contains__, given))


TRIGGERS = {kind: WordSet(kind) for kind in _KINDS}
LIGHT = WordSet("light")
_TOGETHER = frozenset(item for kind in _KINDS for item in _WORDS.items(kind) if "_" in item)
_WEAK, _URGENT, _STREETS, _WEEKDAYS, _HEADINGS = map(WordSet, ("weak", "urgent", "streets", "weekdays", "headings"))


def is_urgent(text: str) -> bool:
    return _URGENT.has_any(words(text))


@lru_cache(maxsize=512)
def kinds_of(text: str, name: str) -> tuple[str, ...]:
    """Return the kinds of facts about the business that a question asks for. Return none if the question names anything else."""
    asked: list[str] = []
    for word in words(text):
        if asked and f"{asked[-1]}_{word}" in _TOGETHER:  # words that ask only together: "kaca_kadar"
            asked[-1] += f"_{word}"
        else:
            asked.append(word)
    if len(asked) > _MOST_WORDS:
        return ()
    own = set(words(name))
    kinds: dict[str, bool] = {}  # whether a word asks for the kind by itself
    for word in asked:
        triggered = [kind for kind in _KINDS if word in TRIGGERS[kind]]
        for kind in triggered:
            kinds[kind] = kinds.get(kind, False) or word not in _WEAK
        if not triggered and word not in LIGHT and word not in own and not word.isdigit():
            return ()
    strong = [kind for kind in _KINDS if kinds.get(kind)]
    return tuple(strong) or tuple(kind for kind in _KINDS if kind in kinds)[:1]


def clauses(text: str) -> list[str]:
    return list(filter(None, map(str.strip, _CLAUSE.split(text))))


def names_fact(clause: str) -> bool:
    """Return whether a clause explicitly names a kind of fact about the business: "what's the address"."""
    asked = words(clause)
    return len(asked) > 1 and any(word in TRIGGERS[kind] and word not in _WEAK for word in asked for kind in _KINDS)


_STATED: WeakKeyDictionary[Knowledge, dict[str, tuple[str, str]]] = WeakKeyDictionary()


def stated(knowledge: Knowledge) -> dict[str, tuple[str, str]]:
    """Return by kind of fact about the business the sentence that states it, and the section of the sentence. The result is cached."""
    if knowledge in _STATED:
        return _STATED[knowledge]
    best: dict[str, tuple[int, str, str]] = {}
    for entry in knowledge.entries[:_MOST_READ]:
        section = entry.answer[:_LONGEST_READ]
        is_headed = _HEADINGS.has_any(words(entry.question)[:_MOST_WORDS])
        for sentence in filterfalse(facts.is_row, facts.sentences(section)):
            own = words(sentence)[:_MOST_WORDS]
            for kind in filter(lambda kind: _holds(kind, sentence, own), _KINDS):
                weight = 2 * TRIGGERS[kind].has_any(own) + is_headed + (kind == "address" and len(own) <= _MOST_PLACE)
                weight += 2 * (kind == "hours" and len({word for word in own if word in _WEEKDAYS}) > 1)  # rather than those of a season
                if weight > best.get(kind, (0,))[0]:
                    is_whole = kind == "hours" and is_headed and len(entry.answer) <= _LONGEST_HOURS  # each day counts
                    best[kind] = weight, entry.answer if is_whole else sentence.strip(" -*"), section
    _STATED[knowledge] = {kind: (sentence, section) for kind, (_, sentence, section) in best.items()}
    return _STATED[knowledge]


def _holds(kind: str, sentence: str, own: Sequence[str]) -> bool:
    if kind == "phone":
        return any(7 <= sum(map(str.isdigit, number[0])) <= 15 for number in _PHONE.finditer(sentence))
    if kind == "email":
        return _MAIL.search(sentence) is not None
    if kind == "address":
        return any(map(str.isdigit, sentence)) and _STREETS.has_any(own)
    return kind == "hours" and _CLOCKS.search(sentence) is not None and _WEEKDAYS.has_any(own)


def hours_answer(bot: Bot, say: BotSentences, text: str, now: datetime, knowledge: Knowledge | None = None) -> str:
    """Return the opening hours of the day that a question names. Without a day, return those of the week; if unknown, "".

    If the settings have no hours, return the hours that the knowledge states, with its sentences about the day asked for.
    """
    if not hours.week_of(bot.opening_hours):
        sentence, section = stated(knowledge).get("hours", ("", "")) if knowledge is not None else ("", "")
        if not sentence:
            return ""
        days = {stem(word) for word in words(text) if word in _WEEKDAYS}
        beside = [line for line in facts.sentences(section) if line not in sentence and days.intersection(map(stem, words(line)))]
        return " ".join([sentence, *(line.strip(" -*") for line in beside)])
    today = now.date()
    day = _holiday_named(text, say.language, today) or _day_in(text, now, say, bot)
    # The name of today's weekday means today, unlike in the wish for an appointment.
    if day == today + timedelta(days=7) and _day_in(text, now - timedelta(days=1), say, bot) == today:
        return _of_day(bot, say, today, now)
    if day and day != today:
        return _of_day(bot, say, day, now)
    current = _now(bot, say, now)
    return current if day else f"{say('hours.week', hours=hours.in_words(bot, say.days))} {current}"


def _day_in(text: str, now: datetime, say: BotSentences, bot: Bot) -> date | None:
    read = values.read(text, now=now, language=say.language, country=bot.country, asked="date").date
    return read.value if read else None


def _of_day(bot: Bot, say: BotSentences, day: date, now: datetime) -> str:
    spans, (named, near) = hours.spans_of(bot, day), _named(say, day, now)
    if not spans:
        following = next_opening(bot, datetime.combine(day, time.max), say, now)
        return _capital(say(f"hours.day.closed{near}", day=named, next=following))
    is_thanksgiving = bot.country == "US" and day == _thanksgiving(day.year)
    if is_thanksgiving or any(f"{day:%m-%d}" in _HOLIDAYS.get(country, ()) for country in ("any", bot.country)):
        return say("hours.holiday", day=say.date(day), hours=hours.spans_in_words(spans))
    return _capital(say(f"hours.day.open{near}", day=named, hours=hours.spans_in_words(spans)))


def _now(bot: Bot, say: BotSentences, now: datetime) -> str:
    minute, spans = hours.minute_of(now), hours.spans_of(bot, now.date())
    for opens, closes in spans:
        if opens <= minute < closes:
            return say("hours.now.open" if closes - minute > _SOON else "hours.now.soon", closes=clock_of(closes))
    following = next_opening(bot, now, say)
    if spans and minute >= spans[-1][1]:
        return say("hours.now.over", closes=clock_of(spans[-1][1]), next=following)
    return say("hours.now.closed" if spans else "hours.today.closed", next=following)


def next_opening(bot: Bot, after: datetime, say: BotSentences, now: datetime | None = None) -> str:
    """Return in words when the business opens next after an instant, or "" if that is unknown."""
    opening = hours.next_opening(bot, after)
    if opening is None:
        return ""
    named, near = _named(say, opening.date(), now or after)
    return _capital(say(f"hours.next{near}", day=named, time=f"{opening:%H:%M}"))


def _named(say: BotSentences, day: date, now: datetime) -> tuple[str, str]:
    """Return a day in words, and a suffix for a sentence's key. The suffix is ".near" for today and tomorrow, or else ""."""
    ahead = (day - now.date()).days
    if ahead in (0, 1):
        return say("day.tomorrow" if ahead else "day.today"), ".near"
    return say.days[day.weekday()] if 1 < ahead < 7 else say.date(day), ""


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


def _holiday_named(text: str, language: str, today: date) -> date | None:
    """Return the next date of the holiday that a text names: "christmas eve", "yılbaşında", "the day after thanksgiving".

    Return None if the holiday only serves to name another day: "the Monday after Christmas".
    """
    line, own = f" {' '.join(words(text))} ", _HOLIDAY_WORDS.get(language, _HOLIDAY_WORDS[FALLBACK])
    named = [(f" {name}", day) for day, names in own.group("day ").items() for name in names]
    # The longest name first: "yılbaşı günü" is not "yılbaşı".
    longest_first = sorted(named, key=lambda name_and_day: -len(name_and_day[0]))
    day = next((day for name, day in longest_first if (name[:-1] if name.endswith("*") else f"{name} ") in line), None)
    if day is None:
        return None
    holiday = _thanksgiving(today.year) if day == "thanksgiving" else date.fromisoformat(f"{today.year}-{day}")
    holiday = holiday if holiday >= today or day == "thanksgiving" else holiday.replace(year=today.year + 1)
    if shift := next((days for days in ("1", "-1") if any(f" {name} " in line for name in own.items(f"shift {days}"))), None):
        return holiday + timedelta(days=int(shift))
    return None if any(f" {name} " in line for name in own.items("beside")) else holiday
