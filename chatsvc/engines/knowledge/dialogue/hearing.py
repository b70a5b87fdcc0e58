"""What a visitor says while a request is being taken down: values, a question, a refusal, or that the whole thing is off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain import contacts
from chatsvc.engines.knowledge.dialogue import smalltalk
from chatsvc.engines.knowledge.dialogue.wishes import recognise
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.reading import Reading, Slots, examine, is_cancel, is_no, is_yes, read_answer
from chatsvc.engines.reading.folding import folded, words
from chatsvc.engines.reading.language_detection import is_word
from chatsvc.engines.reading.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES, NOT_NAMES, SURNAMES

_ENDS = 400  # characters read at either end of a long message: the reader of slots takes its time with the whole of a hostile one
_WHOLE = 1_000
_BARE = 200  # characters; a longer message is no bare answer
_BESIDE_A_NAME = 2  # words: "Ayşe Yılmaz efendim"
_LONGEST_NAME = 4  # words
_KINDS = {"date": "date", "time": "time", "name": "name", "contact": "phone", "phone": "phone"}

_QUESTION = re.compile(
    r" (?:m[iu](?:y[iu][mz]|s[iu]n|s[iu]n[iu]z|d[iu]r|yd[iu])?|nasil|ne|nedir|neler|neden|nicin|niye|nere\w*|hangi\w*|kac\w*) "
    r"|^ (?:and |but |also |ok |okay |so |by the way |btw |hi |hello |yes |no |ama |peki )*(?:what|whats|when|where|who|why|how|which)\b"
    r"| (?:do|does|did|is|are|can|could|will|would|may|should|have|has) (?:you|i|we|they|it|there|the|this|that|your|my|someone) "
)
_FIELDS = {
    "date": re.compile(
        r" (?:tarih\w*|gun|gunu|gunun|date|day|yarin|bugun|pazartesi|sali|carsamba|persembe|cuma|cumartesi|pazar|tomorrow|today"
        r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day) "
    ),
    "time": re.compile(r" (?:saat\w*|time|hour) "),
    "phone": re.compile(r" (?:tel|telefon\w*|numara\w*|cep|phone|number|mobile) "),
    "email": re.compile(r" (?:mail\w*|e mail\w*|eposta\w*|e posta\w*|email|mailim) "),
    "name": re.compile(r" (?:ad|adi|adim\w*|isim|ismi|ismim\w*|soyad\w*|name|surname) "),
    "message": re.compile(r" (?:konu\w*|mesaj\w*|message|subject|text) "),
}
_REFUSES = re.compile(
    r" (?:yok|istemiyo\w*|istemem|vermem|vermeyeyim|vermek istem\w*|soylemek istem\w*|soylemem"
    r"|vermesem|paylasmak istem\w*|paylasmam|kullanmiyo\w*|gerek yok|olmasin"
    r"|olmadan|dont have|have no|havent got|no email|no e mail|no phone|no mail|rather not|prefer not|dont want|do not want"
    r"|dont use|without|not giving|wont give|skip|gecelim) "
)
_DOUBTS = re.compile(
    r"^ (?:ama |peki |siz )*(?:neden|nicin|niye|ne icin)(?: (?:bunu|bunlari|onu|adimi|ismimi|numarami|telefonumu|mailimi|bilgilerimi|ki"
    r"|soruyorsun\w*|istiyorsun\w*|lazim|gerekli|gerekiyor|gerek|sordun\w*|soruldu))+ $"
    r"|^ (?:but |and )?why (?:do you (?:need|want|ask|have to)|are you asking|should i|is (?:that|this|it) (?:needed|necessary|required))\b"
)
_ANY = re.compile(
    r" (?:fark ?et(?:mez|miyor)|en (?:yakin|erken) (?:gun|saat|tarih|zaman)\w*|ilk (?:bos|musait|uygun)|siz (?:secin|belirleyin|soyleyin)"
    r"|any ?(?:time|day)|whenever|doesnt matter|dont mind|i m flexible|(?:soonest|earliest|first) (?:available|possible|free|day|slot|time)"
    r"|as soon as possible|asap|up to you|your choice) "
)
# "11 uygun mu?", "is 3 ok?" names an hour, though it asks
_PROPOSES = re.compile(
    r"^ (?:peki |ya )?(?:saat |ayin )?\w+ (?:uygun|olur|bos|musait|iyi) m[iu] $"
    r"|^ (?:and |so )?(?:is|would|how about|what about|can we (?:do|say)|could we do) (?:the )?\w+(?: be)?"
    r"(?: ok| okay| fine| good| free| possible| available| work)? $"
)
_BUT = re.compile(
    r" (?:ama|fakat|ancak|yalniz|but|except|only|however|(?<!sorun )(?<!problem )degil|(?<!why )not(?! a problem)|yanlis\w*|wrong|incorrect"
    r"|degis\w*|change|duzelt\w*|instead|yerine) "
)
_GIVEN_UP = re.compile(
    r" (?:iptal|vazgec\w*|bosver\w*|bos ver\w*|never ?mind|forget (?:it|about it)|cancel|gerek kalmadi|changed my mind|abort|quit) "
)
_OUTRIGHT = re.compile(
    r" (?:vazgectim|vazgectik|vazgeciyorum|never ?mind|changed my mind|iptal edin|iptal edelim"
    r"|iptal edebilir m\w+|cancel (?:it|this|that)) "
)
_KEEPS = re.compile(r" (?:iptal (?:etme\w*|olma\w*)|vazgecme\w*|(?:dont|do not|not) cancel) ")
_NOTHING_ELSE = re.compile(
    r"(?:iptal\w*|vazgec\w*|bosver\w*|bos|ver|never|mind|nevermind|forget|it|about|cancel|edin|edelim|et|etmek|lutfen|please|ya|neyse|hayir|no|ok|tamam"
    r"|ben|i|want|to|istiyorum|tesekkur\w*|thanks|thank|you|stop|quit|this|that|talep\w*|request|the|changed|my|gerek|yok|kalmadi|kalsin|istemiyorum|birak\w*)"
)
_KEEPS_TO_ONESELF = re.compile(r" (?:vermek|soylemek|paylasmak|yazmak) istem\w* |(?:want|like) to (?:say|tell|give|share) ")
_CLAUSES = re.compile(r"[,;!\n]|\. | ama | but ")
_MOST_CLAUSES = 6
_POINTS = re.compile(r"\b(?:for|to|is|as|under|olarak) ((?:[^\W\d_]+[ ]?){1,3})[.!]?$")
_NOBODY = frozenset(
    [
        "bilmem",
        "bilmiyorum",
        "farketmez",
        "fark",
        "soylemem",
        "soylemek",
        "vermem",
        "hmm",
        "neden",
        "boyle",
        "iste",
        "aynen",
        "anonim",
        "anonymous",
        "nobody",
        "idk",
        "dunno",
    ]
)
_LETTERS = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '’-](?=[^\W\d_]))*")
_EVERYDAY = frozenset(
    [
        "mavi",
        "yesil",
        "kirmizi",
        "sari",
        "siyah",
        "beyaz",
        "pembe",
        "mor",
        "turuncu",
        "gri",
        "kahverengi",
        "kapi",
        "pencere",
        "duvar",
        "masa",
        "ev",
        "araba",
        "elma",
        "armut",
        "muz",
        "kedi",
        "kopek",
        "kus",
        "balik",
        "agac",
        "cicek",
        "su",
        "ekmek",
        "deneme",
        "test",
        "falan",
        "filan",
        "sey",
        "salak",
        "aptal",
        "blue",
        "green",
        "red",
        "yellow",
        "black",
        "white",
        "pink",
        "purple",
        "orange",
        "grey",
        "gray",
        "brown",
        "door",
        "window",
        "wall",
        "table",
        "house",
        "car",
        "apple",
        "banana",
        "cat",
        "dog",
        "bird",
        "fish",
        "tree",
        "flower",
        "water",
        "bread",
        "test",
        "testing",
        "thing",
        "stuff",
        "something",
        "anything",
        "nothing",
        "stupid",
        "idiot",
        "dumb",
    ]
)
_NODS = frozenset("👍👌✅")
# words of a wish itself, of courtesy, and those that hold every sentence together: what is left is what it is about
_EMPTY = re.compile(
    r"(?:randevu\w*|teklif\w*|fiyat\w*|talep\w*|talebi\w*|sikayet\w*|destek\w*|mesaj\w*|not|almak|al\w{0,3}bil\w*|birak\w*|ist\w*yor\w*|isterim|isteriz|m[iu](?:y[iu][mz]|s[iu]n(?:[iu]z)?|d[iu]r)?"
    r"|misiniz|beni|bizi|bana|bize|benimle|sizinle|sizi|ara(?:r\w{0,6}|y[ai]\w*|sin\w*|nmak|ma(?:k|ni|si)\w*)?|geri|donus\w*|don(?:er\w*|ebil\w*|un|mek|meniz\w*)|yap(?:mak|tir\w*|ar\w*|in|abil\w*|iyor\w*|ayim|alim)"
    r"|ulas(?:mak|abil\w*|ir\w*|in\w*)|iletisim\w*|gec(?:mek|ebil\w*|er\w*|in|iniz)|gorus\w*|konus\w*|yetkili\w*|biri(?:si|siyle|yle|niz)?"
    r"|merhaba\w*|selam\w*|iyi|gunler|aksamlar|lutfen|rica|ederim|ediyorum|var|bir|bi|sey|sor(?:u\w*|mak|acak\w*|abil\w*|ayim)?|icin|ile|ve|ben|benim|adim|ismim|telefon\w*|numara\w*|mail\w*|posta\w*|eposta\w*|e"
    r"|et(?:mek|tirmek|meyi|sem|in|iniz)?|olustur\w*|kayit|kaydi|vermek|ver(?:in|ir|sem|iniz)?|miyim|tesekkur\w*|size|lazim|acil|hemen|yarin|bugun"
    r"|can|could|would|will|you|i|we|me|us|my|your|a|an|the|to|for|of|at|on|in|and|is|am|be|it|like|want|need|get|have|leave|make|please|pls|hi|hello|hey|call\w*|contact\w*"
    r"|phone|email|mail|reach|text|ring|back|someone|somebody|speak|talk|with|touch|quote|quotation|estimate|complaint|complain|message|support|help|number|name|d|m|s"
    r"|some|send|give|thanks|thank|good|morning|evening|afternoon|tomorrow|today|so|just|also|that|do|with|about|hakkinda|konusunda|ticket|open|file|request|price)"
)


@dataclass(frozen=True, slots=True)
class Heard:
    """One message: the values that it names, each as the visitor typed it, and what else it is.

    `past` tells that the only day it speaks of is gone by, `never` that there is no such day,
    `garbled` that contact data was there in a form that could not be kept (an address spelled out, a number in words).
    """

    line: str
    day: date | None = None
    clock: time | None = None
    past: bool = False
    never: bool = False
    name: str | None = None
    email: str | None = None
    phone: str | None = None
    garbled: bool = False
    question: bool = False
    left: str = ""

    def has(self, asked: str) -> bool:
        """Whether it holds what was asked for."""
        if asked == "contact":
            return self.email is not None or self.phone is not None
        return {"date": self.day, "time": self.clock, "name": self.name, "email": self.email, "phone": self.phone}.get(asked) is not None

    def field(self, among: Iterable[str]) -> str | None:
        """The first of these that it speaks of."""
        return next((field for field in among if _FIELDS[field].search(self.line)), None)

    @property
    def refuses(self) -> bool:
        """Whether something will not be given, or is not there."""
        return bool(_REFUSES.search(self.line))

    @property
    def leaves_open(self) -> bool:
        """Whether any day or hour will do."""
        return bool(_ANY.search(self.line))

    @property
    def doubts(self) -> bool:
        """Whether it asks what the question is for."""
        return bool(_DOUBTS.search(self.line))

    @property
    def objects(self) -> bool:
        """Whether it says that something is otherwise."""
        return bool(_BUT.search(self.line))

    def substance(self, least: int) -> bool:
        """Whether it is about something: `least` words at least beyond the wish, courtesies and contact data."""
        said = words(self.left)
        told = [word for word in said if len(word) > 1 and not word.isdigit() and not _EMPTY.fullmatch(word)]
        counted = bool(told) and any(word.isdigit() for word in said)  # "300 kupa"
        return len(told) + counted >= least


def listen(message: str, asked: str, now: datetime, country: str) -> Heard:
    """Read one message as an answer to the open question."""
    text = _readable(message)
    line = line_of(text)
    question = asks(text)
    reading = examine(text, now=now, country=country)
    kind = _KINDS.get(asked)
    plain = len(text) <= _BARE and kind and getattr(reading.slots, kind) is None and not _REFUSES.search(line)
    plain = plain and not _ANY.search(line)  # the "first available" day is not the first of the month
    proposed = kind in ("date", "time") and bool(_PROPOSES.search(line))
    plain = plain and (proposed or not (question or is_nod(text)))
    # "make it 4 pm" holds a time: its 4 is no day of the month
    if kind and plain and not (kind in ("date", "time") and (reading.slots.date or reading.slots.time)):
        bare = read_answer(kind, text, now=now, country=country)
        reading = _bare_name(text, bare) or reading if kind == "name" else bare
    slots, own = reading.slots, [message]
    if slots.email is None and slots.phone is None and _REFUSES.search(line):
        slots = _besides_refusals(text, slots, now, country)
    named = slots.name or (_pointed_name(text) if asked == "name" or _FIELDS["name"].search(line) else None)
    # a first name and a surname told apart stand nowhere as one: the first is kept
    name = (contacts.own_name(named, own) or contacts.own_name(named.split()[0], own)) if named else None
    email = contacts.own_email(slots.email, own) if slots.email else None
    phone = contacts.own_phone(slots.phone, own, country) if slots.phone else None
    return Heard(
        line=line,
        day=slots.date,
        clock=slots.time,
        past=reading.gone,
        never=reading.never,
        name=name,
        email=email,
        phone=phone,
        garbled=bool((slots.email and not email) or (slots.phone and not phone)),
        question=question,
        left=_without(text, reading, ("name", "email", "phone", "date", "time")),
    )


def asks(text: str) -> bool:
    """Whether it is a question, with its mark or without."""
    return "?" in text or bool(_QUESTION.search(line_of(text)))


def _besides_refusals(text: str, slots: Slots, now: datetime, country: str) -> Slots:
    """With the contact data of the clauses that refuse nothing: `telefonum 0532 ..., e-posta vermek istemiyorum`."""
    for clause in _CLAUSES.split(text)[:_MOST_CLAUSES]:
        if not _REFUSES.search(line_of(clause)):
            found = examine(clause, now=now, country=country).slots
            slots = replace(slots, email=slots.email or found.email, phone=slots.phone or found.phone)
    return slots


def _pointed_name(text: str) -> str | None:
    """The name at the end of `it's for Mark Twain`, `change the name to Mark Hamill`: it is known by its capitals."""
    match = _POINTS.search(text)
    told = match[1].split() if match else []
    return " ".join(told) if told and all(word[0].isupper() and folded(word) not in NOT_NAMES for word in told) else None


def _bare_name(text: str, reading: Reading) -> Reading | None:
    """A bare answer to "what is your name?": names in full where nothing else was written, and no word cut out of a sentence."""
    if reading.slots.name is None or folded(reading.slots.name) in _NOBODY:
        return None
    written = text.strip().rstrip(".!,").split()
    if 2 <= len(written) <= 4 and all(word[0].isupper() and folded(word.rstrip(".")) not in NOT_NAMES for word in written):
        start = text.index(written[0])
        whole = text.strip().rstrip(".!,")
        return Reading(replace(reading.slots, name=whole), reading.spans | {"name": (start, start + len(whole))})
    capital = all(word[0].isupper() for word in written) and not (len(written) > 1 and text.isupper())
    if not capital and _is_ordinary(words(reading.slots.name)[0]):
        return None
    beside = words(_without(text, reading, ("name", "email", "phone", "date", "time")))
    return None if len(beside) > _BESIDE_A_NAME or recognise(text) else reading


def _is_ordinary(word: str) -> bool:
    """Whether a word is one of everyday speech, and nobody's name."""
    if word in GIVEN_NAMES or word in SURNAMES:
        return False
    return word in NOT_NAMES or word in _EVERYDAY or bool(lexicon.of_word(word)) or is_word(word)


