"""The words the grammar knows, as data: each symbol with the folded words that mean it, Turkish and English side by side.

A symbol is what the rules of `dates` and `times` are written in. A word stands under one symbol only; where the two
languages collide ("on", "ten", "may"), the symbol is that of the word, and the rules decide from its neighbours.
"""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """Words written down with blanks between them."""
    return frozenset(words.split())


def forms(stems: str, endings: str) -> str:
    """Each stem, bare and with each ending."""
    return " ".join(stem + ending for stem in stems.split() for ending in ("", *endings.split()))


# `Dt0` is Turkish Monday, `De6` English Sunday: "her pazartesi" is "every", "see her Monday" is not.
WEEKDAYS = {
    "Dt0": "pazartesi pzt pts",
    "Dt1": "sali",
    "Dt2": "carsamba crs crsb",
    "Dt3": "persembe prs prsmb",
    "Dt4": "cuma",
    "Dt5": "cumartesi cmt cts",
    "Dt6": "pazar pazr pzar",
    "De0": "monday mon",
    "De1": "tuesday tue tues",
    "De2": "wednesday weds wed",
    "De3": "thursday thu thur thurs",
    "De4": "friday fri",
    "De5": "saturday sat",
    "De6": "sunday sun",
}
# "Do you open on Sundays?" asks for no day.
RECURRING = """
pazartesileri salilari carsambalari persembeleri cumalari cumartesileri pazarlari mondays tuesdays wednesdays thursdays
pazartesiler salilar carsambalar persembeler cumalar cumartesiler pazarlar
fridays saturdays sundays weekdays weekends gunleri sabahlari aksamlari geceleri oglenleri daily gunluk
"""
MONTHS = {
    1: "ocak january jan",
    2: "subat february feb sub",
    3: "mart march mar",
    4: "nisan april apr nis",
    5: "mayis may",
    6: "haziran june jun haz",
    7: "temmuz july jul",
    8: "agustos august aug agu",
    9: "eylul september sept sep eyl",
    10: "ekim october oct",
    11: "kasim november nov",
    12: "aralik december dec",
}

