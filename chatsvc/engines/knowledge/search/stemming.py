"""Stems and letter trigrams of folded words."""

from functools import lru_cache

from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/search/suffixes.txt")
_TURKISH_SUFFIXES = _FILE.words("turkish")
_LONGEST = max(map(len, _TURKISH_SUFFIXES))
_VOWELS = frozenset("aeiou")
_HARD = {"g": "k", "b": "p"}  # what a Turkish word ends in without a suffix
_ENGLISH_SUFFIXES = [(ending, instead) for ending, _, instead in (item.partition("=") for item in _FILE.items("english"))]


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """Return the approximate stem of a folded word by the rules of both languages."""
    if len(word) <= 4 or word.isdigit():
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    whole = word
    for _ in range(2):  # evlerinizde: -de, then -leriniz
        cut = next((at for at in range(max(4, len(word) - _LONGEST), len(word)) if word[at:] in _TURKISH_SUFFIXES), None)
        if cut is None:
            break
        word = word[:cut]
    for ending, instead in _ENGLISH_SUFFIXES:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 4:
            word = word[: -len(ending)] + instead
            break
    if len(word) > 5 and word[-1] in "aiu":  # fiyat-i, fiyat-a
        word = word[:-1]
    if len(word) > 4 and word[-1] == word[-2]:  # shipp(ing) -> ship
        word = word[:-1]
    if whole[len(word) :][:1] in _VOWELS and word[-2] in _VOWELS:  # köpeğ(im) -> köpek
        word = word[:-1] + _HARD.get(word[-1], word[-1])
    return word


@lru_cache(maxsize=8_192)
def trigrams(word: str) -> tuple[str, ...]:
    """Return the distinct letter trigrams of a word with its edges marked, in order."""
    framed = f"^{word}$"
    return tuple(dict.fromkeys([framed[at : at + 3] for at in range(len(framed) - 2)]))
