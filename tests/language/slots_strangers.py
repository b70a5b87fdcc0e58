"""Sentences of other people: elderly, hurried, formal, in dialect. Written without a look at the grammar, to measure it once."""

from __future__ import annotations

from datetime import datetime

from tests.language.slots_cases import FRIDAY, cases

MONDAY = datetime(2026, 8, 10, 14, 0)  # noqa: DTZ001 - the bot's local wall time

_SENTENCES = """
Evladım ben Hatice Teyze, yarın sabah saat dokuz gibi gelsem olur mu -> d=2026-08-11; t=09:00; n=Hatice
Selamün aleyküm, çarşamba günü öğleden sonra ikide musaitmisiniz -> d=2026-08-12; t=14:00
kuzum cumartesiye bi randevu yazıver saat on bir buçuğa -> d=2026-08-15; t=11:30
slm yrn 5 gbi gelcem olurmu -> d=2026-08-11; t=17:00
acil!!! bugün 17:30 var mı -> d=2026-08-10; t=17:30
Sayın yetkili, 14 Eylül 2026 tarihinde saat 15.00'te görüşme talep ediyorum. Saygılarımla, Av. Nermin Tunç -> d=2026-09-14; t=15:00; n=Nermin Tunç
haftaya perşembeye alabilir misiniz beni, 3 buçuk gibi -> d=2026-08-20; t=15:30
pzt 10 -> d=2026-08-17; t=10:00
cmt saat 2 uygunmu abi -> d=2026-08-15; t=14:00
Pazar günü geleceğiz, 6 kişi, akşam 8 buçuk civarı -> d=2026-08-16; t=20:30
Yarın değil öbürsü gün müsaitim, sabahtan olursa 10'da -> d=2026-08-12; t=10:00
Ayın on yedisinde İstanbul'dayım, 17'si için yer ayırın -> d=2026-08-17
19 Ağustos çarşamba, saat 19.00, dört kişi, ismim Kerem -> d=2026-08-19; t=19:00; n=Kerem
Randevumu perşembeden cumaya kaydırabilir misiniz? -> d=2026-08-14
salı günü işim çıktı gelemiyorum çarşambaya alalım -> d=2026-08-12
Cumartesi dolu mu? Doluysa pazar olur -> d=2026-08-15
Bu perşembe mi haftaya perşembe mi uygun -> d=2026-08-13
hafta sonuna doğru bir ara uğrarım ->
gelin almaya gelecektik kaç lira oluyor ->
Kızımın düğünü var 5 Eylül'de, saç için randevu -> d=2026-09-05
eylülün ilk haftası müsait misiniz ->
Tamamdır saat 4'te görüşürüz -> t=16:00
sabah 8 bucukta acik olurmusunuz -> t=08:30
saat kacta aciyosunuz ->
akşam ezanından sonra gelirim ->
iftar saati kaç ->
3 e 5 kala ordayim -> t=14:55
yediyi çeyrek geçe servis kalkıyor değil mi -> t=07:15
saat 13'te toplantım var, 15'te olsun -> t=15:00
on iki buçukta öğle arası veriyorum, o saatte gelsem -> t=12:30
Saat 20 ile 22 arası -> t=20:00
10 numara hizmet, elinize sağlık ->
5 kg pirinç 3 paket makarna ->
Kapıda ödeme 29,90 TL mi ->
2024 model arabam var ->
B blok kat 4 daire 12 ->
35 yaşındayım hamileyim yapılır mı ->
Sipariş No: 2026081012 iade etmek istiyorum ->
Kimlik numaram 10000000146 ->
TR12 0001 0012 3456 7890 1234 56 bu hesaba mı atayım ->
beni 0 505 111 22 33 ten arayın -> p=+905051112233
NUMARAM 05301112233 ADIM HASAN -> p=+905301112233; n=HASAN
(0216) 444 33 22 iş telefonum, cep 0542 222 33 44 -> p=+902164443322
eski numarayı silin 0532 111 22 33, yeni numaram 0555 444 33 22 -> p=+905554443322
mailimi yazıyorum hasan_kara88@hotmail.com -> e=hasan_kara88@hotmail.com
mail: zeynep.t@gmail.com tel: 0539 987 65 43 isim: Zeynep T. -> e=zeynep.t@gmail.com; p=+905399876543; n=Zeynep T.
e postam emine@ornek.org.tr'dir -> e=emine@ornek.org.tr
ben ayten, hani geçen hafta gelmiştim ya -> n=ayten
Ben komşunuz Rıza, selam söylemiştim -> n=Rıza
ismim gülşen yavrum -> n=gülşen
Benim adım Mustafa Kemal Özdemir'dir. -> n=Mustafa Kemal Özdemir
Adım soyadım Berkcan Uzun, 18 Ağustos saat 16:00 -> d=2026-08-18; t=16:00; n=Berkcan Uzun
eşim adına yazıyorum ->
Fatma Hanım müsait mi bugün -> d=2026-08-10
annem için soruyorum adı Şükran ->
ben geldim kapıdayım ->
adımı listeye yazdınız mı ->
Kuaför Selma Hanım'dan randevu istiyorum ->
teşekkürler iyi günler ->
Tşk ederim, Gökhan -> n=Gökhan
haftanın hangi günleri açıksınız ->
ocak ayında kar yağar mı orada ->
ocak ve fırın temizliği yapıyor musunuz ->
2 hafta önce aldığım ürün bozuldu ->
15 gündür bekliyorum ->
5 yıldızlı mı oteliniz ->
gün aşırı ilaç almam lazım ->
iki günlüğüne araç kiralamak istiyorum cumadan itibaren -> d=2026-08-14
üç gece dört gün tatil, 21 Ağustos giriş -> d=2026-08-21
20 Ağustos - 25 Ağustos arası oda var mı -> d=2026-08-20
30 agustos zafer bayraminda acikmisiniz -> d=2026-08-30
Salıya kadar yetişir mi -> d=2026-08-11
yarın akşam üstü beş buçuk altı gibi -> d=2026-08-11; t=17:30
gece on birde kapatıyorsunuz değil mi -> t=23:00
bugün öğlen on iki buçuk -> d=2026-08-10; t=12:30
Excuse me dear, might I come round on Thursday at about eleven in the morning? -> d=2026-08-13; t=11:00
Dear Sir or Madam, I should like to reserve a table on the 21st of August at half past seven in the evening. Yours sincerely, Margaret Thornton -> d=2026-08-21; t=19:30; n=Margaret Thornton
hiya u free sat arvo bout 3 -> d=2026-08-15; t=15:00
need appt asap, today 4:45 -> d=2026-08-10; t=16:45
yo can i get a cut tmrw @ 2 -> d=2026-08-11; t=14:00
Could you squeeze me in this Wednesday at quarter past ten? -> d=2026-08-12; t=10:15
Would next Thursday at 3 o'clock suit you? -> d=2026-08-20; t=15:00
Tues or Thurs, either, after 6pm -> d=2026-08-11; t=18:00
Anything on the 25th around lunchtime? -> d=2026-08-25
Let's do 8/9 at 12:30 -> d=2026-09-08; t=12:30
Could we have the room from 1 to 5 September? -> d=2026-09-01
Arriving Friday 14 August, leaving Sunday 16 August -> d=2026-08-14
We need a cot for our baby, 10 months old ->
I've changed my mind, Saturday won't do, Sunday it is -> d=2026-08-16
Please cancel Tuesday and put me down for Wednesday -> d=2026-08-12
Anything but Friday. Thursday? -> d=2026-08-13
My Monday appointment needs to move to Thursday 2pm -> d=2026-08-13; t=14:00
is the 17th any good? if not the 18th -> d=2026-08-17
two weeks on Saturday -> d=2026-08-29
a fortnight today -> d=2026-08-24
in a couple of weeks ->
in 6 weeks please -> d=2026-09-21
a month from now -> d=2026-09-10
sometime in September ->
end of the month? ->
over the weekend ->
Do you open late on Thursdays? ->
what time do you close ->
I was there last Friday ->
10 till 12 would be grand -> t=10:00
quater past 3 -> t=15:15
five to nine in the morning -> t=08:55
half eleven -> t=11:30
eleven thirty on Tuesday -> d=2026-08-11; t=11:30
at 16.15 -> t=16:15
around noonish -> t=12:00
after work, so 5:30 or 6 -> t=17:30
any time between 1pm and 3pm -> t=13:00
8 am sharp -> t=08:00
20:00 for 6 people -> t=20:00
how about seven in the evening? -> t=19:00
my kid is 7 ->
2 adults and 1 child ->
I paid 45.50 on my card ->
it says error 404 ->
2 pairs, size 38 ->
Invoice 2026/0815 is wrong ->
The ratio is 3:1 ->
We live at 14 March Road ->
version 12.4 of the app ->
you owe me $15 ->
takes about 3 to 5 days? ->
buy one get one free ->
I've called three times ->
half of it is missing ->
Me and my mate are coming, he's called Dave ->
May is my favourite waitress ->
I may be late ->
Can you ask Sarah to ring me? ->
My husband's name is Peter ->
I'm allergic to nuts ->
I am very upset with this ->
name's Bond, James Bond -> n=Bond
It's Grace Okafor again -> n=Grace Okafor
my name is mohammed al fayed and I want to book -> n=mohammed al fayed
You're speaking to Captain Harris ->
im lucy btw, number is 0044 20 7946 0958 -> n=lucy; p=+442079460958
Ring me on +90 555 123 4567 please, ask for Jim -> p=+905551234567
my cell: 555 123 45 67 -> p=+905551234567
call 0 312 555 44 33 ext 12 -> p=+903125554433
email me: BIG.JOHN@COMPANY.CO.UK! -> e=big.john@company.co.uk
(contact: anna@shop.example) -> e=anna@shop.example
my mail is tom dot jones at example dot com -> e=tom.jones@example.com
sorry typo, not tom@exmple.com but tom@example.com -> e=tom@example.com
cheers, dave -> n=dave
Thank you very much. Regards, Mrs E. Whitcombe -> n=E. Whitcombe
"""  # noqa: E501 - people write at length