# symbol: words. Inflected forms of the Turkish words are made by `words.py` for the symbols in INFLECTED.
SYMBOLS = {
    # days
    "today": "bugun bgun bugn bgn 2day today tday",
    "tomorrow": "yarin yarn yrn yarinki tomorrow tmrw tmr tmrrw 2morrow 2moro tomo tomoz tommorow tomorow tommorrow",
    "obur": "obur oburku obursu oburu oburki",
    "ertesi": "ertesi",
    "tonight": "tonight tonite 2nite tonigh",
    "day": "gun gunu gunun gune gunde gunden gunluk day days gunki gunku gunune gununde gunler",
    "week": "hafta haftanin haftaki haftada haftadan week weeks wk wks",
    "nextweek": "haftaya haftayaki",
    "fortnight": "fortnight",
    "weekend": "weekend haftasonu haftaici hs",
    "month": "ay aya ayda ayki month months aydan",
    "ayin": "ayin ayinin aynin",
    "year": "yil yili yilda sene seneye senesi year years yrs",
    "hour": "hour hours saatlik saatligine hr",
    "minute": "dakika dk dakikaya dakikalik dakkaya dakka minute minutes min mins",
    "next": "gelecek sonraki next nxt",
    "coming": "onumuzdeki coming upcoming gelen",
    "this": "bu this",
    "road": "road rd lane avenue ave drive square cadde cad sokak sok mah st street "
    + forms(
        "caddesi sokagi bulvari mahallesi meydani parki koprusu universitesi lisesi okulu ilkokulu stadi stadyumu hastanesi apartmani"
        " sitesi duragi istasyonu kampusu carsisi pasaji plazasi camii",
        "n na ne nda nde ndan nden nin ni ndaki ndeki ndayim ndeyim ndayiz ndeyiz",
    ),
    "came": "geldim geldik gelmistim gelmistik oradaydim oradaydik ugradim ugramistim gittim gittik gitmistim gelmis ordered came visited "
    "bought",
    "past": "gecen gectigimiz last previous onceki evvelki evvelsi",
    "ago": "once ago evvel earlier",
    "later": "sonra sonraya sonrasi sonrasina sonrasinda later snr sonraki sora",
    "dun": "dun dunku dunden yesterday yesterdays yday",
    "now": "now simdi",
    "time": "time zaman",
    "every": "every each",
    "her": "her",
    # parts of the day
    "morning": "sabah sabahin sabaha sabahtan sabahleyin sabahki sabahi sabahina sabahin sabahindan mornin morning morn",
    "noon": "oglen ogle ogleyin oglene noon midday ogleye oglende oglenleyin oglenki ogleni oglenine noonish",
    "afternoon": "afternoon ikindi aftrnoon arvo ikindiye",
    "evening": "aksam aksama aksamustu aksamuzeri aksamleyin aksamki aksami aksamina aksamin aksaminda aksamdan evening eve aksm",
    "night": "gece gecenin geceye geceleyin geceki gecesi gecesine gecesinde night nite",
    "midnight": "midnight",
    "am": "am",
    "pm": "pm",
    # the clock
    "saat": "saat saati saatte saate saatler saatini saatten saatine saatinde clock",
    "oclock": "oclock",
    "hrs": "hrs h ",
    "ish": "ish",
    "half": "half haf",
    "bucuk": "bucuk bucukta bucuga bucugu bucuktan bucukda bucukdan bcuk",
    "yarim": "yarim",
    "yarimda": "yarimda yarima yarimdan",
    "quarter": "quarter quater qarter quartr qtr ceyrek cyrek",
    "kala": "kala var",
    "geciyor": "geciyor gece gecerken geceden gecede",
    "to": "to",
    "than": "than",
    "maybe": "maybe perhaps belki say",
    "past_": "past",
    "gibi": "gibi civari civarinda civar sularinda sulari suları siralari siralarinda raddelerinde dogru cibi gbi civarlarinda",
    "arasi": "arasi arasinda arasina arasindaki arasinin",
    "around": "around about bout arnd arround approx approximately roughly circa abt yaklasik tam sharp",
    "at": "at",
    "by": "by from since between btw beetween",
    "after": "after aftr",
    "till": "before until til till untill",
    "inside": "within inside",
    # connecting words
    "on": "on",
    "in": "in",
    "for": "for icin adina",
    "of": "of",
    "the": "the",
    "a": "a an",
    "and": "and ve ile ila ve/veya",
    "or": "or veya yahut ya",
    "neg": "not degil diil degilim degiliz degildir instead",
    "unit": """
    tl lira liraya liralik try usd eur gbp euro euros avro dolar dollars dollar pound pounds bucks quid sterlin kurus cents pence kisi
    kisiyiz kisilik kisiye kisiler kisinin tane adet kilo kg gr gram cm mm km m m2 metre metrekare litre lt ml beden numara numarali
    numarada yas yasinda yasindayim yasindaki yasim yasimda percent yuzde kat katta katli oda odali daire dairede taksit taksitle
    porsiyon paket kutu cesit cocuk cocugum cocuklu yetiskin puan yildiz parca defa kere kez seans people persons person guests
    guest adults adult kids kid children pax pieces piece items item copies copy pairs pair boxes box bottles bottle nights
    stars points times years-old yo gb mb tb inch inches ft feet miles mile lbs lb oz metres meters meter rooms beds tickets
    ticket seats cups cup percent plus ton tonluk kisilk bolum ders sayfa madde adim bilet masa koltuk yatak arac araba ev
    ogrenci misafir misafirimiz arkadas gecelik bin milyon hundred thousand million yuz degrees derece students friends dogs cats
    shirts chairs tables months-old apples eggs bags tanesi tanesini tanem adetlik kalem model seri nolu nolu cift cifti hane koli
    kilos kgs grams litres liters pints slices portions plates servings boyunda boyundayim boyu boyum boylarinda
    """
    + forms(
        "kisi yas beden numara kilo metre adet tane paket kutu oda daire lira porsiyon taksit puan derece",
        "den dan ten tan e a ye ya de da te ta yi yu nin in un ler lar leri lari lik luk lige luga likler sindan sinden indan inden"
        " sina sine ina ine sinda sinde undan unda sinin iz yiz",
    ),
    "label": """
    no nr numara numarasi numaram numarali number num daire oda kat kapi blok sokak sok cadde cad room flat apartment apt floor suite
    building block house street version surum versiyon v ver order siparis fatura invoice gate bus otobus size beden level seviye
    step masa table page sayfa bolum chapter yas age aged yasi kod kodu code puan score skor perona peron platform channel kanal
    line hat bolge plaka iphone windows android ios macos galaxy model ps playstation formula type tip zone terminal ward grade sinif
    section     ages build firmware ubuntu python java debian fedora kernel driver surumu surum excel fiyati ucreti tutari price cost costs
    part kisim seat koltuk lot question soru option secenek madde phase faz item article
    """,
    "ordinal1": "ilk",
    "son": "son",
    "hundred": "yuz bin milyon hundred thousand million milyar billion",
    "greet": "gunaydin",
    # after a bare number these may stand without making it a count of something
    "ok": """
    please pls plz would is if but with works work ok okay good fine then thanks thank thx when so because can could do does i we you
    my maybe instead possible available free suit suits sound sounds as unless latest earliest onwards are that will be should
    its it great perfect id im i'm me us how what lutfen uygun uygundur olur olsun olabilir olursa musait bos mumkun
    tamam de da te ta mi mu alabilir alabilirmiyim rica istiyorum isterim istiyoruz gelsem gelsek gelebilir gelirim geliriz gelirsem
    gelecegim randevu rezervasyon ayarla ayarlar ayarlayalim yaz yazin yazar yazalim koy koyalim al alalim alir alirsaniz yapalim yapsak
    iyi diyelim desek olarak ama fakat eger ise sey bekliyorum bekleriz lazim sizin bizim benim bana bize size nasil olurmu
    degilse falan filan bence goruselim gorusuruz bulusalim orada orda burada onwards deriz gelmek appointment booking
    there here come meet see call arrive opening slot anything everything either too best better also lets musaitim yer
    uygunum uygunuz geliyorum ugrarim ugrasam ugrayacagim cikip gec erken any kadar itibaren dek onwards ust
    """,
}

