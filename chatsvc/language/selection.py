"""Selection of the wanted one among several days, times or numbers.

`not Monday, Tuesday`; `eski numaram 0532 ..., yenisi 0533 ...`; `move it from Friday to Saturday`.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from chatsvc.language import symbols
from chatsvc.language.tokens import Case, Token, TokenLine
from chatsvc.language.wordlists import LanguageWords

_WORDS = LanguageWords("selection.txt")
MOVES = tuple(_WORDS.items("moves"))  # beginnings of words that move an appointment
_NOT_BEFORE = _WORDS.words("not_before")
_NOT_BEHIND = symbols.REJECTED | _WORDS.words("not_behind")
_NOT_BEHIND_WEAK = _WORDS.words("not_behind_weak")
_NEGATED_QUESTION = _WORDS.words("negated_question")
_NO_REJECTION = _WORDS.words("no_rejection")
_UNLESS_LAST = _WORDS.words("unless_last")
_CORRECTIONS = _WORDS.words("corrections")
_TAKES = _WORDS.words("takes")

_ATTRIBUTES, _ARTICLES, _BUT, _NEAR, LINKS, _NEW, _OR = (
    _WORDS.words(name) for name in ("attributes", "articles", "but", "near", "links", "new", "or")
)
_AGES = _WORDS.words("ages")
_MEANT, _FAR_BEFORE, _MOVED_FROM, _MOVED_TO = (_WORDS.words(name) for name in ("meant", "far_before", "moved_from", "moved_to"))
_STOPS = frozenset({".", ";", "!", "?"})
_QUESTION = _WORDS.any_of("question", "(?:{})$")
_WILL_NOT = _WORDS.any_of("will_not", "(?:{})$")
_FROM = frozenset({Case.ABLATIVE, Case.POSSESSIVE_LOCATIVE, Case.LOCATIVE, Case.ATTRIBUTIVE, Case.ACCUSATIVE})
_REACH = 7
_FAR = 20  # tokens looked at on either side


@dataclass(slots=True)
class Candidate:
    """A day, time or number found; `start` and `end` are offsets in the folded text."""

    start: int
    end: int
    case: str = ""


def choose(line: TokenLine, found: Sequence[Candidate], others: Sequence[Candidate] = ()) -> int | None:
    """Return the index of the wanted candidate. None if there is none, or all are rejected.

    A candidate of another kind (`others`) that follows directly may be the rejected one: in `salı saat 3 değil 5` only the time is.
    """
    left = [at for at, refused in enumerate(rejections(line, found)) if not refused]
    left = left or [at for at, one in enumerate(found) if any(_follows(line, one, other) for other in others if other.start >= one.end)]
    if len(left) > 1 and (moved := _moved_to(line, found, left)) is not None:
        return moved
    return left[0] if left else None


def rejections(line: TokenLine, found: Sequence[Candidate]) -> list[bool]:
    """Return for each candidate whether it is rejected."""
    rejected: list[bool] = []
    for at, one in enumerate(found):
        floor = found[at - 1].end if at else 0
        ceiling = found[at + 1].start if at + 1 < len(found) else -1
        rejected.append(
            _refused_before(_before(line, one.start, floor))
            or _refused_behind(_behind(line, one.end, ceiling), last=ceiling < 0)
            or (ceiling >= 0 and _corrected(_behind(line, one.end, ceiling)))
        )
    for at in range(len(found) - 1):  # pazartesi ve salı olmaz
        gap = _behind(line, found[at].end, found[at + 1].start)
        if gap and len(gap) <= 2 and all(token.text in LINKS for token in gap):
            joint = rejected[at] or rejected[at + 1]
            if joint and not (rejected[at + 1] and not rejected[at] and _refused_before(_before(line, found[at + 1].start, found[at].end))):
                rejected[at] = rejected[at + 1] = True
    return rejected


def _follows(line: TokenLine, one: Candidate, other: Candidate) -> bool:
    gap = _behind(line, one.end, other.start)
    return len(gap) <= 2 and all(token.text in _NEAR for token in gap)


def _before(line: TokenLine, place: int, floor: int) -> list[Token]:
    end = bisect_left(line.tokens, place, key=_start)
    return [token for token in line.tokens[max(0, end - _FAR) : end] if floor <= token.start and token.end <= place]


def _behind(line: TokenLine, place: int, ceiling: int) -> list[Token]:
    first = bisect_left(line.tokens, place, key=_start)
    return [token for token in line.tokens[first : first + _FAR] if ceiling < 0 or token.end <= ceiling]


def _start(token: Token) -> int:
    return token.start


def _refused_before(tokens: list[Token]) -> bool:
    """Return whether words in front reject. Examples: `not on Monday`, `I can't come on Monday`, `instead of Friday`."""
    for back, token in enumerate(reversed(tokens)):
        if back > _REACH or token.symbol in _STOPS or token.text == "," or token.text in _BUT or token.text in _NO_REJECTION:
            return False
        if token.text in _NEW:
            return False
        if token.text in _NOT_BEFORE or token.text.endswith(" but"):
            at = len(tokens) - 1 - back
            if token.text == "than" and at and tokens[at - 1].text in _NO_REJECTION:  # no later than 4
                return False
            asked = (at + 1 < len(tokens) and tokens[at + 1].text in _NEGATED_QUESTION) or (at > 0 and tokens[at - 1].text in {"why", "if"})
            if token.text == "instead":
                return tokens[at + 1 : at + 2] != [] and tokens[at + 1].text == "of" and all(one.text in _NEAR for one in tokens[at + 2 :])
            if token.text == "rather":
                return at + 1 < len(tokens) and tokens[at + 1].text == "than"
            if token.text in _FAR_BEFORE or back <= 5:
                return not asked
    return False


def _refused_behind(tokens: list[Token], *, last: bool) -> bool:
    """Return whether words behind reject: `Monday doesn't work`, `pazartesi olmaz`, `salı yerine`."""
    comma = False
    for at, token in enumerate(tokens[: _REACH + 2]):
        if token.symbol in _STOPS or token.text in _BUT | _NEW or (token.text == "," and at > 0):
            return False
        comma = comma or token.text == ","
        asked = at + 1 < len(tokens) and bool(_QUESTION.match(tokens[at + 1].text))
        if token.text in _UNLESS_LAST and not last:
            return True
        if token.text in _NOT_BEHIND or _WILL_NOT.search(token.text):
            return not asked
        # "Saturday for a full head", "for a 5 year old"
        if token.text in _ATTRIBUTES and at and tokens[at - 1].text in _ARTICLES | _AGES:
            continue
        if token.text in _NOT_BEHIND_WEAK:
            left = tokens[at + 1 :]
            forward = not last and len(left) <= 4 and all(one.text in _NEAR or one.text != "," for one in left)
            if forward and (comma or token.text == "not" or at > 0) and (all(one.text in _NEAR for one in left) or comma):
                return False
            if (
                token.text in {"not", "cant", "dont"}
                and at + 1 < len(tokens)
                and tokens[at + 1].text in {*_NEGATED_QUESTION, *_NO_REJECTION}
            ):
                return False
            return not (comma and not last and token.text == "not")
    return False


def _corrected(gap: list[Token]) -> bool:
    """Return whether the words between two candidates correct the first: `Tuesday, sorry, Wednesday`."""
    texts = [token.text for token in gap]
    if len(gap) > 6 or (not _OR.isdisjoint(texts) and "rather" not in texts):
        return False
    if not _BUT.isdisjoint(texts) and not _MEANT.isdisjoint(texts):  # I said Monday but I need Wednesday
        return True
    for at, text in enumerate(texts):
        if text == "no" and at and texts[at - 1] not in {",", "-", ".", "?"}:
            continue
        if text in _CORRECTIONS and not (text == "rather" and texts[-1] == "than"):
            return True
    return False


def _moved_to(line: TokenLine, found: Sequence[Candidate], left: list[int]) -> int | None:
    """Return the index of the day an appointment is moved to, if one is moved."""
    moving = any(token.text.startswith(MOVES) for token in line.tokens)
    taking = any(token.text in _TAKES for token in line.tokens)
    from_day = found[left[0]].case in _FROM or any(
        token.text in _MOVED_FROM for token in _behind(line, found[left[0]].end, found[left[1]].start)
    )
    if taking and found[left[0]].case == Case.ACCUSATIVE:  # 15:00'i 16:00 yapabilir miyiz
        return left[1]
    if not moving and not (taking and from_day and found[left[-1]].case == Case.DATIVE):
        return None
    for at in reversed(left[1:]):
        before = _before(line, found[at].start, found[at - 1].end)
        if found[at].case == Case.DATIVE or any(token.text in _MOVED_TO for token in before):
            return at
    return None
