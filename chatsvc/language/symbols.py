"""Lookup of the symbol and the number that a folded word stands for.

Inflected forms are generated once at import; a mistyped day or month is found by edit distance.
"""

from __future__ import annotations

from functools import lru_cache

from chatsvc.language.edits import distance
from chatsvc.language.tokens import WEEKDAYS, Case, Kind, kind_of
from chatsvc.language.wordlists import WordFile

_VOWELS = "aeiou"
_INFLECTED = ("today", "tomorrow", "obur")  # groups whose Turkish words take case endings
_MARKET = "pazari pazarda pazarin pazarindan pazarinda"  # the market, not the day
_NOUN_SUFFIXES = "a e ya ye i u yi yu si su da de ta te dan den tan ten nin in un ki sina sine sini sinda sinde yla yle daki deki"
_BEHIND_VOWELS = frozenset(["ya", "ye", "yi", "yu", "si", "su", "sina", "sine", "sini", "sinda", "sinde", "yla", "yle", "nin"])
_FRONT_VOWELS = frozenset({1, 2, 3, 4, 5, 7, 8, 20, 50})  # numbers whose Turkish words end in a front vowel

_GROUPS = WordFile("language/symbols.txt").group("")
_NUMBERS = WordFile("language/numbers.txt")
_SPELLING = WordFile("language/spelling.txt")

CASES = _NUMBERS.group("case ")
CASE_OF = {suffix: case for case, suffixes in CASES.items() for suffix in suffixes}
LOOSE_SUFFIXES = {int(digit): suffixes for digit, suffixes in _NUMBERS.group("loose ").items()}
TURKISH_UNITS = _NUMBERS.words("turkish_units")
AMBIGUOUS_NUMBERS = _NUMBERS.words("ambiguous")
SHORT_FORMS = _SPELLING.words("short_forms")
SERVED = tuple(_SPELLING.items("served"))
CARDINALS_TR = {int(value): word for value, (word,) in _NUMBERS.group("tr ").items()}
CARDINALS_EN = {int(value): word for value, (word,) in _NUMBERS.group("en ").items()}
_ORDINALS_EN = {int(value): word for value, (word,) in _NUMBERS.group("ordinal ").items()}
_EXACT = _SPELLING.words("exact")
_EXACT_STEMS = tuple(_SPELLING.items("exact_stems"))


def _noun_forms(stem: str) -> dict[str, str]:
    """Return the inflected forms of a day or month, each with its case. Cuma gives cumaya, cumadan."""
    forms = {stem: ""}
    for suffix in _NOUN_SUFFIXES.split():
        if suffix[0] in _VOWELS if stem[-1] in _VOWELS else suffix in _BEHIND_VOWELS:  # cumai, pazarya: no such form
            continue
        forms[stem + suffix] = CASE_OF.get(suffix, Case.POSSESSIVE_LOCATIVE)
        if stem[-1] == "k" and suffix[0] in _VOWELS:  # aralığa, ocağın
            forms[f"{stem[:-1]}g{suffix}"] = CASE_OF.get(suffix, Case.POSSESSIVE_LOCATIVE)
    return forms


def _under(symbol: str, words: list[str], *, inflected: bool) -> dict[str, str]:
    """Return the words, each with the symbol and its case: `Dt4'dat`. If `inflected`, their Turkish forms as well."""
    found: dict[str, str] = {}
    for word in words:
        forms = _noun_forms(word) if inflected and len(word) > 3 and word.isalpha() else {word: ""}
        for form, case in forms.items():
            found.setdefault(form, f"{symbol}'{case}" if case else symbol)
    return found


def _words_of_groups() -> dict[str, list[str]]:
    """Return the groups that are no days or months; stems and endings are expanded."""
    groups: dict[str, list[str]] = {}
    for name, words in _GROUPS.items():
        group, _, part = name.partition("+")
        if part == "stems":
            endings = ("", *_GROUPS[f"{group}+endings"])
            groups[group] = [*groups[group], *(stem + ending for stem in words for ending in endings)]
        elif not part and kind_of(name) is Kind.GROUP:
            groups[group] = words
    return groups


