"""Words as the search sees them: folded, cut, without what Turkish and English hang on to them.

Folding makes one letter of ı, İ, I and i, takes the marks off (ş -> s, é -> e) and cuts at an apostrophe what follows a
name ("İstanbul'da" -> istanbul). People type Turkish without its letters, and so both spellings must meet.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import filterfalse

MAX_CHARACTERS = 4_000  # of a text looked at; a message is no longer than this anyway
MAX_WORDS = 400
MAX_LETTERS = 40  # of a word

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2018`\u00b4\uff07", "'"))
# letters that no decomposition takes apart
_LETTERS = str.maketrans({"ı": "i", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l"})
# Turkish by the short way: all of its letters at once
_TURKISH = str.maketrans("ıİğĞşŞçÇöÖüÜâÂîÎûÛ", "iiggssccoouuaaiiuu")
_CONTRACTIONS = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})

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


def fold(text: str) -> str:
    """A text in small letters without marks, white space as single blanks; its first MAX_CHARACTERS."""
    text = text[:MAX_CHARACTERS]
    text = text.replace("`", "'") if text.isascii() else text.translate(_TURKISH).translate(_APOSTROPHES)
    if text.isascii():
        return " ".join(text.lower().split())
    # decomposed twice: the parts of a compatibility character may be capitals (as in a squared or circled letter)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text)[:MAX_CHARACTERS].casefold())[:MAX_CHARACTERS]
    return " ".join("".join(filterfalse(unicodedata.combining, text)).translate(_LETTERS)[:MAX_CHARACTERS].split())


def words(text: str) -> list[str]:
    """The folded words of a text in order, at most MAX_WORDS; a suffix behind an apostrophe is left out."""
    found = [_before(word) if "'" in word else word for word in _WORD.findall(fold(text))]
    return [word[:MAX_LETTERS] for word in found[:MAX_WORDS]]


def _before(word: str) -> str:
    """The word without what follows the apostrophe: "don't" -> "dont", "i'm" -> "i", "ankara'ya" -> "ankara"."""
    head, _, tail = word.partition("'")
    if tail == "t" and head.endswith("n"):
        return head + "t"
    if len(head) == 1 and tail not in _CONTRACTIONS:  # o'clock
        return head + tail
    return head


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
