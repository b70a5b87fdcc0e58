"""Yes, no and never mind, in both languages; and the few words that are left around a bare answer."""

from __future__ import annotations

import re

from chatsvc.engines.reading.tokenizer import fold
from chatsvc.engines.reading.vocabulary import listed

_WORD = re.compile(r"[a-z']+")
_YES = listed("""
yes yeah yep yup ya yea y sure ok okay k correct right exactly absolutely definitely certainly fine perfect great confirmed confirm
evet e eved evt hihi tamam tmm tmam tamamdir olur olurr aynen dogru elbette tabi tabii tabiki uygun uygundur uyar onayliyorum onay
kabul peki he hee hi oldu super harika mukemmel kesinlikle
ja genau oui
""")
_YES_PHRASES = (
    "that works",
    "sounds good",
    "of course",
    "go ahead",
    "please do",
    "works for me",
    "that is right",
    "thats right",
    "tabii ki",
    "tabi ki",
    "bana uyar",
    "bence uygun",
    "olur tabii",
    "why not",
    "neden olmasin",
    "no problem",
    "not a problem",
    "sorun yok",
    "sorun degil",
    "i do",
    "i would",
    "it is",
    "yes please",
    "book it",
    "onayliyorum",
    "aynen oyle",
    "evet lutfen",
    "all good",
    "that is correct",
    "thats correct",
    "thats fine",
    "that is fine",
    "looks good",
)
_NO = listed("""
no nope nah n never wrong incorrect hayir hyr hayr yok olmaz yoo cik istemem istemiyorum degil yanlis uymaz olmasin maalesef malesef
not nein non
""")
_NO_PHRASES = (
    "not really",
    "no thanks",
    "no thank you",
    "i dont",
    "doesnt work",
    "not that",
    "thats wrong",
    "that is wrong",
    "uygun degil",
    "dogru degil",
    "bana uymaz",
    "hayir tesekkurler",
    "i do not",
    "not correct",
    "not right",
    "isnt right",
    "not ok",
)
_CANCEL = (
    "cancel",
    "never mind",
    "nevermind",
    "forget it",
    "stop",
    "quit",
    "abort",
    "leave it",
    "changed my mind",
    "not interested anymore",
    "dont want",
    "do not want",
    "iptal",
    "vazgectim",
    "vazgec",
    "bosver",
    "bos ver",
    "birak",
    "gerek kalmadi",
    "istemiyorum artik",
    "artik istemiyorum",
    "kalsin",
    "unut",
    "unutun",
    "gerek yok",
    "durdur",
    "cikis",
    "no longer need",
    "vazgeciyorum",
    "start over",
    "istemiyorum",
    "lazim degil",
    "forget about it",
)
_FILLERS = listed("""
please thanks thank you that is it the well um uh oh ah lutfen tesekkurler tesekkur ederim sagolun sagol efendim canim hocam o bu sey ya so
i me for and ve de da was works evet yes mate very much it's that's thats its
""")
_LENGTH = 8  # words; more than this is a message of its own and no nod


def _words(text: str) -> list[str]:
    return [word.replace("'", "") for word in _WORD.findall(fold(text[:400]).text)]


def _says(text: str, single: frozenset[str], phrases: tuple[str, ...]) -> bool:
    words = _words(text)
    if not words or len(words) > _LENGTH:
        return False
    line = f" {' '.join(words)} "
    return (
        words[0] in single
        or any(f" {phrase} " in line for phrase in phrases)
        or next((w for w in words if w not in _FILLERS), "") in single
    )


def is_only_nod(text: str) -> bool:
    """Whether there is a yes or a no in it, and no word beside."""
    words = _words(text)
    return (is_yes(text) or is_no(text)) and (_YES | _NO | _FILLERS).issuperset(words)


def is_cancel(text: str) -> bool:
    """Whether the visitor gives the whole thing up."""
    words = _words(text)
    line = f" {' '.join(words)} "
    return (
        len(words) <= _LENGTH
        and any(f" {phrase} " in line for phrase in _CANCEL)
        and not re.search(r" (?:dont|do not|sakin) (?:cancel|iptal)", line)
    )


def is_no(text: str) -> bool:
    """Whether the answer is no; "no problem" is not one."""
    if _says(text, frozenset(), _YES_PHRASES) and not _says(text, frozenset(), _NO_PHRASES):
        return False
    return _says(text, _NO, _NO_PHRASES)


def is_yes(text: str) -> bool:
    """Whether the answer is yes."""
    return not is_no(text) and not is_cancel(text) and _says(text, _YES, _YES_PHRASES)
