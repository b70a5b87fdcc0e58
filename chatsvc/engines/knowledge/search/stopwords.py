"""Words that carry little: they connect, ask or are polite. Folded, as `text.words` gives them.

They are not thrown away ("how much", "ne zaman" do say something), they only weigh less.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TURKISH = """
acaba ama ancak artik asla aslinda az bana bazi belki ben beni benim bile bir biraz birkac biri biz bize bizi bizim boyle bu
buna bunda bundan bunu bunun burada buraya burdan buradan cok cunku da daha dahil de degil diye dolayi en evet fakat falan
filan gibi gore hangi hangisi hani hatta hayir hem hep hepsi her herhangi hic icin icinde ile ise iste kac kadar kendi ki kim
kimi mi midir misiniz misin miyim miyiz mu mudur musunuz musun muyum muyuz nasil ne neden nedir neler nerede nereden nereye
niye o olan olarak oldu olduk oldugu olmak olsa olsun olur oluyor ona ondan onlar onlari onu onun orada oyle pek peki sadece
sanki sen seni senin siz size sizi sizin sizde sizden sonra soyle su suna sunu tabi tabii tam tum uzere var varmi vardir ve
veya ya yani yine yok yoksa zaten istiyorum isterim istiyoruz lazim gerek gerekiyor gerekli lutfen merhaba selam rica ederim
ederiz edebilir edebilirim edebilirsiniz eder etmek ediyorum ediyor ediyorsunuz miydi yapabilir yapabilirim yapmam yapmak
yapiyor yapiyorsunuz yapilir yapilabilir yapmaliyim yapiliyor bilgi ogrenmek ogrenebilir soyler soyleyebilir misiniz mumkun
mumkunmu verir verebilir veriyor veriyorsunuz alabilir alabilirim almak almam aliyor bakar bakabilir olacak olabilir olurmu
sey seyi simdi bugun hakkinda konuda yardimci yardim bilmek bilmiyorum ettim etti ettik edelim ediyoruz edecegim ediyormusunuz
varsa olmali olmaz
"""

_ENGLISH = """
a about after all also am an and any anyone anything are arent as at be because been before being but by can cannot cant could
couldnt did didnt do does doesnt doing dont for from get gets getting give go going got had has have havent having he hello
help her here hey hi him his how i id if ill im in into is isnt it its ive just kindly know let lets like look looking ma made
make makes making me might more most much my need needs no not now of off ok okay on one only or other our ours out over
please really see she should so some someone something tell than thank thanks that the their them then there theres these they
thing things this those to too under up us use using very want wants wanted was way we well were what whats when where wheres
which while who whom whose why will with wont would wouldnt yes you your yours possible able wondering wonder question anyway
kind sort lot maybe exactly actually currently right sure say find still such same own mine myself yourself every each both
few many
"""

TURKISH = frozenset(_TURKISH.split())
ENGLISH = frozenset(_ENGLISH.split())
STOPWORDS = TURKISH | ENGLISH

# What says something, but not what is asked about: times, numbers, measures, words of liking. A search is none the less sure for them.
_LIGHT = """
dun yarin bugun sabah aksam ogle ogleden oglen gece gun gunu gunler gunluk hafta haftaya haftalik ay ayda aylik yil yilda yillik
saat saatte dakika pazartesi sali carsamba persembe cuma cumartesi pazar once onceki sonraki gecen gelecek erken gec hemen hala
yeniden tekrar iki uc dort bes alti yedi sekiz dokuz on yirmi otuz kirk elli altmis yetmis seksen doksan yuz bin yarim birden
yeni eski buyuk kucuk uzun kisa iyi guzel kotu fazla ayrica birlikte beraber beri dek tek diger ayni farkli normal genel tane
adet kere kez defa sorun problem kisi arkadas arkadasim esim annem babam cocuk tarafi kismi tarafina yan yanimda ek ise
today tomorrow yesterday tonight morning afternoon evening night day days daily week weeks weekly month months year years hour
hours minute minutes monday tuesday wednesday thursday friday saturday sunday ago early late later soon next last before first
second two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand half twice once
several enough total roughly whole exact usual usually regular straight away ahead new old big small long short good bad nice
great best better fine far near nearest close quick quickly fast another else already again yet still since while besides
guys folks people person friend friends wife husband mother father mum mom dad son daughter sister brother kids family anyway
came come comes coming bring brought take takes took taken taking seen said says told think hope try trying keep seem seems
happen happens happened turn put set start stop left part bit quote allowed wanna gonna gotta current currently available home
"""
LIGHT = STOPWORDS | frozenset(_LIGHT.split())

# Forms of the verbs that Turkish says nearly everything with (alabiliyor, edersem, kalacagim, olsam), and of its weekdays.
_LIGHT_VERBS = (
    "al|aldir|ed|et|ettir|ol|ver|gel|git|gid|kal|gir|cik|bul|yap|yaptir|iste|koy|bak|de|soyle|yaz|gec|getir|gotur|kullan|ogren|bekle"
    "|dur|basla|gonder"
)
_ENDINGS = (
    "yor|bil|ecek|acak|eceg|acag|dik|dig|duk|dug|tik|tig|mis|mek|mak|sem|sam|sek|sak|sen|san|dim|tim|dum|tum|din|tin|di|ti|du|tu"
    "|ir|er|ar|ur|ip|up|eyim|ayim|elim|alim|meden|madan|ince|inca|unca|mem|mam|mes|mas|miy|muy|en|an|ebil|abil"
)
_DAYS = "pazartesi|sali|carsamba|persembe|cuma|cumartesi|pazar"
_LIGHT_FORM = re.compile(
    rf"(?:{_LIGHT_VERBS})[aeiuy]?(?:{_ENDINGS})[a-z]*|(?:{_DAYS})(?:y[aei]|den|dan|n?de|ki|leri|lari|ye|ya|nin|si|sini|sine)"
)


@lru_cache(maxsize=8_192)
def is_light(word: str) -> bool:
    """Whether a folded word says little about what is asked: a stop word, a number, a time, a verb of all trades."""
    return word in LIGHT or word.isdigit() or _LIGHT_FORM.fullmatch(word) is not None
