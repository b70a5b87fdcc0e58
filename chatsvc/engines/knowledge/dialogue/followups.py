"""Follow-ups: messages about the last entry, or that need the visitor's earlier words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from weakref import WeakKeyDictionary

from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, Knowledge, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import ask_back, facts, smalltalk
from chatsvc.engines.knowledge.search import confidence, lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.engines.reading.folding import words
from chatsvc.engines.wordlists import WordFile

_FILE = WordFile("knowledge/dialogue/followups.txt")
_OPENINGS, _POINTING, _ACTS = _FILE.words("openings"), _FILE.words("pointing"), _FILE.words("acts")
_VERB = _FILE.pattern("verb")
_PERSON = {"person"}  # a word beside "who" may be a role that the entry does not name: "doktor kim?"
_SHORT = 5  # words of a message that may be a follow-up without saying so
_LONGEST = 9  # words of a message that may be one at all
_REPLIES = 4  # replies of the bot that are looked through for the entry spoken of
_CONTEXTS = 2  # searches with earlier words
_MOST_STATED = 4  # entries of one reply
_MOST_SENTENCES = 24  # of a reply
_MOST_CACHED = 64  # replies, for each knowledge
_stated: WeakKeyDictionary[Knowledge, dict[str, tuple[list[Entry], list[Entry]]]] = WeakKeyDictionary()
_MOST = 3_000  # entries; in more, the reply is searched for
_SEARCHED = 350  # characters of a reply that is searched for
_LOOKED_BACK = 2  # earlier questions, without small talk
_SURE_TOGETHER = 0.4  # least confidence together with the earlier question, if the entry holds every word that the message adds


@dataclass(frozen=True, slots=True)
class _FollowUp:
    """A message that may be a follow-up: kinds of fact, words of its subject, and those that an entry at hand holds."""

    kinds: frozenset[str]
    own: list[str]
    known: list[str]
    points: bool
    bare: bool  # nothing but its subject: "kahvaltı?", "and parking"


def is_open(said: Sequence[str]) -> bool:
    """Return whether a message is short enough to be a follow-up."""
    return 0 < len(said) <= _LONGEST


def is_unanswered(said: Sequence[str], finding: SearchResult) -> bool:
    """Return whether a message that finds an answer may refer to what was said before all the same."""
    kinds = facts.asked(" ".join(said))
    return (
        points(said)
        or (len(said) <= _SHORT and not facts.subject(said))
        or (bool(kinds) and not facts.states_any(finding.hits[0].entry.answer, kinds))
    )


def points(said: Sequence[str]) -> bool:
    """Whether a message refers to what was said before: "ve fiyatı?", "how much is it?"."""
    return said[0] in _OPENINGS or not _POINTING.isdisjoint(said)


def of_entry_spoken_of(turn: Turn, said: Sequence[str], finding: SearchResult) -> SearchResult | None:
    """Return the entry spoken of as the answer to a message that stays with it.

    It does where one of its sentences holds all words of the subject and the fact asked for, unless another entry is named. Where
    nothing else answers, one of the words or the fact are enough.
    """
    spoken = spoken_of(turn)
    if not spoken:
        return None
    asked = _asked(turn.message, said, [*spoken, *(hit.entry for hit in finding.hits)])
    if not asked.known and (not asked.kinds or (asked.own and asked.kinds != _PERSON)):
        return None
    stays = len(said) <= _SHORT or asked.points or bool(asked.kinds)
    for entry in spoken:
        if stays and _answers(entry, asked) and not _is_of_another(finding, entry, asked):
            return _found(finding, entry)
    for entry in spoken:
        unsure = finding.decision != "answer" or finding.hits[0].entry.id == entry.id
        if unsure and _touches(entry, asked) and _is_near(finding, entry, asked):
            return _found(finding, entry)
    return None


def _asked(message: str, said: Sequence[str], entries: Sequence[Entry]) -> _FollowUp:
    kinds = facts.asked(message)
    asking = facts.asking_words(message)
    own = [
        word for word in facts.subject(said) if not (word in _POINTING or word in _OPENINGS or word in asking or (kinds and _is_act(word)))
    ]
    known = [word for word in own if any(holds(entry, [word]) for entry in entries)]
    bare = not kinds and all(word in own or word in STOPWORDS or word in _OPENINGS for word in said)
    return _FollowUp(kinds, own, known, points(said), bare)


def _found(finding: SearchResult, entry: Entry) -> SearchResult:
    others = tuple(hit for hit in finding.hits if hit.entry.id != entry.id)
    return replace(finding, decision="answer", confidence=max(finding.confidence, confidence.ANSWER), hits=(Hit(entry, 1.0), *others))


def _answers(entry: Entry, asked: _FollowUp) -> int:
    """Return how surely an entry answers, 0 to 3. All words and the fact stand in one sentence, 3; or its title is named, 2."""
    stating = [one for one in facts.sentences(entry.answer) if not asked.kinds or not facts.stated(one).isdisjoint(asked.kinds)]
    if asked.known and any(holds_all(words(one), asked.known) for one in stating):
        return 3
    if not any(holds_all([*words(entry.question), *words(one)], asked.known) for one in stating):
        return int(bool(stating) and bool(asked.kinds) and holds(entry, asked.known))
    return 2 if holds_all(asked.own, facts.subject(words(entry.question))) else 1


def _is_of_another(finding: SearchResult, entry: Entry, asked: _FollowUp) -> bool:
    """Return whether the message names another entry rather than the one spoken of."""
    if not finding.hits or finding.hits[0].entry.id == entry.id or finding.decision == "abstain":
        return False
    other, own = finding.hits[0].entry, asked.own
    if not own or _names(entry, asked.known):
        return False
    if asked.bare and holds_all(words(other.question), own):
        return True
    if any(_names(other, [word]) and not holds_words(entry, [word]) for word in asked.known):
        return True
    if not asked.kinds:
        return finding.decision == "answer" and not holds_words(entry, asked.known)
    return _answers(other, asked) > _answers(entry, asked)


def _names(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether the title of an entry has all of the words."""
    stems = set(map(stem, words(entry.question)))
    return all(stem(word) in stems for word in own)


