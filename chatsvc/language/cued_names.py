"""Names behind words that announce them: "my name is", "adım". Names of other people are left out."""

import re
from dataclasses import dataclass

from chatsvc.language import symbols
from chatsvc.language.folding import Folded, folded
from chatsvc.language.name_words import (
    AMBIGUOUS_NAMES,
    BUSINESS,
    CAPITAL_CUE,
    CAPITAL_ONLY,
    CONTINUATIONS,
    COPULAS,
    COURTESIES,
    DEMONYMS,
    FINAL_PARTICLES,
    FIRST_NAME_CUE,
    GIVEN_NAMES,
    INTRODUCING,
    IT_IS,
    NAMES_AND_WORDS,
    NO_CUE,
    NOT_NAMES,
    OPENING,
    PARTICLES,
    QUALITY,
    RATHER,
    RELATION,
    STRONG_CUE,
    SURNAME_CUE,
    SURNAME_SAID,
    SURNAMES,
    TELLING,
    TITLES,
    VERB,
    WEAK_CUE,
)
from chatsvc.language.tokens import CALENDAR_NAMES, Kind, kind_of

_MOST_WORDS = 5
_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"{_LETTER}+(?:[-'’]{_LETTER}+)*\.?")
_TIMELY = frozenset({"today", "tomorrow", "nextweek", "coming", "next", "this", "obur", "saat", "ayin", "tonight"})


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its offsets in the text as typed."""

    value: str
    start: int
    end: int
    cued: bool = False  # it is announced


def find(message: Folded, raw: str) -> Name | None:
    """Return the name that a text announces; `message` is `raw` folded."""
    text = message.text
    shouted = sum(map(str.isupper, raw)) > 0.7 * max(1, sum(map(str.isalpha, raw)))
    for pattern, strong in ((STRONG_CUE, True), (CAPITAL_CUE, True), (WEAK_CUE, False)):
        for match in pattern.finditer(text):
            if pattern is CAPITAL_CUE and not raw[message.place[match.end()] :][:1].isupper():
                continue
            before = max(match.start() - 24, text.rfind(",", 0, match.start()), 0)
            if NO_CUE.search(text, before, match.end()) or _of_another(text, match.start()):
                continue
            start = message.place[match.end()]
            if match[0] == "ben " and raw[start - 4] == "B" and TELLING.search(text):  # Ben Carter
                continue
            if name := _name_at(raw, start, strong=strong, shouted=shouted):
                return _corrected(name, raw, shouted=shouted)
    return None


def _of_another(text: str, start: int) -> bool:
    return bool(RELATION.search(text[max(0, start - 12) : start]))


def _corrected(name: Name, raw: str, *, shouted: bool) -> Name:
    """Add a surname given separately, or take a correction. Examples: `last name Bell`, `adım Leyla değil Leman`."""
    gap = folded(raw[name.end : name.end + 40])
    if SURNAME_SAID.search(folded(raw[max(0, name.start - 24) : name.start])) and (match := FIRST_NAME_CUE.match(gap)):
        first = _name_at(raw, name.end + match.end(), strong=True, shouted=shouted)
        if first is not None:  # "soyadım Erkmen adım Tülay"
            return Name(f"{first.value} {name.value}", name.start, first.end)
    if (match := SURNAME_CUE.match(gap)) and (second := _name_at(raw, name.end + match.end(), strong=True, shouted=shouted)):
        return Name(f"{name.value} {second.value}", name.start, second.end)
    if match := RATHER.match(gap):
        return _name_at(raw, name.end + match.end(), strong=True, shouted=shouted) or name
    return name


def _name_at(raw: str, start: int, *, strong: bool, shouted: bool) -> Name | None:
    """Return the name that begins at `start`."""
    taken: list[re.Match[str]] = []
    at = start
    cased = False
    while len(taken) < _MOST_WORDS and (match := _WORD.match(raw, at)):
        word = match[0]
        base = base_of(word)
        if base in COURTESIES and taken and "'" in word.replace("’", "'"):  # Okan Bey'in asistanı
            return None
        if base in TITLES and (word.endswith(".") or base not in {"al", "el"}):
            if taken:
                break
            at = _skip_blanks(raw, match.end())
            continue
        if not taken:
            cased = word[0].isupper() and not shouted
        if not _fits(base, word, bool(taken), cased=cased, strong=strong or _introduced(raw, start, match.start())):
            break
        taken.append(match)
        at = match.end()
        if _ends_name(word) or (at < len(raw) and raw[at] != " "):
            break
        at = _skip_blanks(raw, at)
    taken = _shortened(taken, raw, cased=cased, shouted=shouted)
    if not taken or (not strong and not _believed(raw, start, taken, cased=cased)):
        return None
    return _checked(raw, taken, strong=strong)


def base_of(word: str) -> str:
    """Fold a word and cut its suffix: Ayşe'nin is ayse, O'Brien stays."""
    whole = folded(word.rstrip("."))
    head = whole.partition("'")[0]
    return head if len(head) > 1 else whole


def _fits(base: str, word: str, inside: bool, *, cased: bool, strong: bool) -> bool:
    """Whether a word can be the first of a name, or (`inside`) a later one."""
    capital = word[0].isupper()
    if inside and base in PARTICLES and not capital and (cased or strong):
        return True  # Ludwig van Beethoven, mohammed al fayed; dropped again in _shortened where nothing follows
    if base in GIVEN_NAMES and (capital or not (base in {"can", "will"} or (base in CAPITAL_ONLY and not strong))):
        return True
    if base in NAMES_AND_WORDS and cased and capital and (inside or strong or base in AMBIGUOUS_NAMES):
        return True
    if base in NOT_NAMES or is_grammar(base):
        return False
    if cased and inside:
        return capital
    return strong or capital or inside


def is_grammar(base: str) -> bool:
    """Return whether a folded word is one of dates, times or numbers."""
    return symbols.symbol_of(base) != Kind.UNKNOWN.value or base in symbols.NUMBER_OF or base in symbols.CASES


def _ends_name(word: str) -> bool:
    """Return whether a name ends with this word. It has an ending (Ayşe'yim), or a full stop that is no initial's."""
    hung = ("'" in word and len(word.partition("'")[0]) > 1) or ("’" in word and _cut_copula(word) != word)
    return hung or (word.endswith(".") and len(word) > 2)


def _shortened(taken: list[re.Match[str]], raw: str, *, cased: bool, shouted: bool) -> list[re.Match[str]]:
    """Drop trailing words that belong to no name: "Ayşe da", "ali kargom"."""
    if taken and not cased:
        taken = _lower_case(taken, raw, shouted=shouted)
    while taken and taken[-1][0] in PARTICLES - FINAL_PARTICLES:
        taken = taken[:-1]
    return taken


def _lower_case(taken: list[re.Match[str]], raw: str, *, shouted: bool) -> list[re.Match[str]]:
    """Find the end of a name without capitals. Known names, and a word behind one at the end of the sentence or clause."""
    kept = taken[:1]
    for at, match in enumerate(taken[1:4], 1):
        base = folded(match[0])
        if base in PARTICLES - FINAL_PARTICLES:
            if (at + 1 < len(taken) and base not in {"de", "da", "la"}) or base in {"van", "von"}:
                kept.append(match)
                continue
            break
        ends = match.end() >= len(raw) or raw[match.end()] in ".,;!?\n'’"
        follows = _WORD.match(raw, _skip_blanks(raw, match.end()))
        stops = follows is not None and (base_of(follows[0]) in NOT_NAMES or symbols.symbol_of(base_of(follows[0])) != Kind.UNKNOWN.value)
        if base not in GIVEN_NAMES and base not in SURNAMES:
            verb = VERB.search(base) or (base.endswith("ing") and len(base) > 5) or base in CONTINUATIONS
            joined = follows is not None and base_of(follows[0]) in {"van", "von", "del", "bin", "al"}
            if verb or not (ends or shouted or joined or (stops and sum(one[0] not in PARTICLES for one in kept) == 1)):
                break
        kept.append(match)
    return kept


def _believed(raw: str, start: int, taken: list[re.Match[str]], *, cased: bool) -> bool:
    """Return whether words behind a weak cue are a name. A known one, or words with capitals that end their clause."""
    bases = [base_of(match[0]) for match in taken]
    apostrophe = _cut_copula(taken[-1][0]) != taken[-1][0]
    if len(taken) == 1 and not apostrophe and (bases[0] in DEMONYMS or (bases[0] not in GIVEN_NAMES and QUALITY.search(bases[0]))):
        return False
    if any(base in BUSINESS for base in bases):
        return False
    closed = taken[-1][0].endswith(".") or _closed(raw, taken[-1].end(), enough=len(taken) > 1)
    begins = not raw[:start].strip() or _begins(raw, start)
    if bases[0] in GIVEN_NAMES and bases[0] not in AMBIGUOUS_NAMES:
        return begins or cased
    if bases[0] in GIVEN_NAMES | AMBIGUOUS_NAMES:
        closed = closed if cased else not raw[taken[-1].end() :].lstrip(" ") or raw[taken[-1].end()] in ".,;!?\n"
        return begins and (closed or (len(taken) > 1 and (cased or bases[1] in GIVEN_NAMES | SURNAMES)))
    if _introduced(raw, start, taken[0].start()):
        return begins
    product = len(taken) == 1 and IT_IS.search(folded(raw[:start])) and not raw[taken[0].end() :].strip(" .!?")
    return cased and begins and closed and not product


def _introduced(raw: str, start: int, end: int) -> bool:
    """Return whether an English title stands there, which only a name can follow."""
    return raw[start:end].lower().rstrip(" .") in INTRODUCING


def _closed(raw: str, end: int, *, enough: bool) -> bool:
    """Return whether the clause ends here, or continues as after an introduction. `enough`: a number or a day may follow, too."""
    rest = raw[end : end + 40]
    if not rest.strip() or rest.lstrip(" ")[0] in ".,;:!?\n-()'’":
        return True
    following = _WORD.match(rest.lstrip())
    if following is None:
        return enough
    base = base_of(following[0])
    symbol = symbols.symbol_of(base)
    return base in CONTINUATIONS or (enough and (base in symbols.NUMBER_OF or kind_of(symbol) in CALENDAR_NAMES or symbol in _TIMELY))


def _begins(raw: str, start: int) -> bool:
    """Return whether the cue that ends here begins a sentence."""
    return bool(OPENING.search(folded(raw[max(0, start - 40) : start])))


def _skip_blanks(raw: str, at: int) -> int:
    """Return the next offset that holds no blank."""
    while at < len(raw) and raw[at] == " ":
        at += 1
    return at


def _cut_copula(word: str) -> str:
    head, mark, tail = re.match(r"([^'’]*)(['’]?)(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
    return head if mark and len(head) > 1 and folded(tail) in COPULAS else word


def _checked(raw: str, taken: list[re.Match[str]], *, strong: bool) -> Name | None:
    """Return the words taken as a name. None if their context shows a business or another person."""
    last = taken[-1][0].rstrip(".") if len(taken[-1][0]) > 2 else taken[-1][0]
    cut = _cut_copula(last)
    if cut == last and ("'" in last or "’" in last):
        tail = re.split(r"['’]", last)[-1]
        if tail.islower() and len(re.split(r"['’]", last)[0]) > 1:  # Jane's mother, Ayşe'nin annesi
            return None
    start, end = taken[0].start(), taken[-1].start() + len(cut)
    after = folded(raw[end : end + 16]).split()
    if after and (after[0] in BUSINESS or (not strong and after[0] in {"ile", "icin", "hanimla", "beyle"})):
        return None
    if any(base_of(match[0]) in BUSINESS for match in taken[1:]):
        return None
    return Name(raw[start:end], start, end)