def bare_name(message: str, before: str | None) -> str | None:
    """The name that a message is, and nothing else, where nobody asked for one: only what can hardly be anything else."""
    text = message.strip().rstrip(".!")
    bases = [folded(word) for word in text.split()]
    if not 1 <= len(bases) <= _LONGEST_NAME or not _LETTERS.fullmatch(text) or is_nod(text) or bases[0] not in GIVEN_NAMES:
        return None
    known = len(bases) > 1 and all(base in GIVEN_NAMES | SURNAMES for base in bases) and bases[0] not in AMBIGUOUS_NAMES
    goes_on = before is not None and bases[0] == folded(before).split()[0]
    if not (known or goes_on or all(word[0].isupper() for word in text.split())):
        return None
    return contacts.own_name(text, [message]) if NOT_NAMES.isdisjoint(bases[1:]) else None


def line_of(text: str) -> str:
    """The folded words, a blank around each."""
    return f" {' '.join(words(text))} "


def _readable(message: str) -> str:
    return message if len(message) <= _WHOLE else f"{message[:_ENDS]}\n{message[-_ENDS:]}"


def _without(text: str, reading: Reading, kinds: Iterable[str]) -> str:
    for start, end in sorted((reading.spans[kind] for kind in kinds if kind in reading.spans), reverse=True):
        text = text[:start] + " " + text[end:]
    return text


