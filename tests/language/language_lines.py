"""Short lines of visitors by language. None is in the detector's word lists."""

from __future__ import annotations


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


LINES: dict[str, list[str]] = {
    "tr": _lines("""
        Merhaba, yarın açık mısınız?
        kargo ücreti ne kadar acaba
        siparişim hâlâ gelmedi
        çocuk menüsü bulunuyor mu
        evet lütfen
        hayır teşekkürler
        en yakın şubeniz nerede
        öğrenci indirimi yapıyor musunuz
        bu ürün stokta kaldı mı
        rezervasyonumu iptal etmek istiyorum
        peki pazar günleri?
        iki kişilik yer ayırtabilir miyim
        bana fiyat listesi gönderir misiniz
        odada klima var mı
        köpeğimle gelebilir miyim
        kapıda ödeme kabul ediyor musunuz
        nasıl iade yapabilirim
        telefonla ulaşamadım size
        beni arar mısınız
        bisikletin freni tutmuyor
        yarım saat gecikeceğim kusura bakmayın
        diş beyazlatma acıtır mı
        hangi bankalarla anlaşmanız mevcut
        taksit oluyor mu
        denize uzaklığınız ne kadar
        tamamdır görüşürüz
        bu bedenin başka rengi var mıydı
        yarın öğleden sonra uğrayacağım
        garanti kapsamında mı bu
        kız kardeşim de gelecek
        anlamadım tekrar eder misiniz
        ya cumartesi?
        bugün hangi doktor bakıyor
        giriş saati kaçtı
        şifremi unuttum ne yapmalıyım
        ödeme sayfası hata veriyor
        çok pahalıymış
        daha ucuzu yok mu
        acil durumda kimi aramalıyım
        ne zaman geri dönersiniz
        fatura kesiyor musunuz şirkete
        yetkili biriyle görüşmek istiyorum
        aracımı bırakacak yer var mı
        kahvaltı dahil mi
        şu an açık mı dükkan
        sadece bakıyorum şimdilik
        bozuk geldi ürün
        dolgu düştü acilen bakılması lazım
        sizi nasıl bulabilirim
        kaç gün sürer
        size geçen hafta yazmıştım
        hediye paketi yapılıyor mu
        sabah erken gelsem olur mu
        hangi saatler arası müsaitsiniz
        benim için uygun değil
        bi sorum olacaktı
        selamlar kolay gelsin
        vegan seçenek yok sanırım
        öyle mi, süper
        üyeliğimi silmenizi istiyorum
        """),
    "tr-ascii": _lines("""
        yarin acik misiniz
        kargo ucreti ne kadar
        siparisim hala gelmedi
        cocuk menusu var mi
        en yakin subeniz nerede
        ogrenci indirimi yapiyor musunuz
        bu urun stokta kaldi mi
        rezervasyonumu iptal etmek istiyorum
        peki pazar gunleri
        iki kisilik yer ayirtabilir miyim
        fiyat listesi gonderir misiniz
        odada klima mevcut mu
        kopegimle gelebilir miyim
        kapida odeme oluyor mu
        nasil iade edecegim
        telefonla ulasamadim size
        beni arar misiniz
        bisikletin freni tutmuyor
        yarim saat gecikecegim
        dis beyazlatma acitir mi
        hangi bankalarla calisiyorsunuz
        taksit var mi
        denize yakin misiniz
        tamam gorusuruz
        baska rengi yok mu bunun
        ogleden sonra ugrayacagim
        garantisi devam ediyor mu
        anlamadim bir daha yazar misin
        ya cumartesi
        bugun hangi doktor bakiyor
        giris saati kacti
        sifremi unuttum
        odeme sayfasi hata veriyor
        cok pahaliymis
        daha ucuzu yok mu
        kimi aramam gerekiyor
        ne zaman donersiniz
        fatura kesiyor musunuz
        yetkiliyle gorusmek istiyorum
        arabayi nereye birakabilirim
        kahvalti dahil mi fiyata
        su an acik mi
        sadece bakiyorum
        bozuk cikti urun
        dolgum dustu acil
        kac gun surer
        gecen hafta yazmistim
        hediye paketi yapiyor musunuz
        sabah erken gelsem olur mu
        hangi saatler musaitsiniz
        bana uygun degil
        bi sorum var
        kolay gelsin
        iyi aksamlar
        tesekkurler
        uyeligimi silin lutfen
        adresi atar misiniz
        bakim ne kadara olur
        hasarli geldi paket
        yarin icin randevu alabilir miyim
        """),
    "en": _lines("""
        are you open tomorrow
        how much is shipping
        my order still hasn't arrived
        do you have a kids menu
        yes please
        no thanks
        where is your nearest shop
        any student discount?
        is this one still in stock
        I'd like to cancel my booking
        and on Sundays?
        table for two at eight
        can you send me the price list
        does the room have air conditioning
        can I bring my dog
        do you take cards
        how do I return something
        I couldn't reach you by phone
        call me back please
        my brakes don't work
        running half an hour late sorry
        does whitening hurt
        which insurance do you accept
        can I pay in instalments
        how far is the beach
        alright see you
        does it come in another colour
        I'll drop by in the afternoon
        is that covered by the warranty
        my sister is coming too
        what do you mean
        what about saturday
        who is the doctor today
        when is check in
        forgot my password
        the payment page shows an error
        that's expensive
        anything cheaper?
        whom should I call in an emergency
        when will you get back to me
        can I get an invoice
        I want to talk to a human
        somewhere to leave my car?
        is breakfast included
        u open now?
        just looking for now
        it arrived broken
        my filling fell out
        how do I find you
        how many days does it take
        I wrote to you last week
        do you gift wrap
        would early morning work
        what times are free
        that doesn't suit me
        quick question
        good evening everyone
        no vegan options then
        oh really, great
        delete my account
        """),
    "de": _lines("""
        habt ihr morgen offen?
        was kostet der Versand
        meine Bestellung ist immer noch nicht da
        gibt es eine Kinderkarte
        ja bitte
        nein danke
        wo ist die nächste Filiale
        bekommen Studenten Rabatt
        ist das noch auf Lager
        ich möchte meine Buchung stornieren
        und sonntags?
        einen Tisch für zwei bitte
        können Sie mir die Preisliste schicken
        hat das Zimmer eine Klimaanlage
        darf ich meinen Hund mitbringen
        nehmt ihr Karte
        wie kann ich etwas zurückgeben
        ich habe Sie telefonisch nicht erreicht
        rufen Sie mich bitte zurück
        meine Bremse geht nicht
        komme eine halbe Stunde später, sorry
        tut das Bleichen weh
        welche Versicherung akzeptieren Sie
        kann man in Raten zahlen
        wie weit ist es zum Strand
        alles klar, tschüss
        gibts das auch in einer anderen Farbe
        ich schaue am Nachmittag vorbei
        fällt das unter die Garantie
        meine Schwester kommt auch
        wie meinen Sie das
        und am Samstag?
        welcher Arzt ist heute da
        ab wann kann man einchecken
        Passwort vergessen
        die Zahlung klappt nicht
        das ist aber teuer
        haben Sie was günstigeres
        wen rufe ich im Notfall an
        wann melden Sie sich
        ich brauche eine Rechnung
        ich will mit einem Menschen sprechen
        wo kann ich parken
        ist das Frühstück dabei
        habt ihr grade auf
        ich schau nur
        kam kaputt an
        mir ist eine Füllung rausgefallen
        wie finde ich euch
        wie lange dauert das
        ich hatte letzte Woche geschrieben
        packt ihr Geschenke ein
        geht es auch früh morgens
        welche Zeiten sind frei
        das passt mir nicht
        kurze Frage
        guten Abend zusammen
        also nichts Veganes
        ach so, super
        loeschen Sie bitte mein Konto
        """),
    "fr": _lines("""
        vous êtes ouverts demain ?
        c'est combien la livraison
        ma commande n'est toujours pas arrivée
        il y a un menu enfant
        oui s'il vous plaît
        non merci
        où est votre magasin le plus proche
        une réduction pour les étudiants ?
        il en reste en stock ?
        je voudrais annuler ma réservation
        et le dimanche ?
        une table pour deux ce soir
        pouvez-vous m'envoyer les tarifs
        la chambre est climatisée ?
        je peux venir avec mon chien
        vous prenez la carte
        comment faire un retour
        je n'ai pas réussi à vous joindre
        rappelez-moi svp
        mes freins ne marchent plus
        j'aurai une demi-heure de retard, désolé
        est-ce que le blanchiment fait mal
        quelles mutuelles acceptez-vous
        on peut payer en plusieurs fois
        la plage est loin ?
        d'accord à bientôt
        ça existe dans une autre couleur ?
        je passerai cet après-midi
        c'est couvert par la garantie
        ma soeur vient aussi
        qu'est-ce que ça veut dire
        et samedi alors
        quel médecin est là aujourd'hui
        à quelle heure on arrive
        mot de passe oublié
        le paiement ne passe pas
        c'est trop cher
        rien de moins cher ?
        qui appeler en urgence
        quand allez-vous me répondre
        il me faut une facture
        je veux parler à quelqu'un
        où se garer
        petit déjeuner compris ?
        c ouvert la ?
        je regarde seulement
        c'est arrivé cassé
        j'ai perdu un plombage
        comment venir chez vous
        ça prend combien de jours
        je vous ai écrit la semaine dernière
        vous faites les paquets cadeaux
        tôt le matin c'est possible
        quels créneaux sont libres
        ça ne me convient pas
        une petite question
        bonsoir tout le monde
        donc rien de végétalien
        ah bon, super
        supprimez mon compte
        """),
    "es": _lines("""
        ¿abren mañana?
        cuánto cuesta el envío
        mi pedido todavía no ha llegado
        tienen menú infantil
        sí por favor
        no gracias
        dónde está la tienda más cercana
        hay descuento para estudiantes
        queda alguno en stock
        quiero cancelar mi reserva
        ¿y los domingos?
        una mesa para dos a las nueve
        me puede mandar los precios
        la habitación tiene aire acondicionado
        puedo llevar a mi perro
        aceptan tarjeta
        cómo devuelvo algo
        no pude contactar con ustedes por teléfono
        llámenme por favor
        no me funcionan los frenos
        llego media hora tarde, perdón
        duele el blanqueamiento
        con qué seguros trabajan
        se puede pagar a plazos
        está lejos la playa
        vale, hasta luego
        lo hay en otro color
        me paso por la tarde
        eso lo cubre la garantía
        también viene mi hermana
        qué quiere decir
        y el sábado
        qué médico está hoy
        a qué hora es la entrada
        olvidé mi contraseña
        el pago da error
        es muy caro
        algo más barato?
        a quién llamo si es urgente
        cuándo me contestan
        necesito factura
        quiero hablar con una persona
        donde puedo aparcar
        el desayuno está incluido
        estan abiertos ahora?
        solo estoy mirando
        llegó roto
        se me cayó un empaste
        como llego hasta alli
        cuántos días tarda
        les escribí la semana pasada
        envuelven para regalo
        podría ser temprano por la mañana
        qué horarios tienen libres
        no me viene bien
        una duda
        buenas noches a todos
        entonces nada vegano
        ah vale, genial
        borren mi cuenta
        """),
    "ru": _lines("""
        вы завтра работаете?
        сколько стоит доставка
        мой заказ так и не пришёл
        есть детское меню
        да, пожалуйста
        нет спасибо
        где ближайший магазин
        скидки студентам есть
        это ещё в наличии
        хочу отменить бронь
        а в воскресенье?
        столик на двоих
        пришлите прайс
        в номере есть кондиционер
        можно с собакой
        карты принимаете
        как вернуть товар
        не смог дозвониться
        перезвоните мне
        не работают тормоза
        опоздаю на полчаса
        отбеливание это больно
        какие страховки берёте
        есть рассрочка
        далеко до пляжа
        ладно, пока
        есть другой цвет
        зайду днём
        это по гарантии?
        сестра тоже придёт
        в смысле
        а суббота?
        кто сегодня принимает
        во сколько заезд
        забыла пароль
        оплата не проходит
        дорого
        а подешевле
        куда звонить срочно
        когда ответите
        нужен счёт
        позовите человека
        где парковка
        завтрак включён
        щас открыто?
        я просто смотрю
        пришло сломанное
        пломба выпала
        как вас найти
        сколько дней
        писал вам на прошлой неделе
        подарочная упаковка есть
        можно рано утром
        когда свободно
        мне не подходит
        вопросик
        всем добрый вечер
        ничего веганского
        ого круто
        удалите аккаунт
        """),
    "ar": _lines("""
        هل تفتحون غدا؟
        كم سعر التوصيل
        طلبي لم يصل بعد
        هل يوجد قائمة للأطفال
        نعم من فضلك
        لا شكرا
        أين أقرب فرع
        هل يوجد خصم للطلاب
        هل هذا متوفر
        أريد إلغاء الحجز
        ويوم الأحد؟
        طاولة لشخصين
        أرسلوا لي الأسعار
        هل الغرفة مكيفة
        ممكن أجيب كلبي
        تقبلون البطاقة؟
        كيف أرجع المنتج
        اتصلت ولم يرد أحد
        اتصلوا بي
        الفرامل لا تعمل
        سأتأخر نصف ساعة
        هل التبييض مؤلم
        أي تأمين تقبلون
        هل يمكن التقسيط
        كم يبعد الشاطئ
        حسنا مع السلامة
        هل يوجد لون آخر
        سأمر بعد الظهر
        هل يشمله الضمان
        أختي ستأتي أيضا
        ماذا تقصد
        والسبت؟
        من الطبيب اليوم
        متى الدخول
        نسيت كلمة السر
        الدفع لا يعمل
        غالي جدا
        شي أرخص
        بمن أتصل في الطوارئ
        متى تردون
        أحتاج فاتورة
        أريد التحدث مع موظف
        وين أوقف السيارة
        الفطور مشمول؟
        فاتحين الحين؟
        أتفرج فقط
        وصل مكسور
        سقطت الحشوة
        كيف أصل إليكم
        كم يوم يأخذ
        كتبت لكم الأسبوع الماضي
        تغليف هدايا
        الصباح الباكر مناسب
        ما المواعيد المتاحة
        لا يناسبني
        عندي سؤال
        مساء الخير جميعا
        لا يوجد نباتي
        تمام ممتاز
        احذفوا حسابي
        """),
}  # fmt: skip

SILENT = _lines("""
    14:00
    +90 532 123 45 67
    0532 111 22 33
    ayse@example.com
    https://example.com/urun/123
    ok
    OK!
    okey
    pizza
    wifi
    WhatsApp
    Instagram?
    iPhone 15
    Mercedes
    Ahmet
    Maria
    John Smith
    Maria Garcia
    Anna Schmidt
    🙂👍
    ...
    ??
    hmm
    hm
    haha
    xd
    m
    a
    XL
    12.05.2026
    100 TL
    50 €
    你好，请问几点开门
    Καλημέρα
    שלום
    """)
