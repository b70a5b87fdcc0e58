"""The visitor's own name as typed, without titles.

It is announced (`cued_names`), or stands for itself: beside other values, as a signature, or where one is asked for. For that the
text is cut at values, labels ("tel", "name is") and punctuation; a piece of nothing but words that may be a name is one.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from chatsvc.language import cued_names, sentences
from chatsvc.language.cued_names import Name, is_grammar
from chatsvc.language.folding import fold_with_places, folded, words
from chatsvc.language.language_detection import is_word
from chatsvc.language.name_words import (
    AMBIGUOUS_NAMES,
    BUSINESS,
    COPULAS,
    COURTESIES,
    DEMONYMS,
    GIVEN_NAMES,
    NAMES_AND_WORDS,
    NOT_NAMES,
    PARTED,
    PARTICLES,
    SURNAMES,
    TELLING,
    TITLES,
)
from chatsvc.language.selection import LINKS
from chatsvc.language.symbols import NUMBER_OF
from chatsvc.language.wordlists import LanguageWords

_FILE = LanguageWords("names.txt")
_OUTRIGHT, _LABELS, _OTHERS, _PLACES = (_FILE.words(name) for name in ("outright", "labels", "others", "places"))
_TOWARDS = _FILE.words("towards")
_RELATIVES, _PETS = _FILE.words("relatives"), _FILE.words("pets")
_CUES = _OUTRIGHT | _FILE.words("cues")
_BEHIND, _SURNAME = _FILE.words("behind"), _FILE.words("surname")
_BEHIND_ANY, _DOCTORS = _FILE.words("behind_any"), _FILE.words("doctors")
_REJECTED_BEHIND, _NOT = _FILE.words("rejected_behind"), _FILE.words("rejected_before")
_BEHIND |= _BEHIND_ANY
_CUTS = _CUES | _BEHIND | _REJECTED_BEHIND | _NOT | _LABELS | _OTHERS | _RELATIVES | _PETS
_AROUND, _EVERYDAY = _FILE.words("around"), _FILE.words("everyday")
_ENDINGS = _FILE.any_of("endings", r"(?<=[a-z][a-z])(?:{})$")
_VERBS = _FILE.any_of("verbs", r"(?<=[a-z][a-z])(?:{})$")
_SPOKEN_OF, _ASKS = _FILE.any_of("spoken_of"), _FILE.any_of("asks")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?|\d[\d:.]*|[^\w\s]|\n")
_BEHIND_APOSTROPHE = re.compile(r"(?<=[^\W\d_]{2})['’](?:y?[ıiuüİ]m|[dt][ıiuü]r|y?[ae]|n[ıiuü]n|[ıiuü]n|s)$")
_WITH_NAMES = {"give", "correct"}  # acts whose sentences hold names
Span = tuple[int, int]
_MOST_WORDS = 5
_MOST_TOKENS = 120
_SENTENCE = re.compile(r"[^.!?\n]{1,400}[.!?]{0,3}")
_DASHED, _NEW_LINE, _NEW_SENTENCE = re.compile(r"(?:^|[.!?,\n ]) ?[-~–] ?$"), re.compile(r"\n *$"), re.compile(r"[.!?] +$")
_BEFORE_SIGNATURE = 60  # characters looked at before a signature
_KEYS = re.compile(r"asd|sdf|qwe|wer[t]y|zxc|xcv|hjkl|(.)\1\1|^[^aeiouy]{4}")  # keys side by side
_LATIN = re.compile(r"[a-z]")
_FEW_KINDS = 2  # of values beside which a single unknown word is a name


class _NamePiece(NamedTuple):
    """A run of words between two cuts."""

    words: list[re.Match[str]]
    cue: str  # the word before or behind it that announces a name
    beside: bool  # a value stands right before or behind it
    followed: bool  # a value stands right behind it
    owner: str  # whose name it would be: "" the visitor's, "relative" or "other"
    question: bool  # its sentence asks something
    edge: bool  # the first or the last of the text
    behind: bool  # the cue stands behind it
    signed: int  # how sure a name must be here as a signature; _NEVER where it is none
    paired: bool  # it ends at a word that joins it to another name: "Ann Hill and Tom Hill"


class _NameContext(NamedTuple):
    """The message around a piece."""

    asked: str
    contact: bool
    kinds: int  # values beside
    alone: bool  # hardly anything is said besides values and one piece


# how sure a piece is a name: announced; a known name of two words and more; a known name; words with capitals; one such; without
_NEVER, _CUED, _FULL, _KNOWN, _CAPITALS, _CAPITAL, _PLAIN = 7, 6, 5, 4, 3, 2, 1


def find(text: str, values: Collection[Span], contacts: Collection[Span], asked: str = "") -> Name | None:
    """Return the name that a text gives.

    `values` are the spans of its other values, `contacts` those of telephone numbers and e-mail addresses; `asked` is what the bot
    asked for.
    """
    plain = text
    for start, end in contacts:
        plain = plain[:start] + "\x00" * (end - start) + plain[end:]
    announced = cued_names.find(fold_with_places(plain), plain)
    announced = announced and replace(announced, cued=True)
    told = _standing(text, {*values, *contacts}, asked, contact=bool(contacts))
    if announced is None or told is None or announced.value not in told.value:
        return announced or told
    # "my name is" before a part of the name; "Olga ivanova" goes on in small letters with another word
    return replace(told, cued=True) if asked == "name" or told.value.istitle() == announced.value.istitle() else announced


def _standing(text: str, values: Collection[Span], asked: str, *, contact: bool) -> Name | None:
    """Return the name that stands for itself."""
    shouted = text.isupper()
    named = asked == "name"
    pieces = [
        (piece, run) for piece in _pieces(text, sorted(values)) if (run := _stripped(piece.words, asked=named and not piece.question))
    ]
    message = _NameContext(asked, contact, len(values), alone=len(pieces) == 1)
    found: list[tuple[int, int, Name, str]] = []
    for piece, whole in pieces:
        own = piece.cue or piece.signed < _NEVER or (named and not piece.question)
        if (piece.owner and not (named and piece.owner == "relative")) or (_base(piece.words[0]) in _DOCTORS and not own):
            continue
        # the name ends where the piece does: "rezervasyon Deniz Aydın adına", "quote for a fence Tom Hill 07700 900123"
        for at in range(len(whole) if piece.cue in _BEHIND_ANY or piece.followed else 1):
            run = _stripped(whole[at:], asked=named)
            sure = _rank(run, piece, asked=named, shouted=shouted) if run else None
            needed = _needed(piece, message) if not at else _CUED if piece.cue in _BEHIND_ANY else _FULL
            if at and piece.followed and _base(whole[at - 1]) in _TOWARDS:  # "a note for Tom Hill"
                continue
            if sure is not None and sure >= needed:
                found.append((sure, len(run), _name(text, run), piece.cue))
                break
        else:
            if named and (head := _known_head(whole)):
                found.append((_FULL, len(head), _name(text, head), ""))
    if not found:
        return None
    *_, name, cue = max(found, key=lambda one: one[:2])
    given = next((one[2] for one in found if one[3] not in _SURNAME and one[2].end < name.start), None)
    return Name(f"{given.value} {name.value}", given.start, name.end) if cue in _SURNAME and given else name


def _known_head(run: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return a known given name and surname at the front of other words: `okan yılmaz araba fren yapınca titriyor`."""
    bases = [_base(word) for word in run]
    known = len(run) > 2 and bases[0] in GIVEN_NAMES - AMBIGUOUS_NAMES and bases[1] in SURNAMES and bases[2] not in COURTESIES
    return run[:2] if known else []


