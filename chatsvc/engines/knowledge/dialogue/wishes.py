"""Whether a message wishes for something a person has to see to (an appointment, a call, a quote), or only asks about it.

"Randevu almak istiyorum" is a wish, "randevu nasıl alınır?" and "do I need an appointment?" are questions: those belong to
the knowledge. A wish is clear where the message says so outright; a mere "randevu" or "my order has not arrived" may be one,
and counts only where the knowledge has no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from chatsvc.engines.reading.edits import distance
from chatsvc.engines.reading.folding import words

_READ = 1_000  # characters; a wish is told at the beginning


@dataclass(frozen=True, slots=True)
class Wish:
    """What kind of request, the language it was told in, and whether it leaves no doubt."""

    request_type: str
    language: str
    clear: bool


# The pieces of the patterns, which are read over folded words with one blank between each.
_WANT_TR = r"(?:isti?yo\w*|isterim|isteriz|isterdi[mk]|istiom)"
_VERBS_TR = rf"""(?:{_WANT_TR}|(?:al|yap|yaptir|olustur|ayarla|ayirt|ayarlat)y?[ae]bil\w{{2,5}} m[iu]y[iu][mz]
    |al(?:ayim|alim|sam|sak|acaktim)|(?:ver|ayarla|olustur|ayir|yap|yaz)(?:y?[ae]bil)?[iaeu]?r ?m[iu]s[iu]n[iu]?z?
    |ayarlayalim|ayarlayin|ayirin
    |yazin|olusturun|lazim(?! m[iu])|ihtiyacim(?:iz)? var|rica (?:ediyor|edecek|eder)\w*|talep ediyor\w*|lutfen|yapalim|olsun)"""
_NOUN_TR = r"(?:randevu(?!m |muz |mun |suz)\w*|rezervasyon(?!um |umuz |um|suz)\w*|(?:masa|yer|oda) (?:ayirt|ayir|rezerv)\w*)"
_WANT_EN = r"""(?:(?<!do )(?<!should )(?<!if )(?<!when )(?:i|we) (?:would |d |do |really |also |just )*
    (?:like|want|need|wanna|wish|love|(?:m |am |are |re |was |were )?(?:looking|hoping|trying|going))(?: to| for)?)"""
_CAN_EN = r"(?:can|could|may|might|shall) (?:i|we)(?: please| maybe| perhaps| possibly| just)?"
_BOOK_EN = r"(?:book|reserve|schedule|make|arrange|get|have|set up|request|fix)"
_NOUN_EN = r"(?:appointments?|reservations?|bookings?|table|room|slot|session|visit|consultation|time slot)"
_SOMEONE = r"(?:(?:some(?:one|body)|you|a person|a colleague|your team|they) )?"


def _wish(kind: str, language: str, clear: bool, pattern: str) -> tuple[str, str, bool, re.Pattern[str]]:
    return kind, language, clear, re.compile(re.sub(r"\n\s+", "", pattern))


_WISHES = (
    # a change to what exists comes before a new one: "randevumu iptal etmek istiyorum" books nothing
    _wish(
        "other",
        "tr",
        False,
        r"\b(?:randevu|rezervasyon)\w* .*\b(?:iptal|ertele|degistir|kaydir|erken"
        rf"|otele)\w*.*(?:{_VERBS_TR}|\bm[iu][sy]\w+|\bedin)",
    ),
    _wish(
        "other",
        "tr",
        False,
        r"^ (?:merhaba |selam |iyi gunler |ben )*(?:iptal (?:et(?:tir)?|edebil)|ertele|otele)"
        rf"(?:mek {_WANT_TR}|\w* m\w+)(?: lutfen)? $",
    ),
    _wish(
        "other",
        "en",
        False,
        rf"{_WANT_EN} .*\b(?:cancel|reschedule|postpone|change|move) .*(?:appointment|reservation"
        r"|booking)",
    ),
    _wish(
        "other",
        "en",
        False,
        rf"{_CAN_EN} .*\b(?:cancel|reschedule|postpone|change|move) .*(?:appointment|reservation"
        r"|booking)",
    ),
    _wish(
        "other",
        "en",
        False,
        rf"^ (?:hi |hello |hey |please |sorry )*(?:{_WANT_EN} |{_CAN_EN} )?(?:cancel|reschedule|postpone)"
        r"(?: (?:it|this|that|(?:my|the|our) (?:appointment|reservation|booking)))(?: please)? $",
    ),
    _wish("other", "en", False, rf"^ (?:hi |hello |hey |sorry )*{_WANT_EN} (?:cancel|reschedule|postpone)(?: please)? $"),
    _wish("quote", "tr", True, rf"\bteklif(?:i|inizi|iniz)?\b.*(?:{_VERBS_TR}|(?:gonder|ilet|hazirla|cikar)\w* ?m[iu]s[iu]n)"),
    _wish("quote", "en", True, rf"(?:{_WANT_EN}|{_CAN_EN}) .*\b(?:quote|quotation|estimate|offer|proposal)\b"),
    _wish(
        "quote",
        "en",
        True,
        r"\b(?:send|give|make|prepare|email)(?: me| us)? (?:an? |the |your )?(?:\w+ ){0,2}(?:quote"
        r"|quotation|estimate)\b",
    ),
    _wish(
        "quote",
        "en",
        True,
        r"^ (?:hi |hello |hey )?(?:a |price )*(?:quote|quotation|estimate) (?:for|on|to)\b(?! what)"
        r"|\b(?:quote|quotation|estimate) (?:please|pls) $",
    ),
    _wish("quote", "tr", False, r"^ (?:fiyat )?teklif\w* $"),
    _wish(
        "contact",
        "tr",
        True,
        r"\b(?:beni|bizi)(?: \w+){0,6} (?:ara(?:yin|r ?m|yabilir ?m|sin|yiver|rsaniz|yiniz)"
        r"|bilgilendir)",
    ),
    _wish("contact", "tr", True, r"\bgeri ara(?:yin|r ?m|yabilir ?m|sin|manizi|rsaniz)"),
    _wish(
        "contact",
        "tr",
        True,
        r"\b(?:bana|bize|tarafima)(?: \w+){0,5} (?:donus yap(?:in|ar|abil|il|sin)|ulas(?:in|ir m"
        r"|abil|sin)"
        r"|geri don(?:un|er|ebil)|don(?:un|er m|us rica)|yaz(?:in|ar m|abil))",
    ),
    _wish("contact", "tr", True, r"\bbenimle(?: \w+){0,4} (?:iletisime gec|gorus)\w*"),
    _wish("contact", "tr", True, rf"\b(?:mesaj|not) birak(?:mak {_WANT_TR}|abilir miyim|ayim|acaktim)"),
    _wish("contact", "tr", True, rf"\b(?:aranmak|konusmak|gorusmek|iletisime gecmek|ulasmak) {_WANT_TR}"),
    _wish(
        "contact",
        "tr",
        True,
        rf"\baranma talebi|\baramanizi (?:{_WANT_TR}|rica)|\b(?:yetkili|temsilci)\w* (?:bagla"
        r"|aktar)\w*",
    ),
    _wish(
        "contact",
        "en",
        True,
        rf"\b(?:can|could|would|please|pls|kindly|have|let|ask)\b(?: please)? {_SOMEONE}(?:please "
        rf"|kindly |to )?"
        r"(?:call|ring|phone|contact|email|text|reach|message|get back to|get in touch with) (?:me|us)\b",
    ),
    _wish("contact", "en", True, r"^ (?:hi |hello |hey |ok |yes )?(?:call|ring|phone|contact|email|text) me\b"),
    _wish("contact", "en", True, rf"(?:{_WANT_EN}|{_CAN_EN}) (?:leave|send) (?:you |a |an )*(?:message|note)\b"),
    _wish(
        "contact",
        "en",
        True,
        rf"{_WANT_EN} (?:{_SOMEONE}to )?(?:be (?:called|contacted)|(?:speak|talk|chat) (?:to|with)"
        rf"|a call ?back|a call"
        r"|get a call|call (?:me|us)|contact (?:me|us)|get in touch|contact you)\b",
    ),
    _wish("contact", "en", True, rf"{_CAN_EN} (?:speak|talk) (?:to|with) (?:a |an |the |your |some)\w+"),
    _wish("contact", "en", True, r"\b(?:request|get) a call ?back\b|^ (?:a )?call ?back please\b"),
    _wish(
        "support",
        "tr",
        True,
        rf"\bsikayet(?:ci|im|imi|ciyim|te|i)?\b.*(?:var|ciyim|{_VERBS_TR}|bulun\w*|et(?:mek|ecegim))"
        r"|\bsikayetciyi[mz]",
    ),
    _wish("support", "tr", True, rf"\b(?:destek|ariza kaydi|servis)(?: talebi\w*| kaydi)?(?: \w+){{0,3}} {_VERBS_TR}"),
    _wish(
        "support",
        "en",
        True,
        r"\b(?:make|file|submit|lodge|have|register|raise) (?:a |an )(?:\w+ )?complaint|\b(?:want"
        r"|like|wish) to complain",
    ),
    _wish(
        "support",
        "en",
        True,
        rf"(?:{_WANT_EN}|{_CAN_EN}|^) ?(?:open|create|raise|report|file) (?:a|an"
        rf"|some) (?:\w+ )?(?:ticket|problem|issue|fault)",
    ),
    _wish("support", "en", True, rf"{_WANT_EN} (?:\w+ )?(?:support|technical support)\b"),
    _wish(
        "support",
        "tr",
        False,
        r"\b(?:bozuk (?:geldi|cikti)|arizali|calismiyor|gelmedi|ulasmadi|hasarli|kirik (?:geldi"
        r"|cikti)|sorun(?:um)? (?:var|yasiyor\w*)"
        r"|yardim(?:a ihtiyacim var| istiyorum| lazim| eder misin\w*))\b",
    ),
    _wish(
        "support",
        "en",
        False,
        r"\b(?:is|are|was|arrived|came) (?:broken|damaged|faulty)\b|\b(?:doesnt|not|isnt|wont"
        r"|stopped) work(?:ing)?\b"
        r"|\b(?:i have|there is|having) (?:a |an )?(?:problem|issue)|^ (?:i need )?help(?: me)? (?:please )?$|\bhasnt arrived"
        r"|\bnever arrived",
    ),
    _wish("appointment", "tr", True, rf"\b{_NOUN_TR}(?: \w+){{0,7}} {_VERBS_TR}"),
    _wish("appointment", "tr", True, rf"{_VERBS_TR}(?: \w+){{0,5}} {_NOUN_TR} $"),
    _wish(
        "appointment",
        "tr",
        True,
        r"\b(?:masa|yer) ayir(?:in|ir m|abilir m|tmak|tabilir m|tayim)\w*"
        rf"|\brandevulasmak {_WANT_TR}",
    ),
    _wish("appointment", "en", True, rf"{_WANT_EN} (?:\w+ ){{0,2}}(?:book|reserve|schedule)\b"),
    _wish(
        "appointment",
        "en",
        True,
        rf"{_WANT_EN} (?:{_BOOK_EN} )?(?:an?|the|my|some)?(?: \w+){{0,3}} ?(?:appointment"
        rf"|reservation|booking)\b",
    ),
    _wish("appointment", "en", True, rf"{_WANT_EN} {_BOOK_EN} (?:an?|the|us)(?: \w+){{0,3}} {_NOUN_EN}"),
    _wish("appointment", "en", True, rf"{_WANT_EN} (?:an? |the )?table (?:for|tomorrow|tonight|on|at)\b"),
    _wish("appointment", "en", True, rf"{_CAN_EN} {_BOOK_EN} (?:an?|the|us|me|in|my)?(?: \w+){{0,3}} ?{_NOUN_EN}"),
    _wish(
        "appointment",
        "en",
        True,
        rf"{_CAN_EN} (?:book|reserve|schedule|come in)\b(?= .*\b(?:for|on|at|tomorrow|today"
        rf"|tonight|next)\b)",
    ),
    _wish(
        "appointment",
        "en",
        True,
        r"\b(?:can|could|would) you (?:please )?(?:book|reserve|schedule|arrange|fit) (?:me|us"
        r"|an?)\b",
    ),
    _wish(
        "appointment",
        "en",
        True,
        r"^ (?:hi |hello |hey |good \w+ |please |pls |yes )*(?:book|reserve|schedule|make"
        r"|arrange) (?:me |us )?(?:an?|the) ",
    ),
    _wish("appointment", "en", True, r"^ (?:hi |hello |hey |good \w+ |please |pls |yes )*(?:book|squeeze|fit|pencil) (?:me|us) "),
    _wish("appointment", "en", True, rf"^ (?:hi |hello |hey |an? )*{_NOUN_EN} (?:please|pls)\b"),
    _wish("appointment", "en", False, rf"^ (?:hi |hello |hey |ok )*{_CAN_EN} (?:book|reserve)(?: something| please)? $"),
    _wish("appointment", "tr", False, rf"\b{_NOUN_TR}|\bbos (?:yeriniz|masaniz|yer|masa|odaniz)\b"),
    _wish("appointment", "en", False, r"\b(?:appointment|reservation|booking|slot|table (?:for|free))\b"),
    _wish("other", "tr", False, rf"\b(?:talep|basvuru|siparis|iade|degisim)\w*(?: \w+){{0,4}} {_VERBS_TR}"),
    _wish("other", "en", False, rf"{_WANT_EN} (?:apply|order|place an order|return|exchange|make a request|submit a request)\b"),
)
# What makes a question of a message that has the words of a wish.
_ASKS = {
    "tr": re.compile(
        r" (?:nasil|nereden|nereye|nerede|ne zaman|ne kadar|kac\w*|neden|nicin|niye|hangi\w*|nedir|neler|kim|ucretli|ucreti"
        r"|gerek\w* m[iu]|gerekli mi|gerekiyor mu|sart mi|zorunlu|mecbur\w*|lazim mi|(?:al|yap)[ae]?biliyor m\w+|oluyor mu"
        r"|yapiyor m\w+"
        r"|veriyor m\w+|vermiyor m\w+|almiyor m\w+|yapmiyor m\w+|var mi|musait m\w+|uygun mu|bos mu"
        r"|aliyor m\w+|calisiyor m\w+|alinir mi|online|internetten|almadan|olmadan|randevusuz) "
    ),
    "en": re.compile(
        r" (?:how|when|where|what|whats|which|why|who|do i|do we|do you|does|did you|should i|must i|is it|is there|are there|is an?|is the"
        r"|are you|will you|is my|if i|have to|online|by phone|in advance|without|required|necessary) "
    ),
}
# Said by one who wants it, whatever else is asked in the same breath.
_OWN = {"tr": re.compile(rf" {_WANT_TR} | lazim (?!m[iu])"), "en": re.compile(re.sub(r"\n\s+", "", _WANT_EN))}
_UNWANTED = re.compile(
    r" (?:istemiyo\w*|istemem|istemeyiz|almayacagim|vazgec\w*) | (?:dont|do not|didnt|wont|not) (?:want|need|like|call|contact|email|book)"
    r"| (?:aramayin\w*|aramasin\w*|randevum var|randevumuz var|rezervasyonum var|i have an? (?:appointment|reservation|booking)) "
)
_NAMED = re.compile(rf"\b(?:{_NOUN_TR}|appointment|reservation|booking|table for|table free|slot|yeriniz|masaniz|odaniz)")
# Whoever would come at a certain time wishes for an appointment as well, where nothing is known to the contrary.
_COMES = {
    "tr": re.compile(
        rf" (?:(?:gel|getir|ugray)[ae]bilir m\w+|(?:gel|getir|ugra)s[ae][mk] (?:olur|uygun|nasil)|(?:gelmek|getirmek|ugramak) {_WANT_TR}"
        r"|yer(?:iniz)? var m\w+|musait m\w+) "
    ),
    "en": re.compile(
        rf"{_CAN_EN} (?:come|drop|pop|stop|swing|bring) | (?:can|could|would) you (?:see|take) (?:me|us|my)\b"
        r"| (?:anything|something|any time|a spot|space|room) (?:free|available|open) "
    ),
}
_WILL_NOT_COME = (
    r" (gelem(?:iyoru[mz]|eyecegi[mz]|icem|iycem)|yetisem(?:iyoru[mz]|eyecegi[mz]|icem|iycem)|gec kal(?:acagi[mz]|icam|iyoru[mz])) "
    r"| (?:cant|cannot|wont be able to|not able to|unable to) (?:make it|come|attend) | (?:running|be) late "
)
_ABSENT = re.compile(_WILL_NOT_COME)
_CHANGES = re.compile(rf" (?:iptal|ertele\w*|otele\w*|cancel|reschedule|postpone) |{_WILL_NOT_COME}")
_AVAILABLE = re.compile(r" (?:var m\w+|musait m\w+|uygun mu|bos mu|do you have|is there|are there|have you got)")
_NOUNS = (("randevu", 1), ("rezervasyon", 2), ("appointment", 2), ("reservation", 2))


def recognise(message: str, *, dated: bool = False) -> Wish | None:
    """The wish a message tells; None where there is none, or where it only asks.

    `dated` says that the message names a day or a time: "yarın saat 3'e randevu" needs no verb.
    """
    line = _line(message)
    if _UNWANTED.search(line):
        return None
    asked = {tag: bool(asks.search(line)) for tag, asks in _ASKS.items()}
    for kind, tag, clear, pattern in _WISHES:
        if not pattern.search(line):
            continue
        if asked[tag] and not _OWN[tag].search(line):
            # "yarın 3'te randevu var mı?" asks for that very hour; a question all the same, so the knowledge goes first
            return Wish(kind, tag, False) if kind == "appointment" and dated and _AVAILABLE.search(line) else None
        named = kind == "appointment" and (dated or len(line.split()) <= 2)
        if not clear and not named and "?" in message:
            return None
        return Wish(kind, tag, not asked[tag] and (clear or (named and dated and "?" not in message)))
    if absent := _ABSENT.search(line):
        return None if "?" in message else Wish("other", "tr" if absent[1] else "en", False)
    return next((Wish("appointment", tag, False) for tag, comes in _COMES.items() if dated and comes.search(line)), None)


def names_an_appointment(message: str) -> bool:
    """Whether the message speaks of an appointment or a visit: only then it is worth knowing whether it names a day or a time."""
    line = _line(message)
    return bool(_NAMED.search(line)) or any(comes.search(line) for comes in _COMES.values())


def changes(message: str) -> bool:
    """Whether the message says that something is to be cancelled or put off: that is what it is about."""
    return bool(_CHANGES.search(_line(message)))


_ADDRESS = re.compile(r"\S{1,64}@\S{1,255}")


def _line(message: str) -> str:
    # An address is no words: the "a" of a@example.com would make a question of "my e-mail is a@example.com".
    message = _ADDRESS.sub(" ", message[:_READ])
    return f" {' '.join(_spelled(word) for word in words(message))} "


@lru_cache(maxsize=20_000)
def _spelled(word: str) -> str:
    """The word with the one noun that everything hangs on spelled right: radnevu, appointmnet, rezarvasyonu."""
    if not 6 <= len(word) <= 20:
        return word
    for noun, allowed in _NOUNS:
        if word.startswith(noun):
            return word
        if word[0] == noun[0]:
            for length in (len(noun), len(noun) - 1, len(noun) + 1):
                if len(word) >= length and distance(word[:length], noun, allowed) <= allowed:
                    return noun + word[length:]
    return word