def _is_act(word: str) -> bool:
    """Return whether a word is a verb that names no subject of its own."""
    return word in _ACTS or bool(_VERB.fullmatch(word))


def _touches(entry: Entry, asked: _FollowUp) -> bool:
    """Return whether an entry holds a word of the subject, or the fact where no entry holds one."""
    if asked.kinds and not facts.states_any(entry.answer, asked.kinds):
        return False
    return any(holds(entry, [word]) for word in asked.known) if asked.known else bool(asked.kinds)


def _is_near(finding: SearchResult, entry: Entry, asked: _FollowUp) -> bool:
    """Return whether no other entry found holds more of the subject."""
    count = sum(holds(entry, [word]) for word in asked.known)
    return all(sum(holds(hit.entry, [word]) for word in asked.known) <= count for hit in finding.hits)


def of_fact_alone(turn: Turn, said: Sequence[str]) -> SearchResult | None:
    """Return the entry spoken of as the answer to a bare question for a fact.

    The message is short and names no subject, and the entry states the fact: "how much is it?".
    """
    kinds = facts.asked(turn.message)
    if not kinds or not said or len(said) > _SHORT or any(word not in _POINTING and word not in _OPENINGS for word in facts.subject(said)):
        return None
    stating = next((entry for entry in spoken_of(turn) if facts.states_any(entry.answer, kinds)), None)
    if stating is None:
        return None
    return SearchResult(language.of(turn), "answer", confidence.ANSWER, (Hit(stating, 1.0),))


