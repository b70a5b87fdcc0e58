"""Follow-ups: messages about the last entry, or that need the visitor's earlier words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import facts, smalltalk, spoken
from chatsvc.engines.knowledge.search import confidence, lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.folding import words
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/followups.txt")
_OPENINGS, _POINTING, _ACTS = _FILE.words("openings"), _FILE.words("pointing"), _FILE.words("acts")
_WISHED = frozenset(map(stem, _FILE.words("wished")))
_VERB = _FILE.pattern("verb")
_OF_MATTER = frozenset({"money", "duration", "quantity", "frequency"})  # facts of a matter rather than of the business
_PERSON = {"person"}  # a word beside "who" may be a role that the entry does not name: "doktor kim?"
_SHORT = 5  # words of a message that may be a follow-up without saying so
_PLAIN = 7  # words of one that names no subject
_LONGEST = 9  # words of a message that may be one at all
_TOLD_BEFORE = 3  # replies in whose entries a fact without a subject is looked for
_RIVALS = 3  # hits of a search with earlier words that may state the fact asked for
_SURELY = 3  # an entry has one sentence with all that is asked for
_ROOT = 4  # letters that two forms of a verb have in common: "duruyo", "durur"
_CONTEXTS = 2  # searches with earlier words
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
    """Return whether an answered message may still refer to what was said before."""
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
    current = spoken.last(turn)
    if not current:
        return None
    asked = _asked(turn.message, said, current, finding)
    if not asked.own and not asked.kinds:
        return _without_subject(said, current, finding)
    if not asked.known and (not asked.kinds or (asked.own and asked.kinds != _PERSON)):
        return None
    if other := _titled_otherwise(current, asked, finding):
        return _found(finding, other)
    stays = len(said) <= _SHORT or asked.points or bool(asked.kinds)
    for entry in current:
        if stays and _answers(entry, asked) and not _is_of_another(finding, entry, asked):
            return _found(finding, entry)
    for entry in current:
        unsure = finding.decision != "answer" or finding.hits[0].entry.id == entry.id
        if unsure and _touches(entry, asked) and _is_near(finding, entry, asked):
            return _found(finding, entry)
    return None


def of_entry_with_verb(turn: Turn, said: Sequence[str]) -> SearchResult | None:
    """Return the entry spoken of for a question for its place: "where are they kept?".

    The message points to the entry and has one of its verbs.
    """
    if "place" not in facts.asked(turn.message) or _POINTING.isdisjoint(said):
        return None
    roots = tuple(word[:_ROOT] for word in said if _is_act(word))
    current = next((entry for entry in spoken.last(turn) if any(word.startswith(roots) for word in words(entry.answer))), None)
    return SearchResult(language.of(turn), "answer", confidence.ANSWER, (Hit(current, 1.0),)) if current else None


def _titled_otherwise(current: Sequence[Entry], asked: _FollowUp, finding: SearchResult) -> Entry | None:
    """Return the only entry found whose title has the subject and that states the fact. None if one spoken of does both."""
    if not asked.kinds or not asked.own or any(_names(one, asked.own) or _answers(one, asked) == _SURELY for one in current):
        return None
    titled = [hit.entry for hit in finding.hits if _names(hit.entry, asked.own) and facts.states_any(hit.entry.answer, asked.kinds)]
    return titled[0] if len(titled) == 1 else None


def _without_subject(said: Sequence[str], current: Sequence[Entry], finding: SearchResult) -> SearchResult | None:
    """Return the entry spoken of for a message without subject and fact. It is found, if barely, or has one of the other words."""
    if finding.decision == "ask" and finding.hits[0].entry in current and len(said) > 1:
        return _found(finding, finding.hits[0].entry)
    beside = [word for word in said if word.isalpha() and not (word in STOPWORDS or word in _POINTING or word in _OPENINGS)]
    sharing = next((entry for entry in current if any(holds_words(entry, [word]) for word in beside)), None)
    stays = points(said) or len(said) <= _PLAIN
    return _found(finding, sharing) if sharing and finding.decision != "answer" and stays else None


def _asked(message: str, said: Sequence[str], current: Sequence[Entry], finding: SearchResult) -> _FollowUp:
    kinds = facts.asked(message)
    first = [hit.entry for hit in finding.hits[:1] if finding.decision == "answer" and facts.states_any(hit.entry.answer, kinds)]
    # a verb is no subject, unless the answer has it: "is the book included?"
    acts = {word for word in said if kinds and _is_act(word) and not any(holds_words(entry, [word]) for entry in first)}
    beside = {*facts.asking_words(message), *acts, *_POINTING, *_OPENINGS}
    own = [word for word in facts.subject(said) if word not in beside]
    known = [word for word in own if any(holds(entry, [word]) for entry in (*current, *(hit.entry for hit in finding.hits)))]
    bare = not kinds and all(word in own or word in STOPWORDS or word in _OPENINGS for word in said)
    return _FollowUp(kinds, own, known, points(said), bare)


def _found(finding: SearchResult, entry: Entry) -> SearchResult:
    others = tuple(hit for hit in finding.hits if hit.entry.id != entry.id)
    return replace(finding, decision="answer", confidence=max(finding.confidence, confidence.ANSWER), hits=(Hit(entry, 1.0), *others))


def _answers(entry: Entry, asked: _FollowUp) -> int:
    """Return how surely an entry answers, 0 to 3. All words and the fact stand in one sentence, 3; or its title is named, 2."""
    stating = [one for one in facts.sentences(entry.answer) if not asked.kinds or not facts.stated(one).isdisjoint(asked.kinds)]
    if asked.known and any(holds_all(words(one), asked.known) for one in stating):
        return _SURELY
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
    if asked.bare and holds_all(words(other.question), own) and not (holds_words(entry, own) and not _names(other, own)):
        return True
    if any(_names(other, [word]) and not holds_words(entry, [word]) for word in asked.known):
        return True
    if finding.decision == "answer" and _answers(other, asked) == _SURELY and holds_words(other, own) and not holds_words(entry, own):
        return True  # the one spoken of holds but words of the same meaning
    if not asked.kinds:
        return finding.decision == "answer" and not holds_words(entry, asked.known)
    return _answers(other, asked) > _answers(entry, asked)


def _names(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether the title of an entry has all of the words."""
    stems = set(map(stem, words(entry.question)))
    return all(stem(word) in stems for word in own)


