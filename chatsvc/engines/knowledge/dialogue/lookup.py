"""Search for a turn: its language, its follow-ups, and several questions in one message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from weakref import WeakKeyDictionary

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry, HistoryMessage
from chatsvc.engines import Hit, Knowledge, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import facts, followups, intents, matter, smalltalk, spoken, stories, support
from chatsvc.engines.knowledge.search import confidence
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.language.contacts import mask_contacts
from chatsvc.language.folding import words

_OPENINGS = frozenset({"ve", "ya", "peki", "and", "also", "but", "ok", "so"})  # that are dropped to search again
_FEWEST = 2  # words left of a message without its courtesies
_COURTESY = 5  # words in one go
_ASKED_IN = 600  # characters in which several questions are told apart
# between two questions: a full stop or the like, a word that adds another one, or the end of a Turkish one typed without a mark
_PARTS = re.compile(
    r"(?<=[?!.;\n])\s+|\n+|,\s++(?:and\s++)?(?:also|ayrıca|ayrica|bir de|birde)\s+|(?<!\s)\s++(?:and also|ve ayrıca|ve ayrica|ve bir de)\s+"
    r"|(?<=\bm[ıiuü])\s+(?=(?:peki|ve|ya)\s)|(?<=\bm[ıiuü]s[ıiuü]n[ıiuü]z)\s*,?\s+(?:ve\s+)?",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"(?<![?!.;\n])[?!.;\n]+(?=\s|$)|,\s+(?:and\s+|ve\s+)?|(?<!\s)\s++and\s++(?=(?:do|does|is|are|can|could|what|how|when|where|who)\b)",
    re.IGNORECASE,
)
_ASIDES = re.compile(r"\b(?:bu arada|by the way|btw|out of interest|out of curiosity|while i['’]?m (?:here|at it))\b", re.IGNORECASE)
_LOOKED_AT = 10  # entries in which the counterpart of one in another language is looked for
_PHRASINGS = 6  # other phrasings that help to find it
_counterparts: WeakKeyDictionary[Knowledge, dict[tuple[str, str], Entry | None]] = WeakKeyDictionary()
_RIVALS = 3  # hits that may be named by the same words, or state the fact asked for
_NEAR = 0.6  # share of the first score from which another hit may come before it
_OFFERED = 0.5  # and from which it may be offered
_SHORT = 6  # words of a message whose words alone may point to an entry
_OF_BOOKINGS = frozenset({"own", "cancel", "move"})  # intents of messages about a booking, not about an entry
_LIKELY, _APART = 0.3, 5.0  # score of an entry that stands apart, and how much greater than the next one it is
_PLAIN, _TWICE = 0.33, 2.0  # the same for a message without a subject
_PHRASE = 2  # words of a subject, one of which may only qualify the other
_MATTERS = 3  # messages about the matter of a form with which a question is searched
_TITLES = 300  # entries whose titles are looked at for the address of the business
_LIKE = 0.05  # score from which two may be counterparts


def find(turn: Turn) -> SearchResult:
    """Search for the message. An unsure result gets a hedged answer where its entry stands out."""
    finding = _found(turn)
    likely = _standing_out(turn, finding)
    if likely is None:
        return finding
    return replace(finding, decision="ask", hedged=True, hits=(likely, *(hit for hit in finding.hits if hit is not likely)))


def _standing_out(turn: Turn, finding: SearchResult) -> Hit | None:
    """Return the likely entry of an unsure result, or None.

    It states the fact asked for and knows all words of the subject; or the message names no subject, and no other entry is near.
    """
    if finding.decision == "answer" or finding.hedged or not finding.hits:
        return None
    first, naming, kinds = finding.hits[0], followups.naming_words(turn.message), facts.asked(turn.message)
    if naming:
        near = [hit for hit in finding.hits if hit.score >= _OFFERED * first.score and _states_of_all(hit.entry, naming, kinds)]
        fitting = [hit for hit in near if not support.is_lacking(hit.entry, turn.message, turn.knowledge)]
        return fitting[0] if kinds and len(fitting) == 1 else None
    second = finding.hits[1].score if len(finding.hits) > 1 else 0.0
    return first if not turn.history and first.score >= max(_PLAIN, _TWICE * second) else None


def _states_of_all(entry: Entry, naming: Sequence[str], kinds: frozenset[str]) -> bool:
    return followups.holds(entry, naming) and facts.states_any(entry.answer, kinds)


def _found(turn: Turn) -> SearchResult:
    """Search for the message. A follow-up is searched in its entry, and together with the earlier questions."""
    said = words(turn.message)
    known = followups.of_fact_alone(turn, said)
    if known is not None:
        return known
    finding = _of_child(turn, _named(turn, _with_fact(turn, _stripped(turn, search(turn, turn.message)))))
    if len(said) >= stories.LONG and finding.decision != "answer":
        return max((finding, *(search(turn, text) for text in stories.questions(turn.message))), key=lambda one: one.confidence)
    if not turn.history and not turn.dialogue:
        return _of_business(turn, finding) if followups.is_open(said) else finding
    if not followups.is_open(said) or intents.of(turn.message) & _OF_BOOKINGS:
        return finding
    current = followups.of_entry_spoken_of(turn, said, finding) or followups.of_entry_with_verb(turn, said)
    if current is not None:
        return current
    if finding.decision == "answer" and not followups.is_unanswered(said, finding):
        return finding
    for context in followups.contexts(turn):
        together = search(turn, f"{context} {turn.message}", others=False)
        answered = followups.answered_together(together, turn.message, context)
        if answered is not None:
            return followups.of_entry_without_fact(turn, answered) or answered
    of_business = _of_business(turn, finding)
    if of_business.decision == "answer":
        return followups.of_entry_without_fact(turn, of_business) or of_business
    return followups.of_fact_before(turn) or of_business


def find_in_form(turn: Turn, opening: str, more: Sequence[str] = ()) -> SearchResult:
    """Search for a message inside a form that `opening` began. A bare question for a fact is about that matter.

    So is a short one that has no answer by itself; `more` are further messages about the matter.
    """
    finding = find(matter.without_forms(turn))
    named = followups.naming_words_of_wish(opening)
    if named and followups.is_bare_question(turn.message):
        about = _of_form(turn, finding, named)
        if "answer" in (finding.decision, about.decision):
            return about
        finding = about
    if finding.decision != "answer" and not finding.hedged and followups.is_open(words(turn.message)):
        told = (text for text in (*reversed(more), opening) if text)
        known = (find(replace(turn, history=(HistoryMessage("user", text),))) for text in islice(told, _MATTERS))
        return next((one for one in known if one.decision == "answer"), finding)
    return finding


def _of_form(turn: Turn, finding: SearchResult, named: Sequence[str]) -> SearchResult:
    """Search for the fact asked for in the entries that the words `named` name."""
    if finding.decision == "answer" and _is_about(finding.hits[0].entry, turn, named):
        return finding
    kinds = facts.asked(turn.message)
    stating = [hit for hit in search(turn, " ".join(named), others=False).hits if facts.states_any(hit.entry.answer, kinds)]
    fitting = max(stating, key=lambda hit: _count_held(hit.entry, named), default=None)
    if fitting is None or not _is_largely_held(_count_held(fitting.entry, named), len(named)):
        return replace(finding, decision="abstain", confidence=0.0) if finding.decision == "answer" else finding
    others = tuple(hit for hit in finding.hits if hit.entry.id != fitting.entry.id)
    if followups.holds(fitting.entry, named):
        return replace(finding, decision="answer", confidence=confidence.ANSWER, hits=(fitting, *others))
    return replace(finding, decision="ask", hedged=True, hits=(fitting, *others))


def _is_about(entry: Entry, turn: Turn, named: Sequence[str]) -> bool:
    return entry in spoken.last(turn) or followups.holds_words(entry, named)


def _is_largely_held(held: int, all_words: int) -> bool:
    """Return whether an entry holds enough words of a subject: each, or at least two and half of them."""
    return held == all_words or (held > 1 and 2 * held >= all_words)


def _count_held(entry: Entry, named: Sequence[str]) -> int:
    return sum(followups.holds(entry, [word]) for word in named)


def _of_child(turn: Turn, finding: SearchResult) -> SearchResult:
    """Search for children where an unsure message names the age of one. Example: "and for my 7yr old?"."""
    if finding.decision == "answer" or not facts.is_of_minor(turn.message):
        return finding
    beside = search(turn, f"{turn.message} {facts.CHILD}")
    alone = search(turn, facts.CHILD) if finding.decision == "abstain" else beside
    return max((finding, beside, alone), key=lambda one: one.confidence)


def _of_business(turn: Turn, finding: SearchResult) -> SearchResult:
    """Search for the address or contact data that a message without a subject asks for. Example: "where is it?"."""
    kinds, asking = facts.asked(turn.message), facts.asking_words(turn.message)
    if finding.decision == "answer" or len(kinds) != 1 or any(word not in asking for word in facts.subject(words(turn.message))):
        return finding
    (kind,) = kinds
    question = facts.question_of_business(kind, language.of(turn))
    if question is None:
        return finding
    found = search(turn, question)
    titled = [entry for entry in turn.knowledge.entries[:_TITLES] if facts.is_about_business(entry.question, entry.answer, kind)]
    if found.decision == "answer" or len(titled) != 1:
        return found
    return SearchResult(language.of(turn), "answer", confidence.ANSWER, (Hit(titled[0], 1.0),))


def likely(turn: Turn, finding: SearchResult) -> SearchResult | None:
    """Return an unsure result for a hedged answer inside a form, or None.

    The entries know each word that names the subject; or one entry knows half of them and stands far apart from the others.
    """
    naming = followups.naming_words(turn.message)
    if finding.decision == "answer" or not finding.hits:
        return None
    if all(any(followups.holds(hit.entry, [word]) for hit in finding.hits) for word in naming) and finding.hedged:
        return finding
    first = finding.hits[0]
    held = len(_held(first.entry, words(turn.message), naming))
    if finding.hedged and finding.confidence >= confidence.HEDGE and stands_apart(finding) and len(naming) < _PHRASE:
        return finding
    apart = stands_apart(finding)
    if not held or not ((2 * held >= len(naming) and apart) or (held == len(naming) and finding.decision == "ask")):
        return None
    return replace(finding, decision="ask", hedged=True)


def stands_apart(finding: SearchResult) -> bool:
    """Return whether the first entry is the only one near a message."""
    second = finding.hits[1].score if len(finding.hits) > 1 else 0.0
    return finding.hits[0].score >= max(_LIKELY, _APART * second)


def _held(entry: Entry, said: Sequence[str], naming: Sequence[str]) -> list[str]:
    """Return the naming words that an entry holds. One right before a word that it lacks only qualifies that: "courtesy coffee"."""
    lacking = {word for word in naming if not followups.holds(entry, [word])}
    qualifying = {word for word, behind in pairwise(said) if behind in lacking}
    return [word for word in naming if word not in lacking and word not in qualifying]


def parts(message: str) -> list[str]:
    """Split a message into its questions and sentences."""
    return [part for part in _PARTS.split(message[:_ASKED_IN]) if part and words(part)]


def clauses(message: str) -> list[str]:
    """Split a message at its commas and "and". It may ask one thing after another."""
    return [part for part in _CLAUSES.split(message[:_ASKED_IN]) if part and words(part)]


def search(turn: Turn, text: str, *, others: bool = True) -> SearchResult:
    """Search for a text without its contact data. The answer is in the language of the turn, else the bot's, else as found.

    With `others` an unsure search is repeated in the other languages of the conversation.
    """
    plain = " ".join(_ASIDES.sub(" ", text).split())
    finding = _searched(turn, mask_contacts(plain if words(plain) else text, " "), others)
    if not finding.hits:
        return finding
    first, *rest = finding.hits
    for tongue in dict.fromkeys((language.of(turn), primary(turn.bot.language))):
        entry = first.entry if primary(first.entry.language) == tongue else _counterpart(turn.knowledge, first.entry, tongue)
        if entry is not None:
            return replace(finding, hits=(replace(first, entry=entry), *(hit for hit in rest if hit.entry.id != entry.id)))
    return finding


def _searched(turn: Turn, text: str, with_others: bool) -> SearchResult:
    """Search in the wanted language, then in the others if that finds no answer."""
    shown = language.detected(turn)
    finding = turn.knowledge.search(text, turn.language, spoken=shown)
    others = {"ask": (shown,), "abstain": (shown, primary(turn.bot.language))}.get(finding.decision, ()) if with_others else ()
    for other in dict.fromkeys(others):
        if other in turn.knowledge.languages and other != language.of(turn):
            again = turn.knowledge.search(text, other)
            if again.decision == "answer":
                return again
    return finding


def _counterpart(knowledge: Knowledge, entry: Entry, tongue: str) -> Entry | None:
    """Return the entry of the same meaning in another language. The two are each other's nearest."""
    if tongue not in knowledge.languages:
        return None
    known = _counterparts.setdefault(knowledge, {})
    if (entry.id, tongue) not in known:
        there = _nearest(knowledge, entry, tongue)
        back = _nearest(knowledge, there, primary(entry.language)) if there else None
        known[entry.id, tongue] = there if back is not None and back.id == entry.id else None
    return known[entry.id, tongue]