def _needed(piece: _NamePiece, message: _NameContext) -> int:
    """Return how sure a piece must be to count as a name."""
    if message.asked == "name":
        if piece.question:
            return _KNOWN if piece.edge else _FULL
        return _PLAIN if message.alone else _CAPITAL
    if message.asked and message.alone and not message.kinds and not piece.question:
        return _FULL  # another name in place of the one before
    if message.asked == "confirm" or piece.behind:
        return min(_CUED, piece.signed)
    return min(piece.signed, _needed_beside(piece, message) if message.kinds else _NEVER)


def _needed_beside(piece: _NamePiece, message: _NameContext) -> int:
    """Return how sure a piece must be that stands beside other values."""
    if message.contact and (message.alone or piece.beside or piece.edge):
        return _PLAIN if message.alone and not piece.question else _CAPITALS
    if message.alone and not piece.question:
        return _CAPITAL if message.kinds >= _FEW_KINDS and piece.beside else _CAPITALS
    return _FULL if piece.beside or piece.paired else _CUED


def _pieces(text: str, values: Sequence[Span]) -> Iterable[_NamePiece]:
    """Cut a text into pieces; what is rejected ("not Shaun") is left out."""
    tokens = list(_TOKEN.finditer(text))[:_MOST_TOKENS]
    questions = [(match.start(), match.end()) for match in _SENTENCE.finditer(text) if "?" in match[0] or _ASKS.search(folded(match[0]))]
    english = bool(TELLING.search(folded(text)))
    run: list[re.Match[str]] = []
    cue, owner, behind, out, first = "", "", False, False, True
    for at, match in enumerate([*tokens, None]):
        inside = match is not None and any(start <= match.start() < end for start, end in values)
        base = folded(match[0].rstrip(".")) if match else ""
        letters = match is not None and match[0][0].isalpha()
        if (
            match
            and letters
            and not inside
            and (_CUTS.isdisjoint({base, base.partition("'")[0]}) or _is_inner(run, match, tokens[at + 1 : at + 2], english=english))
        ):
            run.append(match)
            if not _ends_sentence(match[0], base):
                continue
        elif run and match and match[0] in "'’":
            continue
        announced = base if base in _CUES and not inside else ""
        if run:
            last = not any(
                token[0][0].isalpha() and not any(start <= token.start() < end for start, end in values) for token in tokens[at:]
            )
            if not (out or base in _REJECTED_BEHIND or all(len(word[0]) == 1 for word in run)):
                question = any(start <= run[0].start() < end for start, end in questions)
                signed = (
                    _signature(folded(text[: run[0].start()])[-_BEFORE_SIGNATURE:], last=last, line=base == "\n") if not owner else _NEVER
                )
                announced_behind = not cue and base in _BEHIND
                yield _NamePiece(
                    run,
                    base if announced_behind else cue,
                    inside or behind,
                    inside,
                    owner,
                    question,
                    first or last,
                    announced_behind,
                    signed,
                    base in LINKS and bool(tokens[at + 1 : at + 2]) and tokens[at + 1][0][0].isupper(),
                )
            first = False
        if run or inside or letters or (match and match[0] == "\n"):
            kept = owner if announced and not run else ""  # "firma adı Delta": the name announced is the company's
            owner = "" if inside else "other" if base in _OTHERS or base in _PETS else "relative" if base in _RELATIVES else kept
            cue = cue if base in _REJECTED_BEHIND else announced
            behind, out = inside, base in _NOT
        run = []


