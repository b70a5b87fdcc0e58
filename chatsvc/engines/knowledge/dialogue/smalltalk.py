"""Greetings, thanks, goodbyes, "are you a bot?" and a mere "ok": answered as such where the whole message is nothing else.

The answers pretend to know nothing. They exist in Turkish and English; greetings and thanks are known in more languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from chatsvc.engines import Turn, language
from chatsvc.engines.reading.folding import words

_MAX_WORDS = 8
_LANGUAGES = ("tr", "en")

_PHRASES: dict[tuple[str, str], str] = {
    (
        "greeting",
        "tr",
    ): """iyi gunler | merhaba | merhabalar | selam | selamlar | selamun aleykum | selamin aleykum | selamunaleykum | aleykum selam | sa
        | gunaydin | iyi gunler dilerim | iyi aksamlar | tunaydin | hayirli sabahlar | hayirli gunler | hayirli aksamlar | iyi sabahlar
        | mrb | mrhb | slm | meraba | mrhaba | merabalar | nasilsiniz | nasilsin | naber | nbr | ne haber | nasil gidiyor | ne var ne yok
        | kolay gelsin | iyi calismalar | hayirli isler""",
    ("greeting", "en"): """hello | hi | hey | hiya | howdy | hello there | hi there | hey there | good morning | morning | good afternoon
        | good evening | good day | greetings | how are you | how are you doing | how are you today | how is it going | hows it going
        | how r u | whats up | what is up | sup | how do you do | helo""",
    ("greeting", "de"): "hallo | guten tag | guten morgen | guten abend | moin | servus | gruss gott | gruess gott | grussgott | wie gehts",
    ("greeting", "fr"): "bonjour | bonsoir | salut | coucou | bjr | bsr | comment ca va | ca va",
    ("greeting", "es"): "hola | buenos dias | buenas tardes | buenas noches | buenas | que tal",
    ("greeting", "ru"): "привет | здравствуйте | здравствуй | добрый день | доброе утро | добрый вечер",
    (
        "greeting",
        "ar",
    ): "مرحبا | السلام عليكم | سلام عليكم | السلام عليكم ورحمة الله وبركاته | سلام | صباح الخير | مساء الخير | أهلا | هلا | أهلا وسهلا",
    ("thanks", "tr"): """tesekkurler | tesekkur ederim | cok tesekkurler | cok tesekkur ederim | tesekkur ederiz | sagol | sag ol
        | sagolun | sag olun | cok sagol | cok sagolun | eyvallah | elinize saglik | tsk | tskler | tsk ederim | tesekkurler yardiminiz icin
        | yardiminiz icin tesekkurler | ilginiz icin tesekkurler | ilginize tesekkurler | minnettarim | allah razi olsun | mersi | harika
        | cok iyi | mukemmel | yok tesekkurler | hayir tesekkurler | yok sagol | yok sagolun | hayir sagolun""",
    ("thanks", "en"): """thanks | thank you | thank you very much | thank you so much | thanks a lot | many thanks | thx | ty | tnx | cheers
        | thanks for your help | thank you for your help | thanks so much | much appreciated | appreciate it | i appreciate it
        | great | perfect | awesome | that helps | very helpful | that was helpful | thats great | wonderful | no thanks | no thank you""",
    ("thanks", "de"): "danke | danke schon | danke schoen | dankeschon | vielen dank | danke sehr | besten dank | nein danke",
    ("thanks", "fr"): "merci | merci beaucoup | merci bien | non merci | mille mercis",
    ("thanks", "es"): "gracias | muchas gracias | mil gracias | no gracias",
    ("thanks", "ru"): "спасибо | большое спасибо | спасибо большое | благодарю",
    ("thanks", "ar"): "شكرا | شكرا جزيلا | شكرا لك | شكرا لكم",
    ("goodbye", "tr"): """gorusuruz | gorusmek uzere | hosca kal | hoscakal | hosca kalin | hoscakalin | iyi geceler | bay bay | bb
        | kendine iyi bak | kendinize iyi bakin | allaha ismarladik | gule gule | sonra gorusuruz""",
    ("goodbye", "en"): """bye | goodbye | good bye | bye bye | see you | see you later | see you soon | see ya | good night | take care
        | have a nice day | have a good day | have a great day | talk to you later | farewell | cya""",
    ("goodbye", "de"): "tschuss | tschuess | auf wiedersehen | bis bald | bis dann | schonen tag noch",
    ("goodbye", "fr"): "au revoir | a bientot | bonne journee | bonne soiree",
    ("goodbye", "es"): "adios | hasta luego | hasta pronto | chao",
    ("goodbye", "ru"): "пока | до свидания",
    ("goodbye", "ar"): "مع السلامة | إلى اللقاء",
    ("noted", "tr"): "tamam | tamamdir | tmm | anladim | anlasildi | peki | olur | oldu",
    ("noted", "en"): "okay | alright | all right | got it | i see | understood | fine | noted",
    ("noted", ""): "ok | okey | super | hmm",
    (
        "opening",
        "tr",
    ): """bir sorum var | bi sorum var | sorum var | bir sey soracagim | bi sey soracaktim | bir sey soracaktim | bi sey soracagim
        | bir sorum olacakti | bi sorum olacakti | bir sey sorabilir miyim | bi sey sorabilir miyim | bir soru sorabilir miyim
        | soru sorabilir miyim | bakar misiniz | orada misiniz | kimse var mi | iyiyim | iyiyiz | ben de iyiyim | iyiyim siz | iyiyim siz
        nasilsiniz | iyiyim sen | ya siz | ya sen""",
    ("opening", "en"): """i have a question | quick question | i have a quick question | can i ask something | can i ask a question
        | may i ask a question | can i ask you something | a question | anyone there | is anyone there | anybody there | are you there
        | im fine | i am fine | im good | i am good | im well | fine how are you | im fine how are you | im good how are you""",
    (
        "identity",
        "tr",
    ): """kimsin | kimsiniz | sen kimsin | siz kimsiniz | robot musun | robot musunuz | bot musun | bot musunuz | robotmusun
        | insan misin | insan misiniz | gercek misin | gercek insan misin | gercek bir insan misin | yapay zeka misin | yapay zeka misiniz
        | sen robot musun | sen bot musun | sen insan misin | siz robot musunuz | siz insan misiniz | bu bir bot mu | bu bot mu | adin ne
        | adiniz ne | adiniz nedir | ismin ne | isminiz ne | isminiz nedir | kiminle gorusuyorum | kiminle konusuyorum""",
    ("identity", "en"): """are you a bot | are you a robot | are you bot | are you human
        | are you a human | are you real | are you a person | are you a real person | are you an ai | are you ai
        | is this a bot | is this a robot | is this a real person | is this a human
        | am i talking to a bot | am i talking to a robot | am i talking to a human | am i talking to a person
        | am i talking to a real person | am i speaking to a human | who are you | what are you | whats your name | what is your name
        | who is this | who am i talking to""",
}
# said along with the above and changing nothing
_FILLERS = """
herkese | size | sana | hocam | abi | abla | efendim | arkadaslar | tekrar | da | de | simdilik | cok | gercekten | hepinize | ya | yaa
| there | everyone | all | again | you | for now | so | very | much | sir | madam | team | guys | and | really | then | dear | but | or
"""
_ANSWERS = {
    "greeting": {"tr": "Merhaba, ben {name}. Size nasıl yardımcı olabilirim?", "en": "Hello, I'm {name}. How can I help you?"},
    "thanks": {"tr": "Rica ederim! Başka bir sorunuz olursa buradayım.", "en": "You're welcome! I'm here if you have another question."},
    "noted": {"tr": "Tamam. Başka bir sorunuz olursa buradayım.", "en": "All right. I'm here if you have another question."},
    "goodbye": {"tr": "Görüşmek üzere, iyi günler!", "en": "Goodbye, and have a nice day!"},
    "opening": {"tr": "Buyurun, sizi dinliyorum.", "en": "Of course, go ahead."},
    "identity": {
        "tr": "Ben {name}, sorularınızı yanıtlayan otomatik bir asistanım; bir insan değilim. Size nasıl yardımcı olabilirim?",
        "en": "I'm {name}, an automated assistant that answers questions; I'm not a person. How can I help you?",
    },
}
_WAVES = frozenset("👋🤚🖐✋")
_BOWS = frozenset("🙏❤♥💐🌹👏🤝💕🥰😍😘")
_SYMBOLS = frozenset({"So", "Sk", "Mn", "Cf", "Me"})  # emoji and what shades and joins them
_STRETCHED = re.compile(r"(.)\1+")


def _plain(word: str) -> str:
    """A word as it is compared: "selammm" and "tesekürler" are what they are meant to be."""
    return _STRETCHED.sub(r"\1", word) if len(word) > 3 else word


def _split(phrases: str) -> list[tuple[str, ...]]:
    return [tuple(map(_plain, words(phrase))) for phrase in re.split(r"\|", phrases) if phrase.strip()]


_KINDS: dict[tuple[str, ...], tuple[str, str]] = {}
for _kind, _phrases in _PHRASES.items():
    for _phrase in _split(_phrases):
        _KINDS.setdefault(_phrase, _kind)
_SKIPPED = frozenset(_split(_FILLERS))
_TELLING = ("greeting", "noted", "thanks", "identity", "opening", "goodbye")  # the more telling the later
_LONGEST = max(len(phrase) for phrase in _KINDS)


def answer(turn: Turn) -> str | None:
    """A short human answer where the message is small talk and nothing else; None where it is not."""
    recognised = kind(words(turn.message), turn.bot.name) or _gesture(turn.message)
    if recognised is None:
        return None
    what, spoken = recognised
    if what == "greeting" and turn.bot.greeting and turn.bot.greeting.strip():
        return turn.bot.greeting
    return _ANSWERS[what][language.among(turn, _LANGUAGES, spoken or None)].format(name=turn.bot.name)


def asks_who(turn: Turn) -> bool:
    """Whether it asks who or what is talking: a bot's knowledge may have an answer of its own to that."""
    recognised = kind(words(turn.message), turn.bot.name)
    return recognised is not None and recognised[0] == "identity"