SYMBOLS["rejected"] = """
yerine olmaz olmuyor olmasin olamaz olmayacak uymaz uymuyor uymadi uymayacak haric disinda gelemem gelemiyorum gelemeyecegim
gelemeyiz gelemiyoruz imkansiz iptal dolu doluyum doluyuz kapali yanlis kullanmiyorum kullanilmiyor istemiyorum yetisemem
yetisemiyorum calismiyor gecersiz silin silinsin unutun kapandi kapattim degildi eskiydi eskidi olmadi toplantim mesgulum dersim
"""

# The words of `wanted.py`. Before what is rejected (those of English also behind it), behind it, between it and what is wanted.
NOT_BEFORE = listed("""
not instead rather except isnt arent wasnt cant cannot couldnt wont wouldnt dont doesnt didnt nor neither than old former previous
eski eskisi wrong delete remove unavailable busy cancel
""")
NOT_BEHIND = frozenset(SYMBOLS["rejected"].split()) | listed("degil degildir diil degilim degiliz")
NOT_BEHIND_EN = listed("""
not isnt doesnt dont wont cant cannot couldnt wouldnt bad impossible full busy wrong out unavailable outdated closed old dead
invalid gone
""") | {"no good", "not good"}
NEGATED_QUESTION = listed("we i you u they he she it")
NO_REJECTION = listed("before until earlier later after sure forget only mind hesitate if")
CORRECTIONS = listed("""
pardon sorry actually yok oops ops wait correction rather scratch duzeltiyorum duzeltme aslinda hayir no dogrusu mean make dedim demistim
""") | {"make it", "make that", "lets make it"}
MOVES = ("ertele", "tasi", "degistir", "kaydir", "otele", "aktar", "cekelim", "cekebil", "moving", "move", "change", "reschedul", "postpon",
         "push", "shift", "switch", "swap", "bring", "guncelle", "update", "rebook", "becom")  # fmt: skip

INFLECTED = ("today", "tomorrow", "obur")

