"""The visitor's own name as typed, without titles; names of other people are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chatsvc.engines.reading import symbols
from chatsvc.engines.reading.folding import Folded, fold_with_places, folded
from chatsvc.engines.reading.name_words import (
    AMBIGUOUS_NAMES,
    BUSINESS,
    CAPITAL_CUE,
    CAPITAL_ONLY,
    CONTINUATIONS,
    COPULAS,
    COURTESIES,
    CUES_BEHIND,
    DEMONYMS,
    FINAL_PARTICLES,
    GIVEN_NAMES,
    NAMES_AND_WORDS,
    NO_CUE,
    NOT_NAMES,
    PARTICLES,
    RELATION,
    SIGNATURES,
    STRONG_CUE,
    SURNAME_CUE,
    SURNAMES,
    TITLES,
    WEAK_CUE,
)
from chatsvc.engines.reading.tokens import CALENDAR_NAMES, Kind, kind_of


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its offsets in the text as typed."""

    value: str
    start: int
    end: int


_MOST_WORDS = 5
_SIGNED_IN = 120  # characters at the end of a text in which it may be signed
_W = r"[^\W\d_]"
_WORD = re.compile(rf"{_W}+(?:[-'’]{_W}+)*\.?")
_LAST_WORD = re.compile(rf"({_W}+(?:[-'’]{_W}+)*\.?) *$")
# Irish, İzmirliyim, Brazilian, öğretmenim: what somebody is
_QUALITY = re.compile(r"(?:[lc][iu]y?[iu]m|y[iu]m|ish|ian|ese|[iu]m)$")
_TURKISH_VERB = re.compile(r"(?:yor(?:um|uz)?|[ae]ca[gk](?:im|iz)?|[ae]ce[gk](?:im|iz)?|m[ae]k|d[iu][mk]|t[iu][mk]|[ae]bilir(?:im|iz)?)$")
_TIMELY = frozenset({"today", "tomorrow", "nextweek", "coming", "next", "this", "obur", "saat", "ayin", "tonight"})
_IT_IS = re.compile(r"\b[Ii]t['’]?s $")  # "it's Samsung" answers what, and not who
_ENGLISH = re.compile(r"\b(?:thanks|thank|regards|cheers|wishes|here|speaking|the|my|you|please|table|book)\b")
_RATHER = re.compile(r",? degil,? ")
_SENTENCE_BEGINS = re.compile(
    r"(?:^|[.,;:!?\n]|\b(?:merhaba|selam|merhabalar|gunler|gunaydin|aksamlar|gelsin|calismalar|aleykum|selamlar|sabahlar|geceler|hi|hello|hey"
    r"|and|hocam|morning|evening|afternoon|there|yes|evet|no|hayir)) ?\w*'?\w* ?\w* ?$"
)


def find(message: Folded, raw: str, contacts: Sequence[int] = ()) -> Name | None:
    """Return the name that the visitor gives as their own; `contacts` are the offsets in `raw` of numbers and addresses."""
    text = message.text
    shouted = sum(map(str.isupper, raw)) > 0.7 * max(1, sum(map(str.isalpha, raw)))
    for pattern, strong in ((STRONG_CUE, True), (CAPITAL_CUE, True), (WEAK_CUE, False)):
        for match in pattern.finditer(text):
            if pattern is CAPITAL_CUE and not raw[message.place[match.end()] :][:1].isupper():
                continue
            if NO_CUE.search(text, max(0, match.start() - 24), match.end()) or _of_another(text, match.start()):
                continue
            start = message.place[match.end()]
            if match[0] == "ben " and raw[start - 4] == "B" and _ENGLISH.search(text):  # Ben Carter
                continue
            if name := _forward(raw, start, strong=strong, shouted=shouted):
                return _corrected(name, raw, shouted=shouted)
    for pattern in CUES_BEHIND:
        for match in pattern.finditer(text):
            own = not RELATION.search(text[max(0, match.start() - 40) : match.start()])
            if own and (name := _backward(raw, message.place[match.start()])):
                return name
    return _signature(message, raw) or _beside_contact(raw, contacts)


