"""Sentences as visitors write them, with what they hold: half Turkish, half English, a third without Turkish letters or with
slips of the finger, a quarter holding nothing. `d` date, `t` time, `e` e-mail, `p` telephone, `n` name; what is not given is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

WEDNESDAY = datetime(2026, 3, 11, 10, 30)  # noqa: DTZ001 - the bot's local wall time
FRIDAY = datetime(2026, 11, 20, 18, 5)  # noqa: DTZ001
NEW_YEARS_EVE = datetime(2026, 12, 31, 23, 50)  # noqa: DTZ001 - a Thursday

_WEDNESDAY = """
Haftaya çarşamba saat 3 buçukta gelebilir miyim? -> d=2026-03-18; t=15:30
yarın 14:30'da uygun musunuz -> d=2026-03-12; t=14:30
Cuma günü saat 11 için randevu almak istiyorum -> d=2026-03-13; t=11:00
bu cuma öğleden sonra 4 gibi gelsem olur mu -> d=2026-03-13; t=16:00
pazartesi sabah 9'da açık mısınız? -> d=2026-03-16; t=09:00
önümüzdeki salı müsait misiniz -> d=2026-03-17
gelecek hafta perşembe saat 10.30 uygun mu -> d=2026-03-19; t=10:30
haftaya bugün aynı saatte gelebilirim -> d=2026-03-18
iki hafta sonra bir randevu istiyorum -> d=2026-03-25
3 gün sonra gelsem olur mu -> d=2026-03-14
öbür gün akşam 7'de yeriniz var mı -> d=2026-03-13; t=19:00
ayın 15'i uygun mu acaba -> d=2026-03-15
ayın 5'inde gelmek istiyorum -> d=2026-04-05
15 Nisan'da saat ikide görüşelim -> d=2026-04-15; t=14:00
2 Mart için yer var mı -> d=2027-03-02
23 Nisan 2027 saat 13:00 -> d=2027-04-23; t=13:00
15.04 tarihinde gelebilir miyiz -> d=2026-04-15
15/3/2027 için rezervasyon yapmak istiyorum -> d=2027-03-15
15-03-2027 sabah 10 -> d=2027-03-15; t=10:00
2026-05-07 tarihinde saat 09:00 -> d=2026-05-07; t=09:00
bu akşam 8 buçukta iki kişilik masa istiyoruz -> d=2026-03-11; t=20:30
bugün saat beşe çeyrek kala orada olurum -> d=2026-03-11; t=16:45
yarın üçü on geçe uygun mu -> d=2026-03-12; t=15:10
perşembe 9'a 10 kala gelirim -> d=2026-03-12; t=08:50
saat 12'ye 5 var gibi uğrarım -> t=11:55
yarın öğlen gelsem olur mu? -> d=2026-03-12; t=12:00
öğlen 1'de müsait misiniz -> t=13:00
saat yarımda gelebilirim -> t=12:30
cumartesi yarım gibi gelsek -> d=2026-03-14; t=12:30
akşam yediye yer ayırtmak istiyorum -> t=19:00
sabah sekiz buçukta açılıyor musunuz -> t=08:30
gece 11'de açık mısınız -> t=23:00
2 ile 4 arası müsaitim -> t=14:00
yarın 10-12 arası evdeyim -> d=2026-03-12; t=10:00
cuma 13:00-15:00 arası olur -> d=2026-03-13; t=13:00
saat 9'dan sonra gelebilirim -> t=09:00
4 civarı uğrarım -> t=16:00
beş sularında oradayım -> t=17:00
on buçukta gelsem -> t=10:30
on dört otuzda uygunum -> t=14:30
saat on birde görüşelim -> t=11:00
3'te geliyorum -> t=15:00
üçte geliyorum -> t=15:00
Pazartesi olmaz, salı olsun -> d=2026-03-17
pazartesi değil çarşamba gelmek istiyorum -> d=2026-03-18
cuma yerine cumartesi olabilir mi -> d=2026-03-14
perşembe müsait değilim, cuma uygun -> d=2026-03-13
Cuma günkü randevumu pazartesiye alabilir miyiz? -> d=2026-03-16
salı saat 3 değil 5 olsun -> d=2026-03-17; t=17:00
pazartesi gelemem ama salı 10'da gelebilirim -> d=2026-03-17; t=10:00
Salı, pardon çarşamba günü gelecektim -> d=2026-03-18
pazartesiden çarşambaya kadar kalmak istiyoruz -> d=2026-03-16
5-9 Nisan arası oda var mı -> d=2026-04-05
12 Mart'tan 15 Mart'a kadar iki kişi -> d=2026-03-12
gelecek ayın 3'ü olur mu -> d=2026-04-03
bu ayın 20'sinde boş yeriniz var mı -> d=2026-03-20
20'sinde gelsem? -> d=2026-03-20
ertesi gün de olur -> d=2026-03-12
bir hafta sonra tekrar geleceğim -> d=2026-03-18
bir ay sonra kontrol -> d=2026-04-11
iki hafta sonra cuma günü -> d=2026-03-27
haftanin sali gunu degil carsamba gunu -> d=2026-03-18
yarin saat 2de gelebilirmiyim -> d=2026-03-12; t=14:00
haftaya carsamba 3 bucuk -> d=2026-03-18; t=15:30
yarn öğleden sonra 3 gbi -> d=2026-03-12; t=15:00
persembe gunu saat 16.00 -> d=2026-03-12; t=16:00
bgn aksam 6 da -> d=2026-03-11; t=18:00
onumuzdeki cumartsi 11de -> d=2026-03-14; t=11:00
pazartsi sabah onda -> d=2026-03-16; t=10:00
YARIN SAAT 3'TE GELECEĞİM -> d=2026-03-12; t=15:00
CUMARTESİ İÇİN YER VAR MI -> d=2026-03-14
SALI GÜNÜ ÖĞLEDEN SONRA DÖRTTE -> d=2026-03-17; t=16:00
obur gun saat dort bucuk -> d=2026-03-13; t=16:30
ogleden sonra uc bucukta musait misiniz -> t=15:30
aksam 8 icin 4 kisilik masa -> t=20:00
cumaya 5 kisi rezervasyon, saat 20:00 -> d=2026-03-13; t=20:00
sali gunu 3 kisi gelecegiz saat 7 -> d=2026-03-17; t=07:00
28 ekimde dogum gunu kutlamasi yapacagiz -> d=2026-10-28
1 Nisan sabahı 9 buçuk -> d=2026-04-01; t=09:30
Nisan'ın 10'unda saat 15.30'da -> d=2026-04-10; t=15:30
Adım Ayşe Yılmaz, yarın 10'da gelmek istiyorum -> d=2026-03-12; t=10:00; n=Ayşe Yılmaz
Merhaba ben Mehmet, telefonum 0532 123 45 67 -> n=Mehmet; p=+905321234567
Benim adım Zeynep Kaya. 05321234567 numaradan ulaşabilirsiniz -> n=Zeynep Kaya; p=+905321234567
İsmim Ali Veli, mailim ali.veli@example.com -> n=Ali Veli; e=ali.veli@example.com
adim fatma, 0 533 987 65 43 -> n=fatma; p=+905339876543
adım hasan demir yarın arayın beni -> d=2026-03-12; n=hasan demir
Ayşe Yılmaz ben, geçen hafta yazmıştım -> n=Ayşe Yılmaz
Ad Soyad: Elif Şahin -> n=Elif Şahin
Bana Can diyebilirsiniz -> n=Can
Ben Dr. Selim Aksoy -> n=Selim Aksoy
ben Emre Bey, dün aramıştım -> n=Emre
Saygılarımla, Murat Öztürk -> n=Murat Öztürk
Teşekkürler, Burcu -> n=Burcu
Ahmet Kaya adına bir oda lütfen -> n=Ahmet Kaya
+90 (532) 123 45 67'yi arayın -> p=+905321234567
numaram 532-123-4567 -> p=+905321234567
905321234567 whatsapp -> p=+905321234567
tel: 0(212)5551234 -> p=+902125551234
Sabit hattımız 0212 555 12 34 -> p=+902125551234
Almanya numaram +49 151 12345678 -> p=+4915112345678
0090 532 123 45 67 den ulaşın -> p=+905321234567
0532.123.45.67 -> p=+905321234567
cep 0532/1234567 -> p=+905321234567
eski numaram 0532 123 45 67, yenisi 0533 123 45 67 -> p=+905331234567
0532 123 45 67 değil 0533 123 45 67 arayın -> p=+905331234567
ayse@example.com'a gönderin -> e=ayse@example.com
Mail adresim AYSE.YILMAZ@EXAMPLE.COM -> e=ayse.yilmaz@example.com
e-posta: info@ornek.com.tr. -> e=info@ornek.com.tr
ayse@example.com değil ayse@example.org kullanın -> e=ayse@example.org
faturayı muhasebe+satis@firma.com.tr adresine atın -> e=muhasebe+satis@firma.com.tr
mehmet [at] example.com -> e=mehmet@example.com
Salı 17'de kontrol var, numaram 05551112233 -> d=2026-03-17; t=17:00; p=+905551112233
yarın sabah erken saatte -> d=2026-03-12
haftaya pazartesi değil salı -> d=2026-03-17
hafta içi akşam 6'dan sonra -> t=18:00
Can we meet next Wednesday at half past two? -> d=2026-03-18; t=14:30
Is Friday at 3 ok? -> d=2026-03-13; t=15:00
I'd like to book for tomorrow at 10am -> d=2026-03-12; t=10:00
this Saturday at noon please -> d=2026-03-14; t=12:00
next Monday at 9 in the morning -> d=2026-03-16; t=09:00
Do you have anything this coming Tuesday? -> d=2026-03-17
the day after tomorrow at quarter past four -> d=2026-03-13; t=16:15
the 15th works for me -> d=2026-03-15
How about the 5th? -> d=2026-04-05
15th of April at half five -> d=2026-04-15; t=17:30
April 15th, 2pm -> d=2026-04-15; t=14:00
March 2 would be best -> d=2027-03-02
on 3 May 2027 at 18:00 -> d=2027-05-03; t=18:00
15/04 at 11:15 -> d=2026-04-15; t=11:15
Could I come on 15.04.2026? -> d=2026-04-15
2026-06-01 14:00 please -> d=2026-06-01; t=14:00
in two weeks, if possible -> d=2026-03-25
in three days at 4 -> d=2026-03-14; t=16:00
a week from today -> d=2026-03-18
a week on Friday -> d=2026-03-20
in a month -> d=2026-04-11
two weeks from now -> d=2026-03-25
tonight at 8 for two people -> d=2026-03-11; t=20:00
this evening around 7 -> d=2026-03-11; t=19:00
tomorrow morning at quarter to nine -> d=2026-03-12; t=08:45
ten to three suits me -> t=14:50
twenty past five would work -> t=17:20
at five o'clock -> t=17:00
around 4 would be perfect -> t=16:00
between 2 and 4 on Thursday -> d=2026-03-12; t=14:00
from 9 to 11 tomorrow -> d=2026-03-12; t=09:00
2-4 pm on Friday -> d=2026-03-13; t=14:00
sometime after 5 -> t=17:00
9:30 is fine -> t=09:30
3:30 is fine -> t=15:30
at 03:30 -> t=03:30
19h30 -> t=19:30
1430 hrs tomorrow -> d=2026-03-12; t=14:30
at three thirty -> t=15:30
six thirty pm -> t=18:30
8 in the evening -> t=20:00
11 at night -> t=23:00
3ish on Sunday -> d=2026-03-15; t=15:00
12:30 am -> t=00:30
12 noon tomorrow -> d=2026-03-12; t=12:00
Not Monday, Tuesday please -> d=2026-03-17
Monday doesn't work for me, can we do Wednesday? -> d=2026-03-18
instead of Friday make it Saturday -> d=2026-03-14
Can you move my appointment from Thursday to Friday? -> d=2026-03-13
I can't make it on Thursday but Friday at 2 is fine -> d=2026-03-13; t=14:00
Tuesday, sorry, I mean Wednesday -> d=2026-03-18
not at 3 but at 4 -> t=16:00
Friday rather than Thursday -> d=2026-03-13
We would stay from the 5th to the 9th of April -> d=2026-04-05
from Monday to Wednesday -> d=2026-03-16
for three nights from Friday -> d=2026-03-13
next month on the 3rd -> d=2026-04-03
the 20th of this month -> d=2026-03-20
the first Monday of April -> d=2026-04-06
Tuesday next week at 10 -> d=2026-03-17; t=10:00
next week Thursday afternoon -> d=2026-03-19
Friday the 13th -> d=2026-03-13
Sunday 15 March at 1pm -> d=2026-03-15; t=13:00
tommorow at 3pm -> d=2026-03-12; t=15:00
tomorow arround noon -> d=2026-03-12; t=12:00
wendesday at 11 -> d=2026-03-18; t=11:00
next thrusday at 2 -> d=2026-03-19; t=14:00
satuday morning -> d=2026-03-14
can u do tmrw 4pm -> d=2026-03-12; t=16:00
tues 5pm pls -> d=2026-03-17; t=17:00
is fri 3pm free -> d=2026-03-13; t=15:00
Febuary 14 at 8pm -> d=2027-02-14; t=20:00
My name is Jane Doe and I'd like a table tomorrow at 7pm -> d=2026-03-12; t=19:00; n=Jane Doe
I'm John Smith, call me on +44 7911 123456 -> n=John Smith; p=+447911123456
this is Mary, my email is mary.jones@example.co.uk -> n=Mary; e=mary.jones@example.co.uk
Call me Bob -> n=Bob
my name's peter parker -> n=peter parker
Hi, I'm Dr. Emily Watson -> n=Emily Watson
The name is O'Brien, Friday at 6 -> d=2026-03-13; t=18:00; n=O'Brien
Thanks, Jane -> n=Jane
Best regards, Tom Baker -> n=Tom Baker
Name: Anna-Maria Schmidt -> n=Anna-Maria Schmidt
Jane here, running late -> n=Jane
You can reach me at jane@example.com. -> e=jane@example.com
JANE.DOE@EXAMPLE.COM -> e=jane.doe@example.com
jane at example dot com -> e=jane@example.com
don't use jane@old.example, use jane@new.example -> e=jane@new.example
My number is 0532 123 45 67 -> p=+905321234567
not 0532 123 45 67, use 0533 123 45 67 -> p=+905331234567
+1 415-555-2671 -> p=+14155552671
phone: (0532) 123-4567, mail: x@y.com -> p=+905321234567; e=x@y.com
Please ring 0212 555 1234 after 3 -> p=+902125551234; t=15:00
Merhaba, kolay gelsin ->
Fiyatı 1500 TL mi? ->
sipariş numaram 123456789 ->
Siparişim 5321234567 nerede, takip no 5321234567 ->
vergi numaramız 1234567890 ->
IBAN: TR33 0006 1005 1978 6457 8413 26 ->
v2.1 sürümünü kullanıyorum ->
sürüm 3.5 çıktı mı ->
oğlum 5 yaşında ->
Atatürk Caddesi No: 15 Daire 3 ->
2 saat sürüyor mu ->
yarım saat içinde gelir mi ->
3 gün boyunca kalacağız ->
3 kişiyiz ->
7/24 açık mısınız ->
24/7 destek var mı ->
34 ABC 123 plakalı araç ->
yüzde 20 indirim var mı ->
%50 indirim ne zaman bitiyor ->
salı pazarı nerede ->
pazarda satıyor musunuz ->
her pazartesi açık mısınız ->
pazar günleri açık mısınız ->
hafta sonu açık mısınız ->
gelecek ay gelmeyi düşünüyorum ->
haftaya haber veririm ->
mart ayında indirim var mı ->
sabah kahvaltı veriyor musunuz ->
akşam yemeği dahil mi ->
öğle yemeği menüsü nedir ->
İyi akşamlar, bilgi alabilir miyim ->
günaydın, fiyat listesi var mı ->
Mehmet Bey ile görüşebilir miyim? ->
oğlum Ali için bisiklet bakıyorum ->
eşim Ayşe'nin randevusu iptal mi ->
kızımın adı Elif ->
ilk adım nedir ->
ben de aynısını istiyorum ->
ben randevu almak istiyorum ->
bir de şunu soracaktım ->
birde kargo ücreti ne kadar ->
iki tane alacağım ->
42 numara ayakkabı var mı ->
ürünün yarısı bozuk çıktı ->
yarım kilo baklava ->
3 oda 1 salon daire ->
maç 2-1 bitti ->
16:9 ekran mı ->
1/2 porsiyon olur mu ->
odamız 305 numara ->
4543 1234 5678 9012 numaralı kart ->
kargo takip numarası 1234567890123 ->
bu hafta içinde ararım ->
randevu almak istiyorum ->
telefonla sipariş alıyor musunuz ->
3 taksit yapıyor musunuz ->
2 buçuk kilo kıyma ->
10 gün içinde iade edebilir miyim ->
ona söyleyin lütfen ->
onda kaldı telefonum ->
yedi kişi gelsek yer olur mu ->
ekim yapıyor musunuz bahçeye ->
Good morning, do you deliver? ->
It costs £20, right? ->
50 euro for both? ->
my order number is 4815162342 ->
order #12345678 has not arrived ->
tracking number 9400110200881234567890 ->
version 3.5 is broken ->
We are running v2.1 ->
my son is 5 ->
I'm 35 years old ->
It takes 2 hours, doesn't it? ->
half an hour is enough ->
for three nights ->
a table for 4 please ->
there are 6 of us ->
open 24/7? ->
20% discount ->
3 out of 5 ->
2/3 of the price ->
the score was 3-2 ->
room 12 is cold ->
I live at 221 Baker Street ->
flat 3, 15 High Street ->
size 10 shoes ->
Are you open on Sundays? ->
every Monday? ->
Do you open at weekends? ->
next month maybe ->
next week sometime ->
this weekend? ->
May I ask something? ->
it may rain ->
we march on ->
one of your shops ->
the second floor ->
the 3rd time I ask ->
Can I speak with Mr Smith? ->
it's for my son Ali ->
I'm looking for a gift ->
I'm interested in the blue one ->
this is great ->
call me back ->
call me as soon as possible ->
My name is not on the list ->
good evening ->
in the morning or in the evening, whatever ->
do you have a morning class? ->
5 stars! ->
pick one or two ->
can I pay in 3 instalments? ->
my tax number is 1234567890 ->
IBAN DE89 3704 0044 0532 0130 00 ->
I sat in the sun ->
see you later ->
16 GB of memory ->
last Monday was horrible ->
a quarter of a pound ->
do you take card 4111 1111 1111 1111 ->
10 minutes from the station ->
it's 50 cm wide ->
act 2 scene 3 ->
"""
_FRIDAY = """
yarın -> d=2026-11-21
pazar günü brunch var mı -> d=2026-11-22
Pazara masa ayırtabilir miyim -> d=2026-11-22
cuma -> d=2026-11-27
haftaya cuma -> d=2026-11-27
bu pazar saat 12 -> d=2026-11-22; t=12:00
gelecek hafta salı günü öğlen -> d=2026-11-24; t=12:00
önümüzdeki cuma akşam 9 -> d=2026-11-27; t=21:00
ayın 20'si -> d=2026-12-20
20 Kasım uygun mu -> d=2026-11-20
19 kasım -> d=2027-11-19
31 Aralık gecesi için rezervasyon -> d=2026-12-31
29 Şubat'ta evleniyoruz -> d=2028-02-29
Pazartesi veya salı olabilir -> d=2026-11-23
cumartesi değil pazar gelmek istiyoruz -> d=2026-11-22
3 hafta sonra -> d=2026-12-11
10 gün sonraya randevu -> d=2026-11-30
yarın değil öbür gün -> d=2026-11-22
saat dokuz buçuk -> t=09:30
saat 7 -> t=07:00
saat 6 -> t=18:00
sabah 6 -> t=06:00
gece 12 -> t=00:00
akşamüstü 5 gibi -> t=17:00
sekize yirmi var -> t=07:40
dördü çeyrek geçe -> t=16:15
ikiye çeyrek kala -> t=13:45
bir buçukta -> t=13:30
on bire beş kala -> t=10:55
saat 18.45 -> t=18:45
22:15 -> t=22:15
09.05'te oradayım -> d=2027-05-09
saat 09.05'te oradayım -> t=09:05
beşle altı arası -> t=17:00
10'dan 12'ye kadar müsaitim -> t=10:00
öğleden önce 11 -> t=11:00
Cumartesi 14 30 da -> d=2026-11-21; t=14:30
salı 5 olur mu -> d=2026-11-24; t=17:00
haftaya perşembe öğleden sonra ikide, adım Deniz Ak -> d=2026-11-26; t=14:00; n=Deniz Ak
gelecek ayın 15'inde saat 11'de -> d=2026-12-15; t=11:00
aralığın 12'si -> d=2026-12-12
12 aralik cumartesi saat 19:30 -> d=2026-12-12; t=19:30
ayin 25inde -> d=2026-11-25
ayın yirmi beşinde -> d=2026-11-25
ayın üçünde -> d=2026-12-03
pazartesi gunu saat 4 gibi ugrarim, numaram 5051234567 -> d=2026-11-23; t=16:00; p=+905051234567
randevumu salıdan perşembeye ertelemek istiyorum -> d=2026-11-26
saat 2'den 4'e alabilir miyiz -> t=16:00
3 yerine 5'te gelsem -> t=17:00
Ben Oğuz Atay'ım -> n=Oğuz Atay
merhabalar ben SELİN, bilgi alacaktım -> n=SELİN
mrb adım ömer çelik -> n=ömer çelik
İsim: Hüseyin Can Polat, tel: 0 (544) 321 00 99 -> n=Hüseyin Can Polat; p=+905443210099
iyi günler, yarın 11'de gelsem -> d=2026-11-21; t=11:00
iyi akşamlar, cumartesi 9'da açık mısınız -> d=2026-11-21; t=09:00
tomorrow -> d=2026-11-21
next Friday -> d=2026-11-27
Friday -> d=2026-11-27
this Sunday at 1 -> d=2026-11-22; t=13:00
Monday or Tuesday next week -> d=2026-11-23
not tomorrow but the day after -> d=2026-11-22
the 20th -> d=2026-12-20
20 November -> d=2026-11-20
19 November -> d=2027-11-19
25 Dec at 7:30 pm -> d=2026-12-25; t=19:30
December 31st, 10 p.m. -> d=2026-12-31; t=22:00
the 1st of January 2028 -> d=2028-01-01
29 February -> d=2028-02-29
on the twenty-fifth -> d=2026-11-25
in 10 days -> d=2026-11-30
three weeks from now on a Monday -> d=2026-12-11
Saturday, half past ten -> d=2026-11-21; t=10:30
half six -> t=18:30
Sat 3pm -> d=2026-11-21; t=15:00
at 7 -> t=07:00
at 6 -> t=18:00
6 am -> t=06:00
7 tonight -> d=2026-11-20; t=19:00
midnight -> t=00:00
quarter to one -> t=12:45
five past nine -> t=09:05
by 5pm on Tuesday -> d=2026-11-24; t=17:00
10 to 12 on Wednesday -> d=2026-11-25; t=10:00
between nine and eleven in the morning -> t=09:00
from 6pm till 8pm -> t=18:00
before 11 -> t=11:00
Wednesday isn't good, what about Thursday at 9:15? -> d=2026-11-26; t=09:15
reschedule from Monday 3pm to Tuesday 4pm -> d=2026-11-24; t=16:00
We'd like to check in on December 5 and leave on the 9th -> d=2026-12-05
5-9 December -> d=2026-12-05
December 5-9 -> d=2026-12-05
22/11 at 20:00 -> d=2026-11-22; t=20:00
I am coming at 5 -> t=17:00
can i come in at 2 2morrow -> d=2026-11-21; t=14:00
MONDAY AT 9AM -> d=2026-11-23; t=09:00
frday at 5 -> d=2026-11-27; t=17:00
i am sarah connor, sarah@example.com, monday 9am -> d=2026-11-23; t=09:00; e=sarah@example.com; n=sarah connor
Hello, Mark Twain speaking -> n=Mark Twain
It's Lucy, I'll be late -> n=Lucy
Please book it under the name Jane Doe -> n=Jane Doe
Mrs. Susan Hill here -> n=Susan Hill
Cheers,\\nWill Turner -> n=Will Turner
Ms. Yıldız ile konuşabilir miyim ->
I need it for 2 people ->
the year 2026 ->
2 for 1 offer ->
my flight is TK1923 ->
I have been waiting for 3 days ->
kaç gün sürer ->
1 hafta içinde kargoda ->
15 gün iade hakkı ->
3+1 daire ->
kat 5 ->
M4 vida ->
4 mevsim lastik ->
500 gr kahve ->
iki buçuk ay oldu ->
T.C. 12345678901 ->
müşteri numaram 5554443322 ->
referans 2024-000123 ->
TL 1.250,00 ->
₺750 ->
12,50 TL ->
Galatasaray 3 Fenerbahçe 0 ->
iPhone 15 kılıfı ->
saat kaçta kapanıyorsunuz ->
kol saati tamiri yapıyor musunuz ->
"""
_NEW_YEARS_EVE = """
this monday at 9am -> d=2027-01-04; t=09:00
bu salı 10:00 -> d=2027-01-05; t=10:00
yarın sabah 10'da -> d=2027-01-01; t=10:00
tomorrow -> d=2027-01-01
in a month -> d=2027-01-31
iki ay sonra -> d=2027-02-28
haftaya pazartesi -> d=2027-01-04
next Monday at 8am -> d=2027-01-04; t=08:00
cuma -> d=2027-01-01
perşembe -> d=2027-01-07
this Thursday -> d=2026-12-31
the 31st -> d=2027-01-31
ayın 30'u -> d=2027-01-30
31 Aralık -> d=2026-12-31
1 Ocak saat 13.30 -> d=2027-01-01; t=13:30
öbür gün -> d=2027-01-02
gelecek ayın 5'i -> d=2027-01-05
the day after tomorrow -> d=2027-01-02
5 Jan -> d=2027-01-05
a fortnight from now -> d=2027-01-14
"""


@dataclass(frozen=True)
class Case:
    """One sentence, when it was written and what it holds."""

    text: str
    now: datetime
    date: date | None = None
    time: time | None = None
    email: str | None = None
    phone: str | None = None
    name: str | None = None


def cases(block: str, now: datetime) -> list[Case]:
    """The sentences of a block, one a line."""
    found = []
    for line in block.strip().splitlines():
        text, _, held = line.partition(" ->")
        fields = dict(part.strip().split("=", 1) for part in held.split(";") if part.strip())
        found.append(
            Case(
                text.replace("\\n", "\n"),
                now,
                date.fromisoformat(fields["d"]) if "d" in fields else None,
                time.fromisoformat(fields["t"]) if "t" in fields else None,
                fields.get("e"),
                fields.get("p"),
                fields.get("n"),
            )
        )
    return found


CASES = cases(_WEDNESDAY, WEDNESDAY) + cases(_FRIDAY, FRIDAY) + cases(_NEW_YEARS_EVE, NEW_YEARS_EVE)