# a second lot, measured once as well, after the first had been mended
_MORE = """
Gelecek salı için iki kişilik masa ayırır mısınız -> d=2026-08-18
bu salı gelemem haftaya salı gelirim -> d=2026-08-18
Perşembe hariç her gün gelebilirim ->
ayın sekizinde geliriz inşallah -> d=2026-09-08
Eylülün 3'ünde saat yarımda -> d=2026-09-03; t=12:30
yirmi dokuz ekimde açık mısınız -> d=2026-10-29
11.09.2026 cuma 11:30 -> d=2026-09-11; t=11:30
önümüzdeki ayın onunda -> d=2026-09-10
Randevum 12 Ağustos'taydı, 13 Ağustos'a alabilir miyiz -> d=2026-08-13
saat 10 değil 11'de geleceğim -> t=11:00
saat 6'yı çeyrek geçe -> t=18:15
akşam dokuza beş var -> t=20:55
sabahın 7'sinde ne işim var -> t=07:00
öğleden sonra 2-3 gibi -> t=14:00
üç buçuk dört arası -> t=15:30
yarın 11 e dogru -> d=2026-08-11; t=11:00
akşam yedi buçukta yer var mıdır -> t=19:30
tam 12'de kapıda olurum -> t=12:00
17 de cikiyorum isten -> t=17:00
gece yarısı kapanıyor mu -> t=00:00
Merhaba adım Can, cuma 16.30 için yer istiyorum, tel 0501 234 56 78 -> n=Can; d=2026-08-14; t=16:30; p=+905012345678
ben ali yarin 2 kisi gelecez -> d=2026-08-11; n=ali
Merhabalar, ismim Şule Güneş'tir -> n=Şule Güneş
Ben Okan Bey'in asistanıyım ->
Ben İzmirliyim ->
Ben Burak, Selin'in kocası -> n=Burak
kolay gelsin ben nuray arkan -> n=nuray arkan
Hakan Yıldız adıma fatura kesin ->
iyi çalışmalar, Derya Koç -> n=Derya Koç
telefonum: 0 (532) 123 4567 -> p=+905321234567
+905321234567'den arayabilirsiniz -> p=+905321234567
numara 0532 1234567 eskiydi artik 0542 7654321 -> p=+905427654321
fatura no 0532123456789 ->
hesap no 12345678-5001 ->
posta kodu 34710 ->
sipariş tutarı 3.250,75 lira ->
mail ali(at)ornek(nokta)com -> e=ali@ornek.com
ayse.k@gmail.com adresine atarsanız sevinirim -> e=ayse.k@gmail.com
cumadan cumaya çalışıyoruz desem -> d=2026-08-14
üç yıldır müşterinizim ->
bi 10 dakikaya ordayım ->
yarısını şimdi yarısını sonra ödesem ->
pazar kahvaltısı var mı ->
salı sallanır derler ->
mayıs böceği ilacı var mı ->
5'li paket ne kadar ->
1+1 daire kirası ->
9/8'lik ritim ->
4x4 araç var mı ->
06 AB 1234 plakalı arabam ->
Monday 17th at ten to four -> d=2026-08-17; t=15:50
Would 1st September suit? -> d=2026-09-01
the 12th of next month please -> d=2026-09-12
next week, maybe Wednesday, at noon -> d=2026-08-19; t=12:00
can't do Wednesday, how about Thursday at half four -> d=2026-08-13; t=16:30
Thursday's no good. Friday 2:15pm? -> d=2026-08-14; t=14:15
not this Friday, next Friday -> d=2026-08-21
rather than 2pm could we say 4pm -> t=16:00
my 3pm on Tuesday needs to become 5pm on Wednesday -> d=2026-08-12; t=17:00
book me in for 7 tomorrow evening -> d=2026-08-11; t=19:00
Saturday from 10 -> d=2026-08-15; t=10:00
tomorrow @10:45 -> d=2026-08-11; t=10:45
the day after tomorow, 9ish -> d=2026-08-12; t=09:00
three weeks today -> d=2026-08-31
in 3-4 days -> d=2026-08-13
Sept 5th thru 8th -> d=2026-09-05
5 til 7 tonight -> d=2026-08-10; t=17:00
1pm-2pm -> t=13:00
see you at two -> t=14:00
we could do 4 or 5 on Thursday -> d=2026-08-13; t=16:00
twenty to six -> t=17:40
12am -> t=00:00
shall we say eleven o clock -> t=11:00
at 1 -> t=13:00
Hi there, Tom Hardy here, calling about my bike -> n=Tom Hardy
My name is Siobhán O'Neill-Byrne -> n=Siobhán O'Neill-Byrne
I'm Priya. Can I book Friday? -> n=Priya; d=2026-08-14
I'm Canadian ->
This is ridiculous ->
I am Mrs Patel -> n=Patel
this is Aiden from Acme -> n=Aiden
I'm John's wife ->
booking for my daughter Emma ->
it's me again ->
I'm on my way ->
mobile 0532-123-45-67 or 0212-555-12-34 -> p=+905321234567
my new number is +44 20 7946 0958, the old one was +44 20 7946 0000 -> p=+442079460958
membership no. 5559876543 ->
zip 90210 ->
my case number is 05321112233 ->
ip address 192.168.1.10 ->
write to Info@Shop-Online.example, thanks -> e=info@shop-online.example
chapter 3 verse 16 ->
a 3-day course ->
a 2 hour massage ->
5k run ->
I turned 40 in March ->
we have 3 dogs ->
2 at 50% off ->
top 10 products ->
9 to 5 job ->
the 80s ->
24h service? ->
it's 3 times the price ->
march to the beat ->
windows 11 update ->
1st class delivery ->
second hand bikes ->
"""

