"""From a folded word to its symbol: inflected forms are made once, when the module is loaded; slips of the finger are looked up."""

from __future__ import annotations

from functools import lru_cache

from chatsvc.engines.reading import vocabulary as v
from chatsvc.engines.reading.vocabulary import listed

CASE_OF = {suffix: case for case, suffixes in v.CASES.items() for suffix in suffixes.split()}
_NOUN_SUFFIXES = "a e ya ye i u yi yu si su da de ta te dan den tan ten nin in ki sina sine sini sinda sinde yla yle daki deki"
_VOWELS = "aeiou"
_MARKET = listed("pazari pazarda pazarin pazarindan pazarinda")  # the market, not the day
_BEHIND_VOWELS = listed("ya ye yi yu si su sina sine sini sinda sinde yla yle nin")


def _noun_forms(stem: str) -> dict[str, str]:
    """The forms of a day or month with the case each stands in: cuma -> cumaya, cumadan."""
    forms = {stem: ""}
    for suffix in _NOUN_SUFFIXES.split():
        if suffix[0] in _VOWELS if stem[-1] in _VOWELS else suffix in _BEHIND_VOWELS:  # cumai, pazarya: no such thing
            continue
        forms[stem + suffix] = CASE_OF.get(suffix, "psl")
        if stem[-1] == "k" and suffix[0] in _VOWELS:  # aralığa, ocağın
            forms[f"{stem[:-1]}g{suffix}"] = CASE_OF.get(suffix, "psl")
    return forms


def _under(symbol: str, words: str, *, inflected: bool) -> dict[str, str]:
    """Each word, with its Turkish forms if it has any, under its symbol with the case: `Dt4'dat`."""
    found: dict[str, str] = {}
    for word in words.split():
        forms = _noun_forms(word) if inflected and len(word) > 3 and word.isalpha() else {word: ""}
        for form, case in forms.items():
            found.setdefault(form, f"{symbol}'{case}" if case else symbol)
    return found


def _symbols() -> dict[str, str]:
    known: dict[str, str] = {}
    for symbol, text in v.SYMBOLS.items():
        for word in text.split():
            if symbol == "label" and known.get(word) == "unit":
                known[word] = "both"  # "3 numara" and "numara 3"
            known.setdefault(word, symbol)
    for symbol in v.INFLECTED:
        known = _under(symbol, v.SYMBOLS[symbol], inflected=True) | known
    for symbol, text in v.WEEKDAYS.items():
        known |= _under(symbol, text, inflected=symbol[1] == "t")
    known |= dict.fromkeys(_MARKET, "market")
    for month, text in v.MONTHS.items():
        full, _, short = text.partition(" ")
        known |= _under(f"M{month}", full, inflected=True) | _under(f"M{month}", short, inflected=False)
    return known | dict.fromkeys(v.RECURRING.split(), "recurring")


_FRONT = frozenset({1, 2, 3, 4, 5, 7, 8, 20, 50})


def _rhymes(number: int, stem: str, suffix: str) -> bool:
    """Whether a Turkish ending has the vowels that the number asks for: bire and not bira, onu and not oni."""
    high = "u" if next(char for char in reversed(stem) if char in _VOWELS) in "uo" else "i"
    low = "e" if number in _FRONT else "a"
    return all(char in {high, low} for char in suffix.removesuffix("ki") if char in _VOWELS)


def _numbers() -> dict[str, tuple[int, str, str]]:
    """word -> (value, case, language)"""
    known: dict[str, tuple[int, str, str]] = {}
    for table, case in ((v.CARDINALS_EN, ""), (v.ORDINALS_EN, "ord")):
        for value, word in table.items():
            known[word] = (value, case, "en")
    together = {ten + unit: v.CARDINALS_TR[ten] + v.CARDINALS_TR[unit] for ten in (10, 20, 30, 40, 50) for unit in range(1, 10)}  # onbeş
    for value, stem in (v.CARDINALS_TR | together).items():
        known[stem] = (value, "", "tr")
        soft = stem.removesuffix("dort") + "dord" if stem.endswith("dort") else stem
        for suffix, case in CASE_OF.items():
            if case == "ord" or (stem[-1] in _VOWELS and suffix[0] in "iueao") or not _rhymes(value % 10 or value, stem, suffix):
                continue
            known.setdefault((soft if suffix[0] in _VOWELS else stem) + suffix, (value, case, "tr"))
    return known


SYMBOL_OF = _symbols()
NUMBER_OF = _numbers()
PHRASE_OF = {tuple(phrase.split()): symbol for symbol, phrases in v.PHRASES.items() for phrase in phrases}
PHRASE_STARTS = frozenset(phrase[0] for phrase in PHRASE_OF)
LONGEST_PHRASE = max(map(len, PHRASE_OF))


def _typo_words() -> dict[str, list[str]]:
    """The words a slip may lead away from, by their first letter.

    Those are the names of days and months of five letters and more, and the forms of the long days: those of short names are one
    slip away from other words (saniye from saliye, yakinda from yarinda, arasindan from araliktan).
    """
    found: dict[str, list[str]] = {}
    for names in (v.WEEKDAYS, v.MONTHS):
        for text in names.values():
            for stem in text.split():
                forms = [form for form in _noun_forms(stem) if form == stem or (len(stem) > 7 and names is v.WEEKDAYS)]
                for word in forms if len(stem) > 4 and stem not in v.SHORT_FORMS else ():
                    if word in SYMBOL_OF:
                        found.setdefault(word[0], []).append(word)
    for symbol in v.TYPO_SYMBOLS:
        for word in v.SYMBOLS[symbol].split():
            if len(word) > 7:
                found.setdefault(word[0], []).append(word)
    return found


_TYPO_WORDS = _typo_words()


@lru_cache(maxsize=20_000)
def symbol_of(word: str) -> str:
    """The symbol of one folded word; "x" where it has none."""
    if symbol := SYMBOL_OF.get(word):
        return symbol
    if len(word) < 5 or len(word) > 16 or word in v.NO_TYPOS or word.startswith(v.NO_TYPO_STEMS) or word in NUMBER_OF:
        return "x"
    best: tuple[int, str] | None = None
    for meant in _TYPO_WORDS.get(word[0], ()):
        allowed = 2 if len(meant) >= 8 else 1
        if abs(len(meant) - len(word)) <= allowed:
            slips = _slips(word, meant, allowed)
            if slips <= allowed and (best is None or (slips, meant) < best):
                best = (slips, meant)
    return SYMBOL_OF[best[1]] if best else "x"


def _slips(word: str, meant: str, allowed: int) -> int:
    """Letters added, lost, changed or swapped between the two; anything above `allowed` is only "too many"."""
    before: list[int] = []
    last = list(range(len(meant) + 1))
    for i, char in enumerate(word, 1):
        row = [i]
        for j, other in enumerate(meant, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (char != other))
            if i > 1 and j > 1 and char == meant[j - 2] and word[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > allowed:
            return allowed + 1
        before, last = last, row
    return last[-1]