# What is served at a part of the day, and is no time: öğle menüsü, midnight buffet. Beginnings of words.
SERVED = (
    "menu", "servis", "yemeg", "yemek", "paket", "namaz", "uyku", "buf", "kahve", "snack", "wedding", "tea", "nap", "prayer", "meal",
    "price", "sun", "train", "special", "deal", "cruise", "feast", "mass", "paint", "dress", "cream",
)  # fmt: skip

# Several words that are one, longest first when they are looked up.
PHRASES = {
    "afternoon": ["ogleden sonra", "ogleden snr", "ogledn sonra", "oglenden sonra", "ogleden sonraya", "after noon", "after lunch"],
    "morning": ["ogleden once", "oglenden once", "sabaha karsi", "sabahin koru", "before noon", "before lunch", "sabah sabah"],
    "evening": ["aksam ustu", "aksam uzeri"],
    "midnight": ["gece yarisi", "gece yarisinda"],
    "duration": [
        "half an hour", "half hour", "yarim saat", "yarim saatlik", "yarim saate", "ceyrek saat", "quarter of an hour", "quarter hour",
        "half a day", "yarim gun", "yarim kilo", "half day", "bir saat", "bir saatlik", "an hour", "a half hour",
    ],
    "meal": [
        "ogle yemegi", "ogle yemegine", "ogle arasi", "ogle tatili", "ogle molasi", "ogle arasinda", "aksam yemegi", "aksam yemegine",
        "sabah kahvaltisi", "ogle namazi", "noon break",
    ],
    "greet": [
        "good morning", "good evening", "good afternoon", "good night", "iyi aksamlar", "iyi geceler", "hayirli sabahlar", "iyi gunler",
        "iyi sabahlar", "hayirli aksamlar", "iyi oglenler", "tunaydin", "hayirli gunler", "nice evening", "nice day", "great day",
        "good day", "lovely evening", "lovely day", "nice morning", "nice night", "great evening", "iyi haftalar", "iyi hafta sonlari",
        "gd morning", "hayirli cumalar", "iyi pazarlar", "hayirli sabahlar", "mutlu sabahlar",
    ],
    "today": ["bu gun", "bu gune"],
    "makeit": ["make it", "make that", "lets do", "lets say", "lets make it", "how about", "what about"],
    "rejected": ["no good", "not good"],
    "came": ["was there", "were there"],
    "x": ["too early", "too late", "cok erken", "cok gec", "a problem", "a bit early", "a bit late", "biraz erken", "biraz gec"],
    "weekend": ["hafta sonu", "hafta sonunda", "hafta sonuna", "hafta ici", "hafta icinde", "hafta sonlari", "week end"],
    "nodate": [
        "black friday", "blue monday", "midnight blue", "noon prayer", "manic monday", "ash wednesday", "thank god its friday",
        "good friday", "cyber monday", "sali pazari", "pazar yeri", "pazar yerinde", "pazar arabasi", "pazar cantasi",
        "pazar payi", "pazar arastirmasi", "pazar alisverisi", "pazar esnafi", "pazar tezgahi", "pazar filesi", "online pazar",
        "cuma namazi", "sunday roast", "sunday times", "friday prayer", "friday prayers", "saturday night fever", "sunday best",
        "pazar kahvaltisi",
        "sali sallanir", "ruby tuesday", "24 saat", "7 gun 24 saat", "mayday", "sunday school", "fresh friday",
        "same day", "one to one", "1 to 1", "one on one", "yarimda biraktim", "yarimda kaldi", "yarimda kalan",
        "yarimda birakilan", "ayni gun", "every day", "her gun", "next day delivery", "birthday", "dogum gunu", "is gunu", "working days",
        "business days", "is gununde", "business day", "is gunune", "resmi tatil",
    ],
    "label": ["table for", "party of", "group of", "family of", "team of", "there are", "there will be", "we are", "we will be"],
    "neg": ["anything but", "any day but", "any time but", "anytime but", "all but", "everything but"],
    "oclock": ["o clock", "o ' clock"],
    "or": ["ya da", "or maybe", "veyahut da"],
    "anytime": ["any day", "hangi gun", "ne zaman", "her zaman", "what day", "which day"],
    "nextweek": ["onumuzdeki hafta", "gelecek hafta", "sonraki hafta", "bir sonraki hafta", "next week", "coming week", "following week",
                 "the following week", "gelcek hafta", "onumuzdeki haftaya", "gelecek haftaya", "gelecek haftanin", "onumuzdeki haftanin",
                 "next weeks", "next wk", "haftaya hafta", "gelecek haftaki"],
    "afternext": ["week after next", "obur hafta", "obur haftaya", "obur haftanin", "obursu hafta", "oburku hafta", "iki hafta sonraki"],
    "thisweek": ["this week", "bu hafta", "bu haftaki", "bu haftanin", "bu hafta icinde", "bu hafta ici"],
    "thismonth": ["this month", "bu ayin", "bu ay"],
    "nextmonth": ["next month", "gelecek ay", "gelecek ayin", "onumuzdeki ay", "onumuzdeki ayin", "sonraki ayin", "sonraki ay",
                  "bir sonraki ayin", "following month", "the following month", "coming month", "gelcek ayin", "gelcek ay"],
    "lastday": ["ayin sonu", "ay sonu", "end of the month", "month end"],
}  # fmt: skip