def _of_another(text: str, start: int) -> bool:
    return bool(RELATION.search(text[max(0, start - 12) : start]))


def _forward(raw: str, start: int, *, strong: bool, shouted: bool) -> Name | None:
    """Return the name that begins at `start`."""
    taken: list[re.Match[str]] = []
    at = start
    cased = False
    while len(taken) < _MOST_WORDS and (match := _WORD.match(raw, at)):
        word = match[0]
        base = _base(word)
        if base in COURTESIES and taken and "'" in word.replace("’", "'"):  # Okan Bey'in asistanı
            return None
        if base in TITLES and (word.endswith(".") or base not in {"al", "el"}):
            if taken:
                break
            at = _skip(raw, match.end())
            continue
        if not taken:
            cased = word[0].isupper() and not shouted
        if not _fits(base, word, bool(taken), cased=cased, strong=strong or _introduced(raw, start, match.start())):
            break
        taken.append(match)
        at = match.end()
        if _ends_name(word) or (at < len(raw) and raw[at] != " "):
            break
        at = _skip(raw, at)
    taken = _shortened(taken, raw, cased=cased, shouted=shouted)
    if not taken or (not strong and not _believed(raw, start, taken, cased=cased)):
        return None
    return _made(raw, taken, strong=strong)


def _base(word: str) -> str:
    """Fold a word and cut its suffix: Ayşe'nin is ayse, O'Brien stays."""
    whole = folded(word.rstrip("."))
    head = whole.partition("'")[0]
    return head if len(head) > 1 else whole


def _fits(base: str, word: str, inside: bool, *, cased: bool, strong: bool) -> bool:
    """Return whether a word can be the first of a name, or (`inside`) a later one."""
    capital = word[0].isupper()
    if inside and base in PARTICLES and not capital and (cased or strong):
        return True  # Ludwig van Beethoven, mohammed al fayed; dropped again in _shortened where nothing follows
    if base in GIVEN_NAMES and (capital or not (base in {"can", "will"} or (base in CAPITAL_ONLY and not strong))):
        return True
    if base in NAMES_AND_WORDS and cased and capital and (inside or strong or base in AMBIGUOUS_NAMES):
        return True
    if base in NOT_NAMES or _is_grammar(base):
        return False
    if cased and inside:
        return capital
    return strong or capital or inside


def _is_grammar(base: str) -> bool:
    return symbols.symbol_of(base) != Kind.UNKNOWN.value or base in symbols.NUMBER_OF or base in symbols.CASES


def _ends_name(word: str) -> bool:
    """Return whether a name ends with this word: it has an ending (Ayşe'yim), or a full stop that is no initial's."""
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
    """Find the end of a name without capitals: known names, and a word behind one at the end of the sentence or clause."""
    kept = taken[:1]
    for at, match in enumerate(taken[1:4], 1):
        base = folded(match[0])
        if base in PARTICLES - FINAL_PARTICLES:
            if (at + 1 < len(taken) and base not in {"de", "da", "la"}) or base in {"van", "von"}:
                kept.append(match)
                continue
            break
        ends = match.end() >= len(raw) or raw[match.end()] in ".,;!?\n'’"
        follows = _WORD.match(raw, _skip(raw, match.end()))
        stops = follows is not None and (_base(follows[0]) in NOT_NAMES or symbols.symbol_of(_base(follows[0])) != Kind.UNKNOWN.value)
        if base not in GIVEN_NAMES and base not in SURNAMES:
            verb = _TURKISH_VERB.search(base) or (base.endswith("ing") and len(base) > 5) or base in CONTINUATIONS
            joined = follows is not None and _base(follows[0]) in {"van", "von", "del", "bin", "al"}
            if verb or not (ends or shouted or joined or (stops and sum(one[0] not in PARTICLES for one in kept) == 1)):
                break
        kept.append(match)
    return kept


