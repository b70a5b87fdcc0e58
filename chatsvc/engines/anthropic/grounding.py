"""Checks that figures, phone numbers, addresses and links in a reply are known. From the knowledge, the settings or the visitor.

Allowed without a source: small counts, today and days near it, and amounts of money that follow from known prices and the counts
that the visitor or the reply names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property

NEAR_DAYS = 21
"""Days before and after today within which a date counts as computed."""

SMALL_COUNT = 10
"""Whole numbers up to this are counts and ordinals unless a unit follows."""

MAX_PRICES = 40
"""Known prices that arithmetic is tried on."""

MAX_PERCENTAGES = 10
"""Known discounts that arithmetic is tried on."""

MAX_COMPUTED = 20
"""Unknown amounts of one reply that arithmetic is tried on. Further ones count as unknown."""

LONGEST_WORD = 100
"""Characters that are read of one word, so that no pattern takes longer than in proportion to the text."""

NEAR_TEXT = 40
"""Characters before and after a number in which its unit is looked for."""

_LONG_WORD = re.compile(rf"(\S{{{LONGEST_WORD}}})\S+")

_AMOUNT = r"\d{1,20}+(?:[.,  ’']\d{1,20}+){0,8}"
_NUMBER = re.compile(rf"(?<![\w.,])[+-]?{_AMOUNT}(?!\w{{0,20}}@)")
_LINK = re.compile(
    r"[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+"
    r"|\b(?:www\.)?[a-z0-9-]{1,63}+(?:\.[a-z0-9-]{1,63}+){0,8}\.(?:com|net|org|info|biz|io|app|dev|co|eu|de|uk|fr|shop|store|online|tr|gov|edu)\b[^\s<>\"')\],;]*",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?<!\w)\+?\(?\d[\d ()./–-]{5,}\d(?!\w)")
_FIGURES = re.compile(r"\d|@|\w\.\w|Sok|Sk\.|Cad|Mah|Bulv|Blv|Meydan|Street|St\.|Road|Rd\.|Ave|Boulevard|Lane|Square")
_STREET = re.compile(
    r"((?:[A-ZÇĞİÖŞÜ0-9][\w.’'-]{0,30}+ ){1,4})(?:Sokak|Sokağı|Sk\.|Caddesi|Cadde|Cad\.|Mahallesi|Mah\.|Bulvarı|Blv\.|Meydanı"
    r"|Street|St\.|Road|Rd\.|Avenue|Ave\.|Boulevard|Lane|Square)(?!\w)"
)
_CLOCK = re.compile(r"(?<![\d.:])([01]?\d|2[0-4])[:.]([0-5]\d)(?![\d:]|[.,]\d)")
_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_DAY_FIRST = re.compile(r"(?<![\d.:/-])([0-3]?\d)([./-])([01]?\d)\2((?:20)?\d\d)(?!\d)")
_MONTHS = (
    ("january", "jan", "ocak"),
    ("february", "feb", "şubat"),
    ("march", "mar", "mart"),
    ("april", "apr", "nisan"),
    ("may", "mayıs"),
    ("june", "jun", "haziran"),
    ("july", "jul", "temmuz"),
    ("august", "aug", "ağustos"),
    ("september", "sept", "sep", "eylül"),
    ("october", "oct", "ekim"),
    ("november", "nov", "kasım"),
    ("december", "dec", "aralık"),
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_NAMED_DAY = re.compile(
    rf"\b([0-3]?\d)(?:st|nd|rd|th)?(?:\s+of)?\s+({_MONTH})\w*(?:,?\s+(20\d\d))?|\b({_MONTH})\s+([0-3]?\d)(?:st|nd|rd|th)?\b(?:,?\s+(20\d\d))?"
)
_UNIT_AFTER = re.compile(
    r"\s{0,9}+(?:[%‰₺$€£]|tl\b|try\b|usd\b|eur\b|gbp\b|lira|dolar|euro|pound|dollar|kuruş|cent|yüzde|percent|saat|dakika|gün|hafta|ay\b|yıl|hour"
    r"|min|day|week|month|year|km\b|m\b|metre|meter|mile|kg\b|am\b|pm\b|a\.m|p\.m|o'clock|'?[dt][ae]n?\b)"
)
_UNIT_BEFORE = re.compile(r"(?:[%₺$€£]|tl|yüzde|saat|usd|eur|at)\s*$")
_CURRENCY = r"(?:[₺$€£]|tl\b|try\b|usd\b|eur\b|gbp\b|lira|dolar|euro|avro|pound|dollar|kuruş|cent)"
_MONEY_AFTER = re.compile(rf"\s{{0,9}}+{_CURRENCY}")
_MONEY_BEFORE = re.compile(rf"{_CURRENCY}\s*$")
_PRICE = re.compile(rf"(?<!\d)({_AMOUNT})\s{{0,3}}{_CURRENCY}|{_CURRENCY}\s{{0,3}}({_AMOUNT})")
_PERCENT = re.compile(rf"(?<!\d)({_AMOUNT})\s{{0,3}}(?:%|percent|per cent)|(?:%|yüzde)\s{{0,3}}({_AMOUNT})")
_MINUTES = re.compile(r"\s{0,9}+(?:saat|dakika|dk|hour|min)")
_HOUR_BEFORE = re.compile(r"\b(?:saat|at|from|until|till)\s*$")
_HALF_DAY = re.compile(r"\s{0,9}+(?:am|pm|a\.m|p\.m|o'clock|gibi)|['’][dty]")
_IDIOMS = re.compile(r"\b(?:24/7|7/24|7x24|24x7)\b|(?:%\s?100|\b100\s?%)")
_NUMBER_WORDS = """
0 zero sıfır midnight | 1 one bir single | 2 two iki double | 3 three üç | 4 four dört | 5 five beş | 6 six altı | 7 seven yedi
8 eight sekiz | 9 nine dokuz | 10 ten on | 11 eleven | 12 twelve dozen noon | 15 fifteen quarter | 18 eighteen | 20 twenty yirmi
30 thirty otuz half yarım buçuk | 40 forty kırk | 50 fifty elli | 60 sixty altmış | 70 seventy yetmiş | 80 eighty seksen
90 ninety doksan | 100 hundred yüz | 1000 thousand bin
"""
_WORDS = {
    word: int(number) for line in re.split(r"[|\n]", _NUMBER_WORDS) if line.strip() for number, *words in [line.split()] for word in words
}
_WORD = re.compile("|".join(rf"\b{word}" for word in sorted(_WORDS, key=len, reverse=True)))

Clock = tuple[int, int]


def _shorten_words(text: str) -> str:
    return _LONG_WORD.sub(r"\1", text)


def folded(text: str) -> str:
    """Lower-case a text for comparison and shorten overlong words. Turkish capital letters become their own small ones."""
    text = _shorten_words(text)
    return text.replace("İ", "i").replace("I", "ı" if re.search("[çğışöüÇĞİŞÖÜ]", text) else "i").lower()


class Known:
    """Figures of one text, each kind read when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = folded(text)

    @cached_property
    def digits(self) -> str:
        """Every run of digits that may be a phone number's, without separators."""
        return " ".join(re.sub(r"\D", "", match[0]) for match in re.finditer(r"\d[\d ()./–+-]*\d", self.text))

    @cached_property
    def values(self) -> frozenset[Decimal]:
        """Every number, in each way that it may be meant."""
        return frozenset(_all_values(self.text))

    @cached_property
    def clocks(self) -> frozenset[Clock]:
        """Every time of day, as hour and minute."""
        return frozenset((int(match[1]), int(match[2])) for match in _CLOCK.finditer(self.text))

    @cached_property
    def days(self) -> frozenset[tuple[int, int]]:
        """Every calendar day, as month and day."""
        return frozenset(day[:2] for _, day in _days(self.text))

    @cached_property
    def percentages(self) -> frozenset[Decimal]:
        """Every percentage."""
        return frozenset(value for match in _PERCENT.finditer(self.text) for value in _values(match[1] or match[2]))


