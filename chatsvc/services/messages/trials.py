"""Trials: conversations of the team with a bot, which are neither stored nor charged. Their state is in memory only.

The cost of a model for trials is counted separately from visitors' messages.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import CapturedRecord, as_captured
from chatsvc.domain.limiter import Limiter
from chatsvc.domain.models import MAY_SEND, Bot, Entry, HistoryMessage, Usage
from chatsvc.engines import EngineError, Evidence, Reply, Turn
from chatsvc.services.accounts import accounts
from chatsvc.services.conversations import captures
from chatsvc.services.messages.messages import FALLBACK, HISTORY_MESSAGES, reply_to
from chatsvc.services.services import Services
from chatsvc.store import today as stored

if TYPE_CHECKING:
    from chatsvc.engines import SearchResult
    from chatsvc.engines.knowledge.search.index import KnowledgeIndex

log = logging.getLogger(__name__)

MOST_TRIALS = 200
MOST_A_MINUTE = 30  # messages of a person
MOST_TURNS = 50  # of a trial that are shown
MOST_CHARACTERS = 4_000  # of a message
CHANNEL = "web"


class TrialTurn(NamedTuple):
    """A message of a trial and its reply.

    If no engine replied, `failure` is the reason, and `text` is the fallback that visitors of a channel see. `decision`, `confidence` and
    `entries` (with scores, best first) belong to the search behind the reply, if any. `search` is a search for the message alone, with the
    matched words of each entry.
    """

    message: str
    text: str
    failure: str | None
    decision: str | None
    confidence: float | None
    entries: Sequence[tuple[Entry, float]]
    search: SearchResult
    captured: CapturedRecord | None


@dataclass
class Trial:
    id: str
    bot_id: str
    turns: list[TrialTurn] = field(default_factory=list)
    history: list[HistoryMessage] = field(default_factory=list)
    captured: list[CapturedRecord] = field(default_factory=list)
    dialogue: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Trials:
    """The trials of a process. The least recently used trial is evicted first."""

    def __init__(self, _: Services) -> None:
        self._trials: dict[str, Trial] = {}
        self.limiter = Limiter(MOST_A_MINUTE)

    def of(self, bot_id: str, trial_id: str | None) -> Trial:
        """Return the trial `trial_id` of a bot, or a new trial if the bot has none with this id."""
        trial = self._trials.pop(trial_id or "", None)
        if trial is None or trial.bot_id != bot_id:
            trial = Trial(str(uuid.uuid4()), bot_id)
        self._trials[trial.id] = trial
        while len(self._trials) > MOST_TRIALS:
            del self._trials[next(iter(self._trials))]
        return trial


async def say(services: Services, caller: Caller, *, bot: Bot, text: str | None = None, trial: str | None = None) -> Trial:
    """Send a message to a bot in a trial, or only show the trial if `text` is missing. If `trial` is unknown, begin a new trial.

    Raises `text_empty`, `text_too_long`, `trials_too_many`, and `trial_account_inactive` if a model would answer.
    """
    state = await accounts.resolve(services, caller, bot.account_id)
    current = services.part(Trials).of(bot.id, trial)
    if text is None:
        return current
    if not text.strip():
        raise refusals.text_empty(field="text")
    if len(text) > MOST_CHARACTERS:
        raise refusals.text_too_long(field="text", most=MOST_CHARACTERS, length=len(text))
    tier = services.config.models.get(bot.model)
    asks_model = tier is not None and tier.engine != FALLBACK
    if asks_model and state.account.subscription_status not in MAY_SEND:
        raise refusals.trial_account_inactive(status=state.account.subscription_status)
    now = services.clock()
    slot = await services.part(Trials).limiter.take(caller.actor.id, now)
    if not slot.taken:
        raise refusals.trials_too_many(most=slot.limit, retry_after=slot.reset - now // 1000)
    async with current.lock:
        turn, usage = await _turn(services, bot, current, text)
        if tier is not None and any(usage):
            await accounts.count_trial(services, state.account, bot.id, tier, usage, now)
        if not current.turns:
            await stored.set_tried(services.db, state.account.id, services.clock())
        current.turns = [*current.turns, turn][-MOST_TURNS:]
    return current


async def _turn(services: Services, bot: Bot, trial: Trial, text: str) -> tuple[TrialTurn, Usage]:
    """Ask the engine for a reply as for a visitor's message, and add message and reply to the trial."""
    index = cast("KnowledgeIndex", await services.knowledge.of(bot))
    search = await services.offload(lambda: index.search(text, explain=True))
    reply, failure, fallback = Reply(""), None, ""
    turn = Turn(
        bot=bot,
        channel=CHANNEL,
        message=text,
        history=trial.history,
        knowledge=index,
        now_ms=services.clock(),
        dialogue=trial.dialogue,
        may_capture=True,
        captured=trial.captured,
    )
    tier, deadline = services.config.models.get(bot.model), asyncio.get_running_loop().time() + services.config.anthropic.timeout_s
    try:
        if tier is None or tier.engine not in services.engines:
            raise EngineError("not_configured")
        reply, _ = await reply_to(services, tier, turn, deadline)
    except EngineError as fault:
        failure, fallback = fault.reason, fault.fallback
    messages, record = [HistoryMessage("user", text)], None
    if failure is None:
        messages.append(HistoryMessage("assistant", reply.text))
        trial.dialogue = reply.dialogue
    if reply.captured is not None:
        record = as_captured(*captures.records(bot, reply.captured, turn.spoken, services.clock()))
        trial.captured = [*trial.captured, record][-MOST_TURNS:]
    trial.history = [*trial.history, *messages][-HISTORY_MESSAGES:]
    evidence = reply.evidence or Evidence(())
    scores = dict(evidence.entries)
    named = {entry.id: entry for entry in index.entries if entry.id in scores} if scores else {}
    entries = [(named[entry_id], score) for entry_id, score in scores.items() if entry_id in named]
    shown = reply.text or fallback
    return TrialTurn(text, shown, failure, evidence.decision, evidence.confidence, entries, search, record), reply.usage
