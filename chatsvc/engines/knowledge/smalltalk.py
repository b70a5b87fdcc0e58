"""Greetings, thanks, goodbyes and a mere "ok": answered as such where the whole message is nothing else, and pretending to know nothing."""

from __future__ import annotations

from collections.abc import Sequence

from chatsvc.domain.language import primary
from chatsvc.domain.models import Bot
from chatsvc.engines.knowledge.text import words

_MAX_WORDS = 8

_PHRASES: dict[tuple[str, str], str] = {
    (
        "greeting",
        "tr",
    ): """iyi gunler | merhaba | merhabalar | selam | selamlar | selamun aleykum | aleykum selam | gunaydin | iyi gunler dilerim
        | iyi aksamlar | tunaydin | hayirli sabahlar | hayirli gunler | mrb | slm | meraba | nasilsiniz | nasilsin | naber | ne haber
        | nasil gidiyor | kolay gelsin | iyi calismalar""",
    ("greeting", "en"): """hello | hi | hey | hiya | howdy | hello there | hi there | hey there | good morning | good afternoon
        | good evening | good day | greetings | how are you | how are you doing | how is it going | hows it going | whats up
        | how do you do | helo | hallo""",
    ("thanks", "tr"): """tesekkurler | tesekkur ederim | cok tesekkurler | cok tesekkur ederim | tesekkur ederiz | sagol | sag ol
        | sagolun | sag olun | cok sagol | cok sagolun | eyvallah | elinize saglik | tsk | tskler | tesekkurler yardiminiz icin
        | yardiminiz icin tesekkurler | minnettarim | allah razi olsun | mersi | harika | cok iyi | mukemmel""",
    ("thanks", "en"): """thanks | thank you | thank you very much | thank you so much | thanks a lot | many thanks | thx | ty | cheers
        | thanks for your help | thank you for your help | thanks so much | much appreciated | appreciate it | i appreciate it
        | great | perfect | awesome | that helps | very helpful | that was helpful | thats great | wonderful""",
    ("goodbye", "tr"): """gorusuruz | gorusmek uzere | hosca kal | hoscakal | hosca kalin | hoscakalin | iyi geceler | bay bay | bb
        | kendine iyi bak | kendinize iyi bakin | allaha ismarladik | gule gule | sonra gorusuruz""",
    ("noted", "tr"): "tamam | tamamdir | anladim | anlasildi | peki | olur | oldu",
    ("noted", "en"): "okay | alright | all right | got it | i see | understood | fine | noted",
    ("noted", ""): "ok | okey | super | hmm",
    ("goodbye", "en"): """bye | goodbye | good bye | bye bye | see you | see you later | see you soon | see ya | good night | take care
        | have a nice day | have a good day | have a great day | talk to you later | farewell | cya""",
}
# said along with the above and changing nothing
_FILLERS = """
herkese | size | sana | hocam | abi | abla | efendim | arkadaslar | tekrar | da | de | simdilik | cok | gercekten | hepinize
| there | everyone | all | again | you | for now | so | very | much | sir | madam | team | guys | and | really | then | dear
"""
_ANSWERS = {
    ("greeting", "tr"): "Merhaba, ben {name}. Size nasıl yardımcı olabilirim?",
    ("greeting", "en"): "Hello, I'm {name}. How can I help you?",
    ("thanks", "tr"): "Rica ederim! Başka bir sorunuz olursa buradayım.",
    ("thanks", "en"): "You're welcome! I'm here if you have another question.",
    ("noted", "tr"): "Tamam. Başka bir sorunuz olursa buradayım.",
    ("noted", "en"): "All right. I'm here if you have another question.",
    ("goodbye", "tr"): "Görüşmek üzere, iyi günler!",
    ("goodbye", "en"): "Goodbye, and have a nice day!",
}


def _split(phrases: str) -> list[tuple[str, ...]]:
    return [tuple(phrase.split()) for phrase in phrases.split("|")]


_KINDS: dict[tuple[str, ...], tuple[str, str]] = {}
for _kind, _phrases in _PHRASES.items():
    for _phrase in _split(_phrases):
        _KINDS.setdefault(_phrase, _kind)
_SKIPPED = frozenset(_split(_FILLERS))
_TELLING = ("greeting", "noted", "thanks", "goodbye")  # the more telling the later
_LONGEST = max(len(phrase) for phrase in _KINDS)


def answer(bot: Bot, message: str, language: str | None = None) -> str | None:
    """A short human answer where the message is small talk and nothing else; None where it is not.

    It comes in `language` where that is one of ours, else in the message's, else in the bot's.
    """
    recognised = kind(words(message), bot.name)
    if recognised is None:
        return None
    what, spoken = recognised
    if what == "greeting" and bot.greeting and bot.greeting.strip():
        return bot.greeting
    tags = (primary(language or ""), spoken, primary(bot.language), "en")
    return next(_ANSWERS[what, tag] for tag in tags if (what, tag) in _ANSWERS).format(name=bot.name)


def kind(said: Sequence[str], name: str = "") -> tuple[str, str] | None:
    """What the words are, and in which language ("" where both say so); None where they are anything else too.

    Of several the most telling counts ("merhaba, tamam, teşekkürler" is thanks), and the later of two alike.
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
