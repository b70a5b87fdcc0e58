"""Check of the figures, phone numbers, addresses and links in a reply: they must be in the knowledge, the settings or the conversation.

No source is needed for small counts, today and days near it, emergency numbers, and amounts of money that follow from known prices and
the counts that the visitor or the reply names. `languages/*/figures.txt` has the words that stand beside figures; the names of months
and numbers are those with which dates are read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property

import phonenumbers

from chatsvc.domain.folding import fold
from chatsvc.language.wordlists import LanguageWords

NEAR_DAYS = 21  # days before and after today within which a date counts as computed
SMALL_COUNT = 10  # whole numbers up to this are counts and ordinals unless a unit follows
MAX_PRICES = 40  # known prices that arithmetic is tried on
MAX_PERCENTAGES = 10  # known discounts that arithmetic is tried on
MAX_COMPUTED = 20  # unknown amounts of one reply that arithmetic is tried on. Further ones count as unknown.
MAX_NAMED = 5  # unknown figures of a reply after which the check ends
LONGEST_WORD = 100  # characters that are read of one word, so that no pattern takes longer than in proportion to the text
NEAR_TEXT = 40  # characters before and after a number in which its unit is looked for
_WORDS = LanguageWords("figures.txt")
_SYMBOLS = LanguageWords("symbols.txt")


def _pattern(words: Iterable[str]) -> str:
    """Return a pattern that matches any of the words. A star after a word stands for any ending. Longer words come first."""
    parts = (re.escape(word.removesuffix("*")) + (r"\w{0,12}(?!\w)" if word.endswith("*") else r"(?!\w)") for word in words)
    return "|".join(sorted(parts, key=len, reverse=True))


_LONG_WORD = re.compile(rf"(\S{{{LONGEST_WORD}}})\S+")
# Blanks group thousands only in the usual form; "3008 3.100" are two numbers.
_AMOUNT = r"(?:\d{1,3}(?:[ ’']\d{3}){1,4}(?:[.,]\d{1,2})?(?![.,’' ]?\d)|\d{1,20}+(?:[.,]\d{1,20}+){0,8})"
_NUMBER = re.compile(rf"(?<![\w.,])[+-]?{_AMOUNT}(?!\w{{0,20}}@)")
_ANY_NUMBER = re.compile(_AMOUNT)
_LINK = re.compile(
    r"[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+"
    r"|\b(?:www\.)?[a-z0-9-]{1,63}+(?:\.[a-z0-9-]{1,63}+){0,8}\.(?:com|net|org|info|biz|io|app|dev|co|eu|de|uk|fr|shop|store|online|tr|gov|edu)\b[^\s<>\"')\],;]*",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?<!\w)\+?\(?\d[\d ()./–-]{5,}\d(?!\w)")
_RUN = re.compile(r"\d[\d ()./–+-]*\d")
_PHONE_DIGITS = range(7, 16)
_MOST_GROUPS = 6  # of a written phone number
_STREETS = "|".join(map(re.escape, _WORDS.items("street")))
_STREET = re.compile(rf"((?:[A-ZÇĞİÖŞÜ0-9][\w.’'-]{{0,30}}+ ){{1,4}})(?:{_STREETS})(?!\w)")
FIGURES = re.compile(rf"\d|@|\w\.\w|{_STREETS}")  # anything that Sources.unknown() checks
_CLOCK = re.compile(r"(?<![\d.:])([01]?\d|2[0-4])[:.]([0-5]\d)(?![\d:]|[.,]\d)")
_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_DAY_FIRST = re.compile(r"(?<![\d.:/-])([0-3]?\d)([./-])([01]?\d)\2((?:20)?\d\d)(?!\d)")
_SHORT_DAY = re.compile(r"(?<![\d.,:/-])([0-3]?\d)[./]([01]?\d)(?!\d|[.,/-]\d)")
_MONTH_OF = {
    word: int(name[1:].partition("'")[0]) for name, words in _SYMBOLS.group("").items() if re.match(r"M\d", name) for word in words
}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_NAMED_DAY = re.compile(
    rf"\b([0-3]?\d)(?:st|nd|rd|th)?(?:\s+of)?\s+({_MONTH})\b(?:,?\s+(20\d\d))?|\b({_MONTH})\s+([0-3]?\d)(?:st|nd|rd|th)?\b(?:,?\s+(20\d\d))?"
)
_SIGNS = "₺$€£"
_CURRENCY = rf"(?:[{_SIGNS}]|{_pattern(_WORDS.items('currency'))})"
_PERCENT_WORDS = rf"(?:%|{_pattern(_WORDS.items('percent'))})"
_UNITS = _pattern([*_WORDS.items("unit"), *_WORDS.items("minutes"), *_WORDS.items("currency"), *_WORDS.items("percent")])
_UNIT_AFTER = re.compile(rf"\s{{0,9}}+(?:[%‰{_SIGNS}]|{_UNITS})")
_UNIT_BEFORE = re.compile(
    rf"(?:[%{_SIGNS}]|\b(?:{_pattern([*_WORDS.items('currency'), *_WORDS.items('percent'), 'saat', 'at'])}))\s{0, 9}$"
)
_MONEY_AFTER = re.compile(rf"\s{{0,9}}+{_CURRENCY}")
_MONEY_BEFORE = re.compile(rf"{_CURRENCY}\s{{0,9}}$")
_PRICE = re.compile(rf"(?<!\d)({_AMOUNT})\s{{0,3}}{_CURRENCY}|{_CURRENCY}\s{{0,3}}({_AMOUNT})")
_PERCENT = re.compile(rf"(?<!\d)({_AMOUNT})\s{{0,3}}{_PERCENT_WORDS}|{_PERCENT_WORDS}\s{{0,3}}({_AMOUNT})")
_MINUTES = re.compile(rf"\s{{0,9}}+(?:{_pattern(_WORDS.items('minutes'))})")
_HOUR_BEFORE = re.compile(rf"\b(?:{_pattern(_WORDS.items('hour_before'))})\s{{0,9}}$")
_HALF_DAY = re.compile("|".join(rf"\s{{0,9}}+{re.escape(word)}" for word in _WORDS.items("hour_after")) + r"|’[dty]")
_IDIOMS = re.compile(r"\b(?:24/7|7/24|7x24|24x7)\b|(?:%\s?100|\b100\s?%)")
_NUMBER_OF = {
    word.removesuffix("*"): int(number)
    for group in (LanguageWords("numbers.txt").group(""), _WORDS.group("number "))
    for number, words in group.items()
    if number.isdecimal()
    for word in words
}
_WORD = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, _NUMBER_OF), key=len, reverse=True)) + ")")

Clock = tuple[int, int]


def comparable(text: str) -> str:
    """Fold a text for comparison and shorten overlong words."""
    return fold(_LONG_WORD.sub(r"\1", text))


class Known:
    """Figures of one text as sets. Each kind is read when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = comparable(text)

    @cached_property
    def phones(self) -> frozenset[str]:
        """Return the digits of all possible phone numbers in the text, and their last digits (`_tail`)."""
        numbers = set[str]()
        for match in _RUN.finditer(self.text):
            groups = re.findall(r"\d+", match[0])
            for first in range(len(groups)):
                digits = ""
                for group in groups[first : first + _MOST_GROUPS]:
                    digits += group
                    if len(digits) > _PHONE_DIGITS[-1]:
                        break
                    if len(digits) in _PHONE_DIGITS:
                        numbers |= {_tail(digits), digits[-8:], digits[-7:]}
        return frozenset(numbers)

    @cached_property
    def links(self) -> frozenset[str]:
        """Return every address of a page or a mailbox, and its host."""
        links = {_bare_link(match[0]) for match in _LINK.finditer(self.text)}
        return frozenset(links | {link.partition("/")[0].rpartition("@")[2] for link in links})

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self.text))

    @cached_property
    def values(self) -> frozenset[Decimal]:
        return frozenset(_all_values(self.text))

    @cached_property
    def clocks(self) -> frozenset[Clock]:
        return frozenset((int(match[1]), int(match[2])) for match in _CLOCK.finditer(self.text))

    @cached_property
    def days(self) -> frozenset[tuple[int, int]]:
        short = ((int(match[2]), int(match[1])) for match in _SHORT_DAY.finditer(self.text))
        return frozenset((*(day[:2] for _, day in _days(self.text)), *short))

    @cached_property
    def percentages(self) -> frozenset[Decimal]:
        return frozenset(value for match in _PERCENT.finditer(self.text) for value in _values(match[1] or match[2]))


