"""What the bot says while it takes a request down, in Turkish and English. Data only: the flow chooses, this words it.

The bot confirms nothing and promises no hour: it notes, and a person of the business comes back to the visitor.
"""

from __future__ import annotations

from datetime import date

from chatsvc.engines.knowledge.dialogue.drafts import Draft

_DAYS = {
    "tr": ("Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi", "Pazar"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_MONTHS = {
    "tr": ("Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"),
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
    ),
}  # fmt: skip

_TEXTS: dict[str, tuple[str, str]] = {
    # the first words of a dialogue
    "open.appointment": ("Elbette, randevu talebinizi alayım.", "Of course, let me take down your appointment request."),
    "open.contact": (
        "Elbette, ekibimizin size ulaşması için notunuzu alayım.",
        "Of course, let me take a note so that our team can get back to you.",
    ),
    "open.quote": ("Memnuniyetle, teklif talebinizi alayım.", "With pleasure, let me take down your request for a quote."),
    "open.support": ("Yaşadığınız sorun için üzgünüm. Hemen not alayım.", "I'm sorry to hear that. Let me take it down for our team."),
    "open.other": ("Elbette, talebinizi ekibimiz için not alayım.", "Of course, let me take your request down for our team."),
    # questions
    "ask.date": ("Hangi gün gelmek istersiniz?", "Which day would suit you?"),
    "ask.time": ("Sizin için saat kaç uygun?", "What time would suit you?"),
    "ask.message": ("Konuyu kısaca yazar mısınız?", "Could you briefly tell me what it is about?"),
    "ask.message.contact": ("Hangi konuda görüşmek istersiniz?", "What would you like to talk about?"),
    "ask.message.quote": ("Ne için teklif istersiniz, kısaca yazar mısınız?", "What would you like a quote for?"),
    "ask.message.support": ("Ne olduğunu kısaca anlatır mısınız?", "Could you briefly tell me what happened?"),
    "ask.name": ("Adınızı alabilir miyim?", "May I have your name?"),
    "ask.contact": (
        "Size ulaşabilmemiz için telefon numaranızı ya da e-posta adresinizi yazar mısınız?",
        "Could you give me a phone number or an e-mail address where we can reach you?",
    ),
    "ask.phone": ("Telefon numaranızı yazar mısınız?", "Could you give me your phone number?"),
    "ask.email": ("E-posta adresinizi yazar mısınız?", "Could you give me your e-mail address?"),
    "ask.confirm": ("Bilgiler doğru mu? (evet / hayır)", "Is everything correct? (yes / no)"),
    "ask.change": ("Neyi değiştirelim?", "What should I change?"),
    # once not understood: an example
    "hint.date": (
        "Kusura bakmayın, günü anlayamadım. Örneğin “yarın” ya da “25 Kasım” diye yazabilirsiniz.",
        "Sorry, I didn't catch the day. You can write, for example, “tomorrow” or “25 November”.",
    ),
    "hint.time": (
        "Kusura bakmayın, saati anlayamadım. Örneğin “14:30” diye yazabilirsiniz.",
        "Sorry, I didn't catch the time. You can write, for example, “2:30 pm”.",
    ),
    "hint.message": ("Birkaç kelimeyle yazmanız yeterli.", "A few words are enough."),
    "hint.name": (
        "Kusura bakmayın, adınızı anlayamadım. Yalnızca adınızı ve soyadınızı yazabilirsiniz.",
        "Sorry, I didn't catch your name. Just your first and last name will do.",
    ),
    "hint.contact": (
        "Kusura bakmayın, okuyamadım. Numarayı rakamlarla (yurt dışıysa ülke koduyla) ya da adresi ad@ornek.com biçiminde yazabilirsiniz.",
        "Sorry, I couldn't read that. Please write a number in digits, a foreign one with its country code, or an address like a@b.com.",
    ),
    "hint.phone": (
        "Kusura bakmayın, numarayı okuyamadım. Rakamlarla, örneğin 0532 123 45 67 diye yazabilirsiniz.",
        "Sorry, I couldn't read the number. Please write it in digits, with the country code if it is a foreign one.",
    ),
    "hint.email": (
        "Kusura bakmayın, adresi okuyamadım. Örneğin ad@ornek.com biçiminde yazabilirsiniz.",
        "Sorry, I couldn't read the address. Please write it like name@example.com.",
    ),
    "hint.confirm": (
        "Kusura bakmayın, anlayamadım. “Evet” ya da “hayır” yazmanız yeterli.",
        "Sorry, I didn't catch that. A “yes” or a “no” is enough.",
    ),
    "hint.change": (
        "Kusura bakmayın, anlayamadım. Örneğin “{fields}” yazabilirsiniz.",
        "Sorry, I didn't catch that. You can write, for example, “{fields}”.",
    ),
    # twice and more: another way, and the way out
    "way.date": ("Tarihi 25.11.2026 gibi rakamlarla da yazabilirsiniz.", "You can also write the date in digits, like 25.11.2026."),
    "way.time": ("Saati 14:30 gibi rakamlarla da yazabilirsiniz.", "You can also write the time in digits, like 14:30."),
    "way.message": ("Tek bir cümle de yeterli.", "One sentence will do."),
    "way.name": ("Dilerseniz “Adım Ayşe Yılmaz” gibi yazabilirsiniz.", "You can write it like “My name is Jane Smith”."),
    "way.contact": (
        "Telefon ya da e-posta, hangisi sizin için kolaysa.",
        "A phone number or an e-mail address, whichever is easier for you.",
    ),
    "way.phone": ("Dilerseniz telefon yerine e-posta adresinizi yazabilirsiniz.", "If you prefer, give me an e-mail address instead."),
    "way.email": ("Dilerseniz e-posta yerine telefon numaranızı yazabilirsiniz.", "If you prefer, give me a phone number instead."),
    "way.confirm": ("Göndermem için “evet”, değiştirmek için “hayır” yazın.", "Write “yes” to send it or “no” to change something."),
    "way.change": ("Değiştirmek istediğiniz bilgiyi yazabilirsiniz: {fields}.", "You can name what should change: {fields}."),
    "way.out": ("Bırakmak isterseniz “vazgeçtim” yazmanız yeterli.", "If you would rather leave it, just write “cancel”."),
    # what cannot be
    "past.date": ("Bu tarih geçmiş.", "That day has already passed."),
    "past.time": ("Bu saat geçmiş.", "That time has already passed."),
    "far.date": ("Bu kadar ileri bir tarih için talep alamıyorum.", "I can't take a request that far ahead."),
    "closed.date": ("O gün kapalıyız. Çalışma saatlerimiz: {hours}.", "We are closed on that day. Our opening hours: {hours}."),
    "over.date": ("Bugün kapandık. Çalışma saatlerimiz: {hours}.", "We have already closed for today. Our opening hours: {hours}."),
    "never.date": ("Takvimde böyle bir gün yok.", "There is no such day in the calendar."),
    "closed.time": (
        "Saat {time} çalışma saatlerimizin dışında. Çalışma saatlerimiz: {hours}.",
        "{time} is outside our opening hours. We are open {hours}.",
    ),
    "hours": (
        "Çalışma saatlerimiz: {hours}. Müsaitliği ekibimiz onaylar.",
        "We are open {hours}. Our team will confirm whether the time is free.",
    ),
    "lost": ("Bu bilgi biraz geride kaldı, yeniden rica edeyim.", "That was a while ago, so let me ask again."),
    # in between
    "any.date": (
        "Hangi günlerin boş olduğunu buradan göremiyorum; size uyan bir gün yazarsanız ekibimiz onaylar.",
        "I can't see from here which days are free; if you name one that suits you, our team will confirm it.",
    ),
    "any.time": (
        "Hangi saatlerin boş olduğunu buradan göremiyorum; size uyan bir saat yazarsanız ekibimiz onaylar.",
        "I can't see from here which times are free; if you name one that suits you, our team will confirm it.",
    ),
    "why": (
        "Ekibimizin talebinizle ilgilenip size dönebilmesi için soruyorum.",
        "I ask so that our team can look after your request and get back to you.",
    ),
    "unknown": ("Bu konuda elimde bilgi yok.", "I'm afraid I don't have information on that."),
    "kind": ("Rica ederim.", "You're welcome."),
    "hello": ("Merhaba!", "Hello!"),
    "noted": ("Tamam.", "All right."),
    "no.email": ("Sorun değil, e-posta olmadan da olur.", "No problem, we can do without an e-mail address."),
    "no.phone": ("Sorun değil, telefon olmadan da olur.", "No problem, we can do without a phone number."),
    "need.contact": (
        "Anlıyorum. Ancak size dönüş yapabilmemiz için bir telefon ya da e-posta gerekiyor; istemezseniz “vazgeçtim” yazmanız yeterli.",
        "I understand. To get back to you we need a phone number or an e-mail address, though; if you'd rather not, just write “cancel”.",
    ),
    "need.name": (
        "Anlıyorum. Yalnızca adınız ya da size nasıl hitap etmemizi istediğiniz de yeterli.",
        "I understand. Just a first name, or whatever you would like to be called, is enough.",
    ),
    # the end
    "summary": ("Özetliyorum:", "Here is what I have:"),
    "done.appointment": (
        "Teşekkür ederiz, talebinizi not aldım. Randevunuz henüz kesinleşmedi; ekibimiz onay için size dönüş yapacak.",
        "Thank you, I have noted your request. The appointment is not final yet: our team will get back to you to confirm it.",
    ),
    "done": (
        "Teşekkür ederiz, talebinizi not aldım. Ekibimiz size dönüş yapacak.",
        "Thank you, I have noted your request. Our team will get back to you.",
    ),
    "cancelled": (
        "Tabii, talebinizi iptal ettim; ekibimize bir şey iletmedim. Başka bir konuda yardımcı olabilirsem buradayım.",
        "No problem, I have dropped it and no request was made. I'm here if there is anything else.",
    ),
    "given_up": (
        "Sanırım bu şekilde ilerleyemiyoruz, talebi şimdilik bırakıyorum. İstediğiniz zaman yeniden yazabilirsiniz.",
        "We don't seem to be getting anywhere this way, so I'll leave it for now. You are welcome to start again at any time.",
    ),
    # the lines of a summary, and the names of what can be changed
    "field.date": ("Tarih", "Date"),
    "field.time": ("Saat", "Time"),
    "field.name": ("Ad", "Name"),
    "field.phone": ("Telefon", "Phone"),
    "field.email": ("E-posta", "E-mail"),
    "field.message": ("Konu", "Message"),
}
_SHOWN = 160  # characters of the visitor's message in the summary


def say(key: str, language: str, **values: str) -> str:
    """One sentence."""
    return _TEXTS[key][0 if language == "tr" else 1].format(**values)


def ask(asked: str, draft: Draft) -> str:
    """The question for one thing; what a request is about is asked in the words of its kind."""
    of_kind = f"ask.{asked}.{draft.request_type}"
    return say(of_kind if of_kind in _TEXTS else f"ask.{asked}", draft.language)


def days(language: str) -> tuple[str, ...]:
    """The names of the days, Monday first."""
    return _DAYS[language]


def day(value: date, language: str) -> str:
    """`25 Kasım 2026 Çarşamba`, `Wednesday 25 November 2026`."""
    month, weekday = _MONTHS[language][value.month - 1], _DAYS[language][value.weekday()]
    return f"{value.day} {month} {value.year} {weekday}" if language == "tr" else f"{weekday} {value.day} {month} {value.year}"


def fields(draft: Draft) -> str:
    """What can be changed, in words: `tarih, saat, ad, telefon`."""
    kinds = ("date", "time", "name", "phone", "email") if draft.is_appointment else ("message", "name", "phone", "email")
    return ", ".join(say(f"field.{kind}", draft.language).lower() for kind in kinds)


def summary(draft: Draft) -> str:
    """All that was taken down, a line each."""
    about = " ".join(draft.opening.split())
    about = about if len(about) <= _SHOWN else about[: _SHOWN - 1] + "…"
    lines = (
        ("date", day(draft.day, draft.language) if draft.is_appointment and draft.day else None),
        ("time", f"{draft.clock:%H:%M}" if draft.is_appointment and draft.clock else None),
        ("message", None if draft.is_appointment else about),
        ("name", draft.name),
        ("phone", draft.phone),
        ("email", draft.email),
    )
    told = [f"- {say(f'field.{kind}', draft.language)}: {value}" for kind, value in lines if value]
    return "\n".join([say("summary", draft.language), "", *told])
