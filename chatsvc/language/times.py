"""Times of day in a line, as minutes since midnight, in text order."""

import re
from dataclasses import replace

from chatsvc.language import time_rules
from chatsvc.language.selection import MOVES
from chatsvc.language.time_rules import TimeForm
from chatsvc.language.tokens import PARTS_OF_DAY, SENTENCE_ENDS, Expression, Kind, TokenLine

_REACH = 6  # symbols between a number and the part of the day that belongs to it
_MOST = 20  # times looked at in one text
_DAY = 24 * 60


def find(line: TokenLine) -> list[Expression[int]]:
    """Return the mentions of times."""
    if any(token.text.startswith(MOVES) for token in line.tokens):  # from 6 to 8 is no span, where something is moved
        line = TokenLine([replace(token, symbol="by") if token.text == "to" else token for token in line.tokens])
    taken = [False] * len(line.tokens)
    mentions: list[Expression[int]] = []
    for pattern, form in (*time_rules.RULES, *time_rules.BESIDE):
        if not mentions and pattern is time_rules.BESIDE[0][0]:
            break
        for match, first, end in line.matches(pattern):
            if any(taken[first:end]):
                continue
            minutes = _minutes(line, match, form, first, end)
            if minutes is not None:
                taken[first:end] = [True] * (end - first)
                mentions.append(Expression(first, end, minutes % _DAY, explicit=form != TimeForm.NOON))
    return sorted(mentions, key=lambda mention: mention.first)[:_MOST]


def _minutes(line: TokenLine, match: re.Match[str], form: TimeForm, first: int, end: int) -> int | None:
    """Return the minutes since midnight, or before it, of a matched rule."""
    groups = match.groupdict()
    match form:
        case TimeForm.NOON:
            return 12 * 60
        case TimeForm.MIDNIGHT:
            return 0
        case TimeForm.HALF_TWELVE:
            return 12 * 60 + 30 if _part(line, first, end) != "night" else 30
        case TimeForm.TOGETHER:
            digits = groups["hm"][1:]
            return int(digits[:-2]) * 60 + int(digits[-2:])
        case TimeForm.BARE if line.tokens[end].text.endswith("s"):
            return None  # "Saturday 10 pupils"
        case TimeForm.TO if _is_span(line, match, first, end):
            bare = line.tokens[first].kind is Kind.NUMBER and [*line.symbols, ""][end] == "x"
            return None if bare else _hour(groups["m"], None, None) * 60  # a 9 to 5 job
    part = "am" if groups.get("am") else "pm" if groups.get("pm") else _part(line, first, end)
    minutes = 15 if groups.get("q") else 10 if groups.get("mon") else int(groups.get("m") or 0)
    past = 30 if form in (TimeForm.HALF, TimeForm.PAST_HALF) else -minutes if form == TimeForm.TO else minutes
    return _hour(groups.get("h") or "10", part, groups.get("h2")) * 60 + past


def _is_span(line: TokenLine, match: re.Match[str], first: int, end: int) -> bool:
    """Distinguish the span `10 to 12` from minutes before an hour. Examples: `ten to three`, `at 5 to 6`."""
    groups, here = match.groupdict(), line.tokens[first:end]
    if not groups.get("m") or groups["q"] or not re.search(r" (?:to|till) ", match[0]):
        return False
    minutes, hour = int(groups["m"]), int(groups["h"] or 0)
    figures = all(token.text.isdigit() for token in here if token.kind is Kind.NUMBER)
    if not figures or minutes > 12 or any(token.symbol == "minute" for token in here):
        return False
    return minutes not in {5, 10} or (hour > minutes and here[0].symbol != "at")


def _hour(figures: str, part: str | None, second: str | None) -> int:
    """Return the hour of the day; a bare 1 to 6 is the afternoon. `second` is the hour that ends a span."""
    hour = int(figures)
    if hour > 12 or hour == 0:
        return hour % 24
    if part in {"am", "morning"}:
        return 0 if hour == 12 and part == "am" else hour
    if part == "pm" and second and hour % 12 >= int(second) % 12:
        return hour  # 10-2 pm begins in the morning
    if part in {"pm", "afternoon"}:
        return hour % 12 + 12
    if part == "evening":
        return (hour + 12) % 24
    if part == "night":
        return hour % 12 + (12 if hour in range(6, 12) else 0)
    if part == "noon":
        return hour + 12 if hour < 6 else hour
    return hour + 12 if hour <= 6 and not (len(figures) == 2 and figures[0] == "0") else hour


def _part(line: TokenLine, first: int, end: int) -> str | None:
    """Return the part of the day nearest to these tokens in their sentence."""
    best: tuple[int, str] | None = None
    for index in range(max(0, first - _REACH), min(len(line.tokens), end + _REACH)):
        part = line.symbols[index].removeprefix("DATE:")
        if part not in PARTS_OF_DAY or (part == "night" and line.tokens[index].text == "gece" and first < index < end):
            continue
        gap = line.symbols[index:first] if index < first else line.symbols[end : index + 1]
        distance = 0 if first <= index < end else len(gap)
        if SENTENCE_ENDS.isdisjoint(gap) and (best is None or distance < best[0]):
            best = (distance, part)
    return best[1] if best else None
