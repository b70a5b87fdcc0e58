"""The visitor's own name, where the visitor gives it: as typed, without titles. Other people's names are left alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatsvc.engines.slots import vocabulary as v
from chatsvc.engines.slots import words
from chatsvc.engines.slots.given_names import NAMES
from chatsvc.engines.slots.tokens import Folded, fold
from chatsvc.engines.slots.vocabulary import listed


@dataclass(frozen=True, slots=True)
class Name:
    """A name and its place in the text as typed."""

    value: str
    start: int
    end: int


TITLES = listed(
    """
    dr prof doc av op uzm ogr mr mrs ms miss mx sir bay bayan sayin sn hanim bey hanimefendi beyefendi hoca hocam abi abla
    ing muh yrd teyze amca usta kaptan captain komsunuz
    """
)
_PARTICLES = listed("de da van von der del di la le el al bin ibn o mc st")
# words that follow a cue and are no names
NO_NAMES = (
    listed("""
    a an the not is are was on in at of for from with to here there back again now just so very really quite still also only if and or but
    because about interested looking calling writing trying going wondering asking having getting coming happy sorry sure glad busy free
    available new sick ill late early ready able afraid allergic pregnant vegan vegetarian working living based planning hoping thinking
    running waiting using unable unhappy disappointed urgent great good bad fine ok okay my your our his her their its this that these those
    it me him them us you i we he she they tomorrow today tonight please thanks thank when what where why who how which listed spelled
    written correct wrong already registered under booked customer student teacher doctor nurse engineer tourist guest patient owner manager
    regular client member married single alone retired years old excited confused lost interested asap anytime later soon after before
    turkish german english french british american canadian irish scottish dutch italian spanish russian arab kurdish greek australian
    muslim christian jewish catholic european asian african istanbul ankara izmir london paris berlin yes no hello hi hey dear regards
    cheers sincerely appointment booking order reservation room table call phone number email mail name surname
    ve ile de da ki mi mu bir bu su o ben sen biz siz onlar icin ama fakat cok daha en az degil var yok ne nasil neden nerede kim hangi kac
    yarin bugun dun simdi sonra once hemen artik sadece yine tekrar bile hep her hic evet hayir tamam olur olmaz lutfen tesekkur
    tesekkurler merhaba selam selamlar iyi gunler aksamlar randevu randevum siparis siparisim rezervasyon almak istiyorum isterim istiyordum
    gelmek gelecegim gelirim geldim aldim verdim yaptim ettim oldum bekliyorum bekledim ariyorum aradim yaziyorum sormak soracaktim merak
    ediyorum eden onceden zaten henuz ogrenci ogretmen doktor hemsire muhendis avukat emekli anne baba kadin erkek hasta musteri musteriyim
    hastayim istanbul izmir turk kurt alman ingiliz fransiz rus arap vegan vejetaryen hamile evli bekar calisiyorum oturuyorum yasiyorum
    sizin benim onun bizim size bana ona bize sizden sizi beni bunu sunu onu kendim kendi biraz belki acaba galiba sanirim mumkun musait
    musaitim uygun uygunum telefon telefonum numaram numara mail eposta email adres adresim saat gun hafta ay yil tarih icinde listede
    kayitli gecen gelecek haftaya cuma pazar sali ocak mart misiniz musunuz yazin yazabilirsiniz diye olarak soyadim soyisim adim ismim
    sonu basta yanlis dogru gibi gore kadar beri dolayi ancak yalniz icerde disarda eski yeni buyuk kucuk hazir gec erken bos dolu
    sikayetci memnun pisman vazgectim degilim sadece onayliyorum kabul rica saygilar sevgiler iletisim bilgi fiyat ucret urun hizmet
    seyahat tatil indirim iade iptal degisiklik tasinma oneri
    urunu kargo urunler acil sorum soru sordum bilmiyorum bilgim
    yavrum evladim kuzum canim kardes kardesim hani btw ya yahu eski
    alabilir yapabilir gelebilir edebilir verebilir miyim miyiz olan isim ad soyad
    """)
    | TITLES
)

# names that are words: only with a capital, and beside another name
WORDS_TOO = listed(
    """
    will may mark april june august rose hope grant chase art bay ocak ekim mart aksam yedi tek kilo umut deniz
    """
)

_W = r"[^\W\d_]"
_WORD = re.compile(rf"{_W}+(?:[-'’]{_W}+)*\.?")
# The cues, over the folded text; the name stands behind them. A strong one says outright that a name follows.
_STRONG = [
    r"my (?:full )?name(?:'?s| is|:) (?:is )?",
    r"\bmy (?:first )?name ?[:=-] ?",
    r"(?:^|[.,;!?\n] ?)(?:full )?name ?[:=-]? (?=[a-z]+ ?[a-z]*$)",
    r"\b(?:full )?name ?[:=] ?",
    r"\bthe name(?:'?s| is) ",
    r"\bunder (?:the )?name (?:of )?",
    r"\bin the name of ",
    r"(?:^|[.,;!?\n] ?)name(?:'?s| is) ",
    r"(?:you can |please |just |they |people )call me ",
    r"\bi(?:'m| am) called ",
    r"\bi go by ",
    r"\bcall me (?=[a-z]+(?:[.,!?]|$| please))",
    r"\b(?:benim )?adim soyadim ?[:,]? ?",
    r"\b(?:benim )?(?:adim|ismim|adm|isim soyisim|isim soyad|ad soyad|adi soyadi|ad ve soyad) ?[:=,-]? ?",
    r"\b(?:ad|isim) ?[:=] ?",
    r"\bbana (?=[a-z]+ (?:hanim |bey |abi )?(?:diyebilirsiniz|diyebilirsin|deyin|derler|dersiniz))",
]
_WEAK = [
    r"\bi ?'?m ",
    r"\bi am ",
    r"(?:^|[.,;!?\n] ?)(?:hi |hello |hey |good morning )?(?:this is|it'?s|its) ",
    r"\bben ",
]
_BEHIND = [  # the name stands before the cue
    r"(?:^|[.,;!?\n] ?|hi |hello |merhaba |selam )(?P<name>[^.,;!?\n\d]{2,40}?)(?: ben)(?=[.,;!?\n]|$| \w)",
    r"(?:^|[.,;!?\n] ?|hi |hello |hey )(?P<name>[^.,;!?\n\d]{2,40}?) (?:here|speaking)(?=[.,;!?\n]|$| )",
    r"(?:^|[.,;!?\n] ?|randevu(?:yu)? |rezervasyon(?:u)? )(?P<name>[^.,;!?\n\d]{2,40}?) (?:adina|adiyla|ismine|ismiyle)\b",
]
# a signature: a closing word, then the name, and nothing more
_WORDS_OF_PARTING = (
    r"regards|best|cheers|thanks|thank you|thx|sincerely|yours|thanks a lot|many thanks|best wishes|saygilar(?:imla)?|saygilarimizla"
    r"|sevgiler|tesekkurler|tesekkur ederi[mz]|tsk ederi[mz]|sagolun|sagol|hoscakalin|rica ederim|selamlar|iyi gunler|iyi calismalar"
    r"|kolay gelsin|iyi aksamlar|tsk|tskler"
)
_CLOSING = re.compile(
    rf"\b(?:{_WORDS_OF_PARTING})[ ,.!\n-]+(?P<name>[^,;!?\n\d]{{2,40}})\s*$"
    r"|(?:\n|[.!?] )\s?[-~] ?(?P<dash>[^.,;!?\n\d]{2,40})[.\s]*$"
    r"|\n(?P<line>[^.,;!?\n\d]{2,40})[.\s]*$"
)
_RELATION = re.compile(
    r"\b(?:son|daughter|wife|husband|mother|father|mum|mom|dad|brother|sister|friend|boss|colleague|dog|cat|kid|child|partner|baby|"
    r"oglum|kizim|esim|annem|babam|kardesim|ablam|abim|arkadasim|patronum|kopegim|kedim|bebegim|cocugum|kocam|karim|yegenim|teyzem|"
    r"halam|amcam|dayim|dedem|ninem|torunum|nisanlim|sevgilim|muduru?m|ortagim)\b"
)
_COPULA = listed("im um yim yum dir dur tir tur m")

STRONG = re.compile("|".join(f"(?:{cue})" for cue in _STRONG))
WEAK = re.compile("|".join(f"(?:{cue})" for cue in _WEAK))
BEHIND = [re.compile(cue) for cue in _BEHIND]


def find(folded: Folded, raw: str) -> Name | None:
    """The name the visitor gives as his or her own."""
    text = folded.text
    shouted = sum(map(str.isupper, raw)) > 0.7 * max(1, sum(map(str.isalpha, raw)))
    for pattern, strong in ((STRONG, True), (WEAK, False)):
        for match in pattern.finditer(text):
            if _is_step(text, match) or _of_another(text, match.start()):
                continue
            if name := _forward(raw, folded.place[match.end()], strong=strong, shouted=shouted):
                return name
    for at, pattern in enumerate(BEHIND):
        for match in pattern.finditer(text):
            span = folded.place[match.start("name")], folded.place[match.end("name")]
            own = not _RELATION.search(text[max(0, match.start() - 20) : match.end()])
            if own and (name := _whole(raw, *span, strong=at == 2 or " " in raw[span[0] : span[1]].strip())):
                return name
    if closing := _CLOSING.search(text):
        group = next(name for name in ("name", "dash", "line") if closing[name])
        return _whole(raw, folded.place[closing.start(group)], folded.place[closing.end(group)], strong=group != "line")
    return None


def _is_step(text: str, match: re.Match[str]) -> bool:
    """`ilk adım`, `bir adım`: a step, and no name follows."""
    return match[0].lstrip().startswith("adim") and bool(re.search(r"(?:ilk|bir|adim|son|her|iki|sonraki|kac) $", text[: match.start()]))


def _of_another(text: str, start: int) -> bool:
    return bool(_RELATION.search(text[max(0, start - 12) : start]))


def _forward(raw: str, start: int, *, strong: bool, shouted: bool) -> Name | None:
    """The words from here on that are a name."""
    taken: list[re.Match[str]] = []
    at = start
    cased = False
    while len(taken) < 5 and (match := _WORD.match(raw, at)):
        word = match[0]
        folded = fold(word.rstrip(".")).text
        if taken and re.split(r"['’]", folded)[0] in TITLES and "'" in folded:  # Okan Bey'in asistanı
            return None
        if folded in TITLES and (word.endswith(".") or folded not in {"al", "el"}):
            if taken:
                break
            at = _skip(raw, match.end())
            continue
        if not taken:
            cased = word[0].isupper() and not shouted
        if not _fits(folded, word, bool(taken), cased=cased, strong=strong):
            break
        taken.append(match)
        at = match.end()
        if _ends_name(word) or (at < len(raw) and raw[at] != " "):
            break
        at = _skip(raw, at)
    if not taken or (not strong and not _believed(raw, start, taken[0][0], cased=cased)):
        return None
    if not cased:
        taken = _lower_case(taken, raw, shouted=shouted)
    return _made(raw, taken, strong=strong)


def _ends_name(word: str) -> bool:
    """Whether no word of the name can follow: behind an ending (Ayşe'yim), or a full stop that is no initial's."""
    return "'" in word or ("’" in word and _cut_copula(word) != word) or (word.endswith(".") and len(word) > 2)


def _believed(raw: str, start: int, word: str, *, cased: bool) -> bool:
    """Whether a word behind a weak cue is a name: a known one, or one with a capital where the cue begins a sentence."""
    known = fold(word.rstrip(".")).text in NAMES
    if not known and fold(word).text.endswith(("liyim", "luyum", "ciyim", "yim", "yum", "ish", "ian")):  # İzmirliyim, Scottish
        return False
    return (known or cased) and (not raw[:start].strip() or _begins(raw, start) or (known and cased))


_BEGINS = re.compile(
    r"(?:^|[.,;!?\n]|merhaba|selam|merhabalar|gunler|gunaydin|aksamlar|gelsin|calismalar|aleykum|selamlar|sabahlar|geceler|hi|hello|hey"
    r"|and|hocam|morning|evening|afternoon) ?\w*'?\w* ?\w* ?$"
)


def _begins(raw: str, start: int) -> bool:
    """Whether the cue that ends here begins a sentence."""
    return bool(_BEGINS.search(fold(raw[max(0, start - 40) : start]).text))


def _skip(raw: str, at: int) -> int:
    while at < len(raw) and raw[at] == " ":
        at += 1
    return at


def _fits(folded: str, word: str, inside: bool, *, cased: bool, strong: bool) -> bool:
    base = re.split(r"['’]", folded)[0]
    base = base if len(base) > 1 else folded  # O'Brien
    if base in WORDS_TOO and cased and word[0].isupper():
        return True
    if base in NAMES and not (base in {"can", "will"} and not word[0].isupper()):
        return True
    if base in NO_NAMES:
        return False
    if inside and not cased and strong and base in _PARTICLES:
        return True  # mohammed al fayed; whether a name follows is seen to in _lower_case
    if words.symbol_of(base) != "x" or base in words.NUMBER_OF or base in v.CASES:
        return (
            cased
            and inside
            and word[0].isupper()
            and base in {"bay", "ocak", "ekim", "mart", "ay", "may", "aksam", "yedi", "tek", "kilo", "oz"}
        )
    if cased and inside and not word[0].isupper():
        return base in _PARTICLES
    return strong or word[0].isupper() or (inside and not cased)


def _lower_case(taken: list[re.Match[str]], raw: str, *, shouted: bool) -> list[re.Match[str]]:
    """Without capitals nothing says where a name ends: two words, the second only where it does not begin a sentence."""
    kept = taken[:1]
    for at, match in enumerate(taken[1:4], 1):
        base = fold(match[0]).text
        if base in _PARTICLES and base not in {"o", "st"}:
            if (at + 1 < len(taken) and base not in {"de", "da", "la", "o"}) or base in {"van", "von"}:
                kept.append(match)
                continue
            break
        ends = match.end() >= len(raw) or raw[match.end()] in ".,;!?\n'’"
        follows = _WORD.match(raw, _skip(raw, match.end()))
        stops = follows is not None and (fold(follows[0]).text in NO_NAMES or words.symbol_of(fold(follows[0]).text) != "x")
        verb = base.endswith(("yorum", "iyorum", "acagim", "ecegim", "mak", "mek", "dim", "tim", "ing", "abilir", "ebilir"))
        if verb or not (base in NAMES or ends or stops or shouted):
            break
        kept.append(match)
    return kept


def _cut_copula(word: str) -> str:
    head, mark, tail = re.match(r"([^'’]*)(['’]?)(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
    return head if mark and len(head) > 1 and fold(tail).text in _COPULA else word


def _made(raw: str, taken: list[re.Match[str]], *, strong: bool) -> Name | None:
    last = taken[-1][0].rstrip(".") if len(taken[-1][0]) > 2 else taken[-1][0]
    cut = _cut_copula(last)
    if cut == last and ("'" in last or "’" in last):
        tail = re.split(r"['’]", last)[-1]
        if tail.islower() and len(re.split(r"['’]", last)[0]) > 1:  # Jane's mother, Ayşe'nin annesi
            return None
    start, end = taken[0].start(), taken[-1].start() + len(cut)
    after = fold(raw[end : end + 12]).text.split()
    if not strong and after and after[0] in {"ile", "icin", "hanimla", "beyle"}:
        return None
    return Name(raw[start:end], start, end)


def _whole(raw: str, start: int, end: int, *, strong: bool) -> Name | None:
    """The span as a name, where it is nothing else."""
    found = list(_WORD.finditer(raw, start, end))
    while found and fold(found[0][0].rstrip(".")).text in TITLES:
        found.pop(0)
    names = [fold(match[0]).text in NAMES for match in found]
    if True in names[1:2] and not names[0] and found[0][0].lower().endswith(("den", "dan", "ten", "tan")):  # ofisten Elif
        found.pop(0)
    while found and fold(found[-1][0].rstrip(".")).text in TITLES:
        found.pop()
    if not 1 <= len(found) <= 4 or raw[found[0].start() : found[-1].end()].count(" ") >= len(found):
        return None
    folded = [fold(match[0].rstrip(".")).text for match in found]
    capital = all(match[0][0].isupper() for match in found)
    if any(_is_word(word) and not (word in WORDS_TOO and capital and len(found) > 1) for word in folded):
        return None
    known = folded[0] in NAMES
    if not (known or (strong and capital)):
        return None
    return _made(raw, found, strong=True)


def _is_word(word: str) -> bool:
    return word in NO_NAMES or (words.symbol_of(word) != "x" and word not in NAMES) or word in words.NUMBER_OF


def answer(raw: str) -> Name | None:
    """A bare answer to "what is your name?"."""
    folded = fold(raw)
    if found := find(folded, raw):
        return found
    start = _skip(raw, 0)
    match = re.match(r"(?:(?:hi|hello|merhaba|selam|its|it's|ben|evet|tabii|yes|sure)[ ,]+)*", folded.text)
    start = folded.place[match.end()] if match and match.end() else start
    return _forward(raw, start, strong=True, shouted=False)
