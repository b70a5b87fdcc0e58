"""Ordered grammar rules of times of day. The first rule that matches a place is taken.

The days of the line are one symbol each by then: `DATE`, or `DATE:evening` for "this evening". A number alone is no time: it
takes a word ("saat", "at"), a case (3'te), a part of the day, or a day beside it.
"""

import re
from enum import Enum, auto

from chatsvc.language.tokens import rule

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
    """Meaning of the groups of a matched rule."""

    PLAIN = auto()  # 14:30, saat 3'te, at 4
    HALF = auto()  # half five
    PAST = auto()  # üçü beş geçe, ten past four
    TO = auto()  # üçe çeyrek kala, quarter to three
    PAST_HALF = auto()  # üç buçuk
    NOON = auto()  # öğlen, at noon
    MIDNIGHT = auto()  # gece yarısı
    HALF_TWELVE = auto()  # saat yarım, half past noon
    TOGETHER = auto()  # saat 0930, 1430 hrs
    BARE = auto()  # salı 11 gelsem


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
        TimeForm.PAST_HALF,
    ),
    # hours and minutes as two numbers
    (rf"(?:saat |at |{_PART} |{_DATE}){{1,4}}{_H} {_MM}{_CASE} {_NO_NOUN}", TimeForm.PLAIN),
    (rf"{_HS} #(?P<m>15|30|45)'loc ", TimeForm.PLAIN),
    (rf"{_HS} #(?P<m>15|30|45) {_FREE}", TimeForm.PLAIN),
    # spans
    (rf"{_PRE}{_H}{_CASE} (?:{_TO}|ok )?{_H2}arasi ", TimeForm.PLAIN),
    (rf"{_PRE}{_HS}{_CASE} {_TO}{_H2}gibi ", TimeForm.PLAIN),
    (rf"{_PRE}{_HS} {_TO}{_H2}(?=(?:in the |at )?{_PART} )", TimeForm.PLAIN),
    (rf"by {_PRE}{_H} {_TO}{_PRE}{_H2}{_NO_UNIT}", TimeForm.PLAIN),
    (rf"(?:saat )?{_HS}'ins (?:saat )?{_H2}(?:ok |by |to )?{_NO_UNIT}", TimeForm.PLAIN),
    (rf"(?:saat )?{_HS}'abl (?=(?:saat )?#{_HOUR}\??'dat )", TimeForm.PLAIN),
    (rf"(?:saat |at |around |{_PART} |{_DATE}){{1,4}}{_H} (?:- |to ){_H2}{_NO_UNIT}", TimeForm.PLAIN),
    # the hour with a word that says it is one
    (rf"{_PRE}{_H} (?:oclock|- ish|ish|around) ", TimeForm.PLAIN),
    (rf"(?:saat |at ){_H} hrs ", TimeForm.PLAIN),
    (r"#(?P<h>1[3-9]|2[0-3]) hrs ", TimeForm.PLAIN),  # 2h and 8 hrs are lengths of time
    (rf"{_PRE}{_HS}{_CASE} (?:gibi|arasi) ", TimeForm.PLAIN),
    (rf"(?:saat |around |{_PART} ){_H}{_CASE} (?:gibi|arasi) ", TimeForm.PLAIN),
    (rf"{_PRE}(?:in the )?saat (?:at |around |ok )?{_H}{_CASE} {_NO_UNIT}", TimeForm.PLAIN),
    (rf"at (?:around )?#(?P<h>{_HOUR})\?? {_NO_NOUN}", TimeForm.PLAIN),
    (rf"(?:around |by |after |till |past_ ){_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (rf"(?:{_PART} |{_DATE})(?:around |by |at |{_PART} |, )?{_H}'(?:loc|dat|abl|psl|psd) {_NO_UNIT}", TimeForm.PLAIN),
    (rf"{_HS}'loc (?!#|unit |both |hour |minute |on )", TimeForm.PLAIN),
    (rf"(?:{_PART} )(?:around |, )?{_HS}{_CASE} {_NO_UNIT}{_FREE}", TimeForm.PLAIN),
    (rf"{_HS} (?:(?:in the |at |{_DATE}|this ){_PART}|morning|noon|afternoon|evening) ", TimeForm.PLAIN),
    (rf"{_DATE}(?:around |maybe |, )?{_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (rf"(?:ago |later )than {_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (r"(?P<hm>#(?:0[7-9]|1[0-8])(?:00|15|30|45))'loc ", TimeForm.TOGETHER),
    (rf"(?:(?<=ok )|(?<=, )|(?<![ ])){_HS} (?:on )?(?={_DATE})", TimeForm.PLAIN),
    (rf"{_HS}'(?:dat|abl) (?=ok |later |ago |[?.!,;] |$)", TimeForm.PLAIN),
    (rf"(?:neg ){_HS} (?={_NO_NOUN}{_FREE})", TimeForm.PLAIN),
    (rf"{_HS} or #{_HOUR} (?=(?:on )?{_DATE})", TimeForm.PLAIN),
    (rf"(?:saat |{_PART} |{_DATE}){_H}'(?:loc|dat|abl) ", TimeForm.PLAIN),
    (rf"(?:{_DATE}|{_PART} )(?:, )?maybe {_HS} {_NO_NOUN}{_FREE}", TimeForm.PLAIN),
    (rf"{_DATE}#(?P<h>9|1\d) (?=x )", TimeForm.BARE),
    # names of hours
    (r"half past_ noon ", TimeForm.HALF_TWELVE),
    (rf"{_PRE}(?:#12 )?midnight(?:'\w+)? ", TimeForm.MIDNIGHT),
    (r"saat yarim(?:'\w+)? |(?:saat )?yarimda |yarim (?:gibi|arasi) ", TimeForm.HALF_TWELVE),
    (rf"(?:{_PART} |{_DATE})yarim {_NO_NOUN}", TimeForm.HALF_TWELVE),
    (rf"{_PRE}(?:#12 )?noon (?:ish |- ish )?{_NO_UNIT}", TimeForm.NOON),
]  # fmt: skip

RULES: list[tuple[re.Pattern[str], TimeForm]] = [(rule(pattern), form) for pattern, form in _RULES]
BESIDE: list[tuple[re.Pattern[str], TimeForm]] = [(rule(pattern), form) for pattern, form in _BESIDE]
