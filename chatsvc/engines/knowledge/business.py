"""Facts about the business itself, answered from the bot's settings before any search: hours, address, telephone, e-mail, name."""

import re
from datetime import date, datetime, timedelta
from functools import lru_cache
from weakref import WeakKeyDictionary

from chatsvc.domain import profiles
from chatsvc.domain.models import Bot
from chatsvc.engines import Knowledge, site_of
from chatsvc.engines.knowledge import hours
from chatsvc.engines.knowledge.say import Say
from chatsvc.engines.knowledge.search import facts
from chatsvc.language import holidays, values
from chatsvc.language.folding import words
from chatsvc.language.wordlists import LanguageWords

_KINDS = ("name", "address", "phone", "email", "site", "hours")
_WORDS = LanguageWords("business.txt")
_LOOKED_AHEAD = 60  # days in which the next opening is looked for
_MOST_WORDS = 25


class WordSet:
    """Folded words, of which those with a star stand for any ending."""

    def __init__(self, items: list[str]) -> None:
        self._whole = frozenset(item for item in items if not item.endswith("*"))
        self._stems = tuple(item[:-1] for item in items if item.endswith("*"))

    def __contains__(self, word: str) -> bool:
        return word in self._whole or word.startswith(self._stems)


TRIGGERS = {kind: WordSet(_WORDS.items(kind)) for kind in _KINDS}
_TOGETHER = frozenset(item for kind in _KINDS for item in _WORDS.items(kind) if "_" in item)
LIGHT = WordSet(_WORDS.items("light"))
_WEAK = WordSet(_WORDS.items("weak"))
URGENT = WordSet(_WORDS.items("urgent"))
STREETS, WEEKDAYS, HEADINGS = WordSet(_WORDS.items("streets")), WordSet(_WORDS.items("weekdays")), WordSet(_WORDS.items("headings"))
_MOST_PLACE = 16  # words of an address
_MOST_READ, _LONGEST_READ = 400, 4_000  # entries, and characters of each, in which the knowledge may state a fact about the business
_PHONE = re.compile(r"(?<![\w+,.])\+?\(?\d[\d ()/-]{5,24}\d(?!\w)")
_DIGITS = range(7, 16)
_CLAUSE = re.compile(r"[,;.!?]\s|\n")
_MAIL = re.compile(r"[^\s@]@[^\s@]{1,64}\.\w")
_CLOCKS = re.compile(r"\d{1,2}(?:[:.]\d\d)?\s?(?:am|pm)?\s?(?:[-–]|to|ile|until)\s?\d{1,2}(?:[:.]\d\d)?")


@lru_cache(maxsize=512)
def kinds_of(text: str, name: str) -> tuple[str, ...]:
    """Return the kinds of facts about the business that a question asks for; none if it names anything else."""
    asked = _joined(words(text))
    if not asked or len(asked) > _MOST_WORDS:
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


def _joined(asked: list[str]) -> list[str]:
    """Return words, with those that ask only together written as one: "kaca_kadar"."""
    joined: list[str] = []
    for word in asked:
        if joined and f"{joined[-1]}_{word}" in _TOGETHER:
            joined[-1] += f"_{word}"
        else:
            joined.append(word)
    return joined


def answer(bot: Bot, say: Say, text: str, now: datetime, knowledge: Knowledge | None = None) -> str | None:
    """Return what the settings, else the knowledge, say to a question about the business itself; None if neither does."""
    kinds = kinds_of(text, bot.name)
    site = site_of(knowledge) if knowledge and "site" in kinds else ""
    lines = [_line(kind, bot, say, text, now, site) or (knowledge and _stated(knowledge).get(kind)) for kind in kinds]
    return "\n".join(dict.fromkeys(line for line in lines if line)) or None


def answer_clause(bot: Bot, say: Say, text: str, now: datetime, knowledge: Knowledge) -> str | None:
    """Answer a clause of a message that names a kind of fact outright: "just tell me where you are, what's the address"."""
    strong = [
        clause
        for clause in _CLAUSE.split(text)
        if len(asked := words(clause)) > 1 and any(word in TRIGGERS[kind] and word not in _WEAK for word in asked for kind in _KINDS)
    ]
    return next(filter(None, (answer(bot, say, clause, now, knowledge) for clause in strong)), None)


def _stated(knowledge: Knowledge) -> dict[str, str]:
    """Return the sentence in which the knowledge states each kind of fact about the business; computed once."""
    if (stated := _STATED.get(knowledge)) is None:
        best: dict[str, tuple[int, str]] = {}
        for entry in knowledge.entries[:_MOST_READ]:
            headed = words(entry.question)[:_MOST_WORDS]
            for sentence in facts.sentences(entry.answer[:_LONGEST_READ]):
                own = words(sentence)[:_MOST_WORDS]
                for kind in _KINDS:
                    if not _holds(kind, sentence, own):
                        continue
                    names = any(word in TRIGGERS[kind] for word in own)
                    weight = 2 * names + any(word in HEADINGS for word in headed) + (kind == "address" and len(own) <= _MOST_PLACE)
                    if weight > best.get(kind, (0, ""))[0]:
                        best[kind] = weight, sentence.strip(" -*")
        stated = _STATED[knowledge] = {kind: sentence for kind, (_, sentence) in best.items()}
    return stated


