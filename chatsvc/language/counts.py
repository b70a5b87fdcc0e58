"""Numbers of people and nights in a message, and its other bare numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chatsvc.language import symbols
from chatsvc.language.folding import Folded, words
from chatsvc.language.wordlists import LanguageWords

_FILE = LanguageWords("counts.txt")
_PEOPLE = _FILE.any_of("people", r"[ -]?(?:{})(?![a-z])")
_PEOPLE_BEFORE = _FILE.any_of("people_before", r"(?<![a-z])(?:{}) ?(?:(?:about|around|just|only) )?$")
_PEOPLE_BESIDE = _FILE.any_of("people_beside", r"(?<![a-z])(?:{}) $")
_COLLECTIVES = [(int(name.split()[1]), _FILE.any_of(name)) for name in _FILE.names("people ")]
_COLLECTIVE_NIGHTS = [(int(name.split()[1]), _FILE.any_of(name)) for name in _FILE.names("nights ")]
_NIGHTS, _WEEKS, _DAYS = (_FILE.any_of(name, "[ -]?(?:{})") for name in ("nights", "weeks", "days"))
_STAY_BEFORE, _STAY_BEHIND = _FILE.any_of("stay_before"), _FILE.any_of("stay_behind")
FLEXIBLE = _FILE.any_of("flexible")
CARRIERS_BEFORE = _FILE.any_of("carriers_before", r"(?:^|(?<=[\s,.;:!?(]))(?:{})[\s,:;.=!-]{0,4}$")
CARRIERS_BEHIND = _FILE.any_of("carriers_behind", r"[\s,:'’-]{0,4}(?:{})(?=$|[\s,.;:!?)])")
BETWEEN = _FILE.any_of("between", r"[\s,;.&/-]*(?:{})?[\s,;./&-]*")

_LINK = re.compile(rf" ?(?:-|{'|'.join(sorted(word for word, symbol in symbols.SYMBOL_OF.items() if symbol in {'or', 'to'}))}|ya da) ?")
_ENDS_CLAUSE = re.compile(r" ?(?:$|[.,;!?\n]| (?:on|at|please|from|and)\b)")
_NUMBER = re.compile(
    r"(?<![\w.,:/+-])\d{1,3}(?=-\d{1,3} ?[a-z])|(?<![\w.,:/+])(?:\d{1,3}(?:\.\d{3}){1,2}|\d{1,9})(?![\d]|[.,:/-]\d|['’]?[a-z]{0,2}\d)"
    r"|(?<![a-z'])[a-z]{1,20}(?![a-z'])"
)
_HOUR_BEHIND = re.compile(r" ?(?:[:.]\d|am\b|pm\b|o'?clock)|[%$£€₺°]")
_ARTICLES = frozenset(word for word, symbol in symbols.SYMBOL_OF.items() if symbol == "a")
_TENS = (10, 20, 30, 40, 50)
_TEN_BEHIND = re.compile(
    rf" (?:{'|'.join(sorted(symbols.BEHIND_TEN | {word for word, (value, *_) in symbols.NUMBER_OF.items() if value < _TENS[0]}))})"
)
_NOUN = 4  # letters of a noun without its suffixes
_BEFORE = 40  # characters looked at before a number
_MOST = 40  # numbers looked at
_MOST_PEOPLE, _MOST_NIGHTS = 9_999, 365


@dataclass(frozen=True, slots=True)
class Count:
    """A number with its offsets: in the folded text, those returned in the text as typed."""

    value: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers in a text by what they count. `people` is a sum."""

    people: Count | None
    nights: Count | None
    number: Count | None