def _nearest(knowledge: Knowledge, entry: Entry, tongue: str) -> Entry | None:
    hits = knowledge.search(" ".join((entry.question, *entry.alt[:_PHRASINGS])), tongue, _LOOKED_AT).hits
    return next((hit.entry for hit in hits if primary(hit.entry.language) == tongue and hit.score >= _LIKE), None)


def _stripped(turn: Turn, finding: SearchResult) -> SearchResult:
    """Return the result, or a better one without the message's opening. Example: "thanks, and where are you?"."""
    if finding.decision == "answer":
        return finding
    told = turn.message.split()
    rest = _without_courtesies(told, turn.bot.name)
    if len(rest) >= _FEWEST and (words(rest[0]) or [""])[0] in _OPENINGS:
        rest = rest[1:]
    bare = search(turn, " ".join(rest)) if len(rest) < len(told) else finding
    return bare if bare.confidence > finding.confidence else finding


def _with_fact(turn: Turn, finding: SearchResult) -> SearchResult:
    """Move the first near hit with the fact asked for to the front. Only an unsure result is changed."""
    kinds = facts.asked(turn.message)
    if finding.decision != "ask" or not kinds:
        return finding
    near = [hit for hit in finding.hits[:_RIVALS] if hit.score >= _NEAR * finding.hits[0].score]
    fitting = next((hit for hit in near if facts.states_any(hit.entry.answer, kinds)), finding.hits[0])
    return replace(finding, hits=(fitting, *(hit for hit in finding.hits if hit is not fitting)))


