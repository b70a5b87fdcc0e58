"""Follow-ups: messages about the last entry, or that need the visitor's earlier words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from chatsvc.domain.models import Entry
from chatsvc.engines import Hit, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import ask_back, facts, smalltalk
from chatsvc.engines.knowledge.search import confidence, lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.reading.folding import words
from chatsvc.engines.wordlists import WordFile

_FILE = WordFile("knowledge/dialogue/followups.txt")
_OPENINGS, _POINTING, _ACTS = _FILE.words("openings"), _FILE.words("pointing"), _FILE.words("acts")
_SHORT = 5  # words of a message that may be a follow-up without saying so
_LONGEST = 9  # words of a message that may be one at all
_REPLIES = 4  # replies of the bot that are looked through for the entry spoken of
_EDGE = 20  # characters of either end of an answer by which it is looked for in a reply
_CONTEXTS = 2  # searches with earlier words
_MOST_STATED = 4  # entries of one reply
_MOST = 3_000  # entries; in more, the reply is searched for
_SEARCHED = 350  # characters of a reply that is searched for
_LOOKED_BACK = 2  # earlier questions, without small talk
_SURE_TOGETHER = 0.4  # least confidence together with the earlier question, if the entry holds every word that the message adds


def is_open(said: Sequence[str], finding: SearchResult) -> bool:
    """Return whether a message may be a follow-up. It says so, or it is short and names no subject or finds no answer by itself."""
    if not said or len(said) > _LONGEST:
        return False
    if points(said) or (len(said) <= _SHORT and not facts.subject(said)):
        return True
    kinds = facts.asked(" ".join(said))
    if finding.decision == "answer":
        return bool(kinds) and not facts.states_any(finding.hits[0].entry.answer, kinds)
    return len(said) <= _SHORT or bool(kinds)


def points(said: Sequence[str]) -> bool:
    """Whether a message refers to what was said before: "ve fiyatı?", "how much is it?"."""
    return said[0] in _OPENINGS or not _POINTING.isdisjoint(said)


def of_entry_spoken_of(turn: Turn, said: Sequence[str], finding: SearchResult) -> SearchResult | None:
    """Return the current entry if it holds the words or the fact asked for.

    Where nothing else answers, one of the words and the fact are enough: "and granny too, how much to get in?".
    """
    kinds = facts.asked(turn.message)
    own = [word for word in facts.subject(said) if word not in _POINTING and word not in _OPENINGS and not (kinds and word in _ACTS)]
    if not kinds and not own:
        return None
    for entry in spoken_of(turn):
        if own and not _POINTING.intersection(said) and _fits_another(finding, entry, own, kinds):
            continue  # a question of its own that only begins with "and"
        fits = not own or holds(entry, own) or (finding.decision != "answer" and kinds and any(holds(entry, [word]) for word in own))
        if not fits or (kinds and not facts.states_any(entry.answer, kinds)):
            continue
        others = tuple(hit for hit in finding.hits if hit.entry.id != entry.id)
        return replace(finding, decision="answer", confidence=max(finding.confidence, confidence.ANSWER), hits=(Hit(entry, 1.0), *others))
    return None


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


def _fits_another(finding: SearchResult, entry: Entry, own: Sequence[str], kinds: Collection[str]) -> bool:
    """Return whether another entry answers by itself. Or holds all words and the fact asked for."""
    if not finding.hits or finding.hits[0].entry.id == entry.id:
        return False
    first = finding.hits[0].entry
    return finding.decision == "answer" or bool(kinds and holds(first, own) and facts.states_any(first.answer, kinds))


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
    return next((found for found in map(partial(_stated_in, turn), replies) if found), [])


def _stated_in(turn: Turn, reply: str) -> list[Entry]:
    entries = turn.knowledge.entries
    if len(entries) > _MOST:
        entries = [hit.entry for hit in turn.knowledge.search(reply[:_SEARCHED]).hits]
    likely = (entry for entry in entries if entry.answer[:_EDGE] in reply or entry.answer[-_EDGE:] in reply)
    stated = (entry for entry in likely if all(sentence in reply for sentence in facts.sentences(entry.answer)))
    return list(islice(stated, _MOST_STATED))


def holds(entry: Entry, own: Sequence[str]) -> bool:
    """Whether an entry holds all of the folded words, by their stems or a concept."""
    return holds_all(words("\n".join((entry.question, *entry.alt, entry.answer))), own)


def holds_words(entry: Entry, own: Sequence[str]) -> bool:
    """Return whether an entry holds the stems of all of the folded words."""
    stems = {stem(word) for word in words("\n".join((entry.question, *entry.alt, entry.answer)))}
    return all(stem(word) in stems for word in own)


def holds_all(held: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether all words of `own` stand in `held`, by their stems or a concept."""
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return all(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)
