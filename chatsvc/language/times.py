"""Times of day in a line of tokens, found by an ordered list of grammar rules. If several match the same tokens, the first one wins.

Each day in the line has been replaced by one symbol: `DATE`, or `DATE:evening` for "this evening". A number is only a time with a
word ("saat", "at"), a case ending (3'te), a part of the day, or a day beside it.
"""

import re
from dataclasses import replace
from enum import Enum, auto

from chatsvc.language.selection import MOVES
from chatsvc.language.tokens import PARTS_OF_DAY, SENTENCE_ENDS, Expression, Kind, TokenLine, rule

_REACH = 6  # symbols between a number and the part of the day that belongs to it
_MOST = 20  # times looked at in one text
_DAY = 24 * 60

_CASE = r"(?:'\w+)?"
_HOUR = r"(?:2[0-4]|1\d|0?\d)"
_H = rf"(?:#(?P<h>{_HOUR})\??|(?P<on>on))"  # any number of hours; `on` is Turkish ten where a rule asks for a number
_HS = rf"#(?P<h>{_HOUR})"  # one that cannot be another word
_H2 = rf"(?:#(?P<h2>{_HOUR})\??|on|clock=\d+:\d+|pair=\d+\.\d+){_CASE} "
_UNTIL = rf"(?:clock=\d+:\d+|#{_HOUR}|pair=\d+\.\d+){_CASE} "
_M = r"(?:(?P<q>quarter)|#(?P<m>[1-5]?\d)\??|(?P<mon>on))"
_MM = r"#(?P<m>[0-5]\d)"
_PART = r"(?:morning|noon|afternoon|evening|night)"
_DATE = r"DATE(?::\w+)? "
_PRE = r"(?:saat |at |around ){0,3}"
# behind a number: not what counts it
_NO_UNIT = r"(?!unit |both |hundred |hour |minute |day |week |month |year |label |saat )"
_NO_NOUN = rf"{_NO_UNIT}(?!x |#|time |of )"
# what may stand behind an hour that only its place shows to be one
_FREE_WORDS = (
    rf"ok |for |or |and |neg |rejected |at |on |in |gibi |arasi |around |this |next |night |{_PART} |DATE|later |ago |by |after |till "
    r"|to |the |[-.,;!?)] |yarim"
)
_FREE = rf"(?:(?={_FREE_WORDS})|$)"
_APM = r"(?:(?P<am>am)|(?P<pm>pm)) "
_TO = r"(?:- |to |and |till )"


class TimeForm(Enum):
    PLAIN = auto()  # 14:30, saat 3'te, at 4
    HALF = auto()  # half five, üç buçuk
    PAST = auto()  # üçü beş geçe, ten past four
    TO = auto()  # üçe çeyrek kala, quarter to three
    NOON = auto()  # öğlen, at noon
    MIDNIGHT = auto()  # gece yarısı
    HALF_TWELVE = auto()  # saat yarım, half past noon
    TOGETHER = auto()  # saat 0930, 1430 hrs


