"""The question back ("did you mean ...?"), what of it is kept for the next message, and which of the entries that one chooses.

What is kept travels as `Reply.dialogue`: compact JSON, of which nothing is believed when it comes back. It holds for the very
next message only, and for no longer than a day.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.domain.times import DAY_MS
from chatsvc.engines import Finding, Reply, Turn, language
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.reading import is_no, is_yes
from chatsvc.engines.reading.folding import words

_VERSION = 1
_MAX_CHARACTERS = 2_000
_MOST = 3  # questions in one "did you mean"
_WORTH = 0.5  # of the first one's score: a question that is less likely than that is not worth the visitor's eyes
_CHOICE_WORDS = 6  # a longer message is a question of its own

_TEXTS = {
    "one": {"tr": "Şunu mu demek istediniz?", "en": "Did you mean this?"},
    "several": {"tr": "Bunlardan birini mi demek istediniz?", "en": "Did you mean one of these?"},
    "which": {"tr": "Hangisini demek istediniz?", "en": "Which one did you mean?"},
    "none": {
        "tr": "Anladım. Sorunuzu başka bir şekilde yazar mısınız?",
        "en": "I see. Could you put your question in other words?",
    },
}
_LANGUAGES = ("tr", "en")
_ORDINALS = (
    "1 ilk ilki ilkini bir biri birinci birincisi birincisini first 1st one",
    "2 iki ikinci ikincisi ikincisini second 2nd two",
    "3 uc ucuncu ucuncusu ucuncusunu third 3rd three",
)
_NONE = frozenset({"hicbiri", "hicbirini", "hicbirisi", "neither", "none"})
_LAST = ("son", "sonuncu", "sonuncusu", "sonuncusunu", "last")
_PLACES = {word: place for place, ordinals in enumerate(_ORDINALS) for word in ordinals.split()} | dict.fromkeys(_LAST, -1)
# said around a number or a yes, and changing nothing
_BESIDE = """
the one number numara no option secenek olan olani soru question evet yes please lutfen i mean meant want demek istedim istiyorum
bu bunu o onu this that it is was im yani sanirim think
"""
_POINTING = frozenset({"bu", "bunu", "o", "onu", "this", "that", "it", "one"})
_AROUND = frozenset(_BESIDE.split())


def ask(turn: Turn, finding: Finding) -> Reply:
    """The question back, with what the next message may choose from."""
    entries = _likely(finding)
    return _asked(turn, "one" if len(entries) == 1 else "several", entries)


def answered(turn: Turn) -> Reply | None:
    """The reply to a message that says which of the questions asked back was meant, or that none was; None for any other message."""
    entries = _kept(turn)
    said = words(turn.message)
    if not entries or not said or len(said) > _CHOICE_WORDS:
        return None
    chosen = _by_place(said, entries) or _by_words(said, entries)
    if chosen is not None:
        return Reply(chosen.answer)
    if is_no(turn.message) or not _NONE.isdisjoint(said):
        return Reply(_text(turn, "none"))
    if is_yes(turn.message) or (_AROUND.issuperset(said) and not _POINTING.isdisjoint(said)):
        return Reply(entries[0].answer) if len(entries) == 1 else _asked(turn, "which", entries)
    return None


def _asked(turn: Turn, text: str, entries: Sequence[Entry]) -> Reply:
    kept = {"v": _VERSION, "at": turn.now_ms, "back": [entry.id for entry in entries]}
    lines = [_text(turn, text), "", *(f"- {entry.question}" for entry in entries)]
    return Reply("\n".join(lines), dialogue=json.dumps(kept, separators=(",", ":")))


def _text(turn: Turn, key: str) -> str:
    return _TEXTS[key][language.among(turn, _LANGUAGES)]


def _likely(finding: Finding) -> list[Entry]:
    """The entries worth showing: those in the language of the first one, near it in score."""
    first = finding.hits[0]
    near = [hit.entry for hit in finding.hits if hit.score >= _WORTH * first.score]
    return [entry for entry in near if primary(entry.language) == primary(first.entry.language)][:_MOST]


def _kept(turn: Turn) -> list[Entry]:
    """The entries that the last reply asked about, as far as they still are there."""
    if not turn.dialogue or len(turn.dialogue) > _MAX_CHARACTERS:
        return []
    try:
        kept = json.loads(turn.dialogue)
    except (ValueError, RecursionError):
        return []
    if not isinstance(kept, dict) or kept.get("v") != _VERSION or not isinstance(kept.get("back"), list):
        return []
    at = kept.get("at")
    if not isinstance(at, int) or abs(turn.now_ms - at) >= DAY_MS:
        return []
    wanted = [identity for identity in kept["back"] if isinstance(identity, str)][:_MOST]
    found = {entry.id: entry for entry in turn.knowledge.entries if entry.id in wanted}
    return [found[identity] for identity in wanted if identity in found]


def _by_place(said: Sequence[str], entries: Sequence[Entry]) -> Entry | None:
    """The one that "the second one", "2", "ilki" or "sonuncusu" is, where nothing else is said."""
    counted = [word for word in said if word in _PLACES and (word != "one" or len(said) == 1)]
    places = {_PLACES[word] for word in counted}
    rest = set(said) - set(counted)
    place = places.pop() if len(places) == 1 and rest <= _AROUND else len(entries)
    return entries[place] if place < len(entries) else None


def _by_words(said: Sequence[str], entries: Sequence[Entry]) -> Entry | None:
    """The only entry whose question knows all that the message says: "the delivery one", "teslimat"."""
    own = [word for word in said if word not in STOPWORDS and word not in _AROUND]
    if not own:
        return None
    knowing = [entry for entry in entries if _knows(entry, own)]
    return knowing[0] if len(knowing) == 1 else None


def _knows(entry: Entry, own: Sequence[str]) -> bool:
    held = words(entry.question)
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)
