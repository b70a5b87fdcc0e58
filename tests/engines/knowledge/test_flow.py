"""Requests and appointments taken down over several messages: whole dialogues, and what must be true of any."""

from __future__ import annotations

import asyncio
import time as clocks
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsvc.domain.captures import Captured, checked
from chatsvc.domain.models import Bot, HistoryMessage
from chatsvc.domain.times import DAY_MS, local
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.state import RequestDraft, State
from tests.engines.knowledge.test_index import SAMPLE
from tests.fakes import START

ENGINE = KnowledgeEngine()
HOURS = "mon-fri 09:00-18:00; sat 10:00-14:00"
FRIDAY = date(2026, 11, 27)
SATURDAY = date(2026, 11, 21)
MONDAY = date(2026, 11, 23)
CARDS_TR = "Nakit"
CARDS_EN = "Cash, credit and debit cards"


@dataclass
class Visit:
    """One visitor's conversation with a bot: the dialogue and the history are kept as the service keeps them."""

    hours: str | None = None
    language: str | None = None
    speaks: str = "tr"
    now: int = START
    may_capture: bool = True
    dialogue: str | None = None
    history: list[HistoryMessage] = field(default_factory=list)

    def turn(self, message: str) -> Turn:
        bot = Bot("b", "a", "Pedal", None, "offline", True, 0, 0, 0, opening_hours=self.hours, language=self.speaks, ask_back=False)
        return Turn(bot, "api", message, self.history[-40:], self.language, SAMPLE, "", 30.0, self.now, self.dialogue, self.may_capture)

    def say(self, message: str) -> Reply:
        reply = asyncio.run(ENGINE.reply(self.turn(message)))
        assert asyncio.run(ENGINE.reply(self.turn(message))) == reply
        if reply.captured:
            spoken = [told.content for told in self.history[-40:] if told.role == "user"] + [message]
            assert checked(reply.captured, spoken, local(self.now, "Europe/Istanbul"), "TR") == reply.captured
            assert not states.load(reply.dialogue, self.now).has_open_form
        self.history += [HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply


def state_of(reply: Reply) -> State:
    """Return the state that a reply leaves."""
    return states.load(reply.dialogue, START)


@dataclass
class Case:
    """A visitor's messages, texts in some of the replies, and the result."""

    name: str
    said: list[str | tuple[str, str]]
    captured: Captured | None = None
    hours: str | None = None
    language: str | None = None


def appointment(message: str, name: str, day: date, clock: time, *, phone: str | None = None, email: str | None = None) -> Captured:
    return Captured("appointment", message, name, email, phone, day, clock)


PHONE = "+905321234567"
MAIL = "ayse@example.com"
WISH = "Randevu almak istiyorum"
ENGLISH_WISH = "I'd like to make an appointment"

ONE_LINE = "Yarın saat 15:00'e randevu almak istiyorum, ben Ayşe Yılmaz, 0532 123 45 67"
CASES = [
    Case(
        "one line in Turkish",
        [(ONE_LINE, "21 Kasım 2026 Cumartesi"), ("evet", "Henüz kesin")],
        appointment(ONE_LINE, "Ayşe Yılmaz", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "one line in English",
        [
            ("Can I book a table for tomorrow at 7 pm? My name is Jane Smith, jane@example.com", "Saturday 21 November 2026"),
            ("yes please", "not final"),
        ],
        appointment(
            "Can I book a table for tomorrow at 7 pm? My name is Jane Smith, jane@example.com",
            "Jane Smith",
            SATURDAY,
            time(19),
            email="jane@example.com",
        ),
    ),
    Case(
        "step by step in Turkish",
        [
            (WISH, "Hangi gün"),
            ("yarın", "saat kaç"),
            ("3", "Adınızı"),
            ("Ayşe", "telefon numaranızı"),
            ("0532 123 45 67", "- Saat: 15:00"),
            ("evet", "not aldım"),
        ],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "step by step in English",
        [
            (ENGLISH_WISH, "Which day"),
            ("friday", "What time"),
            ("half past two", "your name"),
            ("John Smith", "phone number"),
            ("john@example.com", "14:30"),
            ("looks good", "Thank you"),
        ],
        appointment(ENGLISH_WISH, "John Smith", FRIDAY, time(14, 30), email="john@example.com"),
    ),
    Case(
        "several answers at once",
        [(WISH, "Hangi gün"), ("cuma saat 10, adım Mehmet Öz", "telefon numaranızı"), (MAIL, "Mehmet Öz"), "tamam"],
        appointment(WISH, "Mehmet Öz", FRIDAY, time(10), email=MAIL),
    ),
    Case(
        "a correction before the summary",
        [
            WISH,
            ("yarın", "saat kaç"),
            ("yarın değil cuma", "saat kaç"),
            ("10:30", "Adınızı"),
            "Ayşe",
            ("0532 123 45 67", "27 Kasım"),
            "evet",
        ],
        appointment(WISH, "Ayşe", FRIDAY, time(10, 30), phone=PHONE),
    ),
    Case(
        "a correction of the summary",
        [ENGLISH_WISH, "tomorrow", "3 pm", "Jane Smith", ("jane@example.com", "15:00"), ("no, make it 4 pm", "16:00"), "yes"],
        appointment(ENGLISH_WISH, "Jane Smith", SATURDAY, time(16), email="jane@example.com"),
    ),
    Case(
        "yes with a but is no yes",
        [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("evet ama saat 16:00 olsun", "- Saat: 16:00"), "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(16), phone=PHONE),
    ),
    Case(
        "no, and then what",
        [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("hayır", "Neyi"), ("saat", "saat kaç"), ("4", "- Saat: 16:00"), "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(16), phone=PHONE),
    ),
    Case(
        "no, and at once a new value",
        [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("hayır", "Neyi"), ("cuma günü olsun", "27 Kasım"), "evet"],
        appointment(WISH, "Ayşe", FRIDAY, time(15), phone=PHONE),
    ),
    Case(
        "the name is wrong",
        [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("ismim yanlış", "Adınızı"), ("Ayşe Yılmaz", "Ad: Ayşe Yılmaz"), "evet"],
        appointment(WISH, "Ayşe Yılmaz", SATURDAY, time(15), phone=PHONE),
    ),
    Case("cancelled in Turkish", [WISH, "yarın", ("vazgeçtim", "bu talebi bıraktım")]),
    Case("cancelled in English", [ENGLISH_WISH, "tomorrow at 5 pm", "Jane Smith", ("never mind", "No problem")]),
    Case("cancelled at the summary", [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("iptal edin lütfen", "bu talebi bıraktım")]),
    Case(
        "cancelled in many words",
        [WISH, ("Kusura bakmayın ben bu randevudan vazgeçtim, başka bir yer buldum, teşekkürler", "bu talebi bıraktım")],
    ),
    Case(
        "a question in between in English",
        [ENGLISH_WISH, ("Do you take cards?", CARDS_EN), ("tomorrow at 3 pm", "your name"), "Jane Smith", "jane@example.com", "yes"],
        appointment(ENGLISH_WISH, "Jane Smith", SATURDAY, time(15), email="jane@example.com"),
    ),
    Case(
        "a question in between in Turkish, at the name",
        [WISH, "yarın 15:00", ("Kredi kartı geçiyor mu?", "Adınızı"), "Ayşe", "0532 123 45 67", "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "a question that nobody can answer",
        [WISH, ("Uzayda hayat var mı?", "elimde bilgi yok.\n\nPeki hangi gün"), "yarın 15:00", "Ayşe", "0532 123 45 67", "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "a question at the summary is no yes",
        [WISH, "yarın 15:00", "Ayşe", "0532 123 45 67", ("peki kartla ödeyebilir miyim?", "Bilgiler doğru mu"), "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "a closed day and a closed hour",
        [
            WISH,
            ("pazar", "O gün kapalıyız. Çalışma saatlerimiz: Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00. Hangi gün"),
            ("pazartesi 20:00", "Saat 20:00 çalışma saatlerimizin dışında"),
            ("17:30", "Adınızı"),
            "Ayşe",
            "0532 123 45 67",
            "evet",
        ],
        appointment(WISH, "Ayşe", MONDAY, time(17, 30), phone=PHONE),
        hours=HOURS,
    ),
    Case(
        "closed hours at once in English",
        [
            ("I want to book an appointment for sunday at 11 am", "We are closed on that day. Our opening hours: Monday-Friday"),
            ("saturday", "your name"),
            "Jane Smith",
            "jane@example.com",
            "yes",
        ],
        appointment("I want to book an appointment for sunday at 11 am", "Jane Smith", SATURDAY, time(11), email="jane@example.com"),
        hours=HOURS,
    ),
    Case("the hour of closing is closed", [WISH, ("cumartesi 14:00", "dışında")], hours=HOURS),
    Case("when are you free", [WISH, ("hangi saatler müsait?", "Cuma 09:00-18:00, Cumartesi 10:00-14:00. Müsaitliği")], hours=HOURS),
    Case(
        "days gone by",
        [
            WISH,
            ("19.11.2026", "geçmiş"),
            ("dün", "geçmiş"),
            ("Dün saat 3 olur mu?", "geçmiş"),
            ("2 gün önce", "geçmiş"),
            ("bugün 10:00", "Bu saat geçmiş"),
            ("17:00", "Adınızı"),
            "Ayşe",
            MAIL,
            "evet",
        ],
        appointment(WISH, "Ayşe", date(2026, 11, 20), time(17), email=MAIL),
    ),
    Case("too far ahead", [WISH, ("25.11.2030", "ileri bir tarih")]),
    Case(
        "days that are in no calendar",
        [
            ("30 Şubat saat 15'e randevu istiyorum", "Takvimde böyle bir gün yok. Hangi gün"),
            ("31 Kasım", "Takvimde böyle bir gün yok. Hangi gün"),
            ("31/11", "Takvimde böyle bir gün yok. Tarihi 25.11.2026 gibi"),
            ("yarın", "Adınızı"),
            "Ayşe",
            MAIL,
            "evet",
        ],
        appointment("30 Şubat saat 15'e randevu istiyorum", "Ayşe", SATURDAY, time(15), email=MAIL),
    ),
    Case(
        "a number of things is what it is about",
        [("300 kupa için teklif istiyorum", "Adınızı"), "Ayşe Yılmaz", MAIL, "evet"],
        Captured("quote", "300 kupa için teklif istiyorum", "Ayşe Yılmaz", MAIL),
    ),
    Case(
        "a quote without a verb",
        [("quote for website design please", "your name"), "Jane Smith", MAIL, "yes"],
        Captured("quote", "quote for website design please", "Jane Smith", MAIL),
    ),
    Case(
        "no e-mail where a phone is there",
        [
            WISH,
            "yarın 15:00",
            ("telefonum 0532 123 45 67, e-posta vermek istemiyorum", "Adınızı"),
            ("e-posta adresim yok", "e-posta olmadan da olur"),
            "Ayşe",
            "evet",
        ],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "no e-mail at all: the phone is asked for",
        [WISH, "yarın 15:00", "Ayşe", ("e-postam yok", "Telefon numaranızı"), "0532 123 45 67", "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "neither phone nor e-mail",
        [
            ENGLISH_WISH,
            "tomorrow at 3 pm",
            "Jane",
            ("I don't have a phone", "your e-mail"),
            ("I don't have an email either", "we need"),
            "cancel",
        ],
    ),
    Case(
        "an address spelled out is read",
        [ENGLISH_WISH, "tomorrow at 3 pm", "Jane", ("jane [at] example [dot] com", "- E-mail: jane@example.com"), "yes"],
        appointment(ENGLISH_WISH, "Jane", SATURDAY, time(15), email="jane@example.com"),
    ),
    Case(
        "misunderstood twice",
        [WISH, ("zxcv", "Örneğin"), ("asdf qwer", "“geç” yazabilirsiniz"), ("yarın", "saat kaç"), ("xx", "14:30")],
    ),
    Case(
        "misunderstood three times: gone on without",
        [ENGLISH_WISH, "qq", "ww", ("qq", "agree on the day and the time with you. May I have")],
    ),
    Case("the summary misunderstood too often: left", [ONE_LINE, "qq", "ww", "zz", ("qq", "bu şekilde ilerleyemiyoruz")]),
    Case(
        "slips of the finger",
        [("randvu almak istyorum", "Hangi gün"), ("carşamab", "saat kaç"), "saat 11", "ayşe yılmaz", "05321234567", "evt"],
        appointment("randvu almak istyorum", "ayşe yılmaz", date(2026, 11, 25), time(11), phone=PHONE),
    ),
    Case(
        "without Turkish letters",
        [("yarin ogleden sonra 3 icin randevu alabilir miyim", "Adınızı"), "benim adim Ayse", "ayse@example.com", "dogru"],
        appointment("yarin ogleden sonra 3 icin randevu alabilir miyim", "Ayse", SATURDAY, time(15), email=MAIL),
    ),
    Case(
        "in capitals",
        [("RANDEVU ALMAK İSTİYORUM", "Hangi gün"), "YARIN SAAT 15:00", "AYŞE YILMAZ", "0532 123 45 67", "EVET"],
        appointment("RANDEVU ALMAK İSTİYORUM", "AYŞE YILMAZ", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "to be called back",
        [("Beni arar mısınız?", "Hangi konuda"), ("kiralık bisiklet fiyatları hakkında", "Adınızı"), "Veli Can", "0532 123 45 67", "evet"],
        Captured("contact", "kiralık bisiklet fiyatları hakkında", "Veli Can", None, PHONE),
    ),
    Case(
        "to be called back, all in one line",
        [("Please call me back about my broken bike, I'm Jane Smith, +44 20 7946 0958", "Here is what I have"), "yes"],
        Captured(
            "contact",
            "Please call me back about my broken bike, I'm Jane Smith, +44 20 7946 0958",
            "Jane Smith",
            None,
            "+442079460958",
        ),
    ),
    Case(
        "a quote",
        [
            ("Fiyat teklifi almak istiyorum", "teklif istersiniz"),
            "10 adet dağ bisikleti",
            "Ayşe",
            (MAIL, "10 adet"),
            ("doğru", "size dönüş"),
        ],
        Captured("quote", "10 adet dağ bisikleti", "Ayşe", MAIL, None),
    ),
    Case(
        "a quote in one line",
        [("Can I get a quote for renting twenty bikes?", "your name"), "Jane Smith", "jane@example.com", "yes"],
        Captured("quote", "Can I get a quote for renting twenty bikes?", "Jane Smith", "jane@example.com", None),
    ),
    Case(
        "a complaint",
        [("bisikletim daha ilk gün bozuldu, rezalet", "ekibimize ileteyim"), ("tamam", "Adınızı"), "Ayşe", MAIL, "evet"],
        Captured("support", "bisikletim daha ilk gün bozuldu, rezalet", "Ayşe", MAIL, None),
    ),
    Case(
        "another wish in the middle",
        [WISH, ("Aslında bisiklet kiralamak için fiyat teklifi almak istiyorum", "teklif talebinizi"), "Ayşe", MAIL, "evet"],
        Captured("quote", f"{WISH}\nAslında bisiklet kiralamak için fiyat teklifi almak istiyorum", "Ayşe", MAIL, None),
    ),
    Case(
        "a name put right while the number is asked for",
        [
            WISH,
            "yarın 15:00",
            "ali",
            ("Ayşe Yılmaz-Kaya", "Tamam. Telefon numaranızı ya da"),
            ("0532 123 45 67", "- Ad: Ayşe Yılmaz-Kaya"),
            "evet",
        ],
        appointment(WISH, "Ayşe Yılmaz-Kaya", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "a name put right at the summary",
        [(ONE_LINE, "- Ad: Ayşe Yılmaz"), ("Ali Demir", "- Ad: Ali Demir"), "evet"],
        appointment(ONE_LINE, "Ali Demir", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "what is known already said again",
        [
            WISH,
            "yarın",
            ("cumartesi", "Tamam. Peki saat kaçta?"),
            "3",
            ("cumartesi saat 3", "Tamam. Adınızı"),
            ("neden soruyorsunuz", "size dönebil"),
        ],
    ),
    Case(
        "an hour counted from now",
        [(ENGLISH_WISH, "Which day"), ("in half an hour", "your name"), ("Jane", "reach you"), ("jane@example.com", "Time: 15:45"), "yes"],
        appointment(ENGLISH_WISH, "Jane", date(2026, 11, 20), time(15, 45), email="jane@example.com"),
    ),
    Case(
        "outside of the hours, which are told once",
        [WISH, ("pazar saat 22:00", "O gün kapalıyız. Çalışma saatlerimiz: Pazartesi-Cuma 09:00-18:00, Cumartesi 10:00-14:00. Hangi gün")],
        hours=HOURS,
    ),
    Case(
        "a wish and a question in one message",
        [("Merhaba. Randevu almak istiyorum, kredi kartı geçiyor mu?", CARDS_TR), ("yarın 15:00", "Adınızı")],
    ),
    Case(
        "a wish and a question in two sentences",
        [("Hello, I want an appointment tomorrow. Do you take credit cards?", CARDS_EN), ("3 pm", "your name")],
    ),
    Case(
        "any day will do",
        [
            WISH,
            ("fark etmez", "göremiyorum"),
            ("en yakın gün", "size uyan bir gün"),
            ("yarın", "saat kaç"),
            ("whenever", "saati ekibimiz"),
        ],
    ),
    Case("the first day that is free is not the first of the month", [ENGLISH_WISH, ("first available", "which days are free")]),
    Case(
        "neither a number nor an address",
        [WISH, "yarın 15:00", "Ayşe", ("numaram yok mailim de yok", "bir telefon ya da e-posta"), (PHONE, "- Telefon"), "evet"],
        appointment(WISH, "Ayşe", SATURDAY, time(15), phone=PHONE),
    ),
    Case("a number and no address", [WISH, "yarın 15:00", "Ayşe", ("mailim yok telefonum var", "Telefon numaranızı")]),
    Case("an hour put as a question", [WISH, "yarın", ("11 uygun mu?", "Adınızı"), "Ayşe", (MAIL, "- Saat: 11:00")]),
    Case("an hour put as an English question", [ENGLISH_WISH, "tomorrow", ("how about 3?", "your name"), "Jane", (MAIL, "Time: 15:00")]),
    Case("a number before its time is noted", [WISH, "yarın 15:00", (PHONE, "Tamam. Adınızı")]),
    Case(
        "a yes from Germany",
        [ONE_LINE, ("nein", "Neyi değiştirelim"), ("hiçbiri", "Özetliyorum"), "ja"],
        appointment(ONE_LINE, "Ayşe Yılmaz", SATURDAY, time(15), phone=PHONE),
    ),
    Case(
        "a greeting, thanks and a goodbye",
        [WISH, ("merhaba", "Merhaba! Peki hangi gün?"), ("teşekkürler", "Rica"), ("görüşürüz", "henüz iletmedim")],
    ),
    Case("the caller's language", [("randevu almak istiyorum", "Which day"), ("yarın", "What time")], language="en-GB"),
    Case("the language of the first message stays", [(ENGLISH_WISH, "Which day"), ("yarın", "What time"), ("saat 3", "your name")]),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_dialogue_comes_to_what_it_should(case: Case) -> None:
    visit = Visit(hours=case.hours, language=case.language)
    reply = None
    for said in case.said:
        assert reply is None or reply.captured is None, "captured too early"
        message, holds = said if isinstance(said, tuple) else (said, "")
        reply = visit.say(message)
        assert holds in reply.text, (message, reply.text)
    assert reply is not None
    assert reply.captured == case.captured


QUESTIONS = """Randevu nasıl alınır?|do I need an appointment?|what is your phone number|telefon numaranız nedir|randevu gerekiyor mu
|randevusuz gelebilir miyim|How do I book?|can I book online?|teklif ücretli mi?|how can I get a quote?|merhaba|Sizi nasıl arayabilirim?
|Do you take reservations?|randevu alabiliyor muyum|rezervasyon yapıyor musunuz?|how much is a quote
|randevu almak istemiyorum|when do I have to book a table?|please don't call me|Is there a table free?""".replace("\n", "")


@pytest.mark.parametrize("message", QUESTIONS.split("|"))
def test_a_question_is_no_wish(message: str) -> None:
    with suppress(EngineError):
        assert not state_of(Visit().say(message)).has_open_form


WISHES = """appointment: randevu almam lazım|yarın için randevu rica ediyorum|bana randevu ayarlar mısınız
|iki kişilik masa ayırtmak istiyorum|book us in for tuesday at 3
|saat 5 için rezervasyon yapabilir miyiz|I need an appointment|book me a table please|I want to reserve a room|appointment please
contact: beni geri arayabilir misiniz|bana dönüş yapar mısınız|mesaj bırakmak istiyorum|yetkili biriyle görüşmek istiyorum
|could someone contact me?|I want to leave a message|I would like to speak to someone|please get in touch with me
quote: balkon için teklif verir misiniz?|can I get a quote for 20 bikes?|please send me a quote
support: şikayetçiyim|I want to make a complaint|I'd like to report a problem"""


@pytest.mark.parametrize(
    ("kind", "message"),
    [(line.split(": ")[0], wish) for line in WISHES.replace("\n|", "|").split("\n") for wish in line.split(": ", 1)[1].split("|")],
)
def test_a_wish_is_recognised(kind: str, message: str) -> None:
    draft = state_of(Visit().say(message)).draft
    assert draft is not None
    assert draft.kind == kind


def test_a_situation_without_a_wish_gets_an_offer_and_no_form() -> None:
    """ "Somebody stole my bag" may be a request for help."""
    said = Visit(speaks="en").say("somebody stole my bag")
    assert "Shall I take a note" in said.text
    assert not state_of(said).has_open_form


@pytest.mark.parametrize(
    "message", ["Yarın saat 3'te randevu var mı?", "boş yeriniz var mı yarın 3'te", "Is there a slot free tomorrow at 3 pm?"]
)
def test_who_asks_for_an_hour_and_gets_no_answer_may_have_it_noted(message: str) -> None:
    state = state_of(Visit().say(message))
    assert state.draft is not None
    assert (state.asked, state.draft.get("date"), state.draft.get("time")) == ("name", "2026-11-21", "15:00")


@pytest.mark.parametrize(
    "message",
    [
        "Yarın zeplinle gelebilir miyim?",
        "yarın gelsem olur mu",
        "Can I come by tomorrow?",
        "Could you see me tomorrow",
        "anything free tomorrow?",
    ],
)
def test_who_would_come_on_a_day_may_have_it_noted_and_who_names_none_not(message: str) -> None:
    draft = state_of(Visit().say(message)).draft
    assert draft is not None
    assert (draft.kind, draft.get("date")) == ("appointment", "2026-11-21")


@pytest.mark.parametrize(
    "message",
    ["I want to cancel", "please cancel my booking", "randevuyu erteleyebilir miyiz", "I can't make it to my appointment tomorrow"],
)
def test_who_cancels_what_is_not_known_here_is_offered_a_note(message: str) -> None:
    visit = Visit()
    reply = visit.say(message)
    assert any(part in reply.text for part in ("göremiyorum", "can't see"))
    assert state_of(reply).pending == states.OFFER_CONTACT
    draft = state_of(visit.say("Ayşe Yılmaz, 0532 123 45 67")).draft
    assert draft is not None
    assert (draft.get("name"), draft.get("phone")) == ("Ayşe Yılmaz", PHONE)


@pytest.mark.parametrize("message", ["iptal koşulları neler", "can I cancel?", "how do I cancel my booking?"])
def test_a_question_about_cancelling_cancels_nothing(message: str) -> None:
    with suppress(EngineError):
        reply = Visit().say(message)
        assert reply.captured is None
        assert not state_of(reply).has_open_form


def test_nothing_is_begun_or_gone_on_with_where_nothing_may_be_captured() -> None:
    visit = Visit(may_capture=False)
    with suppress(EngineError):  # the knowledge may have an answer to it or not
        assert state_of(visit.say(WISH)).draft is None
    visit.may_capture = True
    assert state_of(visit.say(WISH)).has_open_form
    visit.may_capture = False
    reply = visit.say("merhaba")
    assert "Pedal" in reply.text
    assert state_of(reply).draft is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Mehmet Öz", "Mehmet Öz"),
        ("benim adım Ayşe", "Ayşe"),
        ("It's for Mark Twain", "Mark Twain"),
        ("Can Yılmaz", "Can Yılmaz"),
        ("ayşe yılmaz", "ayşe yılmaz"),
        ("bilmem", None),
        ("söylemek istemiyorum", None),
        ("şikayetçiyim bisikletim bozuk çıktı", None),
        ("kredi kartı geçiyor mu", None),
        ("mavi kapı", None),
        ("blue door", None),
        ("Fiyatlar çok yüksek", None),
        ("FİYATLAR ÇOK YÜKSEK", None),
        ("my cat is ill", None),
        ("AYŞE YILMAZ", "AYŞE YILMAZ"),
        ("wojciech kowalski", "wojciech kowalski"),
        ("evet", None),
    ],
)
def test_what_is_a_name_and_what_is_none(message: str, name: str | None) -> None:
    visit = Visit()
    visit.say(WISH)
    visit.say("yarın 15:00")
    state = state_of(visit.say(message))
    assert state.draft is not None
    assert (state.draft.get("name"), state.asked) == (name, "contact" if name else "name")


YES = "evet|Evet, doğru.|evt|tamam|olur|onaylıyorum|süper|yes|yes please|looks good|👍"
YES += "|Evet, hepsi doğru, onaylıyorum, çok teşekkür ederim iyi günler"
NOT_YES = "evet ama bir şey daha var|evet mi|peki ne kadar?|doğru değil|ok but how much is it|tamam da fiyatı ne"
NOT_YES += "|olmaz|yes but the number is wrong|teşekkürler|hmm"


@pytest.mark.parametrize("message", YES.split("|"))
def test_a_yes_captures(message: str) -> None:
    assert _at_the_summary().say(message).captured is not None


@pytest.mark.parametrize("message", NOT_YES.split("|"))
def test_what_is_no_plain_yes_captures_nothing_and_leaves_the_dialogue_open(message: str) -> None:
    reply = _at_the_summary().say(message)
    assert reply.captured is None
    assert reply.dialogue is not None


def _at_the_summary() -> Visit:
    visit = Visit()
    for message in (WISH, "yarın 15:00", "Ayşe", "0532 123 45 67"):
        visit.say(message)
    return visit


def test_an_unfinished_form_is_picked_up_the_next_day_with_one_sentence() -> None:
    visit = Visit()
    visit.say(WISH)
    visit.say("pazartesi")
    visit.now += DAY_MS
    assert "devam edelim mi" in visit.say("merhaba").text
    assert "saat kaç" in visit.say("evet").text
    visit.now += DAY_MS
    assert "Adınızı" in visit.say("14:30").text


def test_an_unfinished_form_is_dropped_after_a_no_and_forgotten_after_a_week() -> None:
    visit = Visit()
    visit.say(WISH)
    visit.now += DAY_MS
    assert "devam edelim mi" in visit.say("merhaba").text
    assert states.load(visit.say("hayır").dialogue, visit.now).draft is None
    visit.say(WISH)
    visit.now += 7 * DAY_MS
    assert states.load(visit.say("merhaba").dialogue, visit.now).draft is None


def test_a_time_that_has_passed_before_the_yes_is_asked_for_again() -> None:
    visit = Visit()
    for message in (WISH, "bugün 16:00", "Ayşe", "0532 123 45 67"):
        visit.say(message)
    visit.now += 3_600_000
    reply = visit.say("evet")
    assert reply.captured is None
    assert "geçmiş" in reply.text


def test_what_the_service_no_longer_has_at_hand_is_asked_for_again() -> None:
    """A turn carries the last 40 messages; the fallback sees no more of them."""
    visit = Visit()
    for message in (WISH, "yarın 15:00", "Ayşe", *["Uzayda hayat var mı?"] * 20):
        visit.say(message)
    assert "yeniden" in visit.say("0532 123 45 67").text
    for message in ("dişim ağrıyor", "Ayşe"):
        visit.say(message)
    reply = visit.say("evet")
    assert reply.captured == appointment("dişim ağrıyor", "Ayşe", SATURDAY, time(15), phone=PHONE)


def forged(**values: str) -> str:
    """Return a state at the summary with values that nobody has typed."""
    draft = RequestDraft("appointment", values={key: states.Stored(value) for key, value in values.items()}, quotes=("Pay me",))
    return State(pending=states.CONFIRM, draft=draft, language="tr").dump(START)


def test_nothing_that_the_visitor_did_not_type_can_come_from_the_dialogue() -> None:
    visit = Visit(dialogue=forged(date="2026-11-21", time="15:00", name="Victor", email="v@victim.example", phone="+15321234567"))
    reply = visit.say("evet")
    assert reply.captured is None
    assert not any(part in reply.text + (reply.dialogue or "") for part in ("Victor", "victim", "15321234567", "Pay me"))


_WORDS = sorted({word for case in CASES for said in case.said for word in (said if isinstance(said, str) else said[0]).split()})
_TEXTS = st.one_of(st.text(max_size=120), st.lists(st.sampled_from(_WORDS), max_size=10).map(" ".join))
_VALUES = st.dictionaries(
    st.sampled_from(["date", "time", "nights", "name", "phone", "email", "x.Room"]),
    st.sampled_from([*_WORDS, MAIL, PHONE, "2026-11-21", "15:00", "3"]).map(states.Stored),
)
_PENDING = st.sampled_from(["", "field.date", "field.name", "field.contact", "field.lost", states.CONFIRM, states.CHANGE, states.OFFER,
                            states.RESUME, states.DROPPED, states.OPTIONS, states.CANCEL, states.MOVE, states.WHICH_MOVE])  # fmt: skip
_STATES = st.builds(
    State,
    language=st.sampled_from(["", "tr", "en"]),
    pending=_PENDING,
    draft=st.none() | st.builds(RequestDraft, st.sampled_from(["appointment", "contact", "quote"]), values=_VALUES, quotes=st.just(("x",))),
    options=st.just((("price", "Parking"),)),
).map(lambda made: made.dump(START))


@settings(deadline=None)  # the first number of a country loads its plan
@given(_TEXTS, st.none() | st.text(max_size=60) | _STATES, st.sampled_from([None, HOURS, "nonsense"]), st.booleans())
def test_no_text_and_no_dialogue_makes_it_fail(text: str, dialogue: str | None, hours: str | None, may_capture: bool) -> None:
    visit = Visit(hours=hours, may_capture=may_capture, dialogue=dialogue)
    with suppress(EngineError):
        reply = visit.say(text)  # asks twice: the same answer every time
        assert reply.text.strip()
        assert may_capture or reply.captured is None
        assert states.load(reply.dialogue, START).dump(START) == reply.dialogue


@settings(deadline=None, max_examples=100)
@given(_TEXTS, _STATES)
def test_nothing_is_captured_that_stands_in_no_message(text: str, dialogue: str) -> None:
    with suppress(EngineError):
        caught = Visit(dialogue=dialogue).say(text).captured
        assert caught is None or not any((caught.visitor_email, caught.visitor_phone)) or any(map(str.isdigit, text)) or "@" in text


@settings(deadline=None, max_examples=40)
@given(st.lists(_TEXTS, min_size=1, max_size=8))
def test_a_whole_dialogue_of_anything_never_fails(texts: list[str]) -> None:
    visit = Visit()
    for text in (WISH, *texts):
        try:
            visit.say(text)
        except EngineError:
            visit.dialogue = None


@pytest.mark.parametrize(
    "message", ["yarın 0532 123 45 67 " * 190, "9" * 4000, "i want " * 570, "ben " * 1000, "a@b.c " * 660, "ad. " * 1000]
)
def test_a_hostile_message_takes_no_longer_than_any(message: str) -> None:
    for dialogue in (None, State(pending="field.name", draft=RequestDraft("appointment", quotes=("x",)), language="tr").dump(START)):
        turn = Visit(dialogue=dialogue).turn(message)
        began = clocks.thread_time()
        with suppress(EngineError):
            asyncio.run(ENGINE.reply(turn))
        assert clocks.thread_time() - began < 0.25


def test_the_clock_is_the_bots() -> None:
    """15:14 in Istanbul is 12:14 in UTC: today at 14:00 has passed in one of the two."""
    visit = Visit()
    visit.say(WISH)
    assert "geçmiş" in visit.say("bugün 14:00").text
    assert local(START, "Europe/Istanbul") == datetime.fromisoformat("2026-11-20T15:14:28.123")


@pytest.mark.parametrize("line", ["Call me back please, my e-mail is a@example.com", "Call me please, my e-mail is a@example.com"])
def test_an_address_in_a_wish_does_not_make_a_question_of_it(line: str) -> None:
    draft = state_of(Visit(speaks="en").say(line)).draft
    assert draft is not None
    assert (draft.kind, draft.get("email")) == ("contact", "a@example.com")


def test_first_name_and_surname_told_apart_are_one_name() -> None:
    visit = Visit()
    for message in (WISH, "yarın 15:00", "adım Cem, soyadım Yalçın", MAIL):
        visit.say(message)
    caught = visit.say("evet").captured
    assert caught is not None
    assert caught.visitor_name == "Cem Yalçın"


def test_who_wants_to_come_today_after_hours_is_told_so_before_the_time_is_asked_for() -> None:
    evening = Visit(hours=HOURS, now=START + 3 * 3_600_000)  # 18:14 on a Friday
    assert "Bugün kapandık. Çalışma saatlerimiz: Pazartesi-Cuma 09:00-18:00" in evening.say("bugün için randevu istiyorum").text
    afternoon = Visit(hours=HOURS, now=START + 2 * 3_600_000)
    assert "saat kaç" in afternoon.say("bugün için randevu istiyorum").text
