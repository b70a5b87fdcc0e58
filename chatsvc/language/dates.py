"""Days mentioned in a line, in the order of the text."""

from datetime import date
from itertools import islice

from chatsvc.language import days
from chatsvc.language.date_rules import GONE, RULES
from chatsvc.language.tokens import Expression, TokenLine, rule

_PAIR = rule(r"pair=(\d+)([./])(\d+)(?:'(\w+))? ")
# before and behind 14.30 or 15.03: what makes it a time, what makes it a day
_CLOCK_BEFORE = frozenset({"saat", "at", "around", "morning", "noon", "afternoon", "evening", "night"})
_CLOCK_BEHIND = frozenset({"gibi", "am", "pm", "hrs", "arasi", "oclock"})
_DAY_BEFORE = frozenset({"on", "for", "by", "till", "next"})
_DAY_BEHIND = frozenset({"day", "for", "at", "saat"})
_BETWEEN = frozenset({",", "day", "the", "on", "-", "(", ")"})
_MOST = 20  # days kept of one text, since selection compares each with the others


def find(line: TokenLine, today: date) -> list[Expression[date]]:
    """Return the mentions of days; those that name no date ("every Monday") have no value."""
    taken = [False] * len(line.tokens)
    found: list[Expression[date]] = []
    for pattern, reading, explicit in RULES:
        for match, first, end in line.found(pattern):
            if not any(taken[first:end]):
                taken[first:end] = [True] * (end - first)
                found.append(Expression(first, end, reading(match, today), explicit, gone=pattern in GONE))
    found.extend(_pairs(line, today, any(mention.value for mention in found)))
    found.sort(key=lambda mention: mention.first)
    del found[_MOST:]
    return _merged(line, found)


def _pairs(line: TokenLine, today: date, dated: bool) -> list[Expression[date]]:
    """Return pairs such as 15.03 and 15/3 that can be days. A neighbour may make a pair a time."""
    found: list[Expression[date]] = []
    for match, first, end in islice(line.found(_PAIR), _MOST):
        day, month = int(match[1]), int(match[3])
        before = line.tokens[first - 1].symbol if first else ""
        behind = line.tokens[end].symbol if end < len(line.tokens) else ""
        if (match[2] == "." and (before in _CLOCK_BEFORE or behind in _CLOCK_BEHIND)) or (match[2] == "." and dated and len(match[3]) == 2):
            continue
        said = before in _DAY_BEFORE or behind in _DAY_BEHIND or (match[4] or "")[:2] in {"lo", "da", "ps", "ab"}
        slight = len(match[3]) == 1 and (match[2] == "." or (day < month and len(match[1]) == 1)) and day < 13
        if (slight and not said) or not 1 <= month <= 12 or (behind == "x" and slight):
            continue
        if match[2] == "/" and match[1] == match[3] and behind == "x" and not said:  # 10/10 service
            continue
        if 1 <= day <= 31:  # 31/11 has no value, and is a day all the same that somebody meant
            found.append(Expression(first, end, days.next_date(today, month, day)))
    return found


def _merged(line: TokenLine, found: list[Expression[date]]) -> list[Expression[date]]:
    """Merge a weekday and a date side by side (`Monday, 15 March`); the date counts."""
    merged: list[Expression[date]] = []
    for mention in found:
        last = merged[-1] if merged else None
        if last and last.value and mention.value and last.explicit != mention.explicit:
            gap = line.symbols(last.end, mention.first)
            same = last.value.weekday() == mention.value.weekday()
            if set(gap) <= _BETWEEN and len(gap) < 4 and (same or not gap):
                value = last.value if last.explicit else mention.value
                merged[-1] = Expression(last.first, mention.end, value)
                continue
        merged.append(mention)
    return merged