def _believed(raw: str, start: int, taken: list[re.Match[str]], *, cased: bool) -> bool:
    """Return whether words behind a weak cue are a name: a known one, or words with capitals that end their clause."""
    bases = [_base(match[0]) for match in taken]
    apostrophe = _cut_copula(taken[-1][0]) != taken[-1][0]
    if len(taken) == 1 and not apostrophe and (bases[0] in DEMONYMS or (bases[0] not in GIVEN_NAMES and _QUALITY.search(bases[0]))):
        return False
    if any(base in BUSINESS for base in bases):
        return False
    closed = _closed(raw, taken[-1].end(), enough=len(taken) > 1)
    begins = not raw[:start].strip() or _begins(raw, start)
    if bases[0] in GIVEN_NAMES and bases[0] not in AMBIGUOUS_NAMES:
        return begins or cased
    if bases[0] in GIVEN_NAMES | AMBIGUOUS_NAMES:
        closed = closed if cased else not raw[taken[-1].end() :].lstrip(" ") or raw[taken[-1].end()] in ".,;!?\n"
        return begins and (closed or (len(taken) > 1 and (cased or bases[1] in GIVEN_NAMES | SURNAMES)))
    if _introduced(raw, start, taken[0].start()):
        return begins
    product = len(taken) == 1 and _IT_IS.search(raw, 0, start) and not raw[taken[0].end() :].strip(" .!?")
    return cased and begins and closed and not product


def _introduced(raw: str, start: int, end: int) -> bool:
    """Return whether an English title stands there, which only a name can follow."""
    return raw[start:end].lower().rstrip(" .") in {"mr", "mrs", "ms", "miss"}


def _closed(raw: str, end: int, *, enough: bool) -> bool:
    """Return whether the clause ends here, or continues as after an introduction; `enough`: a number or a day may follow, too."""
    rest = raw[end : end + 40]
    if not rest.strip() or rest.lstrip(" ")[0] in ".,;:!?\n-()'’":
        return True
    following = _WORD.match(rest.lstrip())
    if following is None:
        return enough
    base = _base(following[0])
    symbol = symbols.symbol_of(base)
    return base in CONTINUATIONS or (enough and (base in symbols.NUMBER_OF or kind_of(symbol) in CALENDAR_NAMES or symbol in _TIMELY))


def _begins(raw: str, start: int) -> bool:
    """Return whether the cue that ends here begins a sentence."""
    return bool(_SENTENCE_BEGINS.search(folded(raw[max(0, start - 40) : start])))


def _skip(raw: str, at: int) -> int:
    while at < len(raw) and raw[at] == " ":
        at += 1
    return at


