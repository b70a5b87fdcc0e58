"""Protocol of engines: an engine gets one turn, and returns one reply.

Engines write nothing, and do not know accounts, allowance or storage.
"""

import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from chatsvc.domain.captures import Captured, CapturedRecord
from chatsvc.domain.errors import REPLY_FAILURES
from chatsvc.domain.models import Bot, Entry, HistoryMessage, Usage

EMPTY_REASONS = frozenset({"empty", "truncated"})
MAX_EVIDENCE = 5  # entries that are kept with a reply


class EngineError(Exception):
    """Failure of an engine to reply. `reason` is one of the reasons in help/interface.md 6.

    `detail` is for the log only; it holds no secret and no text of a visitor. `fallback` is a sentence in the visitor's language that
    channels (but not the REST interface) show in place of an answer, with `choices` as buttons. `dialogue` is the engine's new state.
    Raises ValueError for an unknown reason.
    """

    def __init__(
        self, reason: str, detail: str = "", *, fallback: str = "", dialogue: str | None = None, choices: tuple[str, ...] = ()
    ) -> None:
        if reason not in REPLY_FAILURES:
            raise ValueError(f"unknown reason {reason!r}")
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.fallback = fallback
        self.dialogue = dialogue
        self.choices = choices


@dataclass(frozen=True, slots=True)
class Fact:
    """Statement of an entry that answers a question.

    `title` is its short name, which choices show; `text` is the fact with its headings; `subject` is what it is about, for a later
    question without a subject of its own.
    """

    entry: Entry
    title: str
    text: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry found, with its score from 0 to 1. `why` lists the matched words if an explanation was asked for."""

    entry: Entry
    score: float
    why: tuple[str, ...] = ()
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of a search in a bot's knowledge.

    `decision` is "answer", "ask" or "abstain"; `confidence` (0 to 1) is the probability that the first hit is right; `hits` are
    best first. `facts` are the likeliest facts of all entries, best first, from which a visitor may choose.
    """

    language: str
    decision: str
    confidence: float
    hits: tuple[Hit, ...]
    facts: tuple[Fact, ...] = ()


class Knowledge(Protocol):
    """Searchable index of a bot's entries. It is in memory, and the same search gives the same result."""

    @property
    def entries(self) -> Sequence[Entry]: ...

    @property
    def languages(self) -> AbstractSet[str]:
        """Primary tags of the entries' languages."""
        ...

    @property
    def characters(self) -> int:
        """Number of characters of the entries, without their other phrasings."""
        ...

    def search(
        self,
        text: str,
        language: str | None = None,
        limit: int = 5,
        *,
        spoken: str | None = None,
        subject: str | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """Search for `text`; return at most `limit` hits.

        `language` is the language asked for; `spoken` is that of the conversation, which weighs less. `subject` is what the conversation
        was about before. If `explain` is true, each hit lists its matched words.
        """
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One message to answer, with its conversation.

    `history` is oldest first, without `message`; `language` is the caller's override (BCP 47); `model` is the provider's model
    name of the tier; `timeout_s` is the time left until the message's deadline; `now_ms` is the time of acceptance; `dialogue`
    is the state that the engine's last reply returned; `may_capture` is False if today's limit of captures is reached;
    `captured` are the newest records of the conversation, oldest first.
    """

    bot: Bot
    channel: str
    message: str
    history: Sequence[HistoryMessage]
    knowledge: Knowledge
    now_ms: int
    language: str | None = None
    model: str = ""
    timeout_s: float = 0.0
    dialogue: str | None = None
    may_capture: bool = False
    captured: Sequence[CapturedRecord] = ()

    @property
    def spoken(self) -> list[str]:
        """Return the texts of the visitor's messages, in order, with this message at the end."""
        return [past.content for past in self.history if past.role == "user"] + [self.message]


class Evidence(NamedTuple):
    """Origin of a reply, for the operator: ids and scores of entries, best first, and the decision and confidence of a search."""

    entries: tuple[tuple[str, float], ...]
    decision: str | None = None
    confidence: float | None = None

    @classmethod
    def of(cls, hits: Iterable[Hit], decision: str | None = None, confidence: float | None = None) -> Self:
        """Describe the hits of a search with its decision and confidence. Without a decision, `hits` are the entries for a model."""
        # A search has put its hits in order: its first hit is the one that answers, although another may have a higher score.
        ranked = hits if decision else sorted(hits, key=attrgetter("score"), reverse=True)
        scores = tuple((hit.entry.id, round(hit.score, 4)) for hit in islice(ranked, MAX_EVIDENCE))
        return cls(scores, decision, None if confidence is None else round(confidence, 4))

    @property
    def answering(self) -> str | None:
        """Return the id of the entry that answered best, or None if no entry answered."""
        return self.entries[0][0] if self.entries and self.decision in ("answer", None) else None

    def to_json(self) -> str:
        """Return the evidence as JSON for the store."""
        entries = [{"id": entry_id, "score": score} for entry_id, score in self.entries]
        return json.dumps({"entries": entries, "decision": self.decision, "confidence": self.confidence})


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of an engine: non-empty text, its cost, the captured record, the engine's state for the next turn, and its origin.

    `choices` are messages that the visitor may choose as the answer; channels show them as buttons. `missed` is a question that the
    bot could not answer with confidence: its confidence was low, or none of the offered choices was taken.
    """

    text: str
    usage: Usage = Usage()
    captured: Captured | None = None
    dialogue: str | None = None
    evidence: Evidence | None = field(default=None, compare=False)
    choices: tuple[str, ...] = field(default=(), compare=False)
    missed: str = field(default="", compare=False)

    @property
    def is_answer(self) -> bool:
        """Return whether the reply counts as an answer, i.e. offers no choices and has enough confidence."""
        return not self.missed and (self.evidence is None or self.evidence.decision != "ask")


class Engine(Protocol):
    """Source of replies."""

    async def start(self) -> None:
        """Load what the first reply needs. If loading fails, the replies fail too."""
        ...

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn within `turn.timeout_s` seconds. Raises EngineError; its reason is `timeout` after that time."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def site_of(knowledge: Knowledge) -> str:
    """Return scheme and host of the website that the entries come from, or "" if they come from no website."""
    for entry in knowledge.entries:
        if entry.source and entry.source.startswith(("https://", "http://")):
            parts = urlsplit(entry.source)
            return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    return ""