def _holds(kind: str, sentence: str, own: list[str]) -> bool:
    """Return whether a sentence holds a value of a kind: a telephone number, an address, days and hours."""
    if kind == "phone":
        return any(_DIGITS.start <= sum(map(str.isdigit, number[0])) < _DIGITS.stop for number in _PHONE.finditer(sentence))
    if kind == "email":
        return _MAIL.search(sentence) is not None
    if kind == "address":
        return any(map(str.isdigit, sentence)) and any(word in STREETS for word in own)
    return kind == "hours" and _CLOCKS.search(sentence) is not None and any(word in WEEKDAYS for word in own)


_STATED: WeakKeyDictionary[Knowledge, dict[str, str]] = WeakKeyDictionary()


def _line(kind: str, bot: Bot, say: Say, text: str, now: datetime, site: str) -> str | None:
    if kind == "hours":
        return hours_answer(bot, say, text, now)
    value = {"name": bot.name, "site": site}.get(kind) or getattr(bot, kind, "")
    return say(f"business.{kind}", **{kind: value}) if value else None


def hours_answer(bot: Bot, say: Say, text: str, now: datetime) -> str | None:
    """Return the hours of the day that a question names, else those of the week."""
    week = hours.week_of(bot.opening_hours)
    if not week:
        return None
    day = holidays.named(text, say.language, now.date()) or _day_in(text, now, say, bot)
    # A weekday by itself is today's where today is one, unlike in the wish for an appointment.
    if day == now.date() + timedelta(days=7) and _day_in(text, now - timedelta(days=1), say, bot) == now.date():
        return _of_day(bot, say, now.date(), now)
    if day and day != now.date():
        return _of_day(bot, say, day, now)
    if day:
        return _now(bot, say, now)
    return f"{say('hours.week', hours=hours.in_words(week, say.days))} {_now(bot, say, now)}"


def _day_in(text: str, now: datetime, say: Say, bot: Bot) -> date | None:
    read = values.read(text, now=now, language=say.language, country=bot.country, asked="date").date
    return read.value if read else None


def _of_day(bot: Bot, say: Say, day: date, now: datetime) -> str:
    spans, named = _spans(bot, day), _named(say, day, now)
    if not spans:
        told = say("hours.day.closed", day=named, next=next_opening(bot, datetime.combine(day, now.time().max), say, now))
    elif holidays.is_one(day, bot.country):
        told = say("hours.holiday", day=say.date(day), hours=hours.day_in_words(spans))
    else:
        told = say("hours.day.open", day=named, hours=hours.day_in_words(spans))
    return told[:1].upper() + told[1:]


def _spans(bot: Bot, day: date) -> list[tuple[int, int]]:
    """Return the open spans of a day; none on a day that the owner has closed."""
    return [] if profiles.load(bot.profile).is_closed(day) else hours.spans_of(hours.week_of(bot.opening_hours), day)


def is_open_on(bot: Bot, day: date) -> bool:
    """Return whether the business is open on a day; without hours it always is."""
    return bool(_spans(bot, day)) or not (bot.opening_hours or profiles.load(bot.profile).is_closed(day))


def _now(bot: Bot, say: Say, now: datetime) -> str:
    """Return whether the business is open now, and until when, or when it opens next."""
    minute = now.hour * 60 + now.minute
    spans, today, following = _spans(bot, now.date()), say.days[now.weekday()], next_opening(bot, now, say)
    for opens, closes in spans:
        if opens <= minute < closes:
            return say("hours.now.open", day=today, closes=hours.clock_of(closes))
    if not spans:
        return say("hours.today.closed", day=today, next=following)
    if minute >= spans[-1][1]:
        return say("hours.now.over", day=today, closes=hours.clock_of(spans[-1][1]), next=following)
    return say("hours.now.closed", day=today, next=following)


def next_opening(bot: Bot, after: datetime, say: Say, now: datetime | None = None) -> str:
    """Return the next opening after an instant, in words; "" if none is known."""
    for ahead in range(_LOOKED_AHEAD):
        day = after.date() + timedelta(days=ahead)
        for opens, _ in _spans(bot, day):
            if ahead or opens > after.hour * 60 + after.minute:
                return say("hours.next", day=_named(say, day, now or after), time=hours.clock_of(opens))
    return ""


def _named(say: Say, day: date, now: datetime) -> str:
    """Return a day in words: today, tomorrow, a weekday of the next six days, else the date."""
    weekday, ahead = say.days[day.weekday()], (day - now.date()).days
    if ahead in (0, 1):
        return say("day.tomorrow" if ahead else "day.today", day=weekday)
    return weekday if 1 < ahead < 7 else say.date(day)


def is_urgent(text: str) -> bool:
    """Return whether a message asks for help at once."""
    return any(word in URGENT for word in words(text))