# a third
_STILL_MORE = """
Perşembe günü öğleden sonra saat 4'e 20 kala orada olurum -> d=2026-08-13; t=15:40
Haftaya salı 10.00'da kontrole geleceğim -> d=2026-08-18; t=10:00
Bu hafta cuma olur mu -> d=2026-08-14
gelecek cuma 18:30 -> d=2026-08-21; t=18:30
15 gün sonrasına yer var mı -> d=2026-08-25
Bir sonraki pazartesi -> d=2026-08-17
ağustosun 22'si cumartesi günü akşam 7'de 8 kişiyiz -> d=2026-08-22; t=19:00
saat on biri yirmi geçiyor -> t=11:20
saat sekizi on geçe -> t=08:10
öğlen 12 buçuk gibi gelirim -> t=12:30
salı veya çarşamba öğlen -> d=2026-08-11; t=12:00
yarın değil, çarşamba günü saat 2 buçukta -> d=2026-08-12; t=14:30
Çarşambaya değil perşembeye yazın -> d=2026-08-13
cuma gelmeyeceğim, cumartesi geleceğim -> d=2026-08-15
pazartesi yerine salı günü gelebilir miyim? -> d=2026-08-11
yarin aksam 7 bucuk gibi 4 kisilik masa ayirtmak istiyorum adim serkan -> d=2026-08-11; t=19:30; n=serkan
Ofisten Elif ben, 0216 123 45 67'den ulaşabilirsiniz -> p=+902161234567; n=Elif
Ürün kodu 5321234567, fiyatı 899,90 ->
2 gün önce sipariş vermiştim ->
siparişim 3 gündür kargoda ->
5 kişilik ailem için 2 gecelik oda ->
Kapı numaramız 12, 3. kat ->
TR330006100519786457841326 ->
Vergi no: 1234567890, Kadıköy VD ->
12 ay garanti var mı ->
3/4 oranında indirim ->
Next Tuesday at a quarter to six in the evening -> d=2026-08-18; t=17:45
I'd prefer the 20th of August around 11 am -> d=2026-08-20; t=11:00
Can I come in on Monday the 24th at 2? -> d=2026-08-24; t=14:00
Wednesday isn't possible any more, let's take Thursday -> d=2026-08-13
I can't do the 12th, could we do the 13th instead? -> d=2026-08-13
Please change the booking from 6pm to 8pm -> t=20:00
Friday, 14 August 2026, 09:30 -> d=2026-08-14; t=09:30
in five days -> d=2026-08-15
this afternoon at 5 -> d=2026-08-10; t=17:00
first thing tomorrow, say 8 -> d=2026-08-11; t=08:00
we are staying for a week from the 3rd of October -> d=2026-10-03
book a room for two nights from Saturday -> d=2026-08-15
at half nine -> t=09:30
at twelve thirty -> t=12:30
no later than 4pm -> t=16:00
My email has changed from old@x.com to new@y.com -> e=new@y.com
My name is Ayse, not Ahmet -> n=Ayse
You can call me Liz. -> n=Liz
Hello I'm Mark and I need help -> n=Mark
I'm Jane's assistant ->
is Dr. Brown in today? -> d=2026-08-10
the invoice is 1,250.00 USD ->
I have been a customer for 10 years ->
the 2nd edition of the book ->
it broke after 2 days ->
the battery lasts 10 hours ->
can you do it in half an hour ->
my phone is an iPhone 12 ->
my postcode is SW1A 2AA ->
I bought 3 last time ->
1 in 5 people ->
"""

CASES = cases(_SENTENCES, MONDAY) + cases(_MORE, MONDAY) + cases(_STILL_MORE, MONDAY)

# Days that are named by another day: a holiday, a date, a week.
_BESIDE = """
29 Ekim'den sonraki pazartesi gelsem -> d=2027-11-01
29 ekimden önceki cuma -> d=2027-10-22
23 nisandan bir gün önce -> d=2027-04-22
yılbaşından sonraki ilk pazartesi olsun -> d=2027-01-04
kurban bayramından sonraki salı ->
bayramdan sonra gelirim ->
the friday after 1 january -> d=2027-01-08
the monday after christmas -> d=2026-12-28
the day after christmas -> d=2026-12-26
the monday before christmas -> d=2026-12-21
two days before 24 december -> d=2026-12-22
the friday after easter ->
squeeze me in saturday for a full head -> d=2026-11-21
the day after new year's day -> d=2027-01-02
"""

CASES += cases(_BESIDE, FRIDAY)
