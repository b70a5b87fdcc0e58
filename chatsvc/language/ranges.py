"""The last day of a range of days: `4-6 December`, `from Friday to Sunday`, `4 Aralık'tan 6 Aralık'a`."""

from collections.abc import Sequence
from datetime import date

from chatsvc.language import days
from chatsvc.language.selection import TILL, ends_stay
from chatsvc.language.tokens import Case, Expression, Kind, TokenLine, rule

# two numbers of one month inside an expression: 4-6 Aralık, the 4th to the 6th of December, December 4-6
_INSIDE = rule(r"#(?P<first>\d\d?)\??(?:'\w+)? (?:(?:-|to|and|till|or) )?(?:the )?#(?P<last>\d\d?)\??(?:'\w+)? ")
_NUMBER = r"#(?P<last>3[01]|[12]\d|0?[1-9])\??"
_NO_HOUR = "(?!unit |both |day |week |hour |:|am |pm |M)"
_BEHIND = (
    rule(rf"(?:-|to) (?:the )?{_NUMBER}(?:'\w+)? {_NO_HOUR}"),
    rule(rf"till (?:the {_NUMBER}(?:'\w+)? |{_NUMBER.replace('last', 'declined')}'\w+ )"),
    rule(rf"and {_NUMBER}(?:'\w+)? (?=arasi )"),
)
_FIGURES = frozenset({Kind.NUMBER, Kind.DATE, Kind.PAIR, Kind.MONTH})
_JOINED = frozenset({"-", "to", "till", "leave", "arrive"})
_BETWEEN = frozenset({"and", "with"})
_PARTS = frozenset({"morning", "noon", "afternoon", "evening", "night"})
_LOOSE = frozenset({"the", "on", "day", ",", "-", "to", "till", "and", "with", "ok", "leave"}) | _PARTS
_FROM = frozenset({Case.ABLATIVE, Case.POSSESSIVE_ABLATIVE})
_TO = frozenset({Case.DATIVE, Case.POSSESSIVE_DATIVE})
_LONGEST = 4  # symbols between the two days


def last_day(line: TokenLine, found: Sequence[Expression[date]], wanted: int) -> tuple[date, int, int] | None:
    """Return the last day of the range that begins with `found[wanted]`. With its tokens; None without a range."""
    one = found[wanted]
    first = one.value
    if first is None:
        return None
    for match, start, end in line.found(_INSIDE):
        if one.first <= start and end <= one.end and int(match["first"]) == first.day and (last := _of_number(first, int(match["last"]))):
            return last, end - 1, end
    if wanted + 1 < len(found):
        other = found[wanted + 1]
        gap = line.symbols(one.end, other.first)
        near = len(gap) <= _LONGEST and (set(gap) <= _LOOSE or "arrive" in gap) and _is_range(line, one, other, gap)
        if other.value and (near or ("or" not in gap and ends_stay(line, other.first, other.end))):
            last = behind(first, other.value, explicit=other.explicit)
            return (last, other.first, other.end) if last else None
    figures = any(token.kind in _FIGURES for token in line.tokens[one.first : one.end])
    return number_behind(line, first, one.end) if figures else None  # "Friday - 5" is an hour


def number_behind(line: TokenLine, first: date, at: int) -> tuple[date, int, int] | None:
    """Return the last day given as a number behind token `at`, with its tokens: `December 4 to 6`, or a bare `4-6`."""
    for pattern in _BEHIND:
        for match, start, end in line.found(pattern):
            number = next(filter(None, match.groups()))
            if start == at and (last := _of_number(first, int(number))):
                return last, start + 1, end
    return None


def _is_range(line: TokenLine, one: Expression[date], other: Expression[date], gap: Sequence[str]) -> bool:
    cases = [[token.case for token in line.tokens[mention.first : mention.end] if token.case] for mention in (one, other)]
    before = line.tokens[one.first - 1].symbol if one.first else ""
    behind = next((token for token in line.tokens[other.end :] if token.symbol not in _PARTS), None)
    until = behind is not None and behind.text in TILL
    declined = bool(_FROM.intersection(cases[0])) and (bool(_TO.intersection(cases[1])) or until)
    between = not _BETWEEN.isdisjoint(gap) and (before == "by" or (behind is not None and behind.symbol == "arasi"))
    to_part = until and not _PARTS.isdisjoint(gap)  # cuma akşamından pazar öğlene kadar
    return declined or between or to_part or not _JOINED.isdisjoint(gap)


def _of_number(first: date, number: int) -> date | None:
    """Return the next day with this number in the month, on or behind the first."""
    return days.made(first.year, first.month, number) if number >= first.day else days.next_number(first, number)


def behind(first: date, last: date, *, explicit: bool) -> date | None:
    """Return the last day as it is meant seen from the first. A bare weekday or number is the next one behind it."""
    if last > first or last == first:
        return last
    if not explicit:
        return days.next_weekday(first, last.weekday())
    return days.next_number(first, last.day) if last.month == first.month or last.year == first.year else None