def _named(turn: Turn, finding: SearchResult) -> SearchResult:
    """Make a result an answer if the subject words name one entry alone. So do the words of a short message that stand in one alone."""
    own, kinds = facts.subject(words(turn.message)), facts.asked(turn.message)
    if finding.decision == "answer" or not own or not finding.hits:
        return finding
    if (exact := _exactly_titled(finding, own)) and (not kinds or facts.states_any(exact.entry.answer, kinds)):
        others = tuple(hit for hit in finding.hits if hit is not exact)
        return replace(finding, decision="answer", confidence=confidence.ANSWER, hits=(exact, *others))
    named = [hit for hit in finding.hits[:_RIVALS] if _is_named(hit.entry, own)] if finding.decision == "ask" else []
    if not named and len(words(turn.message)) <= _SHORT:
        named = [hit for hit in finding.hits if followups.holds_words(hit.entry, own)]
        named = named if len(named) == 1 and (finding.decision == "ask" or named == [finding.hits[0]]) else []
    elif named != [finding.hits[0]]:
        named = []
    if not named:
        return _titled(turn, finding)
    if kinds and not facts.states_any(named[0].entry.answer, kinds):
        return finding
    others = tuple(hit for hit in finding.hits if hit is not named[0])
    return replace(finding, decision="answer", confidence=confidence.ANSWER, hits=(*named, *others))


