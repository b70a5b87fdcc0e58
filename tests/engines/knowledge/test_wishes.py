"""Wishes in colloquial one-line wording open their form; questions that only sound like one open none."""

from __future__ import annotations

import pytest

from chatsvc.domain.models import Bot
from chatsvc.engines import EngineError, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import load
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

APPOINTMENTS = """
any chance of a table saturday night? theres 3 of us
got space for 5 on friday?
table for 2 tonight at 7:30
can u do 7pm for 3 ppl
is the terrace free sunday lunch for 12 of us
is Dr Hill free on thursday morning
can I see Dr Hill next week
can you fit me in tomorrow
need to see a dentist asap
whens the earliest you can see me
need to bring my truck in for brakes friday morning 9
can rosa look at my prius next tuesday
do u have a double for 2 nights from the 5th of december
Id like to reserve the sea view room 12-14 dec
we want to stay 3 nights in may
could you squeeze me in for a blow dry tomorrow at 3
need my hair done for a wedding on the 12th
can someone come and measure on wednesday
I'd like you to come and look at it, it won't start
could somebody come round and check the boiler
can someone look at my brakes friday morning
count me in for friday
save us a spot please
room for the wife and me, friday week, one night
table then please
can I meet her
book
yarın akşam 4 kişilik yer var mı
araba çalışmıyor bir gelip bakar mısınız
evime birini gönderir misiniz
gelip bakmanızı istiyorum
29 aralıkta yerimiz olsun
arabaya bir bakar mısınız
daireyi görebilir miyim
slm yarın boş yeriniz var mı
gelip görsek olur mu
hocayla tanışmak istiyorum
bakmaya gelecem
cuma akşamı 20.00 6 kişi deniz kenarı ayırtabilir misiniz
pazar öğlen 5 kişi için masa ayarlar mısınız
Dr. Selin Hanım müsait mi
diş temizliği yaptırmak istiyorum ne zaman gelebilirim
yarın öğleden sonra boşluk var mı
arabayı yarın bırakabilir miyim yağ bakımı için
hasan usta salı günü göçük için bakabilir mi
15 haziran için 2 gece deniz gören oda ayırtmak istiyoruz
boş oda var mı 20 temmuz
saç kestircem yarın sabah boşluk var mı
kızım için deneme dersi alabilir miyiz çarşamba
okulu gezmek istiyoruz yarın uygun musunuz
"""
OTHERS = """
can you put 2 oak chairs aside for me
can you hold one for me till saturday
i'd like to buy the oak table
şu meşe masadan 2 tane ayırtabilir misiniz
şundan 2 adet alayım
3 tane sipariş vermek istiyorum
"""
CALLS = """
can u give me a call
please have dave call me
can you let me know when its back
ask rosa to call me
bi arayın beni
geri dönüş yapar mısınız
yılmaz usta arayabilir mi beni
"""
POSSIBLE = """
and can i see it?
can my daughter try a french class before we pay
"""
QUESTIONS = """
do I need to book?
can I come without an appointment
do you take walk ins on saturdays
is parking free on saturday
is breakfast available on sundays
i booked a table yesterday, can i bring a cake
will it be ready by friday
how late can i come on friday
can I book online?
randevusuz gelebilir miyim
rezervasyon yapıyor musunuz
rezervasyon şart mı
arabayla gelebilir miyim
yarın açık mısınız gelsem
yarın teslim edebilir misiniz
bebek yatağı var mı odada
dün randevu aldım nereye geliyorum
"""


async def form_of(text: str, *, offered: bool = False) -> str | None:
    """Return the kind of request whose form a message opens; None for no form. `offered`: one that is only offered counts."""
    tongue, country = ("en", "GB") if text.isascii() else ("tr", "TR")
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue, country=country)
    try:
        turn = Turn(bot, "api", text, [], None, KnowledgeIndex([], tongue), "", 30.0, START, may_capture=True)
        reply = await KnowledgeEngine().reply(turn)
    except EngineError:
        return None
    state = load(reply.dialogue, START)
    return state.draft.kind if state.draft is not None and (offered or state.has_open_form) else None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("appointment", line) for line in APPOINTMENTS.strip().split("\n")),
        *(("other", line) for line in OTHERS.strip().split("\n")),
        *(("contact", line) for line in CALLS.strip().split("\n")),
    ],
)
async def test_a_wish_in_one_line_opens_its_form(kind: str, text: str) -> None:
    assert await form_of(text) == kind


@pytest.mark.parametrize("text", POSSIBLE.strip().split("\n"))
async def test_a_question_that_may_be_a_wish_gets_an_offer_at_least(text: str) -> None:
    assert await form_of(text, offered=True) == "appointment"


@pytest.mark.parametrize("text", QUESTIONS.strip().split("\n"))
async def test_a_question_that_names_a_booking_or_a_day_opens_no_form(text: str) -> None:
    assert await form_of(text) is None
