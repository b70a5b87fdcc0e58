"""Which language is this? A guess from the script, the words and their letters; silent rather than wrong.

Arabic and Russian show by their script. The languages in Latin letters are told apart by `words.txt`: each word of a message is
as likely in a language as it stands in the list there, else as its letters follow upon each other in that list's words. The
likelihoods of all words multiply; the likeliest language must be well ahead of the next one. Languages of the list that are not
in LANGUAGES are there to be recognised as something else.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

LANGUAGES = ("tr", "en", "de", "ar", "ru", "fr", "es")

_SHORT = 64
_MAX_CHARACTERS = 400  # that many show the language or nothing does
_MAX_WORDS = 40
_OFTEN = 8.0  # how much more often a word of the "often" part is met than another one
_UNMARKED = {"tr": 0.8, "de": 0.4, "fr": 0.5, "es": 0.5}  # how many leave the marks of letters out
_LISTED = 0.6  # share of the words of a message that stand in the list
_ORDER = 4  # letters looked at together
_LISTED_GAIN, _SPELT_GAIN = 1.0, 0.45  # what a word tells that stands in a list, and one of which only the letters are known
_MARKED_GAIN = 0.8  # what such a one tells that has marks on its letters
_NAME = 0.2  # what such a one tells that may be a name
_AHEAD = 1.6  # logarithm of how much likelier the first language must be than the second
_AHEAD_UNLISTED = 4.0  # the same where no word stands in its list
_RARE = -2.5  # the languages that are only there to be recognised are met seldom
_SPANISH_MARK = 4.0
_FOREIGN_MARK = 6.0

_ARABIC = re.compile(r"[\u0620-\u064a]")
_NOT_ARABIC = re.compile("[پچژگکیےڤںھٹڈڑ]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_NOT_RUSSIAN = re.compile("[іїєґўђјљњћџѓќѕәғқңөұүһҳҷӣӯ]", re.IGNORECASE)
_FOREIGN = re.compile("[ãõłąęőűåøæðþđšžčćřěůňťľățșəạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹơư]", re.IGNORECASE)
_SPANISH = re.compile("[¿¡]")
_LETTERS = str.maketrans({"ı": "i", "ß": "ss", "œ": "oe", "æ": "ae"})  # that no decomposition takes apart
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_ADDRESS = re.compile(r"\S*(?:@|://|www\.)\S*")
_WORD = re.compile(r"[^\W\d_]+")
# said alike everywhere, or the names of things
_ALIKE = """
ok okay okey oke pizza wifi whatsapp instagram facebook google iphone android visa mastercard paypal email e mail online internet
hotel bar taxi menu stop hmm hm mm haha hahaha lol xd super bravo pdf sms gps usb app web vip tv pc min max
tl try eur euro usd kg km cm mm gb xs s m l xl xxl xxxl am pm
"""
_EVERYWHERE = frozenset(_ALIKE.split())


@dataclass(frozen=True, slots=True)
class _Model:
    """What is known of one language: words and runs of letters, each with how often it was met."""

    words: dict[str, float]
    all_words: float
    runs: dict[str, float]  # of up to _ORDER letters -> count
    heads: dict[str, tuple[float, int]]  # of up to _ORDER - 1 letters -> (count, how many different letters follow)


@dataclass(frozen=True, slots=True)
class _Told:
    """What one word tells."""

    letters: int
    listed: frozenset[str]  # the languages in whose list it stands
    weights: tuple[float, ...]  # for each of the models, in their order
    weights_as_name: tuple[float, ...]  # the same where it may be a name


def guess(text: str) -> str | None:
    """One of LANGUAGES; None where the text does not show it clearly (a number, a name, "ok", a language that is none of them)."""
    return _guess_short(text) if len(text) <= _SHORT else _guess(text[:_MAX_CHARACTERS])


@lru_cache(maxsize=1_024)
def _guess_short(text: str) -> str | None:
    # Greetings and thanks come again and again, and each message of a conversation is looked at anew with those behind it.
    return _guess(text)


def _guess(text: str) -> str | None:
    if "@" in text or "://" in text or "www." in text:  # few have any, and the pattern takes its time to find none
        text = _ADDRESS.sub(" ", text)
    said = [word for word in _WORD.findall(text) if _small(word) not in _EVERYWHERE]
    letters = "".join(said)
    if not letters:
        return "es" if _SPANISH.search(text) else None
    if letters.isascii():
        return _latin(text, said[:_MAX_WORDS])
    if len(_ARABIC.findall(letters)) > 0.5 * len(letters):
        return None if len(_NOT_ARABIC.findall(letters)) > 1 else "ar"
    if len(_CYRILLIC.findall(letters)) > 0.5 * len(letters):
        return None if _NOT_RUSSIAN.search(letters) else "ru"
    if sum(ord(char) < 0x250 for char in letters) < 0.7 * len(letters):
        return None
    return _latin(text, said[:_MAX_WORDS])


def is_word(word: str) -> bool:
    """Whether a word stands in the list of one of the languages in Latin letters."""
    return bool(_told(_small(word)).listed)


def _latin(text: str, said: Sequence[str]) -> str | None:
    shouted = text.isupper()
    told = [(_told(_small(word)), word[0].isupper() and not shouted) for word in said]
    told = [(one, capital) for one, capital in told if one.listed or one.letters > 1]
    spanish = bool(_SPANISH.search(text))
    # all of it may be names: "Ahmet Yılmaz", "Kadıköy"
    if not spanish and all(capital and not one.listed for one, capital in told):
        return None
    languages = tuple(load())
    weights = [one.weights_as_name if capital and at else one.weights for at, (one, capital) in enumerate(told)]
    scores = list(map(sum, zip(_beforehand(spanish), *weights, strict=True)))
    *_, second, most = sorted(scores)
    first = languages[scores.index(most)]
    ahead = most - second - (0 if text.isascii() else _FOREIGN_MARK * len(_FOREIGN.findall(text)))
    enough = _AHEAD if any(first in one.listed for one, _ in told) else _AHEAD_UNLISTED
    return first if first in LANGUAGES and ahead >= enough else None


@lru_cache(maxsize=2)
def _beforehand(spanish: bool) -> tuple[float, ...]:
    """What each of the models has before a word is looked at."""
    marked = {"es": _SPANISH_MARK} if spanish else {}
    return tuple(marked.get(language, 0.0 if language in LANGUAGES else _RARE) for language in load())


@lru_cache(maxsize=4_096)
def _told(word: str) -> _Told:
    models = load()
    listed = frozenset(language for language, model in models.items() if word in model.words)
    likelihoods = [_likelihood(model, word) for model in models.values()]
    gain = _LISTED_GAIN if listed else _SPELT_GAIN if word.isascii() else _MARKED_GAIN
    weights = tuple(gain * likelihood for likelihood in likelihoods)
    return _Told(len(word), listed, weights, weights if listed else tuple(_NAME * likelihood for likelihood in likelihoods))


@lru_cache(maxsize=4_096)
def _small(word: str) -> str:
    return word.replace("İ", "i").lower()[:24]


@lru_cache(maxsize=1)
def load() -> dict[str, _Model]:
    """The languages in Latin letters, learnt from the list once a process, in some 30 ms."""
    counts: dict[str, dict[str, float]] = {}
    words: dict[str, float] = {}
    weight = 1.0
    for line in resources.files(__package__).joinpath("languages.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            language, _, part = line.strip("[]").partition(" ")
            words = counts.setdefault(language, {})
            weight = _OFTEN if part else 1.0
        elif not line.startswith("#"):
            for word in line.split():
                words[word] = max(words.get(word, 0.0), weight)
    return {language: _learnt(language, words) for language, words in counts.items()}


def _learnt(language: str, listed: dict[str, float]) -> _Model:
    words = dict.fromkeys(listed, 0.0)
    for word, weight in listed.items():
        words[word] = max(words[word], weight)
        for plain in _unmarked(language, word):
            words[plain] = max(words.get(plain, 0.0), weight * _UNMARKED[language])
    runs: dict[str, float] = {}
    for word, weight in words.items():
        # a common word's letters are no more typical than another one's, or hardly
        framed = f"{word[1:]}$" if word[0] == "-" else f"^{word}$"
        share = math.sqrt(weight)
        for end in range(1, len(framed) + 1):
            for start in range(max(0, end - _ORDER), end):
                run = framed[start:end]
                runs[run] = runs.get(run, 0.0) + share
    heads: dict[str, tuple[float, int]] = {}
    for run, count in runs.items():
        total, kinds = heads.get(run[:-1], (0.0, 0))
        heads[run[:-1]] = (total + count, kinds + 1)
    whole = {word: weight for word, weight in words.items() if word[0] != "-"}
    return _Model(whole, sum(whole.values()), runs, heads)


def _unmarked(language: str, word: str) -> set[str]:
    """The word as it is typed without marks on its letters, where that makes a difference."""
    if language not in _UNMARKED or word.isascii():
        return set()
    split = unicodedata.normalize("NFD", word.translate(_LETTERS))
    bare = "".join(char for char in split if not unicodedata.combining(char))
    return {bare, word.translate(_UMLAUTS)} if language == "de" else {bare}


def _likelihood(model: _Model, word: str) -> float:
    """Logarithm of how likely a word is in a language."""
    spelt = 1.0
    framed = f"^{word}$"
    for at in range(1, len(framed)):
        chance = 1 / 60
        for start in range(at, max(-1, at - _ORDER), -1):
            count, kinds = model.heads.get(framed[start:at], (0.0, 0))
            if not count:
                break
            # Witten and Bell: the more different letters have followed, the likelier is yet another one
            chance = (model.runs.get(framed[start : at + 1], 0.0) + kinds * chance) / (count + kinds)
        spelt *= chance
    return math.log(_LISTED * model.words.get(word, 0.0) / model.all_words + (1 - _LISTED) * spelt)
