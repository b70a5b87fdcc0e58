"""Days mentioned in a line, in the order of the text."""

from datetime import date
from itertools import islice

from chatsvc.language import days
from chatsvc.language.date_rules import GONE, RULES
from chatsvc.language.tokens import PARTS_OF_DAY, Expression, TokenLine, rule

_PAIR = rule(r"pair=(\d+)([./])(\d+)(?:'(\w+))? ")
# before and behind 14.30 or 15.03: what makes it a time, what makes it a day
_CLOCK_BEFORE = frozenset({"saat", "at", "around", *PARTS_OF_DAY})
_CLOCK_BEHIND = frozenset({"gibi", "am", "pm", "hrs", "arasi", "oclock"})
_DAY_BEFORE = frozenset({"on", "for", "by", "till", "next"})
_DAY_BEHIND = frozenset({"day", "for", "at", "saat"})
_BETWEEN = frozenset({",", "day", "the", "on", "-", "(", ")"})
_MOST = 20  # days kept of one text, since selection compares each with the others


def find(line: TokenLine, today: date) -> list[Expression[date]]:
    """Return the mentions of days; those that name no date ("every Monday") have no value."""
    taken = [False] * len(line.tokens)
    mentions: list[Expression[date]] = []
    for pattern, resolve, explicit in RULES:
        for match, first, end in line.matches(pattern):
            if not any(taken[first:end]):
                taken[first:end] = [True] * (end - first)
                mentions.append(Expression(first, end, resolve(match, today), explicit, gone=pattern in GONE))
    is_dated = any(mention.value for mention in mentions)
    for match, first, end in islice(line.matches(_PAIR), _MOST):
        before, behind = (["", *line.symbols][first], [*line.symbols, ""][end])
        if _is_day(match.group(1, 2, 3, 4), before, behind, is_dated=is_dated):  # 31/11 has no value, and was meant for a day all the same
            mentions.append(Expression(first, end, days.next_date(today, int(match[3]), int(match[1]))))
    mentions.sort(key=lambda mention: mention.first)
    return _merged(line, mentions[:_MOST])


def _is_day(pair: tuple[str, ...], before: str, behind: str, *, is_dated: bool) -> bool:
    """Return whether a pair such as 15.03 or 15/3 is a day, by its neighbours."""
    first, sign, second, case = pair
    day, month = int(first), int(second)
    if sign == "." and (before in _CLOCK_BEFORE or behind in _CLOCK_BEHIND or (is_dated and len(second) == 2)):
        return False
    said = before in _DAY_BEFORE or behind in _DAY_BEHIND or (case or "")[:2] in {"lo", "da", "ps", "ab"}
    slight = len(second) == 1 and (sign == "." or (day < month and len(first) == 1)) and day < 13
    if slight and (not said or behind == "x"):
        return False
    if sign == "/" and first == second and behind == "x" and not said:  # 10/10 service
        return False
    return 1 <= month <= 12 and 1 <= day <= 31


def _merged(line: TokenLine, mentions: list[Expression[date]]) -> list[Expression[date]]:
    """Merge a weekday and a date side by side (`Monday, 15 March`); the date counts."""
    merged: list[Expression[date]] = []
    for mention in mentions:
        last = merged[-1] if merged else None
        if last and last.value and mention.value and last.explicit != mention.explicit:
            gap = line.symbols[last.end : mention.first]
            same = last.value.weekday() == mention.value.weekday()
            if len(gap) < 4 and _BETWEEN.issuperset(gap) and (same or not gap):
                merged[-1] = Expression(last.first, mention.end, last.value if last.explicit else mention.value)
                continue
        merged.append(mention)
    return merged