def is_nod(text: str) -> bool:
    """Whether it is a yes, a no or small talk, and nothing else."""
    return is_yes(text) or is_no(text) or smalltalk.kind(words(text)) is not None


def agrees(message: str, heard: Heard) -> bool:
    """Whether it is a yes without a but and without a question: what is captured must be meant."""
    if heard.question or heard.objects or heard.refuses:
        return False
    first = re.split(r"[,.!;\n]", message.strip(), maxsplit=1)[0]
    return is_yes(message) or is_yes(first) or (bool(message.strip()) and message.strip()[0] in _NODS)


def denies(message: str) -> bool:
    """Whether it is a no."""
    return is_no(message) or is_no(re.split(r"[,.!;\n]", message.strip(), maxsplit=1)[0])


def gives_up(message: str, heard: Heard, asked: str) -> bool:
    """Whether the whole request is off.

    "E-postamı vermek istemiyorum" refuses one thing only, "siparişimi iptal etmek istiyorum" may be what the request is about,
    and "cumayı iptal edip salı yapalım" only moves it.
    """
    if _KEEPS.search(heard.line):
        return False
    if asked == "message":
        return is_cancel(message) and all(_NOTHING_ELSE.fullmatch(word) for word in heard.line.split())
    values = bool(heard.day or heard.clock or heard.name or heard.email or heard.phone)
    if is_cancel(message) and _GIVEN_UP.search(heard.line):
        return not (values and (heard.objects or re.search(r" (?:yap\w*|olsun|alalim|make) ", heard.line)))
    if values or _KEEPS_TO_ONESELF.search(heard.line):
        return False
    if is_cancel(message):
        return heard.field(_FIELDS) is None
    return len(heard.line.split()) <= 25 and bool(_OUTRIGHT.search(heard.line))