# A wrongly typed word is looked for among these alone, where it is long enough to be no other word.
TYPO_SYMBOLS = ("today", "tomorrow", "nextweek", "coming")
# one slip away from a word above, and words of their own
NO_TYPOS = listed(
    "sundae sunny mandat monde moray pazarlik pazarlama pazari cumali gunay marsh match matches parch augusta onumuzde salin salim"
    " mondial fridge sundays sundry aprin moved karim kadim surat kanim kavim sunay nissan nihan"
    " kalim kasip frida kasit kastim sebat kasin ayril kapim kasif marco maris marcy mavis mayes marche marca sundan satirda samuray"
    " patatesi pazaryeri deceiver sturdy haftayi onumdeki onunuzdeki aradik araclik auguste augusto matis hastaya haftalik"
    " haftada halfway toddy"
)

SHORT_FORMS = listed(
    "tues thurs weds prsmb mon tue wed thu thur fri sat sun jan feb mar apr jun jul aug sept sep oct nov dec pzt pts crs prs cmt cts"
)
NO_TYPO_STEMS = ("kesim", "kasik", "kisim", "kazim", "kasap", "merch", "avril", "subay", "hazirla", "martha", "mayin")

CARDINALS_TR = {
    1: "bir", 2: "iki", 3: "uc", 4: "dort", 5: "bes", 6: "alti", 7: "yedi", 8: "sekiz", 9: "dokuz", 10: "on", 20: "yirmi", 30: "otuz",
    40: "kirk", 50: "elli",
}  # fmt: skip
CARDINALS_EN = {
    1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten", 11: "eleven",
    12: "twelve", 13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen", 19: "nineteen",
    20: "twenty", 30: "thirty", 40: "forty", 50: "fifty",
}  # fmt: skip
ORDINALS_EN = {
    1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 9: "ninth", 10: "tenth",
    11: "eleventh", 12: "twelfth", 13: "thirteenth", 14: "fourteenth", 15: "fifteenth", 16: "sixteenth", 17: "seventeenth",
    18: "eighteenth", 19: "nineteenth", 20: "twentieth", 30: "thirtieth",
}  # fmt: skip
# Number words that are other words more often: they count only where a rule asks for them outright.
DOUBTFUL_NUMBERS = listed("on ona onu onda ondan onun bir biri bire birde birden birinde birine birini ikide ikisi ikisini one first"
                             " second third yedi altina altinda ucu birinci ikisinde birinden ikisine onunda onuna onunu"
                             " onundan ondaki ucuna ucunu")  # fmt: skip

# what hangs on a number or a name, by case; the letters are folded, so that ı and i, ü and u are one
CASES = {
    "loc": "da de ta te daki deki taki teki",
    "abl": "dan den tan ten",
    "dat": "a e ya ye",
    "acc": "i u yi yu",
    "pos": "si su",
    "gen": "nin nun in un",
    "psl": "inde unda unde inda sinda sinde sunda indeki undaki",
    "psd": "ine una une ina sina sine",
    "psa": "ini unu sini sunu",
    "psb": "inden undan unden indan sindan sinden",
    "ins": "le la yle yla",
    "ord": "st nd rd th inci uncu nci ncu",
}