class Sources:
    """Texts that a reply may repeat: the knowledge, the bot's settings, and the conversation with the days of its records.

    `near` are the texts found for this message, whose prices a calculation may use; `spoken` is what the visitor wrote; `country`
    (ISO 3166) is the country whose emergency numbers need no source.
    """

    def __init__(
        self,
        known: Iterable[Known],
        near: Iterable[str],
        spoken: Iterable[str],
        now: datetime,
        days: Iterable[date] = (),
        country: str = "TR",
    ) -> None:
        self._near, self._spoken = tuple(near), tuple(spoken)
        self._known = (*known, Known("\n".join((*self._near, *self._spoken))))
        self._now, self._country = now, country
        near_days = ((now + timedelta(days=n)).date() for n in range(-NEAR_DAYS, NEAR_DAYS + 1))
        self._parts = dict[tuple[Decimal, ...], frozenset[Decimal]]()
        self._days = {(day.month, day.day) for day in (*near_days, *days)}

    def _has_value(self, values: Iterable[Decimal]) -> bool:
        return any(value in source.values for value in values for source in self._known)

    def unknown(self, reply: str) -> list[str]:
        """Return the links, numbers, addresses and days of a reply that are in no source, at most MAX_NAMED of them."""
        reply = _LONG_WORD.sub(r"\1", reply)
        text, unknown = _IDIOMS.sub(" ", fold(reply)), list[str]()
        for match in _LINK.finditer(text):
            if not any(_bare_link(match[0]) in source.links for source in self._known):
                unknown.append(match[0])
        text = _LINK.sub(" ", text)
        text, phones = self._without_phones(text)
        unknown += phones
        for match in _STREET.finditer(reply):
            name = re.findall(r"\w+", fold(match[1]))[-1:]
            if not any(word in source.words for word in name for source in self._known):
                unknown.append(match[0].strip())
        text, dates = self._without_days(text)
        unknown += dates
        unknown += [match[0] for match in _CLOCK.finditer(text) if not self._has_clock(int(match[1]), int(match[2]))]
        if len(unknown) < MAX_NAMED:
            unknown += self._unknown_numbers(_CLOCK.sub(" ", text))
        return unknown[:MAX_NAMED]

    def _unknown_numbers(self, text: str) -> list[str]:
        named = Counter(_all_values(comparable("\n".join((text, *self._spoken)))))
        computed, unknown = 0, list[str]()
        for match in _NUMBER.finditer(text):
            is_short = match[0].isdecimal() and len(match[0]) <= 4
            if self._has_number(match) or (is_short and phonenumbers.is_emergency_number(match[0], self._country)):
                continue
            parts = re.split(r"[ ’']", match[0])
            if len(parts) > 1 and all(self._has_value(_values(part)) for part in parts):  # several known ones beside each other
                continue
            computed += 1
            if computed > MAX_COMPUTED or not self._is_computed(match, named):
                unknown.append(match[0].strip())
                if len(unknown) == MAX_NAMED:
                    break
        return unknown

    def _without_phones(self, text: str) -> tuple[str, list[str]]:
        unknown = list[str]()

        def judge(match: re.Match[str]) -> str:
            if not _may_be_phone(match):
                return match[0]
            tail = _tail(re.sub(r"\D", "", match[0]))
            if not any(tail in source.phones for source in self._known):
                unknown.append(match[0].strip())
            return " "

        return _PHONE.sub(judge, text), unknown

    def _without_days(self, text: str) -> tuple[str, list[str]]:
        unknown = []
        for words, (month, day, year) in list(_days(text)):
            this_year = year is None or year in (self._now.year, self._now.year + 1) or self._has_value({Decimal(year)})
            is_known = (month, day) in self._days or any((month, day) in source.days for source in self._known)
            if not this_year or not is_known:
                unknown.append(words)
            text = text.replace(words, " ", 1)
            if len(unknown) == MAX_NAMED:
                break
        return text, unknown

    def _has_clock(self, hour: int, minute: int) -> bool:
        hours = {hour, hour + 12, hour - 12, hour % 24}
        if (hour, minute) == (self._now.hour, self._now.minute):
            return True
        if any((h, minute) in source.clocks for h in hours for source in self._known):
            return True
        return minute in (0, 30) and self._has_value(Decimal(h) for h in hours)

    def _has_number(self, match: re.Match[str]) -> bool:
        values = _values(match[0])
        if not values or self._has_value(values):
            return True
        before, after = _around(match)
        value = min(values)
        whole = value == value.to_integral_value()
        if whole and 0 <= value <= 24 and (_HALF_DAY.match(after) or _HOUR_BEFORE.search(before)):
            return self._has_clock(int(value), 0)
        has_unit = _UNIT_AFTER.match(after) or _UNIT_BEFORE.search(before)
        if whole and 0 <= value <= SMALL_COUNT and not has_unit:
            return True
        if whole and int(value) in (self._now.year, self._now.year + 1, self._now.day, self._now.hour, self._now.minute):
            return True
        is_list_number = not before.rpartition("\n")[2].strip(" -*") and after[:1] in (".", ")")
        return whole and is_list_number and value <= 20

    @cached_property
    def _prices(self) -> tuple[Decimal, ...]:
        near = comparable("\n".join((*self._near, *self._spoken)))
        prices = (value for match in _PRICE.finditer(near) for value in _read_apart(match[1] or match[2]))
        return tuple(dict.fromkeys(prices))[:MAX_PRICES]

    def _is_computed(self, match: re.Match[str], named: Counter[Decimal]) -> bool:
        """Return whether a number follows by one step of arithmetic: an amount from prices and counts, or a known duration.

        `named` counts the numbers that the reply and the visitor name. The number to check is not used in the arithmetic.
        """
        values = _values(match[0])
        before, after = _around(match)
        if not (_MONEY_AFTER.match(after) or _MONEY_BEFORE.search(before)):
            return bool(_MINUTES.match(after)) and bool(values & self._durations)
        others = named - Counter(_all_values(match[0]))
        counts = (value for value in others if 1 <= value <= 366 and value == value.to_integral_value())
        parts = self._amounts(tuple(sorted({Decimal(1), *sorted(counts)[:12]})))
        return bool(values & parts) or any(value - part in parts for value in values for part in parts)

    def _amounts(self, counts: tuple[Decimal, ...]) -> frozenset[Decimal]:
        """Return the amounts that can be computed from the known prices and discounts with these counts."""
        if counts not in self._parts:
            amounts = {price * a * b for price in self._prices for a in counts for b in counts}
            discounts = sorted({percent for source in self._known for percent in source.percentages})[:MAX_PERCENTAGES]
            amounts |= {amount * (100 - percent) / 100 for amount in amounts for percent in discounts}
            self._parts[counts] = frozenset(amounts)
        return self._parts[counts]

    @cached_property
    def _durations(self) -> frozenset[Decimal]:
        now = 60 * self._now.hour + self._now.minute
        left = {abs(60 * hour + minute - now) for source in self._known for hour, minute in source.clocks}
        return frozenset(Decimal(n) for minutes in left for n in (minutes, minutes // 60, -(-minutes // 60), minutes % 60))


def _tail(digits: str) -> str:
    """Return the last digits of a phone number, which are the same with and without its country and area codes."""
    return digits[-10:].lstrip("0")


def _bare_link(link: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", link).rstrip("/.,;:!?")


def _may_be_phone(match: re.Match[str]) -> bool:
    """Return whether digits are a phone number, and not a date, a price, a range or several numbers."""
    text = match[0].strip()
    groups = re.findall(r"\d+", text)
    if len("".join(groups)) not in _PHONE_DIGITS or _MONEY_AFTER.match(match.string, match.end()):
        return False
    if _ISO.search(text) or _DAY_FIRST.fullmatch(text) or re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d?)?", text):
        return False
    if re.fullmatch(r"\d{1,2}[:.]?\d{0,2}\s?[–-]\s?\d{1,2}[:.]?\d{0,2}", text):
        return False
    # Phone numbers begin with a code, or with a group of three digits, or are written in one.
    return text[0] in "+(0" or len(groups) == 1 or (len(groups[0]) == 3 and not re.search(r"\d\.\d{3}(?!\d)", text))


def _around(match: re.Match[str]) -> tuple[str, str]:
    return match.string[max(0, match.start() - NEAR_TEXT) : match.start()], match.string[match.end() : match.end() + NEAR_TEXT]


def _values(text: str) -> set[Decimal]:
    """Read a written number in every possible way: 1.500 is 1500 or 1.5."""
    plain = re.sub(r"[ ’']", "", text.lstrip("+-"))
    last, other = (".", ",") if plain.rfind(".") > plain.rfind(",") else (",", ".")
    readings = {plain.replace(other, "").replace(last, ".")}
    if other not in plain and (plain.count(last) > 1 or len(plain.rpartition(last)[2]) == 3):
        readings.add(plain.replace(last, ""))
    values = set[Decimal]()
    for reading in readings:
        with suppress(InvalidOperation):  # several decimal signs
            values.add(Decimal(reading).normalize())
    return values


def _read_apart(text: str) -> set[Decimal]:
    """Return the values of digits with blanks between them, read as one number and as several numbers."""
    return {value for part in (text, *re.split(r"[ ’']", text)) for value in _values(part)}


def _all_values(text: str) -> Iterator[Decimal]:
    for match in _ANY_NUMBER.finditer(text):
        yield from _read_apart(match[0])
        # "09:00-18:00", "10.30" and "2-3" are read apart as well.
        yield from (Decimal(part).normalize() for part in re.findall(r"\d+", match[0]))
    for match in _WORD.finditer(text):
        yield Decimal(_NUMBER_OF[match[0]]).normalize()


def _days(text: str) -> Iterator[tuple[str, tuple[int, int, int | None]]]:
    """Yield the calendar days named in a folded text: the words, and (month, day, year)."""
    for match in _ISO.finditer(text):
        yield match[0], (int(match[2]), int(match[3]), int(match[1]))
    for match in _DAY_FIRST.finditer(text):
        year = int(match[4])
        yield match[0], (int(match[3]), int(match[1]), year if year > 99 else 2000 + year)
    for match in _NAMED_DAY.finditer(text):
        name, number, year_text = (match[2], match[1], match[3]) if match[1] else (match[4], match[5], match[6])
        yield match[0], (_MONTH_OF[name], int(number), int(year_text) if year_text else None)
