"""Greetings, thanks and goodbyes: answered as such where the whole message is nothing else, and pretending to know nothing."""

from __future__ import annotations

from collections.abc import Sequence

from chatsvc.domain.models import Bot
from chatsvc.engines.knowledge.text import words

_MAX_WORDS = 8

_PHRASES: dict[tuple[str, str], str] = {
    ("greeting", "tr"): """merhaba | merhabalar | selam | selamlar | selamun aleykum | aleykum selam | gunaydin | iyi gunler dilerim
        | iyi aksamlar | tunaydin | hayirli sabahlar | hayirli gunler | mrb | slm | meraba | nasilsiniz | nasilsin | naber | ne haber
        | nasil gidiyor | kolay gelsin | iyi calismalar""",
    ("greeting", "en"): """hello | hi | hey | hiya | howdy | hello there | hi there | hey there | good morning | good afternoon
        | good evening | good day | greetings | how are you | how are you doing | how is it going | hows it going | whats up
        | how do you do | helo | hallo""",
    ("thanks", "tr"): """tesekkurler | tesekkur ederim | cok tesekkurler | cok tesekkur ederim | tesekkur ederiz | sagol | sag ol
        | sagolun | sag olun | cok sagol | cok sagolun | eyvallah | elinize saglik | tsk | tskler | tesekkurler yardiminiz icin
        | yardiminiz icin tesekkurler | minnettarim | allah razi olsun | mersi | super | harika | cok iyi | mukemmel | tamamdir""",
    ("thanks", "en"): """thanks | thank you | thank you very much | thank you so much | thanks a lot | many thanks | thx | ty | cheers
        | thanks for your help | thank you for your help | thanks so much | much appreciated | appreciate it | i appreciate it
        | great | perfect | awesome | that helps | very helpful | that was helpful | thats great | wonderful""",
    ("goodbye", "tr"): """gorusuruz | gorusmek uzere | hosca kal | hoscakal | hosca kalin | hoscakalin | iyi geceler | bay bay | bb
        | kendine iyi bak | kendinize iyi bakin | allaha ismarladik | gule gule | sonra gorusuruz""",
    ("goodbye", "en"): """bye | goodbye | good bye | bye bye | see you | see you later | see you soon | see ya | good night | take care
        | have a nice day | have a good day | have a great day | talk to you later | farewell | cya""",
}
# said along with the above and changing nothing
_FILLERS = {
    "tr": "iyi gunler | herkese | size | sana | hocam | abi | abla | efendim | arkadaslar | tekrar | da | de | simdilik | tamam | ok "
    "| peki | cok | gercekten | hepinize | kolay gelsin | iyi calismalar",
    "en": "there | everyone | all | again | you | for now | ok | okay | so | very | much | sir | madam | team | guys | and | really "
    "| then | dear",
}
_ANSWERS = {
    ("greeting", "tr"): "Merhaba, ben {name}. Size nasıl yardımcı olabilirim?",
    ("greeting", "en"): "Hello, I'm {name}. How can I help you?",
    ("thanks", "tr"): "Rica ederim! Başka bir sorunuz olursa buradayım.",
    ("thanks", "en"): "You're welcome! I'm here if you have another question.",
    ("goodbye", "tr"): "Görüşmek üzere, iyi günler!",
    ("goodbye", "en"): "Goodbye, and have a nice day!",
}


def _split(phrases: str) -> list[tuple[str, ...]]:
    return [tuple(phrase.split()) for phrase in phrases.split("|")]


_KINDS: dict[tuple[str, ...], tuple[str, str]] = {}
for _kind, _phrases in _PHRASES.items():
    for _phrase in _split(_phrases):
        _KINDS.setdefault(_phrase, _kind)
_SKIPPED = {phrase: (None, spoken) for spoken, phrases in _FILLERS.items() for phrase in _split(phrases)}
_LONGEST = max(len(phrase) for phrase in _KINDS)


def answer(bot: Bot, message: str) -> str | None:
    """A short human answer where the message is small talk and nothing else; None where it is not."""
    recognised = kind(words(message), bot.name)
    if recognised is None:
        return None
    what, spoken = recognised
    if what == "greeting" and bot.greeting and bot.greeting.strip():
        return bot.greeting
    return _ANSWERS[what, spoken].format(name=bot.name)


def kind(said: Sequence[str], name: str = "") -> tuple[str, str] | None:
    """("greeting" or "thanks" or "goodbye", "tr" or "en") where the words are nothing else; the last that is said counts,

    but a greeting gives way to thanks and goodbye ("merhaba, teşekkürler").
    """
    if not said or len(said) > _MAX_WORDS:
        return None
    own = set(words(name))
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(said):
        length, matched = _longest(said, at)
        if matched is not None:
            found.append(matched)
        elif not length and said[at] in own:
            length = 1
        if not length:
            return None
        at += length
    weighty = [one for one in found if one[0] != "greeting"]
    relevant = weighty or found
    return relevant[-1] if relevant else None


def _longest(said: Sequence[str], at: int) -> tuple[int, tuple[str, str] | None]:
    """How many words from `at` on are one phrase, and of which kind (None for a filler)."""
    for length in range(min(_LONGEST, len(said) - at), 0, -1):
        phrase = tuple(said[at : at + length])
        if phrase in _KINDS:
            return length, _KINDS[phrase]
        if phrase in _SKIPPED:
            return length, None
    return 0, None
