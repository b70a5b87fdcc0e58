"""Search for a turn: its language, its follow-ups, and several questions in one message."""

from __future__ import annotations

import re
from dataclasses import replace

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import smalltalk
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.reading.folding import words

_FOLLOW_UP_WORDS = 5  # a message of at most so many words may be a follow-up
_LOOKED_BACK = 3  # earlier questions, without small talk
_SURE_TOGETHER = 0.4  # least confidence together with the earlier question, if the entry holds every word that the message adds
_OPENINGS = frozenset({"ve", "ya", "peki", "and", "also", "but"})  # of a follow-up
_POINTING = frozenset({"it", "its", "onun", "bunun", "about"})  # words that refer to the earlier question
_FEWEST = 2  # words left of a message without its opening
_COURTESY = 5  # words in one go
_ASKED_IN = 600  # characters in which several questions are told apart
_MOST_ASKED = 3
# between two questions: a full stop or the like, a word that adds another one, or the end of a Turkish one typed without a mark
_PARTS = re.compile(
    r"[?!.;\n]+(?=\s|$)|,\s+(?:and\s+)?(?:also|ayrıca|ayrica|bir de|birde)\s+|\s+(?:and also|ve ayrıca|ve ayrica|ve bir de)\s+"
    r"|(?<=\bm[ıiuü])\s+(?=(?:peki|ve|ya)\s)|(?<=\bm[ıiuü]s[ıiuü]n[ıiuü]z)\s*,?\s+(?:ve\s+)?",
    re.IGNORECASE,
)
_LOOKED_AT = 10  # entries in which the counterpart of one in another language is looked for
_PHRASINGS = 6  # other phrasings that help to find it
_LIKE = 0.05  # score from which two may be counterparts


def find(turn: Turn) -> SearchResult:
    """Search for the message; for a follow-up, together with the earlier questions."""
    said = words(turn.message)
    finding = _stripped(turn, search(turn, turn.message))
    if not said or len(said) > _FOLLOW_UP_WORDS or (finding.decision == "answer" and not _is_follow_up(said)):
        return finding
    topic = ""
    for question in _questions_before(turn):
        topic = f"{question} {topic}".strip()
        together = search(turn, f"{topic} {turn.message}")
        # the entry must hold the new words: what answers only the earlier question does not answer this one
        if together.confidence >= _SURE_TOGETHER and _holds_words(said, together.hits[0].entry):
            return replace(together, decision="answer")
        if len(words(question)) > _FOLLOW_UP_WORDS:
            break  # a whole question: what was before it is another topic
    return finding


def several(turn: Turn) -> list[Entry]:
    """Return the entries that answer the questions of a message one by one; empty if one of them has no answer."""
    asked = [part for part in parts(turn.message) if smalltalk.kind(words(part), turn.bot.name) is None]
    if not 2 <= len(asked) <= _MOST_ASKED:
        return []
    findings = [search(turn, part) for part in asked]
    if any(finding.decision != "answer" for finding in findings):
        return []
    return list({finding.hits[0].entry.id: finding.hits[0].entry for finding in findings}.values())


def parts(message: str) -> list[str]:
    """Split a message into its questions and sentences."""
    return [part for part in _PARTS.split(message[:_ASKED_IN]) if part and words(part)]


def search(turn: Turn, text: str) -> SearchResult:
    """Search for a text; an answer is given in the language of the turn, else in the bot's, else as it is found."""
    finding = _searched(turn, text)
    if finding.decision != "answer":
        return finding
    first, *rest = finding.hits
    for tongue in dict.fromkeys((language.of(turn), primary(turn.bot.language))):
        entry = first.entry if primary(first.entry.language) == tongue else _counterpart(turn.knowledge, first.entry, tongue)
        if entry is not None:
            return replace(finding, hits=(replace(first, entry=entry), *(hit for hit in rest if hit.entry.id != entry.id)))
    return finding


def _searched(turn: Turn, text: str) -> SearchResult:
    """Search in the wanted language, and in the others for an answer if that finds none."""
    shown = language.detected(turn)
    finding = turn.knowledge.search(text, turn.language, spoken=shown)
    others = {"ask": (shown,), "abstain": (shown, primary(turn.bot.language))}.get(finding.decision, ())
    for other in dict.fromkeys(others):
        if other and other != language.of(turn):
            again = turn.knowledge.search(text, other)
            if again.decision == "answer":
                return again
    return finding


def _counterpart(knowledge: Knowledge, entry: Entry, tongue: str) -> Entry | None:
    """Return the entry of the same meaning in another language: the two are each other's nearest."""
    there = _nearest(knowledge, entry, tongue)
    back = _nearest(knowledge, there, primary(entry.language)) if there else None
    return there if back is not None and back.id == entry.id else None


def _nearest(knowledge: Knowledge, entry: Entry, tongue: str) -> Entry | None:
    hits = knowledge.search(" ".join((entry.question, *entry.alt[:_PHRASINGS])), tongue, _LOOKED_AT).hits
    return next((hit.entry for hit in hits if primary(hit.entry.language) == tongue and hit.score >= _LIKE), None)


def _stripped(turn: Turn, finding: SearchResult) -> SearchResult:
    """Return the result, or a better one without the opening of the message: "thanks, and where are you?"."""
    if finding.decision == "answer":
        return finding
    told = turn.message.split()
    rest = _without_courtesies(told, turn.bot.name)
    if len(rest) > _FEWEST and (words(rest[0]) or [""])[0] in _OPENINGS:
        rest = rest[1:]
    bare = search(turn, " ".join(rest)) if len(rest) < len(told) else finding
    return bare if bare.decision == "answer" else finding


def _without_courtesies(told: list[str], name: str) -> list[str]:
    """Drop courtesies from the front of a message."""
    for length in range(min(_COURTESY, len(told) - _FEWEST), 0, -1):
        if smalltalk.kind(words(" ".join(told[:length])), name) is not None:
            return _without_courtesies(told[length:], name)
    return told


def _is_follow_up(said: list[str]) -> bool:
    """Return whether a message refers to the one before: "ve fiyatı?", "how much is it?"."""
    return said[0] in _OPENINGS or not _POINTING.isdisjoint(said)


def _questions_before(turn: Turn) -> list[str]:
    """Return the visitor's earlier questions, the last first."""
    asked = (past.content for past in reversed(turn.history) if past.role == "user")
    return [text for text in asked if words(text) and smalltalk.kind(words(text), turn.bot.name) is None][:_LOOKED_BACK]


def _holds_words(said: list[str], entry: Entry) -> bool:
    """Return whether the entry holds what the message adds: "and bananas?" after opening hours asks for bananas."""
    held = words("\n".join((entry.question, *entry.alt, entry.answer)))
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    own = [word for word in said if word not in STOPWORDS]
    if not all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own):
        return False
    return bool(own) or not concepts.isdisjoint(match.concept for match in lexicon.find(said))
