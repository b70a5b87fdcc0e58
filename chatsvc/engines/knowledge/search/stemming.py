"""Stems and letter trigrams of folded words."""

from __future__ import annotations

from functools import lru_cache

# Longest first; what is left keeps four letters at least. After folding, so that -lık and -lik are one.
_SUFFIXES = """
lariniz leriniz larimiz lerimiz larinin lerinin larindan lerinden larinda lerinde larina lerine larini lerini lardan lerden
larda lerde larin lerin lari leri lar ler iniz unuz imiz umuz sindan sinden sinda sinde sina sine sini sunu nin nun dan den
tan ten inda inde ina ine ini unu da de ta te yla yle la le si su yi yu ya ye in un im um iyor uyor iyorum iyorsunuz uyorsunuz
iyorlar iliyor ebilir abilir ebilirim abilirim ebiliyor abiliyor mak mek imi umu imin umun inizi unuzu imizi umuzu makta mekte
acak ecek acagim ecegim dim dum tim tum mis mus miyim misiniz musunuz
"""
_TURKISH_SUFFIXES = frozenset(_SUFFIXES.split())
_LONGEST = max(map(len, _TURKISH_SUFFIXES))
_ENGLISH_SUFFIXES = (
    ("ations", ""),
    ("ation", ""),
    ("ments", ""),
    ("ment", ""),
    ("ingly", ""),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ers", ""),
    ("ed", ""),
    ("es", ""),
    ("er", ""),
    ("ly", ""),
    ("s", ""),
    ("e", ""),
)


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A folded word without its endings, roughly; the same for both languages, for nobody says which one it is."""
    if len(word) <= 4 or word.isdigit():
        return word[:-1] if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
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
    return word


def trigrams(word: str) -> list[str]:
    """The letter triples of one word with its edges marked, in order, each once."""
    framed = f"^{word}$"
    return list(dict.fromkeys(framed[at : at + 3] for at in range(len(framed) - 2)))