def find(message: Folded, taken: Iterable[tuple[int, int]], *, asked: str = "", timed: bool = False) -> Counted:
    """Return the numbers outside of the `taken` spans of the text as typed.

    `timed` tells that a time is said, beside which "for 4" is a number of people. Of a span, 4-5 people, the first counts.
    """
    text, place, spans = message.text, message.place, list(taken)
    numbers = [one for one in _numbers(text) if not any(start < place[one.end] and place[one.start] < end for start, end in spans)]
    people: Count | None = None
    nights: Count | None = None
    parts: dict[str, int] = {}  # people by their noun: "2 adults, 1 child", but "1 person more, we are 5 persons"
    others: list[Count] = []
    for one in numbers:
        if others and _LINK.fullmatch(text, others[-1].end, one.start) and _is_counted(text, one, asked):
            one = Count(others[-1].value, others.pop().start, one.end)  # noqa: PLW2901 - the span is one number
        article = text[one.start : one.end] in _ARTICLES
        if (
            (match := _PEOPLE.match(text, one.end)) and one.value <= _MOST_PEOPLE and not (article and match[0].endswith("s"))
        ):  # "a kids bike"
            noun = match[0].strip(" -")[:_NOUN]
            parts[noun] = max(one.value, parts.get(noun, 0))
            people = Count(sum(parts.values()), people.start if people else one.start, match.end())
        elif (stay := _stay(text, one, asked)) and stay.value <= _MOST_NIGHTS:
            nights = nights or stay
        else:
            others += [] if article else [one]
    nights = nights or _collective(text, _COLLECTIVE_NIGHTS)
    if people is None:
        people = next((one for one in others if _is_party(text, one, beside=timed or nights is not None)), None)
        others = [one for one in others if one is not people]
        people = people or _collective(text, _COLLECTIVES)
    doubtful = () if asked in {"number", "nights"} else symbols.AMBIGUOUS_NUMBERS
    number = next((one for one in others if text[one.start : one.end] not in doubtful), None)
    if asked == "nights" and nights is None and number is not None and number.value <= _MOST_NIGHTS:
        nights, number = number, None
    return Counted(*(one and Count(one.value, *message.span(one.start, one.end)) for one in (people, nights, number)))


def names_people(text: str) -> bool:
    """Return whether a text names people that can be counted: "Kaç kişisiniz?"."""
    return any(_PEOPLE.fullmatch(word) for word in words(text))


def _numbers(text: str) -> list[Count]:
    """Return the numbers in figures and in words, `twenty five` and `on iki` as one."""
    found: list[Count] = []
    for match in _NUMBER.finditer(text):
        if len(found) > _MOST:
            break
        word = match[0]
        if word[0].isdigit():
            found.append(Count(int(word.replace(".", "")), *match.span()))
            continue
        value, case, _ = symbols.NUMBER_OF.get(word) or (int(word in _ARTICLES), "", "")
        if not value or case:  # no number, or one with an ending: üçte, third
            continue
        last = found[-1] if found else None
        if (
            last
            and last.value in _TENS
            and value < _TENS[0]
            and text[last.end : match.start()] in {" ", "-"}
            and text[last.start].isalpha()
        ):
            found[-1] = Count(last.value + value, last.start, match.end())
        elif word != "on" or _TEN_BEHIND.match(text, match.end()):  # the English word
            found.append(Count(value, *match.span()))
    return found


def _stay(text: str, one: Count, asked: str) -> Count | None:
    """Return the nights that a number counts. A week is 7, days count only where a stay is spoken of."""
    if match := _NIGHTS.match(text, one.end):
        return Count(one.value, one.start, match.end())
    for pattern, nights in ((_WEEKS, 7), (_DAYS, 1)):
        if match := pattern.match(text, one.end):
            before = text[max(0, one.start - _BEFORE) : one.start]
            if asked == "nights" or _STAY_BEFORE.search(before) or _STAY_BEHIND.match(text, match.end()):
                return Count(one.value * nights, one.start, match.end())
    return None


def _is_counted(text: str, one: Count, asked: str) -> bool:
    return bool(_PEOPLE.match(text, one.end)) or _stay(text, one, asked) is not None


def _is_party(text: str, one: Count, *, beside: bool) -> bool:
    """Return whether a number without a noun counts people: `table for 4`, and `for 4` beside a time or nights."""
    before = text[max(0, one.start - _BEFORE) : one.start]
    said = _PEOPLE_BEFORE.search(before) or (beside and _PEOPLE_BESIDE.search(before) and _ENDS_CLAUSE.match(text, one.end))
    return one.value <= _MOST_PEOPLE and bool(said) and not _HOUR_BEHIND.match(text, one.end)


def _collective(text: str, patterns: Iterable[tuple[int, re.Pattern[str]]]) -> Count | None:
    """Return a number that is said without one: `just me`, `overnight`."""
    found = ((value, pattern.search(text)) for value, pattern in patterns)
    return next((Count(value, *match.span()) for value, match in found if match), None)