def has_figures(text: str) -> bool:
    """Report whether a text has anything that Sources.unknown() checks."""
    return _FIGURES.search(text) is not None


class Sources:
    """Texts that a reply may repeat. The knowledge, the bot's settings and the conversation, with the days of its records.

    `near` are the texts found for this message, whose prices a calculation may use; `spoken` is what the visitor wrote.
    """

    def __init__(
        self, known: Iterable[Known], near: Iterable[str], spoken: Iterable[str], now: datetime, days: Iterable[date] = ()
    ) -> None:
        self._near, self._spoken = tuple(near), tuple(spoken)
        self._known = (*known, Known("\n".join((*self._near, *self._spoken))))
        self._now = now
        near_days = ((now + timedelta(days=n)).date() for n in range(-NEAR_DAYS, NEAR_DAYS + 1))
        self._parts = dict[tuple[Decimal, ...], frozenset[Decimal]]()
        self._days = {(day.month, day.day) for day in (*near_days, *days)}

    def _says(self, words: str) -> bool:
        return any(words in one.text for one in self._known)

    def _has_value(self, values: Iterable[Decimal]) -> bool:
        return any(value in one.values for value in values for one in self._known)

    def unknown(self, reply: str) -> list[str]:
        """List the parts of a reply that no source has, in their order."""
        reply = _shorten_words(reply)
        text, found = folded(reply), list[str]()
        text = _IDIOMS.sub(" ", text)
        for match in _LINK.finditer(text):
            link = re.sub(r"^(?:https?://)?(?:www\.)?", "", match[0]).rstrip("/.,;:!?")
            if not self._says(link):
                found.append(match[0])
        text = _LINK.sub(" ", text)
        text, phones = self._without_phones(text)
        found += phones
        found += [match[0].strip() for match in _STREET.finditer(reply) if not self._has_street(match[1])]
        text, dates = self._without_days(text)
        found += dates
        found += [match[0] for match in _CLOCK.finditer(text) if not self._has_clock(int(match[1]), int(match[2]))]
        text = _CLOCK.sub(" ", text)
        named = Counter(_all_values(folded("\n".join((text, *self._spoken)))))
        computed = 0
        for match in _NUMBER.finditer(text):
            if self._has_number(match):
                continue
            computed += 1
            if computed > MAX_COMPUTED or not self._is_computed(match, named):
                found.append(match[0].strip())
        return found

    def _without_phones(self, text: str) -> tuple[str, list[str]]:
        unknown = []
        for match in list(_PHONE.finditer(text)):
            known = self._is_phone_known(match[0])
            if known is not None:
                unknown += [] if known else [match[0].strip()]
                text = text.replace(match[0], " ", 1)
        return text, unknown

    def _is_phone_known(self, text: str) -> bool | None:
        """Return whether a phone number is known. None for what is none, such as a date, a price or a range."""
        digits = re.sub(r"\D", "", text)
        if not 7 <= len(digits) <= 15 or re.fullmatch(r"\s*\d{1,3}(?:[.,]\d{3})+(?:[.,]\d\d?)?\s*", text) or _ISO.search(text):
            return None
        if _DAY_FIRST.fullmatch(text.strip()) or re.fullmatch(r"\d{1,2}[:.]?\d{0,2}\s?[–-]\s?\d{1,2}[:.]?\d{0,2}", text.strip()):
            return None
        tail = digits[-10:].lstrip("0")
        return any(tail in one.digits for one in self._known)

    def _has_street(self, name: str) -> bool:
        return self._says(folded(name).split()[-1])

    def _without_days(self, text: str) -> tuple[str, list[str]]:
        unknown = []
        for words, (month, day, year) in list(_days(text)):
            this_year = year is None or year in (self._now.year, self._now.year + 1) or self._has_value({Decimal(year)})
            if not this_year or not self._has_day(month, day):
                unknown.append(words)
            text = text.replace(words, " ", 1)
        return text, unknown

    def _has_day(self, month: int, day: int) -> bool:
        if (month, day) in self._days or any((month, day) in one.days for one in self._known):
            return True
        return self._says(f"{day:02}.{month:02}") or self._says(f"{day}/{month}")

    def _has_clock(self, hour: int, minute: int) -> bool:
        hours = {hour, hour + 12, hour - 12, hour % 24}
        if (hour, minute) == (self._now.hour, self._now.minute) or any((h, minute) in one.clocks for h in hours for one in self._known):
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
        near = folded("\n".join((*self._near, *self._spoken)))
        found = (value for match in _PRICE.finditer(near) for value in _values(match[1] or match[2]))
        return tuple(dict.fromkeys(found))[:MAX_PRICES]

    def _is_computed(self, match: re.Match[str], named: Counter[Decimal]) -> bool:
        """Try one step of arithmetic. An amount from prices and counts, or the time until a known time of day.

        `named` counts the numbers of the reply and of the visitor; the number itself is not one that it follows from.
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
        """Return the amounts that follow from the known prices, discounts and these counts."""
        if counts not in self._parts:
            amounts = {price * a * b for price in self._prices for a in counts for b in counts}
            amounts |= {amount * (100 - percent) / 100 for amount in amounts for percent in self._percentages}
            self._parts[counts] = frozenset(amounts)
        return self._parts[counts]

    @cached_property
    def _percentages(self) -> tuple[Decimal, ...]:
        return tuple(sorted({percent for one in self._known for percent in one.percentages}))[:MAX_PERCENTAGES]

    @cached_property
    def _durations(self) -> frozenset[Decimal]:
        now = 60 * self._now.hour + self._now.minute
        left = {abs(60 * hour + minute - now) for one in self._known for hour, minute in one.clocks}
        return frozenset(Decimal(n) for one in left for n in (one, one // 60, -(-one // 60), one % 60))


def _around(match: re.Match[str]) -> tuple[str, str]:
    """Return the text shortly before and after a match."""
    return match.string[max(0, match.start() - NEAR_TEXT) : match.start()], match.string[match.end() : match.end() + NEAR_TEXT]


def _values(text: str) -> set[Decimal]:
    """Read a written number in every possible way: 1.500 is 1500 or 1.5."""
    plain = re.sub(r"[  ’']", "", text.lstrip("+-"))
    readings = set[str]()
    if "." in plain and "," in plain:
        decimal = max(".", ",", key=plain.rfind)
        readings.add(plain.replace("," if decimal == "." else ".", "").replace(decimal, "."))
    elif "." in plain or "," in plain:
        separator = "." if "." in plain else ","
        last = plain.rpartition(separator)[2]
        if plain.count(separator) > 1 or len(last) == 3:
            readings.add(plain.replace(separator, ""))
        if plain.count(separator) == 1:
            readings.add(plain.replace(separator, "."))
    else:
        readings.add(plain)
    found = set[Decimal]()
    for reading in readings:
        try:
            found.add(Decimal(reading).normalize())
        except InvalidOperation:
            continue
    return found


def _all_values(text: str) -> Iterator[Decimal]:
    for match in re.finditer(r"\d+(?:[.,  ’']\d+)*", text):
        yield from _values(match[0])
        # "09:00-18:00", "10.30" and "2-3" are read apart as well.
        yield from (Decimal(part).normalize() for part in re.findall(r"\d+", match[0]))
    for match in _WORD.finditer(text):
        yield Decimal(_WORDS[match[0]]).normalize()


def _days(text: str) -> Iterator[tuple[str, tuple[int, int, int | None]]]:
    """Find calendar days in a folded text: the words, and month, day and year."""
    for match in _ISO.finditer(text):
        yield match[0], (int(match[2]), int(match[3]), int(match[1]))
    for match in _DAY_FIRST.finditer(text):
        year = int(match[4])
        yield match[0], (int(match[3]), int(match[1]), year if year > 99 else 2000 + year)
    for match in _NAMED_DAY.finditer(text):
        name, number, year_text = (match[2], match[1], match[3]) if match[1] else (match[4], match[5], match[6])
        yield match[0], (_MONTH_OF[name], int(number), int(year_text) if year_text else None)
