"""What stands before or behind a visitor's own name, over the folded text."""

from __future__ import annotations

import re


def _any(cues: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{cue})" for cue in cues))


# The name stands behind these; a strong cue says outright that one follows.
STRONG = _any([
    r"\bmy (?:full |first |given )?name ?(?:'?s| is(?!n)|is(?!n)|:|=|-) ?(?:is )?",
    r"(?:^|[.,;!?\n] ?)(?:full |first |customer |guest |contact |passenger )?name ?[:=-]? (?=[a-z]+ ?[a-z]*$)",
    r"(?:^|[.,;!?\n] ?)(?:full |first )?name (?=[a-z]+ [a-z]+ (?:tel|phone|mobile|number|email|mail|and)\b)",
    r"\bname ?[:=] ?",
    r"\bfirst name (?!is\b|and\b|or\b)",
    r"\b(?:the|first|full|booking|guest|contact|customer) name(?:'?s| is) ",
    r"\b(?:under|in|with) (?:the )?(?:sur)?name (?:of )?",
    r"(?:^|[.,;!?\n] ?)name(?:'?s| is) ",
    r"(?:you can |please |just |they |people |friends )call me ",
    r"\bi(?:'?m| am) (?:called|known as|named) ",
    r"\bi go by (?:the name )?(?:of )?",
    r"\bcall me (?=[a-z]+(?:[.,!?]|$| please))",
    r"\b(?:put|write|sign) me (?:down|up) as ",
    r"\bmy (?:last name|surname|family name) ?(?:'?s| is|:) ",
    r"(?:^|[.,;!?\n] ?)(?:surname|last name)\b ?[:=]? ?(?=[a-z]+ ?(?:$|[.,]))",
    r"\bname (?:for|on) (?:the|this|my|our) \w+ ?(?:'?s|is|:) ",
    r"(?:^|[.,;!?\n] ?)signed[ :,]+",
    r"\b(?:benim )?(?:adim|ismim|isim|ad|adi) ?(?:ve |/)?(?:soyadim|soyismim|soyisim|soyad|soyadi)\b ?[:=,-]? ?",
    r"\b(?:benim )?(?:adim|ismim|adm)\b ?[:=,-]? ?(?:da |de )?",
    r"\b(?:ad|isim|arayan|gonderen|randevu sahibi|yetkili) ?[:=] ?",
    r"\bisim (?=[a-z]+(?: [a-z]+){0,2} (?:olsun|olarak|yazin|yazarsaniz))",
    r"(?:^|[.,;!?\n] ?)soy(?:adim|ismim) ?:? ?",
    r"\bbana (?=[a-z]+ (?:hanim |bey |abi )?(?:diyebilirsiniz|diyebilirsin|deyin|derler|dersiniz))",
])  # fmt: skip
WEAK = _any([
    r"\bi ?'?m (?:also )?",
    r"\bi am ",
    r"(?:^|[.,;!?\n] ?)(?:(?:hi|hello|hey|good morning|good evening|good afternoon|yes)[ ,]+)?(?:this is|it'?s|its) ",
    r"\bben ",
])  # fmt: skip
# behind these a name shows itself by its capital alone
CAPITAL = re.compile(
    r"(?:\b(?:under|booked as) (?!the name|name)|\b(?:booking|reservation|rezervasyon|randevu) ?: )"
    r"(?:mr |mrs |ms |dr )?[\"']?"
)
# cues that are something else: ilk adım, adım adım, kullanıcı adım, the company name is
NO_CUE = re.compile(
    r"(?:(?:\b(?:ilk|bir|adim|son|her|iki|uc|sonraki|kac|kullanici|hesap|firma|sirket|sirketimin|dukkanimin|kizlik|\d)|['’]?n[iu]n) adim"
    r"|\b(?:user|domain|file|brand|company|business|product|maiden|pet|dog|cat|screen|nick|street|road|hotel|shop|store|team"
    r"|band)'?s? ?name\b"
    r"|\badim (?:adim|at|say|basi|kaldi)"
    r"|\bname of (?:the|your|a|my)\b|\b(?:his|her|their|its|your|whose) name)"
)
# between a first name and a surname told apart
SURNAME = re.compile(
    r"[ ,.]*(?:and |ve )?(?:my |the )?(?:last name|surname|family name|soyadim|soyismim|soyad|soyisim) ?(?:is |'s |:|da |de )? ?"
)
# The name stands before these.
BEHIND = [
    re.compile(
        r"(?<=[a-z]) ben(?=[.,;!?\n]|$| (?:randevu|rezervasyon|siparis|yarin|yarinki|bugun|bugunku|haftaya|cuma|cumartesi|pazar|pazartesi"
        r"|sali|carsamba|persembe|dun|gecen|sizi|size|bir|tekrar|fiyat|bilgi)\b)"
    ),
    re.compile(r"(?<=[a-z]) (?:here|speaking)(?=[.,;!?\n]|$| )"),
    re.compile(
        r"(?<=[a-z.']) (?:adina|adiyla|ismine|ismiyle|uzerine kayit|olarak kaydedin|diye kaydedin|olarak yazin|diye yazin|olarak not)\b"
    ),
    re.compile(r"(?<=[a-z]) (?:diyebilirsiniz|derler bana)\b"),
]
# a signature: a closing word, then the name, and nothing more
_WORDS_OF_PARTING = (
    r"(?:best |kind |warm )?(?:regards|wishes)|best|cheers|thanks|thank you|thx|ta|love|sincerely|yours|thanks a lot"
    r"|(?:thanks|thank you) (?:so|very) much|many thanks|saygilar(?:imla)?|saygilarimizla|sevgiler|sevgilerimle|tesekkurler"
    r"|tesekkur ederi[mz]|tsk ederi[mz]|sagolun|sagol|hoscakalin|rica ederim|selamlar|iyi gunler"
    r"|iyi calismalar|kolay gelsin|iyi aksamlar|tsk|tskler"
    r"|rica ederiz|in advance|simdiden tesekkurler"
)
_REST = r"[^.,;!?\n\d]{2,40}[.\s]*$"
# (pattern, whether capitals are enough, whether it takes a known first name and more)
CLOSINGS = [
    (re.compile(rf"\b(?:{_WORDS_OF_PARTING})[ ,.!]*\n+(?P<name>[^,;!?\n\d]{{2,40}})(?=\n|$)"), True, False),
    (re.compile(rf"\A(?s:.*)\b(?:{_WORDS_OF_PARTING})(?:[ ,.!\n-]+)(?P<name>[^,;!?\n\d]{{2,40}})\s*$"), True, False),
    (re.compile(rf"(?:\n|[.!?,] )\s?[-~] ?(?P<name>{_REST})"), True, False),
    (re.compile(rf" [-~] ?(?P<name>{_REST})"), False, False),
    (re.compile(rf"\n(?P<name>{_REST})"), False, False),
    (re.compile(rf"[.!?] (?P<name>{_REST})"), False, True),
]
RELATION = re.compile(
    r"\b(?:son|daughter|wife|husband|mother|father|mum|mom|dad|brother|sister|friend|boss|colleague|dog|cat|kid|child|partner|baby|"
    r"oglum|kizim|esim|annem|babam|kardesim|ablam|abim|arkadasim|patronum|kopegim|kedim|bebegim|cocugum|kocam|karim|yegenim|teyzem|"
    r"halam|amcam|dayim|dedem|ninem|torunum|nisanlim|sevgilim|muduru?m|ortagim)\b"
)
