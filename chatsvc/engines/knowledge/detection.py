"""Turkish or English? A guess from letters and small words; silent rather than wrong."""

from __future__ import annotations

from chatsvc.engines.knowledge import stopwords
from chatsvc.engines.knowledge.text import words

LANGUAGES = ("tr", "en")

_TURKISH_LETTERS = frozenset("ığşİĞŞ")  # ç, ö and ü are German and French as well
_SHARED_LETTERS = frozenset("çöüÇÖÜ")
_FOREIGN_LETTERS = frozenset("ñßéèêàùôåæøãõł¿äìíóúëïăț")
_ENGLISH_PAIRS = ("th", "wh", "sh", "ck", "qu", "gh", "ee", "oo", "ph", "ow", "ay", "tion")
_ENDINGS = """
lar ler lari leri dir misiniz musunuz iyor uyor yor iyorum iyorsunuz lik luk siniz sunuz niz nuz mak mek acak ecek digi dugu
inda inde yim sin ymis mi mu abilir ebilir ebilirim abilirim ebiliyor abiliyor
"""
_TURKISH_ENDINGS = tuple(_ENDINGS.split())
# small words that both lists hold, or that other languages use too
_SHARED = "a an on o bu an ben son hem in are is at do de ne me her hello en es ya ve die was so am man war nos"
_AMBIGUOUS = frozenset(_SHARED.split())


def guess(text: str) -> str | None:
    """`tr` or `en`; None where the text shows neither clearly (another script, another language, a single number)."""
    text = text[:1_000]
    letters = sum(char.isalpha() for char in text)
    latin = sum(char.isalpha() and ord(char) < 0x250 for char in text)
    if not letters or latin < 0.7 * letters:
        return None
    turkish = english = 0.0
    turkish += 2.0 * sum(char in _TURKISH_LETTERS for char in text) + 0.4 * sum(char in _SHARED_LETTERS for char in text)
    foreign = 1.5 * sum(char in _FOREIGN_LETTERS for char in text.lower())
    for word in words(text):
        weight = 0.3 if word in _AMBIGUOUS else 1.0
        if word in stopwords.TURKISH:
            turkish += weight
        elif word.endswith(_TURKISH_ENDINGS) and len(word) > 4:
            turkish += 0.6
        if word in stopwords.ENGLISH:
            english += weight
        elif any(pair in word for pair in _ENGLISH_PAIRS) or "w" in word or "x" in word:
            english += 0.5
    best, other = max(turkish, english), min(turkish, english)
    if best < 0.6 or best - other < 0.3 or foreign >= best:
        return None
    return "tr" if turkish > english else "en"
