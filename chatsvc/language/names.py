"""The visitor's own name as typed, without titles; names of other people are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chatsvc.language import symbols
from chatsvc.language.folding import Folded, fold_with_places, folded
from chatsvc.language.name_spans import LETTER, MOST_WORDS, WORD, Name, base_of, checked, is_grammar, name_at, skip_blanks
from chatsvc.language.name_words import (
    AMBIGUOUS_NAMES,
    BUSINESS,
    CAPITAL_CUE,
    COURTESIES,
    CUE_BEHIND,
    DEMONYMS,
    FIRST_NAME_CUE,
    GIVEN_NAMES,
    GREETING,
    NAMES_AND_WORDS,
    NO_CUE,
    NOT_NAMES,
    RATHER,
    RELATION,
    SIGNATURES,
    STRONG_CUE,
    SURNAME_CUE,
    SURNAME_SAID,
    SURNAMES,
    TELLING,
    TITLES,
    WEAK_CUE,
)
from chatsvc.language.tokens import Kind

_SIGNED_IN = 120  # characters at the end of a text in which it may be signed
_LAST_WORD = re.compile(rf"({LETTER}{{1,40}}+(?:[-'’]{LETTER}{{1,40}}+){{0,8}}+\.?) {{0,40}}+$")


def find(message: Folded, raw: str, contacts: Sequence[int] = ()) -> Name | None:
    """Return the name that the visitor gives as their own. `contacts` are the offsets in `raw` of numbers and addresses."""
    text = message.text
    shouted = sum(map(str.isupper, raw)) > 0.7 * max(1, sum(map(str.isalpha, raw)))
    for pattern, strong in ((STRONG_CUE, True), (CAPITAL_CUE, True), (WEAK_CUE, False)):
        for match in pattern.finditer(text):
            if pattern is CAPITAL_CUE and not raw[message.place[match.end()] :][:1].isupper():
                continue
            if NO_CUE.search(text, max(0, match.start() - 24), match.end()) or _of_another(text, match.start()):
                continue
            start = message.place[match.end()]
            if match[0] == "ben " and raw[start - 4] == "B" and TELLING.search(text):  # Ben Carter
                continue
            if name := name_at(raw, start, strong=strong, shouted=shouted):
                return _corrected(name, raw, shouted=shouted)
    for match in CUE_BEHIND.finditer(text):
        own = not RELATION.search(text[max(0, match.start() - 40) : match.start()])
        if own and (name := _backward(raw, message.place[match.start()])):
            return name
    return _signature(message, raw) or _beside_contact(raw, contacts)


def _of_another(text: str, start: int) -> bool:
    return bool(RELATION.search(text[max(0, start - 12) : start]))


def _corrected(name: Name, raw: str, *, shouted: bool) -> Name:
    """Add a surname given separately, or take a correction. Examples: `last name Bell`, `adım Leyla değil Leman`."""
    gap = folded(raw[name.end : name.end + 40])
    if SURNAME_SAID.search(folded(raw[max(0, name.start - 24) : name.start])) and (match := FIRST_NAME_CUE.match(gap)):
        first = name_at(raw, name.end + match.end(), strong=True, shouted=shouted)
        if first is not None:  # "soyadım Erkmen adım Tülay"
            return Name(f"{first.value} {name.value}", name.start, first.end)
    if (match := SURNAME_CUE.match(gap)) and (second := name_at(raw, name.end + match.end(), strong=True, shouted=shouted)):
        return Name(f"{name.value} {second.value}", name.start, second.end)
    if match := RATHER.match(gap):
        return name_at(raw, name.end + match.end(), strong=True, shouted=shouted) or name
    return name


def _backward(raw: str, end: int) -> Name | None:
    """Return the name that ends here: Elif Su Toprak | adına."""
    taken: list[re.Match[str]] = []
    while len(taken) < MOST_WORDS and (match := _LAST_WORD.search(raw, max(0, end - 40), end)):
        base = base_of(match[1])
        if base in COURTESIES and not taken:
            return None  # Ahmet Bey adına: for somebody else
        if base in TITLES or (base not in GIVEN_NAMES and base not in NAMES_AND_WORDS and (base in NOT_NAMES or is_grammar(base))):
            break
        if base in NOT_NAMES and not match[1][0].isupper():
            break
        taken.insert(0, match)
        end = match.start()
    if not taken:
        return None
    known = [base_of(match[1]) in GIVEN_NAMES for match in taken]
    titled = re.search(r"(?i)\b(?:mr|mrs|ms|miss|dr)\.? $", raw[: taken[0].start(1)])
    if all(match[1][0].isupper() for match in taken[-2:]) or taken[-1][1][0].isupper():
        while not taken[0][1][0].isupper() or (
            not known[0] and len(taken) > 1 and known[1] and base_of(taken[1][1]) not in AMBIGUOUS_NAMES
        ):
            taken, known = taken[1:], known[1:]  # ofisten Elif, masayı Elif
        if not (known[0] or titled or len(taken) > 1 or base_of(taken[0][1]) in SURNAMES or not raw[: taken[0].start()].strip()):
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
    """Return a name alone before a number or address. Example: `Anna Bell, 0532 111 22 33`."""
    for place in contacts:
        before = raw[:place].rstrip(" ,:-–+(\n\t|/")
        start = max(before.rfind("\n"), before.rfind("."), before.rfind(",")) + 1
        if name := _whole(raw, start, len(before), strong=False, several=True):
            return name
    return None


def _whole(raw: str, start: int, end: int, *, strong: bool, several: bool = False) -> Name | None:
    """Return the span as a name if it is nothing else. `several`: only a known given name and more."""
    found = list(WORD.finditer(raw, start, end))
    while found and (base_of(found[0][0]) in TITLES or found[0][0] in {"from", "by", "ben"}):
        found.pop(0)
    if found and base_of(found[-1][0]) in COURTESIES:
        return None
    sole = len(found) == 1 and base_of(found[0][0]) in GIVEN_NAMES - AMBIGUOUS_NAMES and found[0][0][0].isupper()
    if not 1 + (several and not sole) <= len(found) <= 4 or raw[found[0].start() : found[-1].end()].count(" ") >= len(found):
        return None
    bases = [base_of(match[0]) for match in found]
    capital = all(match[0][0].isupper() for match in found)
    if any(_is_word(base) and not (base in NAMES_AND_WORDS and capital and (len(found) > 1 or base in GIVEN_NAMES)) for base in bases):
        return None
    known = bases[0] in GIVEN_NAMES and (capital or bases[0] not in AMBIGUOUS_NAMES)
    if not (known or (strong and capital)) or not BUSINESS.isdisjoint(bases):
        return None
    if len(found) == 1 and bases[0] in DEMONYMS:
        return None
    return checked(raw, found, strong=True)


def _is_word(base: str) -> bool:
    return base in NOT_NAMES or (symbols.symbol_of(base) != Kind.UNKNOWN.value and base not in GIVEN_NAMES) or base in symbols.NUMBER_OF


def answer(raw: str) -> Name | None:
    """Return the name in a bare answer to "what is your name?"."""
    text = fold_with_places(raw)
    if found := find(text, raw):
        return found
    start = skip_blanks(raw, 0)
    match = GREETING.match(text.text)
    start = text.place[match.end()] if match and match.end() else start
    return name_at(raw, start, strong=True, shouted=False)
