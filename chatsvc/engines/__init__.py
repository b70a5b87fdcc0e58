"""What answers: an engine is asked one turn and gives one reply. It writes nothing and knows nothing of accounts, quota or storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chatsvc.domain.captures import Captured, CapturedRecord
from chatsvc.domain.errors import REPLY_FAILURES
from chatsvc.domain.models import Bot, Entry, HistoryMessage, Usage

EMPTY_REASONS = frozenset({"empty", "truncated"})
UNAVAILABLE_REASONS = frozenset(REPLY_FAILURES) - EMPTY_REASONS


class EngineError(Exception):
    """No reply could be had; `reason` is one of DECISIONS.md section 1, "reason (502)".

    `detail` is for the log alone: it names the fault in words and never holds a secret or a visitor's text.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        if reason not in REPLY_FAILURES:
            raise ValueError(f"unknown reason {reason!r}")
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry found, with its score from 0 to 1; `why` tells for people which words met, where that was asked for."""

    entry: Entry
    score: float
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search of a bot's knowledge came to.

    `decision` is "answer", "ask" or "abstain"; `confidence` (0 to 1) is how sure the first hit is right; `hits` are best first.
    """

    language: str
    decision: str
    confidence: float
    hits: tuple[Hit, ...]


class Knowledge(Protocol):
    """A bot's entries, ready to be searched; pure, in-process, the same answer every time."""

    @property
    def entries(self) -> Sequence[Entry]: ...

    def search(
        self, text: str, language: str | None = None, limit: int = 5, *, spoken: str | None = None, explain: bool = False
    ) -> Finding:
        """What there is on `text`. `language` was asked for; `spoken` is what the conversation is in, which weighs less.

        To `explain` is to say of each hit why.
        """
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """What an engine is asked. `history` is oldest first, without `message`; `language` is the caller's override (BCP 47);

    `model` is the provider's model name of the tier; `timeout_s` is what is left of the message's one deadline; `now_ms` the
    instant at which the message was accepted; `dialogue` is what the engine's last reply in this conversation left for itself;
    `may_capture` is False where the conversation has captured as much today as it may; `captured` are the newest records of
    the conversation, oldest first.
    """

    bot: Bot
    channel: str
    message: str
    history: Sequence[HistoryMessage]
    language: str | None
    knowledge: Knowledge
    model: str
    timeout_s: float
    now_ms: int
    dialogue: str | None = None
    may_capture: bool = False
    captured: Sequence[CapturedRecord] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What an engine answers: text that is not empty, what it cost, what it has captured, and what it wants to know next time."""

    text: str
    usage: Usage = Usage()
    captured: Captured | None = None
    dialogue: str | None = None


class Engine(Protocol):
    """A way to get replies."""

    async def start(self) -> None:
        """Load now what the first reply would have to wait for; what cannot be loaded is told by the replies."""
        ...

    async def reply(self, turn: Turn) -> Reply:
        """Answer one turn; raises EngineError."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
