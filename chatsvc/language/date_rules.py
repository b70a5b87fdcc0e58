"""Ordered grammar rules of days; the first rule that matches a place is taken."""

import re
from collections.abc import Callable
from datetime import date

from chatsvc.language import days
from chatsvc.language.tokens import rule

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
_LINK = r"(?:or |and |- |to |neg |, )"
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
    return days.make(int(year), month, day) if year else days.next_date(today, month, day)


def _ahead(match: re.Match[str], today: date) -> date | None:
    """Resolve "in three weeks"."""
    unit, number = match["unit"], _number(match)
    if unit in {"month", "year"}:
        return days.months_after(today, number * (12 if unit == "year" else 1))
    return days.after(today, number * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _nth_weekday(match: re.Match[str], today: date) -> date | None:
    """Resolve "the first Monday of December"."""
    nth = -1 if match["last"] else int(match["nth"] or 1)
    if not 0 < abs(nth) <= 4:
        return None
    months = (int(match["m"]) - today.month) % 12 if match["m"] else 1 if match["nm"] else 0
    found = days.nth_weekday(today, months, nth, _weekday(match))
    if found is None or found >= today or match["nm"] or match["tm"]:
        return found
    return days.nth_weekday(today, months + (12 if match["m"] else 1), nth, _weekday(match))


def _number_of_month(months: int) -> Resolve:
    return lambda match, today: days.in_month(today, months, int(match["d"]))


def _next_number(match: re.Match[str], today: date) -> date | None:
    return days.next_number(today, int(match["d"]))


def _after_day(match: re.Match[str], today: date) -> date | None:
    """Resolve "the day after Friday"."""
    friday = days.next_weekday(today, _weekday(match))
    return friday and days.after(friday, 1)


def _in_week(weeks: int) -> Resolve:
    return lambda match, today: days.weekday_of_week(today, _weekday(match), weeks)


def _in_days(number: int) -> Resolve:
    return lambda _, today: days.after(today, number)


def _coming(weeks: int = 0) -> Resolve:
    return lambda match, today: days.next_weekday(today, _weekday(match), weeks)


# mentions without a date: habits, and names that hold a day's name
_NO_DAYS = [
    rf"every (?:x )?{_ANY_D}{_GUN}(?:(?:and |, ){_ANY_D}{_GUN})*",
    rf"{_ANY_D}(?:(?:, |and |or |- )*{_ANY_D})*recurring ",
    r"(?<=on )D\d'gen (?!x )",
    rf"{_ANY_D}road ",
    rf"#\d+{_CASE} (?:of )?M\d+{_CASE} road ",
    rf"{_NTH}weekend (?:of |in )(?:the )?{_MONTH_OF}",
    r"(?:nodate|duration|weekend|lastday) ",
]
# days in the past
_GONE = [
    rf"past (?:week )?(?:on )?{_GUN}{_ANY_D}{_GUN}(?!(?:of|in) (?:the )?(?:month |nextmonth |thismonth |M\d))",
    rf"{_ANY_D}{_GUN}(?:of )?past week ",
    rf"#\d+\??{_CASE} (?:day|week|month|year) ago ",
    rf"(?:a|#\d+\??) (?:day|week|month|year) ago (?:on )?(?:{_ANY_D})?",
    rf"{_ANY_D}till past (?!{_ANY_D})",
    r"(?:dun|past day|past week|past month) ",
]
# (rule, function that resolves its match)
_DATES: list[tuple[str, Resolve]] = [
    (rf"date=(?P<iso>\d+-\d+-\d+){_CASE} ", lambda match, _: days.make(*map(int, match["iso"].split("-")))),
    (rf"(?:the )?{_DAY}{_SPAN}(?:day )?(?:of )?{_M}(?:ayin |month )?{_YEAR}", _day_and_month),
    (rf"(?:the )?{_DAY}\??{_CASE} (?:day )?(?:of )?{_M}(?:ayin |month )?{_YEAR}", _day_and_month),
    (rf"{_M}(?:ayin |month )?(?:the )?{_DAY}\??{_CASE} (?!week |hour |minute ){_YEAR}{_GUN}", _day_and_month),
    (rf"(?:the )?{_DAY}\??(?:'ord)? (?:of )?(?:the )?nextmonth ", _number_of_month(1)),
    (rf"nextmonth (?:ayin )?(?:ok |x |, )?(?:on )?(?:the )?(?!#1\? ){_DAY}\??{_CASE} {_GUN}(?!{_PART} )", _number_of_month(1)),
    (rf"(?:the )?{_DAY}\??(?:'ord)? (?:of )?(?:the )?thismonth ", _number_of_month(0)),
    (rf"thismonth (?:ayin )?(?:on )?(?:the )?(?!#1\? ){_DAY}\??{_CASE} {_GUN}", _number_of_month(0)),
    (rf"{_NTH}{_D}{_GUN}(?:of |in )(?:the )?{_MONTH_OF}", _nth_weekday),
    (rf"{_MONTH_OF}{_NTH}{_D}{_GUN}", _nth_weekday),
    (rf"ayin {_DAY}\??{_CASE} {_GUN}", _next_number),
    (r"ayin ordinal1 day ", lambda _, today: days.next_number(today, 1)),
    # counted from today
    (rf"(?:in {_N}week (?:time )?|#(?P<n2>\d+)\?? week later )(?:, )?(?:on )?{_D}{_GUN}",
     lambda match, today: days.weekday_of_week(today, _weekday(match), int(match["n"] or match["n2"] or 1))),
    (rf"(?<!for ){_N}(?P<unit>week|fortnight) (?:by|on) {_D}",  # a week on Monday
     lambda match, today: days.next_weekday(today, _weekday(match), (2 if match["unit"] == "fortnight" else 1) * _number(match))),
    (rf"{_D}in {_N}week (?:time )?", lambda match, today: days.weekday_of_week(today, _weekday(match), _number(match))),
    (rf"{_N}(?P<unit>day|week|month|year|fortnight)(?:'\w+)? later ", _ahead),
    (rf"(?:in )?{_N}(?P<unit>day|week|month|year|fortnight) by (?:today|now) ", _ahead),
    (rf"in {_N}(?P<unit>day|week|month|year|fortnight)(?:'\w+)? (?:time )?(?!and a half )", _ahead),
    (rf"{_N}day by tomorrow ", lambda match, today: days.after(today, _number(match) + 1)),
    (rf"{_N}(?P<unit>week|fortnight) today ", _ahead),
    (r"(?:nextweek today|today nextweek|today week|this time nextweek|nextweek this time) ", _in_days(7)),
    (r"(?:nextweek tomorrow|tomorrow nextweek|tomorrow week|a week tomorrow|#1\?? week tomorrow) ", _in_days(8)),
    (rf"(?:the )?day after {_D}", _after_day),
    (rf"D(?P<wd>\d)'gen ertesi day ", _after_day),  # noqa: F541 - a raw pattern among raw patterns
    (r"(?:the )?day after tomorrow |tomorrow'(?:abl|gen) (?:next|later|ertesi) (?:day )?|obur'?\w* day ", _in_days(2)),
    (r"tomorrow(?:'\w+)? ", _in_days(1)),
    (rf"(?:today(?:'\w+)?|tonight|this {_PART}) ", _in_days(0)),
    (rf"{_ANY_D}(?:the )?{_DAY}'ord {_NO_NOUN}", _next_number),
    (rf"(?:the |on the |on ){_DAY}'ord {_NO_NOUN}", _next_number),
    (rf"{_HERE}{_DAY}'ord {_NO_NOUN}", _next_number),
    (r"on the #(?P<d>[123])\?'ord " + _NO_NOUN, _next_number),
    (rf"(?<!morning )(?<!night ){_DAY}'ps[ldab] (?!unit )", _next_number),
    (rf"{_DAY}'(?:acc|pos) (?=for |ok |neg |or |, |day |\? |D|; |$)(?!ok #)", _next_number),
]  # fmt: skip
_WEEKDAYS: list[tuple[str, Resolve]] = [
    (rf"{_D}(?:of )?(?:day )?thisweek (?!D)", _in_week(0)),
    (rf"thisweek {_LOOSE}{_D}{_GUN}", _in_week(0)),
    (rf"(?:the )?{_D}{_GUN}after next |(?:the )?{_D}{_GUN}(?:of )?(?:the )?afternext (?!D)".replace("(?P<wd>", "(?P<wd2>", 1),
     lambda match, today: days.weekday_of_week(today, int(match["wd"] or match["wd2"]), 2)),
    (rf"afternext {_LOOSE}{_D}{_GUN}", _in_week(2)),
    (rf"{_D}{_GUN}(?:of )?(?:the )?nextweek (?!D)", _in_week(1)),
    (rf"{_D}{_GUN}(?=(?:{_LINK}+(?:on )?{_ANY_D}{_GUN})+(?:of )?nextweek (?!D))", _in_week(1)),
    (rf"nextweek {_LOOSE}{_D}{_GUN}", _in_week(1)),
    (rf"D(?P<wd>\d) week ", _coming(1)),  # noqa: F541
    (rf"obur(?:'\w+)? {_D}{_GUN}", _coming(1)),
    (rf"this {_D}{_GUN}coming ", _coming()),
    (rf"(?:this )?(?:next )?coming {_D}{_GUN}", _coming()),
    (rf"next {_D}{_GUN}", _in_week(1)),
    (rf"this {_D}{_GUN}", lambda match, today: days.after(today, (_weekday(match) - today.weekday()) % 7)),
    (rf"{_D}{_GUN}", _coming()),
]  # fmt: skip


# (rule, function that resolves its match, whether the day is named by more than its weekday)
GONE = [rule(pattern) for pattern in _GONE]
RULES: list[tuple[re.Pattern[str], Resolve, bool]] = [
    *((pattern, lambda _, __: None, False) for pattern in (*GONE, *map(rule, _NO_DAYS))),
    *((rule(pattern), resolve, True) for pattern, resolve in _DATES),
    *((rule(pattern), resolve, False) for pattern, resolve in _WEEKDAYS),
]
