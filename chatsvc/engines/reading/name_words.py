"""The words by which names are told from other words, as data, folded."""

from __future__ import annotations

from chatsvc.engines.reading.vocabulary import listed

TITLES = listed(
    """
    dr prof doc av op uzm ogr mr mrs ms miss mx sir bay bayan sayin sn hanim bey hanimefendi beyefendi hoca hocam abi abla
    ing muh yrd teyze amca usta kaptan captain komsunuz
    doktor avukat profesor docent muhendis mimar doctor professor reverend rev lady madam
    """
)
# behind these somebody else is spoken to or about: "Teşekkürler Ayşe Hanım"
COURTESIES = listed("hanim bey hanimefendi beyefendi hoca hocam abi abla teyze amca usta kaptan")

# in the name of a business, in either language
BUSINESS = listed(
    """
    ltd sti as inc llc gmbh corp company co holding group grup lojistik yapi insaat turizm tekstil ticaret gida mobilya reklam ajans ajansi
    medya yazilim teknoloji teknolojileri otel oteli hotel restoran restaurant cafe kafe lokantasi kebap kebabi pide market marketi magazasi
    bank bankasi okulu koleji universitesi university school college hastanesi hospital klinigi clinic eczanesi pharmacy apartmani sitesi
    solutions studio studios studyo consulting danismanlik systems sistemleri logistics media services hizmetleri shop store bakery firini
    petshop kuafor kuaforu salonu oto otomotiv emlak sigorta insurance dernegi vakfi foundation plaza center merkezi spor spa gym avm
    """
)

# what somebody is, and what goes on after one has said who one is
DEMONYMS = listed(
    """
    turkum kurdum turk kurt alman ingiliz fransiz italyan rus arap turkish german english french british american canadian irish scottish
    welsh dutch italian spanish russian arab kurdish greek australian portuguese mexican brazilian chinese japanese korean indian pakistani
    iranian iraqi syrian egyptian israeli lebanese ukrainian polish romanian bulgarian serbian croatian swedish norwegian danish finnish
    swiss austrian belgian african asian european muslim christian jewish catholic protestant hindu buddhist sikh ingilizce almanca
    fransizca     cinli japon koreli suriyeli iranli azeri ozbek kurt laz cerkez musluman hristiyan alevi
    """
)
GOES_ON = listed(
    """
    and from here calling speaking again writing of with at by but need want would could can may please ve randevu rezervasyon randevum
    randevuyu siparis siparisim siparisimi gecen dun bugun yarin haftaya sizi size bir bi icin telefonum numaram tel mail mailim
    sizden hesabim kargom uyeyim uye siz tekrar yine aramistim aradim yaziyorum yazmistim gelmistim geldim musteriniz cep
    """
)


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
    tel gsm cep mobile eposta adres contact note not notu deaf blind important serious ridiculous unacceptable awful terrible amazing
    annoying
    granny grandma mum dad mom
    rezervasyonu masayi randevuyu faturayi kaydi odayi kutuyu bileti paketi siparisi kargom love
    urunu kargo urunler acil sorum soru sordum bilmiyorum bilgim
    yavrum evladim kuzum canim kardes kardesim hani btw ya yahu eski
    alabilir yapabilir gelebilir edebilir verebilir miyim miyiz olan isim ad soyad
    """)
    | TITLES
)

# names that are words: only with a capital, and beside another name
WORDS_TOO = listed(
    """
    will may mark april june august rose hope grant chase art bay ocak ekim mart aksam yedi tek kilo umut deniz kasim eylul nisan temmuz
    sen turk kurt ak tas koc al yol yeni buyuk kucuk gun ay kara oz er kirk day page ward lane park house case young english german french
    irish early best little regular sali cuma pazar su berlin london ben ince uc isik price kaya demir bulut gece bahar dogan summer winter
    """
)

# and those that are ordinary words nearly always
CAPITAL_ONLY = listed(
    "kim eve adam alan emin saniye dan ben kit zafer bayram eylem engin bilge ender beste servet adil guler ulku erdi basak"
)

# known names that are ordinary words as often: behind "ben" they take a capital, or must be all that is said
DOUBTED = listed(
    """
    deniz umut can gul inci toprak gunes yagmur bahar cicek ipek altin kaya baris sevgi doga ozgur savas hale melek pinar yaz elmas
    ege dunya yildiz sultan kader hayat irmak damla lale ada bulut poyraz ask yeter safak ufuk cinar kutlu dilek nazar meltem tekin tan
    gunay
    ceylan ates onur guven emek ilke evren ufuk bora firat dicle will may mark grace hope faith joy summer sue bill rob jack rose amber ruby
    adam alan emin saniye ruya adil zafer bayram eylem engin bilge ender duru yaprak beste oyku servet saadet sirin duygu
    gonul dursun umit dan kit crystal frank dean jean jay ray guy art max pat april june dawn ivy holly daisy lily iris olive ginger angel
    """
)
