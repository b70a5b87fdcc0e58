"""Lookup of the symbol and the number that a folded word stands for. A mistyped day or month is found by edit distance."""

from functools import lru_cache

from chatsvc.language.tokens import CALENDAR_NAMES, Kind, kind_of
from chatsvc.language.wordlists import LanguageWords

_CORRECTED = ("today", "tomorrow", "nextweek", "coming")  # symbols whose long words have mistyped forms, beside days and months
_SHORTEST_CORRECTED, _LONG = 5, 8  # letters
TEN = 10

_WORDS = LanguageWords("symbols.txt")
_NUMBERS = LanguageWords("numbers.txt")
_SPELLING = LanguageWords("spelling.txt")

CASES = _NUMBERS.group("case ")
CASE_OF = {suffix: case for case, suffixes in CASES.items() for suffix in suffixes}
LOOSE_SUFFIXES = {int(digit): suffixes for digit, suffixes in _NUMBERS.group("loose ").items()}
BEHIND_TEN = _NUMBERS.words("behind_ten")
TENS = {language: frozenset(map(int, file.items("tens"))) for language, file in _NUMBERS.files.items()}
AMBIGUOUS_NUMBERS = _NUMBERS.words("ambiguous")
SHORT_FORMS = _SPELLING.words("short_forms")
DOUBTFUL_DAYS = _SPELLING.words("doubtful_days")
SERVED = tuple(_SPELLING.items("served"))
_EXACT = _SPELLING.words("exact")
_EXACT_STEMS = tuple(_SPELLING.items("exact_stems"))


def _words_of_groups() -> dict[str, list[str]]:
    groups = {name: list(words) for name, words in _WORDS.group("").items() if "+" not in name}
    for name in dict.fromkeys(name.removesuffix("+stems") for name, _ in _WORDS.entries if name.endswith("+stems")):
        for file in _WORDS.files.values():
            endings = ("", *file.items(f"{name}+endings"))
            groups[name] += [stem + ending for stem in file.items(f"{name}+stems") for ending in endings]
    return groups


def _symbols(groups: dict[str, list[str]]) -> dict[str, str]:
    known: dict[str, str] = {}
    for symbol, words in groups.items():
        for word in words:
            if symbol == "label" and known.get(word) == "unit":
                known[word] = "both"  # "3 numara" and "numara 3"
            known.setdefault(word, symbol)
    for symbol in (*(symbol for symbol in groups if kind_of(symbol) in CALENDAR_NAMES or "'" in symbol), "recurring"):
        known |= dict.fromkeys(groups.get(symbol, ()), symbol)
    return {word: symbol for word, symbol in known.items() if " " not in word}


def _numbers() -> dict[str, tuple[int, str, str]]:
    """Map all number words to (value, grammatical case, language), including compounds written as one word (`onbeş`)."""
    known: dict[str, tuple[int, str, str]] = {}
    for language, file in _NUMBERS.files.items():
        named = {name.partition("'")[::2]: words for name, words in file.group("").items() if name[0].isdigit()}
        single = [(int(value), case, word) for (value, case), words in named.items() for word in words]
        tens = [(int(ten), named[ten, ""][0]) for ten in file.items("tens")]
        together = [(ten + value, case, name + word) for ten, name in tens for value, case, word in single if value < TEN]
        for value, case, word in (*single, *together):
            known.setdefault(word, (value, case, language))
    return known


_GROUPS = _words_of_groups()
REJECTED = frozenset(_GROUPS["rejected"])
SYMBOL_OF = _symbols(_GROUPS)
NUMBER_OF = _numbers()
PHRASE_OF = {tuple(phrase.split()): symbol for symbol, phrases in _GROUPS.items() for phrase in phrases if " " in phrase}
PHRASE_STARTS = frozenset(phrase[0] for phrase in PHRASE_OF)
LONGEST_PHRASE = max(map(len, PHRASE_OF))


def _correctable_words() -> dict[str, list[str]]:
    """Return the words that a mistyped word is compared with, by their first letter.

    They include names of days and months of five letters and more, and the forms of long day names. Forms of short names are
    too similar to other words: saliye to saniye, yarinda to yakinda, araliktan to arasindan.
    """
    words: dict[str, list[str]] = {}
    for word, symbol in SYMBOL_OF.items():
        is_correctable = symbol in _CORRECTED and len(word) >= _LONG
        if kind_of(symbol) in CALENDAR_NAMES:
            stems = _GROUPS[symbol.partition("'")[0]]
            stem = max((stem for stem in stems if word.startswith(stem)), key=len, default="")
            is_form = stem == word or (len(stem) >= _LONG and kind_of(symbol) is Kind.WEEKDAY)
            is_correctable = is_form and len(stem) >= _SHORTEST_CORRECTED and stem not in SHORT_FORMS
        if is_correctable:
            words.setdefault(word[0], []).append(word)
    return words


_CORRECTABLE = _correctable_words()


@lru_cache(maxsize=20_000)
def symbol_of(word: str) -> str:
    """Return the symbol of one folded word, or "x" if it has none."""
    if symbol := SYMBOL_OF.get(word):
        return symbol
    if not _SHORTEST_CORRECTED <= len(word) <= 2 * _LONG or word in _EXACT or word.startswith(_EXACT_STEMS) or word in NUMBER_OF:
        return Kind.UNKNOWN.value
    near: list[tuple[int, str]] = []
    for meant in _CORRECTABLE.get(word[0], ()):
        allowed = 2 if len(meant) >= _LONG else 1
        if abs(len(meant) - len(word)) <= allowed and (edits := distance(word, meant, allowed)) <= allowed:
            near.append((edits, meant))
    return SYMBOL_OF[min(near)[1]] if near else Kind.UNKNOWN.value


def distance(word: str, other: str, limit: int) -> int:
    """Return the Damerau-Levenshtein distance of two words, or `limit` + 1 if it is greater than `limit`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(word, start=1):
        previous, row, older = row, [i], before
        for j, right in enumerate(other, start=1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and word[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        before = previous
        if min(row) > limit:
            return limit + 1
    return row[-1]