def _cut_copula(word: str) -> str:
    head, mark, tail = re.match(r"([^'’]*)(['’]?)(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
    return head if mark and len(head) > 1 and folded(tail) in COPULAS else word


def _made(raw: str, taken: list[re.Match[str]], *, strong: bool) -> Name | None:
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
    if any(_base(match[0]) in BUSINESS for match in taken[1:]):
        return None
    return Name(raw[start:end], start, end)


def _corrected(name: Name, raw: str, *, shouted: bool) -> Name:
    """Add a surname given separately (`first name Anna, last name Bell`), or take the corrected name (`adım Leyla değil Leman`)."""
    gap = folded(raw[name.end : name.end + 40])
    if (match := SURNAME_CUE.match(gap)) and (second := _forward(raw, name.end + match.end(), strong=True, shouted=shouted)):
        return Name(f"{name.value} {second.value}", name.start, second.end)
    if match := _RATHER.match(gap):
        return _forward(raw, name.end + match.end(), strong=True, shouted=shouted) or name
    return name


def _backward(raw: str, end: int) -> Name | None:
    """Return the name that ends here: Elif Su Toprak | adına."""
    taken: list[re.Match[str]] = []
    while len(taken) < _MOST_WORDS and (match := _LAST_WORD.search(raw, max(0, end - 40), end)):
        base = _base(match[1])
        if base in COURTESIES and not taken:
            return None  # Ahmet Bey adına: for somebody else
        if base in TITLES or (base not in GIVEN_NAMES and base not in NAMES_AND_WORDS and (base in NOT_NAMES or _is_grammar(base))):
            break
        if base in NOT_NAMES and not match[1][0].isupper():
            break
        taken.insert(0, match)
        end = match.start()
    if not taken:
        return None
    known = [_base(match[1]) in GIVEN_NAMES for match in taken]
    titled = re.search(r"(?i)\b(?:mr|mrs|ms|miss|dr)\.? $", raw[: taken[0].start(1)])
    if all(match[1][0].isupper() for match in taken[-2:]) or taken[-1][1][0].isupper():
        while not taken[0][1][0].isupper() or (not known[0] and len(taken) > 1 and known[1] and _base(taken[1][1]) not in AMBIGUOUS_NAMES):
            taken, known = taken[1:], known[1:]  # ofisten Elif, masayı Elif
        if not (known[0] or titled or len(taken) > 1 or _base(taken[0][1]) in SURNAMES or not raw[: taken[0].start()].strip()):
            return None
    else:
        first = next((at for at, one in enumerate(known) if one and len(taken) - at <= 3), None)
        if first is None:
            return None
        taken = taken[first:]
    return _whole(raw, taken[0].start(1), taken[-1].end(1), strong=True)


def _signature(message: Folded, raw: str) -> Name | None:
    skipped = max(0, len(message.text) - _SIGNED_IN)
    last = message.text[skipped:]
    for pattern, strong, several in SIGNATURES:
        for closing in pattern.finditer(last):
            start, end = (message.place[skipped + closing_at] for closing_at in closing.span("name"))
            if name := _whole(raw, start, end, strong=strong, several=several):
                return name
    return None


def _beside_contact(raw: str, contacts: Sequence[int]) -> Name | None:
    """Return a name that stands alone before a number or an address: `Anna Bell, 0532 111 22 33`."""
    for place in contacts:
        before = raw[:place].rstrip(" ,:-–+(\n\t|/")
        start = max(before.rfind("\n"), before.rfind("."), before.rfind(",")) + 1
        if name := _whole(raw, start, len(before), strong=False, several=True):
            return name
    return None


def _whole(raw: str, start: int, end: int, *, strong: bool, several: bool = False) -> Name | None:
    """Return the span as a name if it is nothing else; `several`: only a known given name and more."""
    found = list(_WORD.finditer(raw, start, end))
    while found and (_base(found[0][0]) in TITLES or found[0][0] in {"from", "by", "ben"}):
        found.pop(0)
    if found and _base(found[-1][0]) in COURTESIES:
        return None
    sole = len(found) == 1 and _base(found[0][0]) in GIVEN_NAMES - AMBIGUOUS_NAMES and found[0][0][0].isupper()
    if not 1 + (several and not sole) <= len(found) <= 4 or raw[found[0].start() : found[-1].end()].count(" ") >= len(found):
        return None
    bases = [_base(match[0]) for match in found]
    capital = all(match[0][0].isupper() for match in found)
    if any(_is_word(base) and not (base in NAMES_AND_WORDS and capital and (len(found) > 1 or base in GIVEN_NAMES)) for base in bases):
        return None
    known = bases[0] in GIVEN_NAMES and (capital or bases[0] not in AMBIGUOUS_NAMES)
    if not (known or (strong and capital)) or not BUSINESS.isdisjoint(bases):
        return None
    if len(found) == 1 and bases[0] in DEMONYMS:
        return None
    return _made(raw, found, strong=True)


def _is_word(base: str) -> bool:
    return base in NOT_NAMES or (symbols.symbol_of(base) != Kind.UNKNOWN.value and base not in GIVEN_NAMES) or base in symbols.NUMBER_OF


def answer(raw: str) -> Name | None:
    """Return the name in a bare answer to "what is your name?"."""
    text = fold_with_places(raw)
    if found := find(text, raw):
        return found
    start = _skip(raw, 0)
    match = re.match(r"(?:(?:hi|hello|merhaba|selam|its|it's|ben|evet|tabii|yes|sure)[ ,]+)*", text.text)
    start = text.place[match.end()] if match and match.end() else start
    return _forward(raw, start, strong=True, shouted=False)
