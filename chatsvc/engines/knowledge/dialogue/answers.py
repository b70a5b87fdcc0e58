"""Replies from the knowledge: an answer, several answers, a hedged answer, or a question back.

The bands of confidence are those of `search.confidence`. A hedged answer names the entry that it takes the question for.
"""

from __future__ import annotations

from dataclasses import replace

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Evidence, Hit, Knowledge, Reply, SearchResult, Turn, language
from chatsvc.engines.knowledge.dialogue import ask_back, facts, fallbacks, followups, hearing, lookup, smalltalk, spoken, support, texts
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.engines.knowledge.search import confidence
from chatsvc.language.folding import words

_MOST_ASKED = 4  # questions in one message
_FEWEST_WORDS = 2  # of a part that is named as unanswered
_SHOWN = 60  # characters of it
_NEAR = 0.5  # share of the first score from which an entry may be offered


def answer(turn: Turn, finding: SearchResult) -> Reply | None:
    """Return the answer of a sure result, or those to several questions. None without any.

    Of an entry that the visitor has just been told, the sentence that holds the fact asked for is enough.
    """
    several = _several(turn)
    if several is not None:
        return several
    if finding.decision != "answer":
        return None
    entry = finding.hits[0].entry
    if turn.bot.ask_back is not False and support.is_lacking(entry, turn.message, turn.knowledge):
        return _near(turn, finding)
    if turn.bot.ask_back is not False and support.is_named_otherwise(entry, turn.message):
        return _opened(turn, finding, "back.hedged")
    again = entry in spoken.last(turn)
    said = facts.narrowed(entry.answer, turn.message) if again else told(entry, turn.message)
    return Reply(said, evidence=Evidence.of(finding))


def unsure(turn: Turn, finding: SearchResult) -> Reply | None:
    """Return a hedged answer or a question back. None if the result warrants neither or the bot must not ask."""
    if finding.decision != "ask" or turn.bot.ask_back is False:
        return None
    if not finding.hedged:
        asked = ask_back.ask(turn, _supported(turn, finding))
        alone = asked is not None and len(asked.choices) == 1 and lookup.stands_apart(finding)
        if alone and not support.is_lacking(finding.hits[0].entry, turn.message, turn.knowledge):
            return _opened(turn, finding, "back.hedged")
        return replace(asked, evidence=Evidence.of(finding)) if asked else None
    entry = finding.hits[0].entry
    if support.is_lacking(entry, turn.message, turn.knowledge):
        return _near(turn, finding)
    return _opened(turn, finding, "back.hedged")


def _supported(turn: Turn, finding: SearchResult) -> SearchResult:
    """Drop the hits without the fact asked for where other near ones state it."""
    near = [hit for hit in finding.hits if hit.score >= _NEAR * finding.hits[0].score]
    known = tuple(hit for hit in near if not support.lacks_fact(hit.entry, turn.message, strictly=True))
    return replace(finding, hits=known) if known else finding


def _near(turn: Turn, finding: SearchResult) -> Reply | None:
    """Return the nearest entry, and say that it may not answer the question. None for one that has nothing to do with it.

    The only other one that names the thing asked for comes before it.
    """
    naming = followups.naming_words(turn.message)
    if support.lacks_thing(finding.hits[0].entry, turn.message):
        knowing = [hit for hit in finding.hits[1:] if followups.holds(hit.entry, naming)]
        stating = [hit for hit in knowing if not support.lacks_fact(hit.entry, turn.message, strictly=True)]
        other = [hit for hit in stating if not support.is_lacking(hit.entry, turn.message, turn.knowledge)]
        if len(other) == 1:
            return _opened(turn, replace(finding, hits=(other[0], *(hit for hit in finding.hits if hit is not other[0]))), "back.hedged")
    entry = finding.hits[0].entry
    if entry not in spoken.last(turn) and not support.is_related(entry, turn.message, turn.knowledge):
        return None
    return _opened(turn, finding, "back.near")


def _opened(turn: Turn, finding: SearchResult, key: str) -> Reply:
    entry = finding.hits[0].entry
    opening = texts.of(turn.bot, language.among(turn, LANGUAGES))(key, question=entry.question.rstrip(" ?!.:"))
    return Reply(f"{opening}\n\n{told(entry, turn.message)}", evidence=Evidence.of(finding))


def told(entry: Entry, question: str) -> str:
    """Return the entry's answer. A long one with the sentence in front that has the fact asked for."""
    return facts.lead_with(entry.answer, question)


def _several(turn: Turn) -> Reply | None:
    """Return the answers to several questions, and the questions that have none. None for a message that asks one thing."""
    asked = _questions(turn)
    if not 2 <= len(asked) <= _MOST_ASKED:
        return None
    found: dict[str, tuple[Hit, list[str]]] = {}
    missed: list[str] = []
    for part, before in asked:
        hit = _hit_for(turn, part, before)
        if hit is not None:
            found.setdefault(hit.entry.id, (hit, []))[1].append(part)
        elif part.endswith("?") or (hearing.asks(part) and len(words(part)) >= _FEWEST_WORDS):
            missed.append(part)
    # a sentence without a question mark may be no question
    if not found or (len(found) == 1 and any(not part.endswith("?") for part in missed)):
        return None
    said = [told(hit.entry, " ".join(questions)) for hit, questions in found.values()]
    if missed:
        named = ", ".join(f"“{' '.join(part.split()).rstrip('?!. ')[:_SHOWN]}”" for part in missed)
        said.append(texts.of(turn.bot, language.among(turn, LANGUAGES))("back.missed", questions=named))
    return Reply("\n\n".join(said), evidence=Evidence.of_hits(hit for hit, _ in found.values()))


def _questions(turn: Turn) -> list[tuple[str, str]]:
    """Return the questions of a message, each with the words before it. Those between full stops, else those between commas."""
    for parts in (lookup.parts(turn.message), lookup.clauses(turn.message)):
        own = [part for part in parts if smalltalk.kind(words(part), turn.bot.name) is None]
        asked = [(part, " ".join(own[:at])) for at, part in enumerate(own) if hearing.asks(part) or facts.asked(part)]
        if len(asked) >= 2:
            return asked
    return []


def _hit_for(turn: Turn, part: str, before: str) -> Hit | None:
    """Return the entry that answers one of several questions. It is searched by itself, and together with the words before it."""
    finding = lookup.find(replace(turn, message=part, history=()))
    if finding.decision != "answer" and before:
        finding = lookup.find(replace(turn, message=part, history=(HistoryMessage("user", before),)))
    if finding.decision == "answer":
        return finding.hits[0]
    own = facts.subject(words(part))
    likely = finding.hedged and finding.confidence >= confidence.HEDGE
    shares = likely and any(followups.holds_words(finding.hits[0].entry, [word]) for word in own)
    return finding.hits[0] if shares else None


def entry_for(bot: Bot, knowledge: Knowledge, question: str) -> Entry | None:
    """The entry that answers a question at the start of a conversation, hedged or not."""
    turn = Turn(bot, "", question, (), None, knowledge, "", 0.0, 0)
    if smalltalk.kind(words(question), bot.name) is not None or fallbacks.is_foreign(turn):
        return None
    finding = lookup.find(turn)
    if finding.decision == "answer" or (finding.hedged and bot.ask_back is not False):
        return finding.hits[0].entry
    return None
