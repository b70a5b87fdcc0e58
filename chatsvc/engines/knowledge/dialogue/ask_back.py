"""Questions back to the visitor, and the choice that the next message makes. Example: "did you mean ...?".

The state travels as `Reply.dialogue`: compact JSON that is validated when it comes back. It is valid for the next message only,
and for at most a day.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.domain.times import DAY_MS
from chatsvc.engines import Reply, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import facts, texts
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile
from chatsvc.language.yes_no import is_no, is_yes

_VERSION = 1
_MAX_CHARACTERS = 2_000
_MOST = 3  # questions in one "did you mean"
_WORTH = 0.5  # share of the first score below which an entry is not offered
_BARE_YES = 3  # words of a yes that is nothing else
_CHOICE_WORDS = 6  # a longer message is a new question

_FILE = WordFile("engines/knowledge/dialogue/ask_back.txt")
_PLACES = {word: int(place) for place, found in _FILE.group("place ").items() for word in found}
_NONE, _BESIDE, _POINTING = _FILE.words("none"), _FILE.words("beside"), _FILE.words("pointing")


def ask(turn: Turn, finding: SearchResult) -> Reply | None:
    """Return the question back, with the entries that the next message may choose from. None if no entry fits the message."""
    entries = _likely(turn, finding)
    if not entries:
        return None
    return ask_among(turn, "one" if len(entries) == 1 else "several", entries)


def answered(turn: Turn, find: Callable[[], SearchResult]) -> Reply | None:
    """Return the reply to a message that chooses one of the entries offered, or none. None for any other message.

    A message that names an entry which was not offered is a question of its own, as `find` shows.
    """
    entries = offered(turn)
    said = words(turn.message)
    if not entries or not said or len(said) > _CHOICE_WORDS:
        return None
    place = place_of(said, len(entries))
    chosen = entries[place] if place is not None else None if _is_of_another(find(), entries) else _by_words(said, entries)
    if chosen is not None:
        return Reply(chosen.answer)
    if is_no(turn.message) or not _NONE.isdisjoint(said):
        return Reply(_text(turn, "none"))
    if (is_yes(turn.message) and (len(said) <= _BARE_YES or not facts.subject(said))) or (
        _BESIDE.issuperset(said) and not _POINTING.isdisjoint(said)
    ):
        return Reply(entries[0].answer) if len(entries) == 1 else ask_among(turn, "which", entries)
    return None


def _is_of_another(finding: SearchResult, entries: Sequence[Entry]) -> bool:
    """Return whether the message is answered by an entry that was not offered."""
    return finding.decision == "answer" and finding.hits[0].entry not in entries


def ask_among(turn: Turn, text: str, entries: Sequence[Entry]) -> Reply:
    """The sentence `back.{text}` with a list of entries, which the next message may choose from."""
    kept = {"v": _VERSION, "at": turn.now_ms, "back": [entry.id for entry in entries]}
    lines = [_text(turn, text), "", *(f"- {entry.question}" for entry in entries)]
    return Reply("\n".join(lines), dialogue=json.dumps(kept, separators=(",", ":")), choices=tuple(entry.question for entry in entries))


def _text(turn: Turn, key: str) -> str:
    return texts.of(turn.bot, language.among(turn, LANGUAGES))(f"back.{key}")


def _likely(turn: Turn, finding: SearchResult) -> list[Entry]:
    """Return the entries to offer. Those in the language of the first one, near it in score, that share a word with the message."""
    first = finding.hits[0]
    near = [hit.entry for hit in finding.hits if hit.score >= _WORTH * first.score]
    alike = [entry for entry in near if primary(entry.language) == primary(first.entry.language)]
    if not facts.subject(words(turn.message)) and not facts.names_price(turn.message):
        return []
    own = [word for word in words(turn.message) if not is_light(word)]
    explained = {hit.entry.id: hit.why for hit in turn.knowledge.search(turn.message, primary(first.entry.language), explain=True).hits}
    return [entry for entry in alike if _shares(explained.get(entry.id, ()), own)][:_MOST]


def _shares(reasons: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether a word that says something explains the hit, and not a topic alone."""
    return any(reason.split(" ", 1)[0] in own for reason in reasons)


def offered(turn: Turn) -> list[Entry]:
    """Return the entries that the last reply offered, if they still exist."""
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


def place_of(said: Sequence[str], count: int) -> int | None:
    """Return the index among `count` options that a message names. Examples: "the second one", "2", "ilki", "sonuncusu"."""
    counted = [word for word in said if word in _PLACES and (word != "one" or len(said) == 1)]
    places = {_PLACES[word] for word in counted}
    rest = set(said) - set(counted)
    place = places.pop() if len(places) == 1 and rest <= _BESIDE else count
    return place % count if place < count else None


def _by_words(said: Sequence[str], entries: Sequence[Entry]) -> Entry | None:
    """The only entry whose question holds all words of the message: "the delivery one", "teslimat"."""
    own = [word for word in said if word not in STOPWORDS and word not in _BESIDE]
    if not own:
        return None
    knowing = [entry for entry in entries if _knows(entry, own)]
    return knowing[0] if len(knowing) == 1 else None


def _knows(entry: Entry, own: Sequence[str]) -> bool:
    held = words(entry.question)
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)
