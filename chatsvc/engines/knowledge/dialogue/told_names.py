"""Names that visitors give in a form or beside their contact data. In any order and without capitals.

The text is cut at contact data, dates, labels ("tel", "name is") and punctuation; a piece that holds nothing but words that may
be a name is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.language.cued_names import Name
from chatsvc.language.folding import folded
from chatsvc.language.language_detection import is_word
from chatsvc.language.name_words import AMBIGUOUS_NAMES, BUSINESS, COURTESIES, GIVEN_NAMES, NOT_NAMES, PARTICLES, SURNAMES, TITLES
from chatsvc.language.slots import SlotReading
from chatsvc.language.symbols import NUMBER_OF
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/told_names.txt")
_OUTRIGHT, _LABELS, _OTHERS = _FILE.words("outright"), _FILE.words("labels"), _FILE.words("others")
_CUES = _OUTRIGHT | _FILE.words("cues")
_CUTS = _CUES | _LABELS | _OTHERS
_PARTICLES = PARTICLES | _FILE.words("particles")
_OF_OTHERS = _FILE.words("of_others")
_AROUND, _EVERYDAY = _FILE.words("around"), _FILE.words("everyday")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?|\d[\d:.]*|[^\w\s]|\n")
_COPULA = re.compile(r"(?<=[^\W\d_])['’](?:y?[ıiuüİ]m|[dt][ıiuü]r)$")
# söylemek, vermem, istiyorum, geleceğim: no name ends like these
_VERB = re.compile(r"[^\W\d_]{2}(?:m[ae]k|yorum|yoruz|[ae]ce[gk]im|[ae]ca[gk]im|[ae]ce[gk]iz|[ae]ca[gk]iz)$")
# arabamın, kedimin, plakası: of mine, of something
_POSSESSED = re.compile(r"[^\W\d_]{2}(?:[aeiu]m[iu]n|[^aeiu][iu]m[iu]n|[aeiu]s[iu](?:n[iua])?)$")
# Ayşe Hanımla, Can Hoca'ya: somebody else is spoken of
_SPOKEN_OF = re.compile(r"(?:hanim|bey|hoca|usta|abi|abla|doktor)(?:la|le|yla|yle|na|ne|a|e|ya|ye|dan|den|in|nin|yi|da|de)")
_MOST_WORDS = 5
_MOST_TOKENS = 120
CUED, KNOWN, CAPITAL, PLAIN = 4, 3, 2, 1  # how sure a name is


class _Piece(NamedTuple):
    """A run of words between two cuts. `cue` is the word that announces a name, `beside` right before or behind contact data."""

    words: list[re.Match[str]]
    cue: str
    beside: bool


def find(text: str, reading: SlotReading, *, asked: bool, least: int = PLAIN) -> Name | None:
    """Return the name that a message gives; `asked` if the open question asks for one. None if none is as sure as `least`."""
    spans = [reading.spans[kind] for kind in ("phone", "email", "date", "time") if kind in reading.spans]
    contact = [reading.spans[kind] for kind in ("phone", "email") if kind in reading.spans]
    shouted = text.isupper()
    pieces = list(_pieces(text, spans, contact))
    alone = len(pieces) == 1 and not ({"date", "time"} & reading.spans.keys())
    best: tuple[int, int, Name] | None = None
    for piece in pieces:
        if not (asked or contact or piece.cue in _OUTRIGHT):
            continue
        found = _name_in(piece, asked=asked or (alone and piece.beside), shouted=shouted)
        if found is None or found[0] < least or (found[0] == PLAIN and not (alone or contact)):
            continue
        if best is None or (found[0], len(found[1])) > best[:2]:
            start, end = found[1][0].start(), found[1][-1].end()
            value = trimmed(text[start:end])
            best = found[0], len(found[1]), Name(value, start, start + len(value))
    return best[2] if best else None


def trimmed(name: str) -> str:
    """Cut a copula ending and the full stop of a sentence: `Ayşe'yim`, `Jane.`. An initial keeps its full stop."""
    name = _COPULA.sub("", name)
    last = name.split()[-1]
    return name.rstrip(".") if len(last) > 2 else name


def _pieces(text: str, spans: Sequence[tuple[int, int]], contact: Sequence[tuple[int, int]]) -> Iterable[_Piece]:
    """Cut a text into pieces."""
    words: list[re.Match[str]] = []
    cue, other, behind = "", False, False
    for match in list(_TOKEN.finditer(text))[:_MOST_TOKENS]:
        inside = any(start <= match.start() < end for start, end in spans)
        base = folded(match[0].rstrip("."))
        if not inside and match[0][0].isalpha() and base not in _CUTS:
            words.append(match)
            if not _ends_sentence(match[0], base):
                continue
            if not other:
                yield _Piece(words, cue, behind)
            words, cue, other, behind = [], "", False, False
            continue
        before = any(start <= match.start() < end for start, end in contact)
        if words and not other:
            yield _Piece(words, cue, before or behind)
        if words or inside or match[0][0].isalpha() or match[0] == "\n":
            # "firma adı Delta": the name announced is the company's
            other = (base in _OTHERS or (other and not words and base in _CUES)) and not inside
            of_other = bool(words) and folded(words[-1][0]) in _OF_OTHERS  # "oğlumun adı Mert": not the visitor's
            cue = base if base in _CUES and not inside and not of_other else ""
            behind = before
        words = []
    if words and not other:
        yield _Piece(words, cue, behind)


def _ends_sentence(word: str, base: str) -> bool:
    """Return whether a word's full stop ends a sentence. That of an initial or a title does not."""
    return word.endswith(".") and len(base) > 1 and base not in TITLES