def questions_before(turn: Turn) -> list[str]:
    """Return the visitor's earlier questions, the last first, those without an answer among them."""
    asked = (past.content for past in reversed(turn.history) if past.role == "user")
    return [text for text in asked if words(text) and smalltalk.kind(words(text), turn.bot.name) is None][:_LOOKED_BACK]


def is_sure_together(together: SearchResult, message: str) -> bool:
    """Whether a search with earlier words answers the message, and not the earlier question alone."""
    if together.confidence < _SURE_TOGETHER:
        return False
    entry, said, kinds = together.hits[0].entry, words(message), facts.asked(message)
    own = facts.subject(said)
    if own:
        return holds(entry, own)
    if facts.states_any(entry.answer, kinds):
        return True
    held = words("\n".join((entry.question, *entry.alt, entry.answer)))
    concepts = {match.concept for match in lexicon.find(held)}
    return not concepts.isdisjoint(match.concept for match in lexicon.find(said))


def contexts(turn: Turn) -> list[str]:
    """Return the words to search for along with a follow-up. The last question, the one before if that is short, the entry spoken of."""
    questions = questions_before(turn)
    found = questions[:1]
    if len(questions) > 1 and len(words(questions[0])) <= _SHORT:
        found.append(" ".join(reversed(questions)))
    found += [entry.question for entry in spoken_of(turn)[:1]]
    return found[:_CONTEXTS]


def spoken_of(turn: Turn) -> list[Entry]:
    """Return the only entry that the last reply offered. Otherwise the entries of the last reply that gave an answer."""
    back = ask_back.offered(turn)
    if len(back) == 1:
        return back
    replies = [past.content for past in reversed(turn.history) if past.role == "assistant"][:_REPLIES]
    partly: list[Entry] = []
    for reply in replies:
        stated, part = _stated_in(turn, reply)
        if stated:
            return [entry for entry in stated if entry in partly] or partly or stated
        partly = partly or part
    return partly


def _stated_in(turn: Turn, reply: str) -> tuple[list[Entry], list[Entry]]:
    """Return the entries that a reply states whole, and those of which it states a sentence. Cached, since a turn asks repeatedly."""
    known = _stated.setdefault(turn.knowledge, {})
    if reply not in known:
        if len(known) >= _MOST_CACHED:
            known.clear()
        known[reply] = _read_in(turn, reply)
    return known[reply]


def _read_in(turn: Turn, reply: str) -> tuple[list[Entry], list[Entry]]:
    entries = turn.knowledge.entries
    if len(entries) > _MOST:
        entries = [hit.entry for hit in turn.knowledge.search(reply[:_SEARCHED]).hits]
    said = facts.sentences(reply)[:_MOST_SENTENCES]
    likely = [entry for entry in entries if any(sentence in entry.answer for sentence in said)]
    own = {entry.id: facts.sentences(entry.answer) for entry in likely}
    whole = (entry for entry in likely if all(sentence in reply for sentence in own[entry.id]))
    partly = (entry for entry in likely if any(sentence in own[entry.id] for sentence in said))
    return list(islice(whole, _MOST_STATED)), list(islice(partly, _MOST_STATED))


def holds(entry: Entry, own: Sequence[str]) -> bool:
    """Whether an entry holds all of the folded words, by their stems or a concept."""
    stems, concepts = _held(entry.question, entry.alt, entry.answer)
    return all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)


def holds_words(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether an entry holds the stems of all of the folded words."""
    stems, _ = _held(entry.question, entry.alt, entry.answer)
    return all(stem(word) in stems for word in own)


def holds_all(held: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether all words of `own` stand in `held`, by their stems or a concept."""
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)


@lru_cache(maxsize=512)
def _held(question: str, alt: tuple[str, ...], answer: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems and the concepts of an entry's words."""
    held = words("\n".join((question, *alt, answer)))
    return frozenset(map(stem, held)), frozenset(match.concept for match in lexicon.find(held))