def asks_who(turn: Turn) -> bool:
    """Return whether a message asks for a person whom the entry spoken of names: "who do I talk to?"."""
    if "person" not in facts.asked(turn.message):
        return False
    return any(facts.states_any(entry.answer, {"person"}) for entry in spoken.last(turn))


def naming_words(message: str) -> list[str]:
    """Return the words of a message that name its subject. Asking words, verbs and the people who ask are left out."""
    beside = {*facts.asking_words(message), *_POINTING, *_OPENINGS}
    return [word for word in facts.subject(words(message)) if not (word in beside or _is_act(word) or facts.is_person(word))]


def naming_words_of_wish(opening: str) -> list[str]:
    """Return the words that name the subject of a message that begins a form. Words for the request itself are left out."""
    return [word for word in naming_words(opening) if not (stem(word) in _WISHED or any(map(str.isdigit, word)))]


def _is_act(word: str) -> bool:
    """Return whether a word is a verb that names no subject of its own."""
    return word in _ACTS or bool(_VERB.fullmatch(word))


def _touches(entry: Entry, asked: _FollowUp) -> bool:
    """Return whether an entry holds a word of the subject. The fact will do without known words."""
    if asked.kinds and not facts.states_any(entry.answer, asked.kinds):
        return False
    if 2 * len(asked.known) < len([word for word in asked.own if not _is_act(word)]):
        return False  # most of the subject is unknown
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
    asking = facts.asking_words(turn.message)
    named = (word for word in facts.subject(said) if not (word in _POINTING or word in _OPENINGS or word in asking))
    if not kinds or not said or len(said) > _SHORT or any(named):
        return None
    stating = next((entry for entry in spoken.last(turn) if facts.states_any(entry.answer, kinds)), None)
    if stating is None:
        return None
    return SearchResult(language.of(turn), "answer", confidence.ANSWER, (Hit(stating, 1.0),))


def of_entry_without_fact(turn: Turn, finding: SearchResult) -> SearchResult | None:
    """Return the entry spoken of for a bare question that another entry seems to answer. It may be hedged only.

    "How long is it?" after a word on eye tests asks nothing about new glasses.
    """
    current, before = spoken.last(turn), questions_before(turn)[:1]
    if not current or finding.hits[0].entry in current or not is_bare_question(turn.message):
        return None
    if before and (named := naming_words(before[0])) and holds(finding.hits[0].entry, named):
        return None
    others = tuple(hit for hit in finding.hits if hit.entry.id != current[0].id)
    return replace(finding, decision="ask", hedged=True, hits=(Hit(current[0], 1.0), *others))


