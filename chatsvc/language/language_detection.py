"""Language detection from script, words and letter n-grams. An unclear text gets no language.

Arabic and Russian are recognised by their script. Languages in Latin letters are told apart by a naive Bayes classifier learned
from `languages.txt`: the likelihood of a word is a mixture of its frequency in the list and of an n-gram model of the letters of
that list's words. The best language must be well ahead of the second. Languages of the list that are not in LANGUAGES are only
there to be recognised as something else.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from chatsvc.domain.folding import fold_character
from chatsvc.domain.models import HistoryMessage
from chatsvc.language.wordlists import LanguageWords, WordFile

_FILES = LanguageWords("detection.txt").files
_FOREIGN_FILE = WordFile("language/foreign_languages.txt")
_OF_SCRIPT = ("ar", "ru")
_NEIGHBOURS = _FOREIGN_FILE.words("neighbours")
LANGUAGES = (*_FILES, *(name for name, _ in _FOREIGN_FILE.entries if len(name) == 2 and name not in _NEIGHBOURS), *_OF_SCRIPT)

_INTERNATIONAL = _FOREIGN_FILE.words("alike")  # words used alike in all languages, and names of things: they show no language
_LOOKED_BACK = 6  # earlier messages of the visitor
_MAX_CHARACTERS = 400  # of a text that are looked at
_MAX_WORDS = 40
_OFTEN = 8.0  # weight of a word of the "often" part
OF_COUNTRY = {country: language for language, file in _FILES.items() for country in file.items("countries")}
_UNMARKED = {language: float(share) for language, (share, *_) in _FOREIGN_FILE.group("unmarked ").items()}  # who leave accents out
_UNMARKED |= {language: float(share) for language, file in _FILES.items() for share in file.items("unmarked")}
_LISTED = 0.6  # share of the words of a message that stand in the list
_ORDER = 4  # of the n-grams
_SPELT = 0.45  # weight of a word outside of all lists
_AHEAD = 2.0  # least log-likelihood ratio of the first language to the second
_RARE = -2.5  # log prior of the languages outside of LANGUAGES

_ARABIC = re.compile(r"[\u0620-\u064a]")
_NOT_ARABIC = re.compile("[پچژگکیےڤںھٹڈڑ]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_NOT_RUSSIAN = re.compile("[іїєґўђјљњћџѓќѕәғқңөұүһҳҷӣӯ]", re.IGNORECASE)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_ADDRESS = re.compile(r"(?<!\S)\S*(?:@|://|www\.)\S*")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class _Model:
    words: dict[str, float]
    all_words: float
    runs: dict[str, float]  # n-gram of up to _ORDER letters -> count
    heads: dict[str, tuple[float, int]]  # n-gram of up to _ORDER - 1 letters -> (count, number of different letters that follow)


def guess(text: str) -> str | None:
    """Return the language of a text, one of LANGUAGES. Return None if the language is unclear (a number, a name, "ok")."""
    return _guess(text[:_MAX_CHARACTERS])


@lru_cache(maxsize=1_024)  # greetings recur, and each message of a conversation is looked at again with the later ones
def _guess(text: str) -> str | None:
    if "@" in text or "://" in text or "www." in text:  # the pattern is slow on texts without any
        text = _ADDRESS.sub(" ", text)
    tokens = [word for word in _WORD.findall(text) if _small(word) not in _INTERNATIONAL]
    letters = "".join(tokens)
    if not letters:
        return None
    if len(_ARABIC.findall(letters)) > 0.5 * len(letters):
        return None if len(_NOT_ARABIC.findall(letters)) > 1 else "ar"
    if len(_CYRILLIC.findall(letters)) > 0.5 * len(letters):
        return None if _NOT_RUSSIAN.search(letters) else "ru"
    if sum(ord(char) < 0x250 for char in letters) < 0.7 * len(letters):
        return None
    scored = [(word, *_score(_small(word))) for word in tokens[:_MAX_WORDS]]
    # all words may be names: "Ahmet Yılmaz", "Kadıköy"
    if all(not is_listed and (len(word) < 2 or (word[0].isupper() and not text.isupper())) for word, is_listed, _ in scored):
        return None
    languages = tuple(load())
    priors = [0.0 if language in LANGUAGES else _RARE for language in languages]
    scores = list(map(sum, zip(priors, *(weights for word, is_listed, weights in scored if is_listed or len(word) > 1), strict=True)))
    *_, second, most = sorted(scores)
    first = languages[scores.index(most)]
    return first if first in LANGUAGES and most - second >= _AHEAD else None


def is_word(word: str) -> bool:
    return _score(_small(word))[0]


@lru_cache(maxsize=4_096)
def _score(word: str) -> tuple[bool, tuple[float, ...]]:
    """Return whether any word list contains the word, and the word's weight in the model of each language."""
    is_listed, framed, weights = any(word in model.words for model in load().values()), f"^{word}$", list[float]()
    for language, model in load().items():
        spelt = math.prod(_chance(language, framed[max(0, end - _ORDER) : end]) for end in range(2, len(framed) + 1))
        likelihood = math.log(_LISTED * model.words.get(word, 0.0) / model.all_words + (1 - _LISTED) * spelt)
        weights.append((1.0 if is_listed else _SPELT) * likelihood)
    return is_listed, tuple(weights)


