"""Typed readings of a text: amounts of money, lengths, times, days, ages, counts, people, places.

The words are those of all languages' `facts.txt`; a text may be in any of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from chatsvc.engines.knowledge.search.stopwords import is_light
from chatsvc.language.folding import fold_with_places
from chatsvc.language.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES
from chatsvc.language.wordlists import WordFile

FOLDER = Path(__file__).parents[3] / "languages"
FILES = {path.parent.name: WordFile(str(path)) for path in sorted(FOLDER.glob("*/facts.txt"))}

_TOKEN = re.compile(
    r"(?P<clock>(?<![\d.,])(?:[01]?\d|2[0-4])[:.][0-5]\d(?!\d|[.,]\d))|(?P<number>\d{1,3}(?:[.,]\d{3})+(?!\d)|\d+(?:[.,]\d{1,2}(?!\d))?)"
    r"|(?P<word>[^\W\d_]+)(?:'[^\W\d_]*)?|(?P<sign>[€$£₺₽%@\-])"
)
_SIGNS = frozenset("€$£₺₽")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_CAPITAL = re.compile(r"(?<=[^\W_] )[^\W\d_a-zçğıöşü][a-zçğıöşü]{2,}")  # a word with a capital inside of a sentence
_LEAST_PRICE = 10
_PHONE_DIGITS = 7
_LONGEST = 4_000  # characters of a text that are read
_HOURS, _AGE_DIGITS = 24, 2
# Kinds of amounts that answer a kind of question, and those that may stand for one.
PROPER: Mapping[str, frozenset[str]] = {
    "price": frozenset({"money", "percent"}),
    "duration": frozenset({"duration"}),
    "when": frozenset({"time", "day"}),
    "open": frozenset({"time", "day"}),
    "where": frozenset({"place"}),
    "who": frozenset({"person"}),
    "how_many": frozenset({"count", "age"}),
    "contact": frozenset({"contact"}),
    "included": frozenset({"included"}),
}
HELD: Mapping[str, frozenset[str]] = {
    "price": frozenset({"money", "percent", "included", "amount"}),
    "duration": frozenset({"duration", "time"}),
    "when": frozenset({"time", "day", "duration", "age"}),
    "open": frozenset({"time", "day"}),
    "where": frozenset({"place", "contact", "duration"}),
    "who": frozenset({"person", "name"}),
    "how_many": frozenset({"count", "age", "duration", "percent", "money"}),
    "contact": frozenset({"contact"}),
}
BESIDES: Mapping[str, frozenset[str]] = {kind: frozenset({"what", "which", "whether", "may", ""}) for kind in ("contact", "included")}
"""Kinds of amounts that words of a question ask for, and the kinds of question that they stand in."""
_WORDS = {"moments": "duration", "clock_words": "time", "included": "included"}  # list -> kind


class Value(NamedTuple):
    """An amount in a text, with its place in it. The number of a length is in minutes; None for one without a number."""

    kind: str
    number: float | None
    start: int
    end: int


class TypedText(NamedTuple):
    """Values, days and months that a text states."""

    values: tuple[Value, ...] = ()
    kinds: frozenset[str] = frozenset()
    days: frozenset[int] = frozenset()  # weekdays named, those inside of a span too
    months: frozenset[int] = frozenset()
    negative: bool = False  # says no, or makes an exception


class _AmountToken(NamedTuple):
    text: str
    kind: str
    start: int
    end: int


class _Labels:
    """Words and expressions of all files with the names of their lists."""

    def __init__(self, files: Iterable[WordFile]) -> None:
        self._words: dict[str, set[str]] = {}
        self._beginnings: list[tuple[str, str]] = []
        self._expressions: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for file in files:
            for name, _ in file.entries:
                if name.startswith(("say ", "of_business ", "abbreviations", "after_ordinals")):
                    continue
                for item in file.items(name):
                    first, *rest = item.split()
                    if rest:
                        self._expressions.setdefault(first, []).append((tuple(rest), name))
                    elif item.endswith("*"):
                        self._beginnings.append((item[:-1], name))
                    else:
                        self._words.setdefault(item, set()).add(name)
        self.of_word = lru_cache(maxsize=8_192)(self._of_word)

    def _of_word(self, word: str) -> frozenset[str]:
        return frozenset(self._words.get(word, ())).union(name for start, name in self._beginnings if word.startswith(start))

    def expressions(self, said: Sequence[str], at: int) -> Iterator[tuple[str, int]]:
        """Yield (list, words) of the expressions that begin at a word."""
        for rest, name in self._expressions.get(said[at], ()):
            behind = said[at + 1 : at + 1 + len(rest)]
            if len(behind) == len(rest) and all(map(_is_form, behind, rest)):
                yield name, 1 + len(rest)

    def marked(self, said: Sequence[str]) -> list[set[str]]:
        """Return the lists of each word, those of its expressions included."""
        found = [set(self.of_word(word)) for word in said]
        for at in range(len(said)):
            for name, length in self.expressions(said, at):
                for held in found[at : at + length]:
                    held.add(name)
        return found


def _is_form(word: str, item: str) -> bool:
    return word.startswith(item[:-1]) if item.endswith("*") else word == item


LABELS = _Labels(FILES.values())


@lru_cache(maxsize=4_096)
def read(text: str) -> TypedText:
    """Return what a text states."""
    folded = fold_with_places(text[:_LONGEST])
    tokens = [
        _AmountToken(match[match.lastgroup], match.lastgroup, *match.span()) for match in _TOKEN.finditer(folded.text) if match.lastgroup
    ]
    marks = LABELS.marked([token.text for token in tokens])
    found = [*_values(tokens, marks)]
    days, months = _days(tokens, marks)
    kinds = {value.kind for value in found}
    if days or months or any("seasons" in mark for mark in marks):
        kinds.add("day")
    if any("place" in mark for mark in marks):
        kinds.add("place")
    if any("person" in mark for mark in marks) or _names_person(text):
        kinds.add("person")
    elif _CAPITAL.search(text):
        kinds.add("name")
    if "money" not in kinds and any(
        kind == "count" and (number or 0) >= _LEAST_PRICE and folded.text[start].isdigit() for kind, number, start, _ in found
    ):
        kinds.add("amount")  # a price without its currency
    if any("contact" in mark for mark in marks) or "@" in folded.text or _has_number(folded.text):
        kinds.add("contact")
    negative = any("negative" in mark for mark in marks)
    places = folded.place
    values = tuple(Value(kind, number, places[start], places[end]) for kind, number, start, end in found)
    return TypedText(values, frozenset(kinds), days, months, negative)


def _values(tokens: Sequence[_AmountToken], marks: Sequence[set[str]]) -> Iterator[Value]:
    pending: list[tuple[float, int]] = []  # numbers before a joining sign, which have the unit of the next one: "2-3 ay"
    for at, token in enumerate(tokens):
        number = _number(token, marks[at])
        if number is None:
            if (kind := _without_number(marks, at)) is not None:
                yield Value(kind, 0.0 if kind == "money" else None, token.start, token.end)
            if not (token.kind == "sign" or "joining" in marks[at]):
                pending.clear()
            continue
        kind, factor, start, end = _unit(tokens, marks, at)
        if kind == "count" and at + 1 < len(tokens) and (tokens[at + 1].text == "-" or "joining" in marks[at + 1]):
            pending.append((number, start))
            continue
        for before, began in pending:
            yield Value(kind, before * factor, began, end)
        pending.clear()
        yield Value(kind, number * factor, start, end)


def _without_number(marks: Sequence[set[str]], at: int) -> str | None:
    """Return the kind of a word that stands for an amount: "free", "overnight", "noon", "included"."""
    if "free" in marks[at]:
        return None if at and {"free", "free_of"} & marks[at - 1] else "money"
    return next((kind for name, kind in _WORDS.items() if name in marks[at]), None)


def _number(token: _AmountToken, marks: set[str]) -> float | None:
    if token.kind == "clock":
        hours, _, minutes = token.text.replace(".", ":").partition(":")
        return int(hours) + int(minutes) / 60
    if token.kind == "number":
        plain = token.text
        if _GROUPED.fullmatch(plain):
            return float(plain.replace(".", "").replace(",", ""))
        return float(plain.replace(",", "."))
    named = next((mark for mark in sorted(marks) if mark.startswith("number ")), None)
    return float(named.removeprefix("number ")) if named else None


def _unit(tokens: Sequence[_AmountToken], marks: Sequence[set[str]], at: int) -> tuple[str, float, int, int]:
    """Return kind, factor and span of the number at a token."""
    token = tokens[at]
    before = tokens[at - 1] if at else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    behind = marks[at + 1] if after is not None else set()
    ahead = marks[at - 1] if before is not None else set()
    start = token.start
    if before is not None and before.text in _SIGNS and before.end >= token.start - 1:
        return "money", _money(token), before.start, token.end
    if after is not None and ("currency" in behind or (after.text in _SIGNS and not _opens_amount(tokens, at + 1))):
        return "money", _money(token), start, after.end
    if (after is not None and after.text == "%") or (before is not None and before.text == "%") or "percent" in ahead:
        return "percent", 1.0, start, after.end if after is not None and after.text == "%" else token.end
    if token.kind == "clock":
        return "time", 1.0, start, token.end
    if any(mark.startswith("month ") for mark in (*behind, *ahead)):
        return "day", 1.0, start, token.end
    told = ahead | (marks[at - 2] if at > 1 and tokens[at - 1].kind == "word" else set())
    return _with_word(tokens, marks, at) or _plain(token, ahead | (told & {"people"}))


def _with_word(tokens: Sequence[_AmountToken], marks: Sequence[set[str]], at: int) -> tuple[str, float, int, int] | None:
    """Return the kind of a number that a word behind it gives: "3 full days", "30-minute", "5 yaş", "3 pm"."""
    token = tokens[at]
    for step in (1, 2):
        if at + step >= len(tokens) or (step == 2 and (tokens[at + 1].kind == "number" or token.kind == "word")):
            break
        end = tokens[at + step].end
        if step == 1 and "age_after" in marks[at + 1]:
            return "age", 1.0, token.start, end
        unit = next((mark for mark in sorted(marks[at + step]) if mark.startswith("unit ")), None)
        if unit:
            return "duration", float(unit.removeprefix("unit ")) or 1.0, token.start, end
        if step == 1 and "clock_after" in marks[at + 1]:
            return "time", 1.0, token.start, end
    return None


def _plain(token: _AmountToken, ahead: set[str]) -> tuple[str, float, int, int]:
    """Return the kind of a number that a word before it gives: "over 65", "until 3". Else it counts something."""
    kind = "count"
    if token.kind == "number":
        if ahead & {"age_before", "people"} and len(token.text) <= _AGE_DIGITS:
            kind = "age"
        elif "clock_before" in ahead and len(token.text) <= 2 and int(token.text) <= _HOURS:
            kind = "time"
    return kind, 1.0, token.start, token.end


def _opens_amount(tokens: Sequence[_AmountToken], at: int) -> bool:
    """Return whether a sign belongs to the number behind it: "12, £20"."""
    return at + 1 < len(tokens) and tokens[at + 1].kind in {"number", "clock"} and tokens[at + 1].start == tokens[at].end


def _money(token: _AmountToken) -> float:
    """Return the factor that undoes the reading of an amount as a time: 24.50."""
    if token.kind != "clock":
        return 1.0
    as_time = _number(token, set()) or 1.0
    return float(token.text.replace(":", ".")) / as_time


def _days(tokens: Sequence[_AmountToken], marks: Sequence[set[str]]) -> tuple[frozenset[int], frozenset[int]]:
    return _named(tokens, marks, "weekday ", 7, 0), _named(tokens, marks, "month ", 12, 1)


def _named(tokens: Sequence[_AmountToken], marks: Sequence[set[str]], prefix: str, count: int, first: int) -> frozenset[int]:
    """Return the days or months named. Those between two joined by a dash or "to" too."""
    found: set[int] = set()
    last: tuple[int, int] | None = None  # (place, number) of the last one
    for at, mark in enumerate(marks):
        names = [one.removeprefix(prefix) for one in mark if one.startswith(prefix)]
        for name in names:
            numbers = [int(name)] if prefix == "month " else [int(digit) for digit in name]
            found.update(numbers)
            if len(numbers) == 1:
                if (
                    last is not None
                    and at - last[0] in {2, 3}
                    and any(_spans(tokens[between], marks[between]) for between in range(last[0] + 1, at))
                ):
                    number = last[1]
                    while number != numbers[0]:
                        found.add(number)
                        number = first + (number - first + 1) % count
                last = at, numbers[0]
    return frozenset(found)


def _spans(token: _AmountToken, mark: set[str]) -> bool:
    return token.text == "-" or "spanning" in mark


def _names_person(text: str) -> bool:
    capitals = re.findall(r"[^\W\d_][^\W\d_a-zçğıöşü]*[a-zçğıöşü]{2,}", text[:_LONGEST])
    for word in capitals:
        if word[0].isupper():
            folded = fold_with_places(word).text
            if folded in GIVEN_NAMES and folded not in AMBIGUOUS_NAMES:
                return True
    return False


def _has_number(text: str) -> bool:
    return re.search(rf"(?:\d[ ()./-]{{0,2}}){{{_PHONE_DIGITS},}}", text) is not None


def asked_for(kind: str, said: Sequence[str]) -> str:
    """Return the kind of a question, or the kind of amount that its words ask for: "is lunch included", "what's the number"."""
    marks = LABELS.marked(said)
    if kind in BESIDES["included"] and any("included" in mark for mark in marks):
        return "included"
    if kind in BESIDES["contact"] and any("asked contact" in mark for mark in marks):
        others = (word for word, mark in zip(said, marks, strict=True) if not mark & {"asked contact", "asking", "pointing"})
        return "contact" if all(map(is_light, others)) else kind
    return kind


def languages() -> Mapping[str, WordFile]:
    """Return the file of each language."""
    return FILES