def is_bare_question(message: str) -> bool:
    """Return whether a message asks for a fact of a matter and names none: "how long is it?"."""
    return bool(facts.asked(message) & _OF_MATTER) and not naming_words(message)


def questions_before(turn: Turn) -> list[str]:
    """Return the visitor's earlier questions, the last first, those without an answer among them."""
    asked = (past.content for past in reversed(turn.history) if past.role == "user")
    return [text for text in asked if words(text) and smalltalk.kind(words(text), turn.bot.name) is None][:_LOOKED_BACK]


def answered_together(together: SearchResult, message: str, context: str) -> SearchResult | None:
    """Return the answer of a search with earlier words. None if it answers the earlier question alone.

    Of a bare question for a fact it is the first near hit that states the fact of a word of the earlier question.
    """
    said, kinds = words(message), facts.asked(message)
    own = [word for word in facts.subject(said) if not (kinds and _is_act(word))]
    if _is_sure_together(together, said, own, kinds):
        return replace(together, decision="answer")
    if own or not kinds:
        return None
    about = [word for word in facts.subject(words(context)) if word not in _POINTING]
    near = (hit.entry for hit in together.hits[:_RIVALS])
    stating = next((entry for entry in near if any(_states_of(entry, word, kinds) for word in about)), None)
    return _found(together, stating) if stating else None


def _states_of(entry: Entry, word: str, kinds: frozenset[str]) -> bool:
    """Return whether an entry states a fact about a word. Its title or the sentence has the word."""
    stating = [one for one in facts.sentences(entry.answer) if not facts.stated(one).isdisjoint(kinds)]
    return bool(stating) and (_names(entry, [word]) or any(holds_all(words(one), [word]) for one in stating))


def _is_sure_together(together: SearchResult, said: Sequence[str], own: Sequence[str], kinds: frozenset[str]) -> bool:
    if together.confidence < _SURE_TOGETHER:
        return False
    entry = together.hits[0].entry
    if own:
        return holds(entry, own)
    if facts.states_any(entry.answer, kinds):
        return True
    return not vocabulary_of(entry).concepts.isdisjoint(match.concept for match in lexicon.find(said))


def contexts(turn: Turn) -> list[str]:
    """Return the words to search for along with a follow-up. The last question, the one before if that is short, the entry spoken of."""
    questions = questions_before(turn)
    found = questions[:1]
    if len(questions) > 1 and len(words(questions[0])) <= _SHORT:
        found.append(" ".join(reversed(questions)))
    found += [entry.question for entry in spoken.last(turn)[:1]]
    return found[:_CONTEXTS]


def of_fact_before(turn: Turn) -> SearchResult | None:
    """Return an entry told before the last one that states the fact asked for. Only for a question without a subject."""
    kinds = facts.asked(turn.message)
    if not kinds or facts.subject([word for word in words(turn.message) if not (word in _POINTING or _is_act(word))]):
        return None
    earlier = (entry for entries in islice(spoken.before(turn), _TOLD_BEFORE) for entry in entries)
    stating = next((entry for entry in earlier if facts.states_any(entry.answer, kinds)), None)
    return SearchResult(language.of(turn), "answer", confidence.ANSWER, (Hit(stating, 1.0),)) if stating else None


def holds(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether an entry holds all folded words, in any form or by concept."""
    vocabulary = vocabulary_of(entry)
    return all(facts.meant(word, vocabulary) for word in own)


def holds_words(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether an entry holds all of the folded words in any form."""
    vocabulary = vocabulary_of(entry)
    return all(facts.has(word, vocabulary) for word in own)


def holds_all(held: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether `held` has all words of `own`, in any form or by concept."""
    vocabulary = facts.vocabulary_of(tuple(held))
    return all(facts.meant(word, vocabulary) for word in own)


def vocabulary_of(entry: Entry) -> facts.Vocabulary:
    """Return the vocabulary of an entry's question, phrasings and answer."""
    return _vocabulary_of(entry.question, entry.alt, entry.answer)


@lru_cache(maxsize=512)
def _vocabulary_of(question: str, alt: tuple[str, ...], answer: str) -> facts.Vocabulary:
    return facts.vocabulary_of(tuple(words("\n".join((question, *alt, answer)))))
