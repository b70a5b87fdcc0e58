"""The times of day a line speaks of, in minutes since midnight, in the order in which they stand."""

from __future__ import annotations

import re
from dataclasses import replace

from chatsvc.engines.reading import time_rules
from chatsvc.engines.reading.mentions import Mention
from chatsvc.engines.reading.token_line import Line
from chatsvc.engines.reading.vocabulary import MOVES

_PARTS = frozenset({"morning", "noon", "afternoon", "evening", "night"})
_REACH = 6  # symbols between a number and the part of the day that belongs to it
_MOST = 20  # times looked at in one text
_STOPS = frozenset({".", ";", "!", "?"})


def find(line: Line) -> list[Mention[int]]:
    """Every time that is spoken of."""
    if any(token.text.startswith(MOVES) for token in line.tokens):  # from 6 to 8 is no span, where something is moved
        line = Line([replace(token, symbol="by") if token.text == "to" else token for token in line.tokens])
    taken = [False] * len(line.tokens)
    found: list[Mention[int]] = []
    for pattern, form in (*time_rules.RULES, *time_rules.BESIDE):
        if not found and pattern is time_rules.BESIDE[0][0]:
            break
        for match, first, end in line.found(pattern):
            if any(taken[first:end]):
                continue
            minutes = _minutes(line, match, form, first, end)
            if minutes is not None:
                taken[first:end] = [True] * (end - first)
                found.append(Mention(first, end, minutes, explicit=form != time_rules.NOON))
    found.sort(key=lambda mention: mention.first)
    del found[_MOST:]
    return _without_vague_noon(line, found)


def _group(match: re.Match[str], name: str) -> str | None:
    return match[name] if name in match.re.groupindex else None


def _minutes(line: Line, match: re.Match[str], form: int, first: int, end: int) -> int | None:
    if form == time_rules.NOON:
        return 12 * 60
    if form == time_rules.MIDNIGHT:
        return 0
    if form == time_rules.HALF_TWELVE:
        return 12 * 60 + 30 if _part(line, first, end) != "night" else 30
    if form == time_rules.TOGETHER:
        digits = match["hm"][1:]
        hour, minute = int(digits[:-2]), int(digits[-2:])
        return hour * 60 + minute
    if form == time_rules.TO and _is_span(line, match, first, end):
        bare = line.tokens[first].symbol[0] == "#" and end < len(line.tokens) and line.tokens[end].symbol == "x"
        return None if bare else _hour(match["m"], None, match) * 60  # a 9 to 5 job
    if form == time_rules.PAST_HALF and not match["trigger"] and _counts_halves(line, match, end):
        return None
    said = _group(match, "h") or "10"
    part = "am" if _group(match, "am") else "pm" if _group(match, "pm") else _part(line, first, end)
    hour = _hour(said, part, match)
    return (hour * 60 + _past(match, form)) % (24 * 60)


def _past(match: re.Match[str], form: int) -> int:
    """Minutes behind the hour, or (negative) before it."""
    if form in {time_rules.HALF, time_rules.PAST_HALF}:
        return 30
    if _group(match, "q"):
        minutes = 15
    elif _group(match, "mon"):
        minutes = 10
    else:
        minutes = int(_group(match, "m") or 0)
    return -minutes if form == time_rules.TO else minutes


def _is_span(line: Line, match: re.Match[str], first: int, end: int) -> bool:
    """`10 to 12` in figures is a span of hours; `ten to three`, `at 5 to 6` and `20 to 4` are minutes."""
    if not _group(match, "m") or match["q"] or not re.search(r" (?:to|till) ", match[0]):
        return False
    here = line.tokens[first:end]
    minutes, hour = int(match["m"]), int(match["h"] or 0)
    figures = all(token.text.isdigit() for token in here if token.symbol[0] == "#")
    if not figures or minutes > 12 or any(token.symbol == "minute" for token in here):
        return False
    return minutes not in {5, 10} or (hour > minutes and here[0].symbol != "at")


def _counts_halves(line: Line, match: re.Match[str], end: int) -> bool:
    """`iki buçuk porsiyonluk`: one and a half of something unknown, not half past."""
    here = line.tokens[line.token_at(match.start()) : end]
    inflected = any(token.text in {"bucukta", "bucuga", "bucuktan", "bucukda"} for token in here)
    follows_noun = end < len(line.tokens) and line.tokens[end].symbol == "x"
    return follows_noun and not inflected


def _hour(said: str, part: str | None, match: re.Match[str]) -> int:
    """The hour of the day: DECISIONS.md section 5, "A bare 1 to 6 o'clock is the afternoon"."""
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


def _part(line: Line, first: int, end: int) -> str | None:
    """The part of the day nearest to these tokens in their sentence."""
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


def _without_vague_noon(line: Line, found: list[Mention[int]]) -> list[Mention[int]]:
    """`öğlen gelsem, 1 gibi`: noon is the part of the day there, and not twelve o'clock."""
    kept: list[Mention[int]] = []
    for mention in found:
        others = [other for other in found if other is not mention and other.explicit]
        if not mention.explicit and others:
            nearest = min(others, key=lambda other: abs(other.first - mention.first))
            first, end = sorted((mention, nearest), key=lambda one: one.first)
            if not any(token.symbol in {"or", "neg", "to"} for token in line.tokens[first.end : end.first]):
                continue
        kept.append(mention)
    return kept
