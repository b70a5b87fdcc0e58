"""Days mentioned in a line of tokens, found by an ordered list of grammar rules. If several match the same tokens, the first one wins.

Weeks begin on Monday. The functions return None for a day that does not exist.
"""

import calendar
import re
from collections.abc import Callable
from datetime import date, timedelta
from itertools import islice

from chatsvc.language.tokens import PARTS_OF_DAY, Expression, TokenLine, rule

_PAIR = rule(r"pair=(\d+)([./])(\d+)(?:'(\w+))? ")
# before and behind 14.30 or 15.03: what makes it a time, what makes it a day
_CLOCK_BEFORE = frozenset({"saat", "at", "around", *PARTS_OF_DAY})
_CLOCK_BEHIND = frozenset({"gibi", "am", "pm", "hrs", "arasi", "oclock"})
_DAY_BEFORE = frozenset({"on", "for", "by", "till", "next"})
_DAY_BEHIND = frozenset({"day", "for", "at", "saat"})
_BETWEEN = frozenset({",", "day", "the", "on", "-", "(", ")", "coming", "this", "next"})
_MOST = 20  # days kept of one text, since selection compares each with the others


def make(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def after(today: date, days: int) -> date | None:
    try:
        return today + timedelta(days=days)
    except OverflowError:
        return None


def next_weekday(today: date, weekday: int, weeks: int = 0) -> date | None:
    """Return the date of the next `weekday` (0 is Monday) after today, plus a number of weeks."""
    return after(today, (weekday - today.weekday() - 1) % 7 + 1 + 7 * weeks)


def weekday_of_week(today: date, weekday: int, weeks: int) -> date | None:
    """Return the date of a weekday in the calendar week that is `weeks` after this one."""
    return after(today, weekday - today.weekday() + 7 * weeks)


def in_month(today: date, months: int, day: int) -> date | None:
    """Return the date of a day in the month that is `months` after this one. Return None if that month is shorter."""
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return make(year, month + 1, day)


def next_date(today: date, month: int, day: int) -> date | None:
    """Return the next date with this day and month, which may be today."""
    dates = (make(year, month, day) for year in range(today.year, today.year + 9))
    return next((day for day in dates if day and day >= today), None)


def nth_weekday(today: date, months: int, nth: int, weekday: int) -> date | None:
    """Return the date of the nth `weekday` in the month that is `months` after this one. If `nth` is -1, it is the last one."""
    first = in_month(today, months, 1)
    if first is None:
        return None
    days = [week[weekday] for week in calendar.monthcalendar(first.year, first.month) if week[weekday]]
    return first.replace(day=days[nth if nth < 0 else nth - 1])


# The pieces of the rules; each but _DAY carries the blank behind its symbols.
_CASE = r"(?:'\w+)?"
_D = rf"D(?P<wd>\d){_CASE} "
_ANY_D = rf"D\d{_CASE} "
_GUN = r"(?:day )?"
_N = r"(?:#(?P<n>\d+)\??|(?P<one>a)) "
_DAY = r"#(?P<d>3[01]|[12]\d|0?[1-9])"
_M = rf"M(?P<m>\d+){_CASE} "
_YEAR = r"(?:(?:, |of )?#(?P<y>20\d\d)(?:'\w+)? (?:year )?)?"
# the last day of a span, which is left alone: 5-9 March, 5'inden 9'una
_SPAN = rf"(?:'\w+ |(?:'\w+)? (?:- |to |and |till |or )(?:the )?)#\d+{_CASE} "
# what may stand between "next week" and its day
_LOOSE = r"(?:(?:ok|x|maybe|,|-|on|in|for|a|the|of|day|inside|#1\?) ){0,3}?"
# behind "the 3rd" something that is counted makes it no day
_NO_NOUN = r"(?!x |unit |both |label |time |week |month |day |hour |year |minute |road |D)"
_PART = r"(?:morning|noon|afternoon|evening|night)"
_HERE = r"(?:(?<=on )|(?<=for )|(?<=by )|(?<=till )|(?<=after )|(?<=neg )|(?<=or )|(?<=to )|(?<=and )|(?<![ ]))"
_MONTH_OF = rf"(?:(?P<nm>nextmonth)|(?P<tm>thismonth)|M(?P<m>\d+){_CASE}|month|ayin) (?:month |ayin )?"
_NTH = r"(?:the )?(?:ordinal1 |(?P<last>son |past )|#(?P<nth>\d)\??(?:'ord)? )"

Resolve = Callable[[re.Match[str], date], date | None]


def _number(match: re.Match[str]) -> int:
    return 1 if match["one"] else int(match["n"])


def _weekday(match: re.Match[str]) -> int:
    return int(match["wd"])


def _day_and_month(match: re.Match[str], today: date) -> date | None:
    month, day, year = int(match["m"]), int(match["d"]), match["y"]
    return make(int(year), month, day) if year else next_date(today, month, day)


def _ahead(match: re.Match[str], today: date) -> date | None:
    unit, number = match["unit"], _number(match)
    if unit in {"month", "year"}:  # the same day, or the last of a shorter month
        first = in_month(today, number * (12 if unit == "year" else 1), 1)
        return first and first.replace(day=min(today.day, calendar.monthrange(first.year, first.month)[1]))
    return after(today, number * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _nth_weekday(match: re.Match[str], today: date) -> date | None:
    nth = -1 if match["last"] else int(match["nth"] or 1)
    if not 0 < abs(nth) <= 4:
        return None
    months = (int(match["m"]) - today.month) % 12 if match["m"] else 1 if match["nm"] else 0
    day = nth_weekday(today, months, nth, _weekday(match))
    if day is None or day >= today or match["nm"] or match["tm"]:
        return day
    return nth_weekday(today, months + (12 if match["m"] else 1), nth, _weekday(match))


def _next_number(match: re.Match[str], today: date) -> date | None:
    """Resolve "the 31st" to the next date with this day of the month. Shorter months are skipped."""
    dates = (in_month(today, months, int(match["d"])) for months in range(13))
    return next((day for day in dates if day and day > today), None)


# mentions without a date: habits, and names that hold a day's name
_NO_DAYS = [
    rf"every (?:x )?{_ANY_D}{_GUN}(?:(?:and |, ){_ANY_D}{_GUN})*",
    rf"{_ANY_D}(?:(?:, |and |or |- )*{_ANY_D})*recurring ",
    r"(?<=on )D\d'gen (?!x )",
    rf"{_ANY_D}road ",
    rf"#\d+{_CASE} (?:of )?M\d+{_CASE} road ",
    rf"{_NTH}weekend (?:of |in )(?:the )?{_MONTH_OF}",
]
# days in the past
_GONE = [
    rf"past (?:week )?(?:on )?{_GUN}{_ANY_D}{_GUN}(?!(?:of|in) (?:the )?(?:month |nextmonth |thismonth |M\d))",
    rf"{_ANY_D}{_GUN}(?:of )?past week ",
    rf"(?:a|#\d+\??{_CASE}) (?:day|week|month|year) ago (?:on )?(?:{_ANY_D})?",
    rf"{_ANY_D}till past (?!{_ANY_D})",
    r"(?:dun|past day|past week|past month) ",
]
# (rule, function that resolves its match)
_DATES: list[tuple[str, Resolve]] = [
    (rf"date=(?P<iso>\d+-\d+-\d+){_CASE} ", lambda match, _: make(*map(int, match["iso"].split("-")))),
    (rf"(?:the )?{_DAY}{_SPAN}(?:day )?(?:of )?{_M}(?:ayin |month )?{_YEAR}", _day_and_month),
    (rf"(?:the )?{_DAY}\??{_CASE} (?:day )?(?:of )?{_M}(?:ayin |month )?{_YEAR}", _day_and_month),
    (rf"{_M}(?:ayin |month )?(?:the )?{_DAY}\??{_CASE} (?!week |hour |minute ){_YEAR}{_GUN}", _day_and_month),
    (rf"(?:the )?{_DAY}\??(?:'ord)? (?:of )?(?:the )?nextmonth ", lambda match, today: in_month(today, 1, int(match["d"]))),
    (rf"nextmonth (?:ayin )?(?:ok |x |, )?(?:on )?(?:the )?(?!#1\? ){_DAY}\??{_CASE} {_GUN}(?!{_PART} )",
     lambda match, today: in_month(today, 1, int(match["d"]))),
    (rf"{_NTH}{_D}{_GUN}(?:of |in )(?:the )?{_MONTH_OF}", _nth_weekday),
    (rf"{_MONTH_OF}{_NTH}{_D}{_GUN}", _nth_weekday),
    (rf"ayin {_DAY}\??{_CASE} {_GUN}", _next_number),
    # counted from today
    (rf"(?:in {_N}week (?:time )?|#(?P<n2>\d+)\?? week later )(?:, )?(?:on )?{_D}{_GUN}",
     lambda match, today: weekday_of_week(today, _weekday(match), int(match["n"] or match["n2"] or 1))),
    (rf"(?<!for ){_N}(?P<unit>week|fortnight) (?:by|on) {_D}",  # a week on Monday
     lambda match, today: next_weekday(today, _weekday(match), (2 if match["unit"] == "fortnight" else 1) * _number(match))),
    (rf"{_N}(?P<unit>day|week|month|year|fortnight)(?:'\w+)? later ", _ahead),
    (rf"(?:in )?{_N}(?P<unit>day|week|month|year|fortnight) by (?:today|now) ", _ahead),
    (rf"in {_N}(?P<unit>day|week|month|year|fortnight)(?:'\w+)? (?:time )?(?!and a half )", _ahead),
    (rf"{_N}day by tomorrow ", lambda match, today: after(today, _number(match) + 1)),
    (rf"{_N}(?P<unit>week|fortnight) today ", _ahead),
    (r"(?:nextweek today|today nextweek|today week|this time nextweek|nextweek this time) ", lambda _, today: after(today, 7)),
    (r"(?:nextweek tomorrow|tomorrow nextweek|tomorrow week|a week tomorrow|#1\?? week tomorrow) ", lambda _, today: after(today, 8)),
    (rf"(?:the )?day after {_D}", lambda match, today: (day := next_weekday(today, _weekday(match))) and after(day, 1)),
    (r"(?:the )?day after tomorrow |tomorrow'(?:abl|gen) (?:next|later|ertesi) (?:day )?|obur'?\w* day ", lambda _, today: after(today, 2)),
    (r"tomorrow(?:'\w+)? ", lambda _, today: after(today, 1)),
    (rf"(?:today(?:'\w+)?|tonight|this {_PART}) ", lambda _, today: after(today, 0)),
    (rf"(?:{_ANY_D}(?:the )?|the |on the |on ){_DAY}'ord {_NO_NOUN}", _next_number),
    (rf"{_HERE}{_DAY}'ord {_NO_NOUN}", _next_number),
    (rf"(?<!morning )(?<!night ){_DAY}'ps[ldab] (?!unit )", _next_number),
]  # fmt: skip
_WEEKDAYS: list[tuple[str, Resolve]] = [
    (rf"(?:the )?{_D}{_GUN}(?:after next |(?:of )?(?:the )?afternext (?!D))",
     lambda match, today: weekday_of_week(today, _weekday(match), 2)),
    (rf"afternext {_LOOSE}{_D}{_GUN}", lambda match, today: weekday_of_week(today, _weekday(match), 2)),
    (rf"{_D}{_GUN}(?:of )?(?:the )?nextweek (?!D)", lambda match, today: weekday_of_week(today, _weekday(match), 1)),
    (rf"nextweek {_LOOSE}{_D}{_GUN}", lambda match, today: weekday_of_week(today, _weekday(match), 1)),
    (rf"D(?P<wd>\d) week ", lambda match, today: next_weekday(today, _weekday(match), 1)),  # noqa: F541
    (rf"obur(?:'\w+)? {_D}{_GUN}", lambda match, today: next_weekday(today, _weekday(match), 1)),
    (rf"(?:this )?(?:next )?coming {_D}{_GUN}", lambda match, today: next_weekday(today, _weekday(match))),
    (rf"next {_D}{_GUN}", lambda match, today: weekday_of_week(today, _weekday(match), 1)),
    (rf"this {_D}{_GUN}", lambda match, today: after(today, (_weekday(match) - today.weekday()) % 7)),
    (rf"{_D}{_GUN}", lambda match, today: next_weekday(today, _weekday(match))),
]  # fmt: skip


# (rule, function that resolves its match, whether the day is named by more than its weekday)
GONE = [rule(pattern) for pattern in _GONE]
RULES: list[tuple[re.Pattern[str], Resolve, bool]] = [
    *((pattern, lambda _, __: None, False) for pattern in (*GONE, *map(rule, _NO_DAYS))),
    *((rule(pattern), resolve, True) for pattern, resolve in _DATES),
    *((rule(pattern), resolve, False) for pattern, resolve in _WEEKDAYS),
]


def find(line: TokenLine, today: date) -> list[Expression[date]]:
    """Return the days that a line mentions, in the order of the text. A mention that names no date ("every Monday") has the value None."""
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
            mentions.append(Expression(first, end, next_date(today, int(match[3]), int(match[1]))))
    mentions.sort(key=lambda mention: mention.first)
    return _merged(line, mentions[:_MOST])


def _is_day(pair: tuple[str, ...], before: str, behind: str, *, is_dated: bool) -> bool:
    first, sign, second, case = pair
    day, month = int(first), int(second)
    if sign == "." and (before in _CLOCK_BEFORE or behind in _CLOCK_BEHIND or (is_dated and len(second) == 2)):
        return False
    is_named = before in _DAY_BEFORE or behind in _DAY_BEHIND or (case or "")[:2] in {"lo", "da", "ps", "ab"}
    slight = len(second) == 1 and (sign == "." or (day < month and len(first) == 1)) and day < 13
    if slight and (not is_named or behind == "x"):
        return False
    if sign == "/" and first == second and behind == "x" and not is_named:  # 10/10 service
        return False
    return 1 <= month <= 12 and 1 <= day <= 31


def _merged(line: TokenLine, mentions: list[Expression[date]]) -> list[Expression[date]]:
    """Merge a weekday and a date that are side by side (`Monday, 15 March`) into one mention, of the date."""
    merged: list[Expression[date]] = []
    for mention in mentions:
        last = merged[-1] if merged else None
        if last and last.value and mention.value and last.explicit != mention.explicit:
            gap = line.symbols[last.end : mention.first]
            same = last.value.weekday() == mention.value.weekday()
            if len(gap) < 4 and _BETWEEN.issuperset(gap):
                merged[-1] = Expression(last.first, mention.end, last.value if last.explicit else mention.value, clashes=not same)
                continue
        merged.append(mention)
    return merged
