"""Wishes in colloquial one-line wording, and questions that only sound like one."""

from __future__ import annotations

from datetime import datetime

import pytest

from chatsvc.engines.knowledge.dialogue import hearing, wishes

NOW = datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday

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
and can i see it?
count me in for friday
save us a spot please
can my daughter try a french class before we pay
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


def wish_of(text: str) -> wishes.Wish | None:
    return wishes.of(text, hearing.interpret(text, "", NOW, "GB" if text.isascii() else "TR"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *(("appointment", line) for line in APPOINTMENTS.strip().split("\n")),
        *(("other", line) for line in OTHERS.strip().split("\n")),
        *(("contact", line) for line in CALLS.strip().split("\n")),
    ],
)
def test_a_wish_in_one_line_is_recognised(kind: str, text: str) -> None:
    wish = wish_of(text)
    assert wish is not None
    assert wish.request_type == kind


@pytest.mark.parametrize("text", QUESTIONS.strip().split("\n"))
def test_a_question_that_names_a_booking_or_a_day_is_no_wish(text: str) -> None:
    assert wish_of(text) is None