def _name_in(piece: _Piece, *, asked: bool, shouted: bool) -> tuple[int, list[re.Match[str]]] | None:
    """Return how sure a name in a piece is, and its words."""
    words = _stripped(piece.words, asked=asked)
    if words is None or not words:
        return None
    if (sure := _rank(words, cue=piece.cue, asked=asked, shouted=shouted)) is not None:
        return sure, words
    if asked and (head := _full_name_first(words)):
        return KNOWN, head
    if not piece.beside:
        return None
    for at in range(max(1, len(words) - _MOST_WORDS), len(words)):
        tail, before = words[at:], _base(words[at - 1])
        known = _base(tail[0]) in GIVEN_NAMES - AMBIGUOUS_NAMES
        if known and before not in _OTHERS and before not in TITLES and _rank(tail, asked=asked, shouted=shouted) is not None:
            return KNOWN, tail
    return None


def _full_name_first(words: list[re.Match[str]]) -> list[re.Match[str]] | None:
    """Return a given name and a surname at the front of other words: "okan yılmaz araba fren yapınca titriyor"."""
    bases = [_base(word) for word in words[:3]]
    known = len(bases) > 2 and bases[0] in GIVEN_NAMES - AMBIGUOUS_NAMES and bases[1] in SURNAMES
    return words[:2] if known and bases[2] not in COURTESIES and bases[2] not in TITLES else None


def _stripped(words: list[re.Match[str]], *, asked: bool) -> list[re.Match[str]] | None:
    """Drop titles and courtesies around a name. None if somebody else is spoken of ("Ayşe Hanım")."""
    while words and (_base(words[0]) in TITLES or _base(words[0]) in _AROUND):
        words = words[1:]
    while words and _base(words[-1]) in _AROUND:
        words = words[:-1]
    if any(_SPOKEN_OF.fullmatch(_base(word)) for word in words):
        return None
    if len(words) > 1 and _base(words[-1]) in COURTESIES:
        return words[:-1] if asked else None
    return words


def _rank(words: list[re.Match[str]], *, asked: bool, shouted: bool, cue: str = "") -> int | None:
    """Return how sure it is that all of these words are a name. None if they are none."""
    bases, cued, outright = [_base(word) for word in words], bool(cue), cue in _OUTRIGHT
    if len(words) > _MOST_WORDS or not BUSINESS.isdisjoint(bases) or len(bases[0]) < 2 - (len(words) > 1):
        return None
    capital = [word[0][0].isupper() and not shouted for word in words]
    first, rest = bases[0], bases[1:]
    known = first.split("-")[0] in GIVEN_NAMES
    if (not known and _is_ordinary(first, capital[0])) or first in NUMBER_OF:
        return None
    if any(_breaks(base, upper) for base, upper in zip(rest, capital[1:], strict=True)):
        return None
    whole = all(upper or base in _PARTICLES for base, upper in zip(bases, capital, strict=True))
    if cued and (known or whole or first in SURNAMES):
        return CUED
    if known and (first not in AMBIGUOUS_NAMES or capital[0]):
        return KNOWN
    if whole and (asked or len(words) > 1):
        return CAPITAL
    if outright:
        return CUED
    return PLAIN if (asked or cued) and (len(words) <= 4 or first in SURNAMES) else None


def _breaks(base: str, capital: bool) -> bool:
    """Return whether a later word is no part of a name."""
    if base in GIVEN_NAMES or base in SURNAMES or base in _PARTICLES or len(base) == 1:
        return False
    return base in TITLES or (not capital and (_is_ordinary(base, later=True) or base in NUMBER_OF or _is_possession(base)))


def _is_possession(base: str) -> bool:
    """Return whether a word is something that belongs to somebody: "arabamın plakası". Not every surname is known."""
    return bool(_POSSESSED.search(base)) and any(lexicon.of_word(word) for word in (base, stem(base)))


def _is_ordinary(base: str, capital: bool = False, *, later: bool = False) -> bool:
    """Return whether a word is an everyday word and no name. One with a capital must be listed as no name.

    A word behind another one of the name need not be unknown to the vocabulary, whose stems match many surnames.
    """
    if base in SURNAMES and not capital:
        return False
    if base in NOT_NAMES or base in _EVERYDAY or _VERB.match(base):
        return True
    return not capital and (is_word(base) or (not later and bool(lexicon.of_word(base))))


def is_no_name(base: str) -> bool:
    """Return whether a folded word can be nobody's name."""
    return base in _EVERYDAY or base in _AROUND or base in BUSINESS or bool(_VERB.match(base))


def _base(word: re.Match[str]) -> str:
    return folded(_COPULA.sub("", word[0]).rstrip("."))