def _signature(before: str, *, last: bool, line: bool) -> int:
    """Return how sure a piece must be to be a signature. Lines may follow behind a parting."""
    if PARTED.search(before) and (last or line):
        return _CAPITAL
    if not last:
        return _NEVER
    return _CAPITAL if _DASHED.search(before) else _KNOWN if _NEW_LINE.search(before) or _NEW_SENTENCE.search(before) else _NEVER


def _is_inner(run: Sequence[re.Match[str]], match: re.Match[str], following: Sequence[re.Match[str]], *, english: bool) -> bool:
    """Return whether a word that cuts elsewhere is a part of a name: `Arjan de Vries`, `Thanks, Ben`."""
    base = folded(match[0].rstrip("."))
    if match[0][0].isupper() and (base in GIVEN_NAMES or base in NAMES_AND_WORDS) and (run or not following or english):
        return True
    if not run or match[0][0].isupper():
        return False
    return folded(match[0]) in PARTICLES and bool(following) and following[0][0][0].isupper()


def _ends_sentence(word: str, base: str) -> bool:
    """Return whether a word's full stop ends a sentence. That of an initial or a title does not."""
    return word.endswith(".") and len(base) > 1 and base not in TITLES


def _stripped(run: list[re.Match[str]], *, asked: bool) -> list[re.Match[str]]:
    """Drop titles and courtesies around a name. Return nothing if somebody else is spoken of ("Ayşe Hanım")."""
    while (
        run
        and (_base(run[0]) in TITLES or _base(run[0]) in _AROUND)
        and not (len(run) > 1 and _is_given(run[0]) and run[0][0][0].isupper())
    ):
        run = run[1:]
    while run and _base(run[-1]) in _AROUND:
        run = run[:-1]
    if any(_SPOKEN_OF.fullmatch(_base(word)) for word in run):
        return []
    if len(run) > 1 and _base(run[-1]) in COURTESIES:
        return run[:-1] if asked else []
    if (
        len(run) > 1
        and run[0][0][0].isupper()
        and not _is_initial(run[0][0])
        and not _is_given(run[0])
        and _is_given(run[1])
        and _is_ordinary(_base(run[0]), capital=False, endings=_ENDINGS)
    ):
        return run[1:]  # Ofisten Elif
    return run


def _rank(run: list[re.Match[str]], piece: _NamePiece, *, asked: bool, shouted: bool) -> int | None:
    """Return how sure it is that all of these words are a name. None if they are none."""
    bases = [_base(word) for word in run]
    capital = [word[0][0].isupper() and not shouted for word in run]
    known, sole = _is_given(run[0]), len(run) == 1
    if not _may_be_name(bases, capital, known=known) or (sole and run[0][0].isupper() and not shouted and not known):  # UK, SELECT
        return None
    first = bases[0]
    if sole and (first in DEMONYMS or (first in _PLACES and piece.cue not in _OUTRIGHT and not (asked and known))):
        return None
    if not asked and not piece.cue and ((sole and first in AMBIGUOUS_NAMES and not capital[0]) or _is_half_capital(bases, capital)):
        return None
    sure_given = known and (first not in AMBIGUOUS_NAMES or capital[0] or (asked and sole and not piece.question))
    whole = all(upper or base in PARTICLES for base, upper in zip(bases, capital, strict=True))
    if piece.cue in _OUTRIGHT or (piece.cue and (sure_given or whole or (piece.behind and piece.edge and not sole))):
        return _CUED
    if sure_given:
        return _KNOWN if sole else _FULL
    telling = [base for base in bases if len(base) > 1 and base not in PARTICLES and base not in NAMES_AND_WORDS]
    if whole and not sole and capital[0] and bases[-1] in SURNAMES:
        return _FULL
    if whole and (asked or known or piece.cue or not any(_is_ordinary(base, capital=False, endings=_ENDINGS) for base in telling)):
        return _CAPITAL if sole else _CAPITALS
    if whole:  # Klima Bakımı
        return None
    return _PLAIN if len(run) < _MOST_WORDS else None