@lru_cache(maxsize=4_096)
def _small(word: str) -> str:
    return word.replace("İ", "i").lower()[:24]


@cache
def load() -> dict[str, _Model]:
    """Build the models of the languages in Latin letters. This takes some 30 ms; the result is cached."""
    parts = [(language, name, value) for language, file in _FILES.items() for name, value in file.entries if name in {"often", "words"}]
    parts += [
        (name[:2], name[3:], value) for name, value in _FOREIGN_FILE.entries if name.removesuffix(" often") in (*LANGUAGES, *_NEIGHBOURS)
    ]
    counts: dict[str, dict[str, float]] = {}
    for language, part, value in parts:
        words = counts.setdefault(language, {})
        words |= {word: max(words.get(word, 0.0), _OFTEN if part == "often" else 1.0) for word in value.split()}
    return {language: _learnt(language, words) for language, words in counts.items()}


def _learnt(language: str, listed: dict[str, float]) -> _Model:
    words = dict.fromkeys(listed, 0.0)
    for word, weight in listed.items():
        words[word] = max(words[word], weight)
        if language in _UNMARKED and not word.isascii():
            bare = "".join(map(fold_character, word))
            for plain in {bare, word.translate(_UMLAUTS) if language == "de" else bare}:
                words[plain] = max(words.get(plain, 0.0), weight * _UNMARKED[language])
    runs = defaultdict[str, float](float)
    for word, weight in words.items():
        # a common word's letters are no more typical than another one's, or hardly
        framed = f"{word[1:]}$" if word[0] == "-" else f"^{word}$"
        for end in range(1, len(framed) + 1):
            for start in range(max(0, end - _ORDER), end):
                runs[framed[start:end]] += math.sqrt(weight)
    heads: dict[str, tuple[float, int]] = {}
    for run, count in runs.items():
        total, kinds = heads.get(run[:-1], (0.0, 0))
        heads[run[:-1]] = (total + count, kinds + 1)
    whole = {word: weight for word, weight in words.items() if word[0] != "-"}
    return _Model(whole, sum(whole.values()), runs, heads)


@lru_cache(maxsize=65_536)
def _chance(language: str, run: str) -> float:
    model, chance = load()[language], 1 / 60
    for start in range(len(run) - 1, -1, -1):
        count, kinds = model.heads.get(run[start:-1], (0.0, 0))
        if not count:
            break
        # Witten-Bell smoothing: the more different letters have followed, the likelier is another one
        chance = (model.runs.get(run[start:], 0.0) + kinds * chance) / (count + kinds)
    return chance


def spoken(message: str, history: Sequence[HistoryMessage]) -> str | None:
    """Return the detected language of a message. If it shows none ("ok", a time), return that of an earlier message of the visitor."""
    earlier = [past.content for past in reversed(history) if past.role == "user"]
    return next(filter(None, map(guess, [message, *earlier[:_LOOKED_BACK]])), None)
