"""Selection of the value that a visitor means if a text names several days, times or numbers.

Examples: `not Monday, Tuesday`; `eski numaram 0532 ..., yenisi 0533 ...`; `move it from Friday to Saturday`.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from chatsvc.language import symbols
from chatsvc.language.tokens import SENTENCE_ENDS, Case, Token, TokenLine
from chatsvc.language.wordlists import LanguageWords

_WORDS = LanguageWords("selection.txt")
MOVES = tuple(_WORDS.items("moves"))  # beginnings of words that move an appointment
_NOT_BEHIND = symbols.REJECTED | _WORDS.words("not_behind")
_NOT_BEFORE, _NOT_BEHIND_WEAK, _NEGATED_QUESTION, _NO_REJECTION, _UNLESS_LAST, _CORRECTIONS, _TAKES = map(
    _WORDS.words, ("not_before", "not_behind_weak", "negated_question", "no_rejection", "unless_last", "corrections", "takes")
)
_BUT, _NEAR, _NEW, _FAR_BEFORE, _MOVED_FROM, _MOVED_TO = map(_WORDS.words, ("but", "near", "new", "far_before", "moved_from", "moved_to"))
_QUESTION = _WORDS.any_of("question", "(?:{})$")
_WILL_NOT = _WORDS.any_of("will_not", "(?:{})$")
_FROM = frozenset({Case.ABLATIVE, Case.POSSESSIVE_LOCATIVE, Case.LOCATIVE, Case.ATTRIBUTIVE, Case.ACCUSATIVE})
_REACH = 7
_FAR = 20  # tokens looked at on either side


@dataclass(slots=True)
class Candidate:
    """A day, time or number; `start` and `end` are offsets in the folded text."""

    start: int
    end: int
    case: str = ""


def choose(line: TokenLine, candidates: Sequence[Candidate], others: Sequence[Candidate] = ()) -> int | None:
    """Return the index of the candidate that the visitor means, or None if there is none or all are rejected.

    A rejection may be about a candidate of another kind (`others`) that follows directly: `salı saat 3 değil 5` only rejects the time.
    """
    if not candidates:
        return None
    # Candidates that are neither rejected nor corrected by the next one: `Tuesday, sorry, Wednesday`.
    ends = [0, *(candidate.end for candidate in candidates)]
    starts = [*(candidate.start for candidate in candidates[1:]), -1]
    left: list[int] = []
    for index, (candidate, end, start) in enumerate(zip(candidates, ends, starts, strict=False)):
        gap = _behind(line, candidate.end, start)
        texts = [token.text for token in gap]
        is_corrected = start >= 0 and len(gap) <= _REACH and not _CORRECTIONS.isdisjoint(texts) and texts[-1:] != ["than"]
        if not (_refused_before(_before(line, candidate.start, end)) or _refused_behind(gap, is_last=start < 0) or is_corrected):
            left.append(index)
    left = left or [
        index
        for index, candidate in enumerate(candidates)
        if any(
            len(gap := _behind(line, candidate.end, other.start)) <= 2 and all(token.text in _NEAR for token in gap)
            for other in others
            if other.start >= candidate.end
        )
    ]
    if len(left) > 1 and (moved := _moved_to(line, candidates, left)) is not None:
        return moved
    return left[0] if left else None


def moves(line: TokenLine, candidates: Sequence[Candidate]) -> bool:
    """Return whether an appointment is moved from one candidate to another."""
    return len(candidates) > 1 and _moved_to(line, candidates, list(range(len(candidates)))) is not None


def _before(line: TokenLine, offset: int, floor: int) -> list[Token]:
    end = bisect_left(line.tokens, offset, key=attrgetter("start"))
    return [token for token in line.tokens[max(0, end - _FAR) : end] if floor <= token.start and token.end <= offset]


def _behind(line: TokenLine, offset: int, ceiling: int) -> list[Token]:
    first = bisect_left(line.tokens, offset, key=attrgetter("start"))
    return [token for token in line.tokens[first : first + _FAR] if ceiling < 0 or token.end <= ceiling]


def _refused_before(tokens: list[Token]) -> bool:
    """Return whether the words before a candidate reject it: `not on Monday`, `I can't come on Monday`, `instead of Friday`."""
    texts = [token.text for token in tokens]
    for back, token in enumerate(reversed(tokens)):
        text, index = token.text, len(tokens) - 1 - back
        if back > _REACH or token.symbol in SENTENCE_ENDS or text == "," or text in _BUT or text in _NO_REJECTION or text in _NEW:
            return False
        if text not in _NOT_BEFORE and not text.endswith(" but"):
            continue
        before, behind = texts[:index][-1:], texts[index + 1 :]
        if text in _FAR_BEFORE or back <= 5:
            return not (_NEGATED_QUESTION.intersection(behind[:1]) or before in (["why"], ["if"]))
    return False


def _refused_behind(tokens: list[Token], *, is_last: bool) -> bool:
    """Return whether the words behind a candidate reject it: `Monday doesn't work`, `pazartesi olmaz`, `salı yerine`."""
    comma = False
    for index, token in enumerate(tokens[: _REACH + 2]):
        text, behind = token.text, [token.text for token in tokens[index + 1 :]]
        if token.symbol in SENTENCE_ENDS or text in _BUT or text in _NEW or (text == "," and index > 0):
            return False
        comma = comma or text == ","
        if text in _UNLESS_LAST and not is_last:
            return True
        if text in _NOT_BEHIND or _WILL_NOT.search(text):
            return not (behind and _QUESTION.match(behind[0]))
        if text in _NOT_BEHIND_WEAK:
            is_near = _NEAR.issuperset(behind)
            is_forward = not is_last and len(behind) <= 4 and (is_near or "," not in behind)
            if is_forward and (comma or text == "not" or index > 0) and (is_near or comma):
                return False
            if text in {"not", "cant", "dont"} and behind and behind[0] in _NEGATED_QUESTION | _NO_REJECTION:
                return False
            return not (comma and not is_last and text == "not")
    return False


def _moved_to(line: TokenLine, candidates: Sequence[Candidate], left: list[int]) -> int | None:
    """Return the index of the day or time to which an appointment is moved, or None if none is moved."""
    first, last = candidates[left[0]], candidates[left[-1]]
    is_taking = any(token.text in _TAKES for token in line.tokens)
    is_moving = any(token.text.startswith(MOVES) for token in line.tokens)
    between = _behind(line, first.end, candidates[left[1]].start)
    is_from = first.case in _FROM or any(token.text in _MOVED_FROM for token in between)
    if not is_moving and not (is_taking and is_from and last.case == Case.DATIVE):
        return None
    for index in reversed(left[1:]):
        before = _before(line, candidates[index].start, candidates[index - 1].end)
        if candidates[index].case == Case.DATIVE or any(token.text in _MOVED_TO for token in before):
            return index
    return None