def _exactly_titled(finding: SearchResult, own: Sequence[str]) -> Hit | None:
    """Return the only hit whose title consists of the subject's words. Example: "how much for an eye test?", "Eye test"."""
    stems = set(map(stem, own))
    exact = [hit for hit in finding.hits if set(map(stem, facts.subject(words(hit.entry.question)))) == stems]
    return exact[0] if len(exact) == 1 and len(stems) > 1 else None


def _titled(turn: Turn, finding: SearchResult) -> SearchResult:
    """Make an unsure result a hedged answer if the message names one entry. It holds the whole title, and no other near one.

    The entry comes first already, or has all the words that say something: "do u deliver" names "Delivery".
    """
    if finding.decision == "answer" or finding.hedged:
        return finding
    said, kinds = facts.vocabulary_of(tuple(words(turn.message))), facts.asked(turn.message)
    titled = [hit for hit in finding.hits if _holds_title(said, hit.entry)]
    if len(titled) != 1 or (kinds and not facts.states_any(titled[0].entry.answer, kinds)):
        return finding
    own = followups.naming_words(turn.message)
    held = sum(followups.holds(titled[0].entry, [word]) for word in own)
    comes_first = finding.decision == "ask" and titled[0] is finding.hits[0] and 2 * held >= len(own)
    if not comes_first and held < len(own):
        return finding
    return replace(finding, decision="ask", hedged=True, hits=(titled[0], *(hit for hit in finding.hits if hit is not titled[0])))


def _holds_title(said: facts.Vocabulary, entry: Entry) -> bool:
    """Return whether a message has each word of a title in some form."""
    title = facts.subject(words(entry.question))
    return bool(title) and all(facts.has(word, said) or _begins(said, word) for word in title)


def _begins(said: facts.Vocabulary, word: str) -> bool:
    whole = facts.vocabulary_of((word,))
    return any(facts.has(one, whole) for one in said.words)


def _is_named(entry: Entry, own: Sequence[str]) -> bool:
    """Whether a phrasing of an entry holds all words, at least half of its own."""
    phrasings = map(words, (entry.question, *entry.alt[:_PHRASINGS]))
    return any(followups.holds_all(held, own) and 2 * len(own) >= len(facts.subject(held)) for held in phrasings)


def _without_courtesies(told: list[str], name: str) -> list[str]:
    """Drop courtesies from the front of a message."""
    for length in range(min(_COURTESY, len(told) - _FEWEST), 0, -1):
        if smalltalk.kind(words(" ".join(told[:length])), name) is not None:
            return _without_courtesies(told[length:], name)
    return told
