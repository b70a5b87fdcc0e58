"""Words that carry little: they connect, ask or are polite. Folded, as `text.words` gives them.

They are not thrown away ("how much", "ne zaman" do say something), they only weigh less.
"""

from __future__ import annotations

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