def _may_be_name(bases: Sequence[str], capital: Sequence[bool], *, known: bool) -> bool:
    """Return whether none of the words is an everyday word, a business or mere keys."""
    sole = len(bases) == 1
    if len(bases) > _MOST_WORDS or not BUSINESS.isdisjoint(bases) or (sole and len(bases[0]) == 1) or _KEYS.search("".join(bases)):
        return False
    if not all(map(_LATIN.match, bases)) and not (all(capital) and not sole):
        return False
    first = bases[0]
    if not known and len(first) > 1 and _is_ordinary(first, capital=capital[0] and not sole, endings=_ENDINGS, sole=sole):
        return False
    whole = all(upper or base in PARTICLES for base, upper in zip(bases, capital, strict=True))
    return not any(_breaks(base, upper, whole=whole) for base, upper in zip(bases[1:], capital[1:], strict=True))


def _is_half_capital(bases: Sequence[str], capital: Sequence[bool]) -> bool:
    """Return whether only the first word has a capital, and another is no known name."""
    return capital[0] and any(
        not (upper or base in GIVEN_NAMES or base in SURNAMES or base in PARTICLES) for base, upper in zip(bases, capital, strict=True)
    )


def _is_initial(word: str) -> bool:
    return len(word) == 2 and word[0].isupper() and word[1] == "."


def _is_given(word: re.Match[str]) -> bool:
    base = _base(word)
    return base.split("-")[0] in GIVEN_NAMES or bool(_without_copula(base))


def _without_copula(base: str) -> str:
    """Return the given name before a copula ending without its apostrophe: `Emreyim`."""
    if base in GIVEN_NAMES:
        return ""
    heads = (base.removesuffix(ending) for ending in COPULAS if base.endswith(ending) and len(ending) > 1)
    return next((head for head in heads if head in GIVEN_NAMES and head not in AMBIGUOUS_NAMES), "")


def _breaks(base: str, capital: bool, *, whole: bool) -> bool:
    """Return whether a later word is no part of a name."""
    if base in GIVEN_NAMES or base in SURNAMES or base in PARTICLES or len(base) == 1:
        return False
    return base in TITLES or _is_ordinary(base, capital=capital and whole, endings=_VERBS)


def _is_ordinary(base: str, *, capital: bool, endings: re.Pattern[str], sole: bool = False) -> bool:
    """Return whether a word is an everyday word and no name. One with a capital must be listed as no name."""
    if base in SURNAMES and not sole:
        return False
    if capital and base in NAMES_AND_WORDS:
        return False
    if base in NOT_NAMES or base in _EVERYDAY or base in _AROUND or base in NUMBER_OF or (is_grammar(base) and not capital):
        return True
    return not capital and (is_word(base) or base in load() or bool(endings.search(base)))


@lru_cache(maxsize=1)
def load() -> frozenset[str]:
    """Learn the ordinary words, once a process: those of the training sentences that give no names."""
    said = (words(one.text) for language in _FILE.files for one in sentences.read(language) if one.act not in _WITH_NAMES)
    ordinary = (
        word
        for text in said
        for word, next_ in zip(text, [*text[1:], ""], strict=False)
        if next_ not in COURTESIES and not _SPOKEN_OF.fullmatch(next_)
    )
    return frozenset(ordinary) - (GIVEN_NAMES - AMBIGUOUS_NAMES) - SURNAMES


def _base(word: re.Match[str]) -> str:
    return folded(_BEHIND_APOSTROPHE.sub("", word[0]).rstrip("."))


def _name(text: str, run: list[re.Match[str]]) -> Name:
    """Return the words as a name, without an ending and a full stop."""
    start, end = run[0].start(), run[-1].end()
    last = _BEHIND_APOSTROPHE.sub("", run[-1][0])
    if head := _without_copula(folded(last)):
        last = last[: len(head)]
    last = last.rstrip(".") if len(last) > 2 else last
    end = run[-1].start() + len(last)
    return Name(text[start:end], start, end)