def _symbols(groups: dict[str, list[str]]) -> dict[str, str]:
    known: dict[str, str] = {}
    for symbol, words in groups.items():
        for word in words:
            if symbol == "label" and known.get(word) == "unit":
                known[word] = "both"  # "3 numara" and "numara 3"
            if symbol != "recurring":
                known.setdefault(word, symbol)
    for symbol in _INFLECTED:
        known = _under(symbol, groups[symbol], inflected=True) | known
    for symbol, words in _GROUPS.items():
        if kind_of(symbol) in WEEKDAYS:
            known |= _under(symbol, words, inflected=kind_of(symbol) is Kind.TURKISH_DAY)
    known |= dict.fromkeys(_MARKET.split(), "market")
    for symbol, words in _GROUPS.items():
        if kind_of(symbol) is Kind.MONTH:
            known |= _under(symbol, words[:1], inflected=True) | _under(symbol, words[1:], inflected=False)
    return known | dict.fromkeys(groups["recurring"], "recurring")


def _rhymes(number: int, stem: str, suffix: str) -> bool:
    """Return whether a Turkish ending has the vowels that the number asks for. Bire and not bira, onu and not oni."""
    high = "u" if next(char for char in reversed(stem) if char in _VOWELS) in "uo" else "i"
    low = "e" if number in _FRONT_VOWELS else "a"
    return all(char in {high, low} for char in suffix.removesuffix("ki") if char in _VOWELS)


def _numbers() -> dict[str, tuple[int, str, str]]:
    """Return the number words, each with (value, case, language)."""
    known: dict[str, tuple[int, str, str]] = {}
    for table, case in ((CARDINALS_EN, ""), (_ORDINALS_EN, Case.ORDINAL.value)):
        for value, word in table.items():
            known[word] = (value, case, "en")
    together = {ten + unit: CARDINALS_TR[ten] + CARDINALS_TR[unit] for ten in (10, 20, 30, 40, 50) for unit in range(1, 10)}  # onbeş
    for value, stem in (CARDINALS_TR | together).items():
        known[stem] = (value, "", "tr")
        soft = stem.removesuffix("dort") + "dord" if stem.endswith("dort") else stem
        for suffix, case in CASE_OF.items():
            if case == Case.ORDINAL or (stem[-1] in _VOWELS and suffix[0] in "iueao") or not _rhymes(value % 10 or value, stem, suffix):
                continue
            known.setdefault((soft if suffix[0] in _VOWELS else stem) + suffix, (value, case, "tr"))
    return known


_WORDS_OF = _words_of_groups()
REJECTED = frozenset(_WORDS_OF["rejected"])
SYMBOL_OF = _symbols(_WORDS_OF)
NUMBER_OF = _numbers()
PHRASE_OF = {tuple(phrase.split()): symbol for symbol, phrases in WordFile("language/phrases.txt").group("").items() for phrase in phrases}
PHRASE_STARTS = frozenset(phrase[0] for phrase in PHRASE_OF)
LONGEST_PHRASE = max(map(len, PHRASE_OF))


def _correctable_words() -> dict[str, list[str]]:
    """Return the words that a mistyped word is compared with, by their first letter.

    They are the names of days and months of five letters and more, and the forms of the long days. Forms of short names are one
    slip away from other words: saniye from saliye, yakinda from yarinda, arasindan from araliktan.
    """
    found: dict[str, list[str]] = {}
    for symbol, stems in _GROUPS.items():
        if kind_of(symbol) not in WEEKDAYS | {Kind.MONTH}:
            continue
        for stem in stems:
            forms = [form for form in _noun_forms(stem) if form == stem or (len(stem) > 7 and kind_of(symbol) in WEEKDAYS)]
            for word in forms if len(stem) > 4 and stem not in SHORT_FORMS else ():
                if word in SYMBOL_OF:
                    found.setdefault(word[0], []).append(word)
    for symbol in _SPELLING.items("symbols"):
        for word in _WORDS_OF[symbol]:
            if len(word) > 7:
                found.setdefault(word[0], []).append(word)
    return found


_CORRECTABLE = _correctable_words()


@lru_cache(maxsize=20_000)
def symbol_of(word: str) -> str:
    """Return the symbol of one folded word, "x" without one."""
    if symbol := SYMBOL_OF.get(word):
        return symbol
    if len(word) < 5 or len(word) > 16 or word in _EXACT or word.startswith(_EXACT_STEMS) or word in NUMBER_OF:
        return Kind.UNKNOWN.value
    best: tuple[int, str] | None = None
    for meant in _CORRECTABLE.get(word[0], ()):
        allowed = 2 if len(meant) >= 8 else 1
        if abs(len(meant) - len(word)) <= allowed:
            edits = distance(word, meant, allowed)
            if edits <= allowed and (best is None or (edits, meant) < best):
                best = (edits, meant)
    return SYMBOL_OF[best[1]] if best else Kind.UNKNOWN.value