def kind(said: Sequence[str], name: str = "") -> tuple[str, str] | None:
    """What the words are, and in which language ("" where they do not say it); None where they are anything else too.

    Of several the most telling counts ("merhaba, tamam, teşekkürler" is thanks), and the later of two alike.
    """
    if not said or len(said) > _MAX_WORDS:
        return None
    plain, own = [_plain(word) for word in said], set(words(name))
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(said):
        length, matched = _longest(plain, at)
        if matched is not None:
            found.append(matched)
        elif not length and said[at] in own:
            length = 1
        if not length:
            return None
        at += length
    return max(reversed(found), key=lambda one: _TELLING.index(one[0]), default=None)


def _longest(said: Sequence[str], at: int) -> tuple[int, tuple[str, str] | None]:
    """How many words from `at` on are one phrase, and of which kind (None for a filler)."""
    for length in range(min(_LONGEST, len(said) - at), 0, -1):
        phrase = tuple(said[at : at + length])
        if phrase in _KINDS:
            return length, _KINDS[phrase]
        if phrase in _SKIPPED:
            return length, None
    return 0, None


def _gesture(message: str) -> tuple[str, str] | None:
    """What a message of nothing but emoji is; "?" and "..." are none."""
    shown = [char for char in message if not char.isspace()]
    if not any(unicodedata.category(char) == "So" for char in shown) or any(unicodedata.category(char) not in _SYMBOLS for char in shown):
        return None
    if not _WAVES.isdisjoint(shown):
        return "greeting", ""
    return ("thanks", "") if not _BOWS.isdisjoint(shown) else ("noted", "")