# only beside another time that is rejected or corrected: not at 3, make it 4; 3 yerine 5
_BESIDE: list[tuple[str, TimeForm]] = [
    (rf"(?<=rejected ){_HS}{_CASE} {_NO_UNIT}", TimeForm.PLAIN),
    (rf"(?<=, ){_HS} (?=ok |[?.!] |$)", TimeForm.PLAIN),
    (rf"(?:makeit |maybe |than ){_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
]
_RULES: list[tuple[str, TimeForm]] = [
    # outright: 14:30, 3 pm, 1430 hrs
    (rf"{_PRE}clock=(?P<h>\d+):(?P<m>\d\d){_CASE} (?:{_APM})?(?:{_TO}{_PRE}{_UNTIL}(?:arasi |am |pm )?)?", TimeForm.PLAIN),
    (rf"{_PRE}pair=(?P<h>{_HOUR})\.(?P<m>[0-5]\d){_CASE} (?:{_APM})?(?:{_TO}{_UNTIL}(?:arasi )?)?{_NO_UNIT}", TimeForm.PLAIN),
    (rf"(?:by |{_PRE}){_HS}{_CASE} {_TO}{_H2}(?:clock )?{_APM}", TimeForm.PLAIN),
    (rf"{_PRE}{_H} (?:- )?{_MM} {_APM}", TimeForm.PLAIN),
    (rf"{_PRE}{_H} {_APM}(?:{_TO}{_H2}{_APM.replace('<am>', '<am2>').replace('<pm>', '<pm2>')})?", TimeForm.PLAIN),
    (rf"{_PRE}(?P<hm>#(?:0?\d|1\d|2[0-3])[0-5]\d){_CASE} (?:hrs|hour|am|pm) ", TimeForm.TOGETHER),
    (rf"saat (?P<hm>#(?:0\d|1\d|2[0-3])[0-5]\d){_CASE} ", TimeForm.TOGETHER),
    # counted to or from the hour
    (rf"{_PRE}{_H}(?:'\w+)? (?:x )?{_M} (?:minute )?kala ", TimeForm.TO),
    (rf"{_PRE}{_H}(?:'\w+)? (?:x )?{_M} (?:minute )?(?:night|geciyor|past) ", TimeForm.PAST),
    (rf"{_PRE}(?:a )?{_M} (?:minute )?(?:to|till) {_H.replace('<on>', '<hon>')} (?:{_APM})?{_NO_UNIT}", TimeForm.TO),
    (rf"{_PRE}(?:a )?(?P<q>quarter) of {_H} (?:{_APM})?{_NO_UNIT}", TimeForm.TO),
    (rf"{_PRE}(?:a )?{_M} (?:minute )?(?:past_|after) {_H.replace('<on>', '<hon>')} (?:{_APM})?{_NO_UNIT}", TimeForm.PAST),
    (rf"{_PRE}half (?:past_ |after )?{_H} (?:{_APM})?{_NO_NOUN}", TimeForm.HALF),
    (
        rf"(?P<trigger>(?:saat |{_PART} |{_DATE}|around ){{1,4}})?{_H}{_CASE} bucuk (?:{_TO}?{_H2}(?:bucuk )?(?:arasi |gibi ))?{_NO_UNIT}",
        TimeForm.HALF,
    ),
    # hours and minutes as two numbers
    (rf"(?:saat |at |{_PART} |{_DATE}){{1,4}}{_H} {_MM}{_CASE} {_NO_NOUN}", TimeForm.PLAIN),
    (rf"{_HS} #(?P<m>15|30|45)'loc ", TimeForm.PLAIN),
    (rf"{_HS} #(?P<m>15|30|45) {_FREE}", TimeForm.PLAIN),
    # spans
    (rf"{_PRE}{_H}{_CASE} (?:{_TO}|ok )?{_H2}arasi ", TimeForm.PLAIN),
    (rf"{_PRE}{_HS}{_CASE} {_TO}{_H2}gibi ", TimeForm.PLAIN),
    (rf"{_PRE}{_HS} {_TO}{_H2}(?=(?:in the |at )?{_PART} )", TimeForm.PLAIN),
    (rf"(?:saat )?{_HS}'abl (?=(?:saat )?#{_HOUR}\??'dat )", TimeForm.PLAIN),
    # the hour with a word that says it is one
    (rf"{_PRE}{_H} (?:oclock|- ish|ish|around) ", TimeForm.PLAIN),
    (r"#(?P<h>1[3-9]|2[0-3]) hrs ", TimeForm.PLAIN),  # 2h and 8 hrs are lengths of time
    (rf"{_PRE}{_HS}{_CASE} (?:gibi|arasi) ", TimeForm.PLAIN),
    (rf"(?:saat |around |{_PART} ){_H}{_CASE} (?:gibi|arasi) ", TimeForm.PLAIN),
    (rf"{_PRE}(?:in the )?saat (?:at |around |ok )?{_H}{_CASE} {_NO_UNIT}", TimeForm.PLAIN),
    (rf"at (?:around )?#(?P<h>{_HOUR})\?? {_NO_NOUN}", TimeForm.PLAIN),
    (rf"(?:around |by |after |till |past_ ){_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (rf"(?:{_PART} |{_DATE})(?:around |by |at |{_PART} |, )?{_H}'(?:loc|dat|abl|psl|psd) {_NO_UNIT}", TimeForm.PLAIN),
    (rf"{_HS}'loc (?!#|unit |both |hour |minute |on )", TimeForm.PLAIN),
    (rf"(?:{_PART} )(?:around |, )?{_HS}{_CASE} {_NO_UNIT}{_FREE}", TimeForm.PLAIN),
    (rf"(?:evening|night) (?:around |, )?#(?P<h>[5-9]|1[01]){_CASE} (?=x |label )", TimeForm.PLAIN),  # "akşam 7 masa ayırtalım"
    (rf"{_HS} (?:(?:in the |at |{_DATE}|this ){_PART}|morning|noon|afternoon|evening) ", TimeForm.PLAIN),
    (rf"{_DATE}(?:around |maybe |, )?{_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (rf"(?:ago |later )than {_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (r"(?P<hm>#(?:0[7-9]|1[0-8])(?:00|15|30|45))'loc ", TimeForm.TOGETHER),
    (rf"(?:(?<=ok )|(?<=, )|(?<![ ])){_HS} (?:on )?(?={_DATE})", TimeForm.PLAIN),
    (rf"{_HS}'(?:dat|abl) (?=ok |later |ago |[?.!,;] |$)", TimeForm.PLAIN),
    (rf"(?:neg ){_HS} (?={_NO_NOUN}{_FREE})", TimeForm.PLAIN),
    (rf"(?:saat |{_PART} |{_DATE}){_H}'(?:loc|dat|abl) ", TimeForm.PLAIN),
    (rf"(?:{_DATE}|{_PART} )(?:, )?maybe {_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    # names of hours
    (rf"{_PRE}(?:#12 )?midnight(?:'\w+)? ", TimeForm.MIDNIGHT),
    (r"saat yarim(?:'\w+)? |(?:saat )?yarimda |yarim (?:gibi|arasi) ", TimeForm.HALF_TWELVE),
    (rf"{_PRE}(?:#12 )?noon (?:ish |- ish )?{_NO_UNIT}", TimeForm.NOON),
]  # fmt: skip

RULES: list[tuple[re.Pattern[str], TimeForm]] = [(rule(pattern), form) for pattern, form in _RULES]
BESIDE: list[tuple[re.Pattern[str], TimeForm]] = [(rule(pattern), form) for pattern, form in _BESIDE]


def find(line: TokenLine) -> list[Expression[int]]:
    """Return the mentions of times in the order of the text, as minutes since midnight."""
    if any(token.text.startswith(MOVES) for token in line.tokens):  # from 6 to 8 is no span, where something is moved
        line = TokenLine([replace(token, symbol="by") if token.text == "to" else token for token in line.tokens])
    taken = [False] * len(line.tokens)
    mentions: list[Expression[int]] = []
    for pattern, form in (*RULES, *BESIDE):
        if not mentions and pattern is BESIDE[0][0]:
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
        case TimeForm.TO if _is_span(line, match, first, end):
            bare = line.tokens[first].kind is Kind.NUMBER and [*line.symbols, ""][end] == "x"
            return None if bare else _hour(groups["m"], None, None) * 60  # a 9 to 5 job
    part = "am" if groups.get("am") else "pm" if groups.get("pm") else _part(line, first, end)
    minutes = 15 if groups.get("q") else 10 if groups.get("mon") else int(groups.get("m") or 0)
    past = 30 if form == TimeForm.HALF else -minutes if form == TimeForm.TO else minutes
    return _hour(groups.get("h") or "10", part, groups.get("h2")) * 60 + past


def _is_span(line: TokenLine, match: re.Match[str], first: int, end: int) -> bool:
    """Return whether a match is a span of hours (`10 to 12`). `ten to three` and `at 5 to 6` are minutes before an hour."""
    groups, here = match.groupdict(), line.tokens[first:end]
    if not groups.get("m") or groups["q"] or not re.search(r" (?:to|till) ", match[0]):
        return False
    minutes, hour = int(groups["m"]), int(groups["h"] or 0)
    figures = all(token.text.isdigit() for token in here if token.kind is Kind.NUMBER)
    if not figures or minutes > 12 or any(token.symbol == "minute" for token in here):
        return False
    return minutes not in {5, 10} or (hour > minutes and here[0].symbol != "at")


def _hour(figures: str, part: str | None, second: str | None) -> int:
    """Return the hour of the day. Without a part of the day, 1 to 6 are in the afternoon. `second` is the hour at the end of a span."""
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
