"""Times of day in a line, as minutes since midnight, in text order."""

import re
from dataclasses import replace

from chatsvc.language import time_rules
from chatsvc.language.selection import MOVES
from chatsvc.language.time_rules import TimeForm
from chatsvc.language.tokens import Expression, Kind, TokenLine

_PARTS = frozenset({"morning", "noon", "afternoon", "evening", "night"})
_REACH = 6  # symbols between a number and the part of the day that belongs to it
_MOST = 20  # times looked at in one text
_STOPS = frozenset({".", ";", "!", "?"})


def find(line: TokenLine) -> list[Expression[int]]:
    """Return the mentions of times."""
    if any(token.text.startswith(MOVES) for token in line.tokens):  # from 6 to 8 is no span, where something is moved
        line = TokenLine([replace(token, symbol="by") if token.text == "to" else token for token in line.tokens])
    taken = [False] * len(line.tokens)
    found: list[Expression[int]] = []
    for pattern, form in (*time_rules.RULES, *time_rules.BESIDE):
        if not found and pattern is time_rules.BESIDE[0][0]:
            break
        for match, first, end in line.found(pattern):
            if any(taken[first:end]):
                continue
            minutes = _minutes(line, match, form, first, end)
            if minutes is not None:
                taken[first:end] = [True] * (end - first)
                found.append(Expression(first, end, minutes, explicit=form != TimeForm.NOON))
    found.sort(key=lambda mention: mention.first)
    del found[_MOST:]
    return found


def _group(match: re.Match[str], name: str) -> str | None:
    return match[name] if name in match.re.groupindex else None


def _minutes(line: TokenLine, match: re.Match[str], form: TimeForm, first: int, end: int) -> int | None:
    if form == TimeForm.NOON:
        return 12 * 60
    if form == TimeForm.MIDNIGHT:
        return 0
    if form == TimeForm.HALF_TWELVE:
        return 12 * 60 + 30 if _part(line, first, end) != "night" else 30
    if form == TimeForm.TOGETHER:
        digits = match["hm"][1:]
        hour, minute = int(digits[:-2]), int(digits[-2:])
        return hour * 60 + minute
    if form == TimeForm.TO and _is_span(line, match, first, end):
        bare = line.tokens[first].kind is Kind.NUMBER and end < len(line.tokens) and line.tokens[end].symbol == "x"
        return None if bare else _hour(match["m"], None, match) * 60  # a 9 to 5 job
    if form == TimeForm.BARE and line.tokens[end].text.endswith("s"):
        return None  # "Saturday 10 pupils"
    said = _group(match, "h") or "10"
    part = "am" if _group(match, "am") else "pm" if _group(match, "pm") else _part(line, first, end)
    hour = _hour(said, part, match)
    return (hour * 60 + _past(match, form)) % (24 * 60)


def _past(match: re.Match[str], form: TimeForm) -> int:
    """Return the minutes past the hour; negative before it."""
    if form in {TimeForm.HALF, TimeForm.PAST_HALF}:
        return 30
    if _group(match, "q"):
        minutes = 15
    elif _group(match, "mon"):
        minutes = 10
    else:
        minutes = int(_group(match, "m") or 0)
    return -minutes if form == TimeForm.TO else minutes


def _is_span(line: TokenLine, match: re.Match[str], first: int, end: int) -> bool:
    """Distinguish the span `10 to 12` from minutes before an hour. Examples: `ten to three`, `at 5 to 6`."""
    if not _group(match, "m") or match["q"] or not re.search(r" (?:to|till) ", match[0]):
        return False
    here = line.tokens[first:end]
    minutes, hour = int(match["m"]), int(match["h"] or 0)
    figures = all(token.text.isdigit() for token in here if token.kind is Kind.NUMBER)
    if not figures or minutes > 12 or any(token.symbol == "minute" for token in here):
        return False
    return minutes not in {5, 10} or (hour > minutes and here[0].symbol != "at")


def _hour(said: str, part: str | None, match: re.Match[str]) -> int:
    """Return the hour of the day; a bare 1 to 6 is the afternoon."""
    hour = int(said)
    if hour > 12 or hour == 0:
        return hour % 24
    if part in {"am", "morning"}:
        return 0 if hour == 12 and part == "am" else hour
    if part == "pm" and (second := _group(match, "h2")) and not _same_half(hour, int(second)):
        return hour  # 10-2 pm begins in the morning
    if part in {"pm", "afternoon"}:
        return hour % 12 + 12
    if part == "evening":
        return (hour + 12) % 24
    if part == "night":
        return hour % 12 + (12 if hour in range(6, 12) else 0)
    if part == "noon":
        return hour + 12 if hour < 6 else hour
    if len(said) == 2 and said[0] == "0":
        return hour
    return hour + 12 if hour <= 6 else hour


def _same_half(first: int, second: int) -> bool:
    return first % 12 < second % 12


def _part(line: TokenLine, first: int, end: int) -> str | None:
    """Return the part of the day nearest to these tokens in their sentence."""
    best: tuple[int, str] | None = None
    for at in range(max(0, first - _REACH), min(len(line.tokens), end + _REACH)):
        symbol = line.tokens[at].symbol
        part = symbol.removeprefix("DATE:")
        if part not in _PARTS or (part == "night" and line.tokens[at].text == "gece" and first <= at < end and at > first):
            continue
        gap = line.tokens[at:first] if at < first else line.tokens[end : at + 1]
        if any(token.symbol in _STOPS for token in gap):
            continue
        distance = 0 if first <= at < end else len(gap)
        if best is None or distance < best[0]:
            best = (distance, part)
    return best[1] if best else None
