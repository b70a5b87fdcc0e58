"""Situations that visitors tell without asking anything: "my car makes a noise when I brake"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsvc.engines import Reply, SearchResult
from chatsvc.engines.knowledge.dialogue import answers, flow, followups, hearing, matter
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stopwords import is_light
from chatsvc.language.language_detection import is_word

_FEWEST, _MOST = 3, 40  # words
_PLAINLY_TOLD = 5  # known words of a statement that need not concern the business
_MEANT = 2  # words that the lexicon knows
_LISTED = 0.2  # confidence from which several entries are offered to choose from
_FIRST = 1.5  # how much greater the score of the first entry is than that of the second, for a hedged answer


def reply(message: VisitorMessage) -> Reply | None:
    """Reply to a situation: a hedged answer, if an entry is near, and the offer to take a note.

    A short statement has to concern the business: its knowledge has a word that names the subject.
    """
    turn = message.turn
    if not turn.may_capture or not _FEWEST <= len(message.said) <= _MOST or not message.heard.tells:
        return None
    if message.wish is not None or hearing.is_nod(message.text):
        return None
    finding, naming = message.finding, followups.naming_words(message.text)
    known = [word for word in naming if any(followups.holds_words(hit.entry, [word]) for hit in finding.hits)]
    if not known and sum(map(is_word, message.said)) < _PLAINLY_TOLD and not _is_plain(message.said):
        return None
    grounded = bool(finding.hits) and any(followups.holds(finding.hits[0].entry, [word]) for word in naming)
    if grounded and finding.decision == "ask" and finding.confidence >= _LISTED and not (known and _is_near(finding, known)):
        return None  # several entries may be meant
    named = len(naming) > 1 and followups.holds_words(finding.hits[0].entry, naming) if known else False
    near = bool(known) and (finding.decision == "ask" or named) and _is_near(finding, known)
    said = answers.unsure(turn, replace(finding, decision="ask", hedged=True)) if near else None
    offered = flow.offer(
        message, matter.request_type(turn, message.text), said.text if said else "", "offer" if said else "offer.situation"
    )
    return replace(offered, evidence=said.evidence) if said else offered


def _is_plain(said: Sequence[str]) -> bool:
    """Return whether two words of a message have a meaning that the lexicon knows: "dişim çok ağrıyor"."""
    return sum(bool(lexicon.of_word(word)) for word in said if not is_light(word)) >= _MEANT


def _is_near(finding: SearchResult, known: Sequence[str]) -> bool:
    """Return whether the first entry has a word of the subject and leads. The second one is further away or has fewer."""
    held = [sum(followups.holds_words(hit.entry, [word]) for word in known) for hit in finding.hits[:2]]
    return held[0] > 0 and (len(held) == 1 or held[0] > held[1] or finding.hits[0].score >= _FIRST * finding.hits[1].score)
