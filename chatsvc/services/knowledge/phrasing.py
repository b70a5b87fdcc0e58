"""Phrasings by a model: ways in which visitors would ask for each entry, as a draft with the preview of what it changes."""

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.knowledge_files.parsed import MAX_PHRASING
from chatsvc.domain.models import MAY_SEND, Bot, Entry
from chatsvc.domain.plans import Tier, cost_micro_usd
from chatsvc.engines import EngineError
from chatsvc.services.accounts import bots
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import knowledge, previews
from chatsvc.services.knowledge.previews import Computation, Computations
from chatsvc.services.services import Services
from chatsvc.store import knowledge as stored
from chatsvc.store import today

if TYPE_CHECKING:
    from chatsvc.engines.anthropic import AnthropicEngine

log = logging.getLogger(__name__)

MOST_PHRASINGS = 10  # of an entry
MOST_ENTRIES = 300  # of a bot that are asked for at a time
_BATCH = 8  # entries in one question to the model
_MOST_ANSWER = 1_500  # characters of an answer that the model sees
_MAX_TOKENS = 4_000
_SYSTEM = (
    "You help the owner of a small business whose chatbot finds answers by their phrasings. For each numbered entry write up to "
    f"{MOST_PHRASINGS} short ways in which ordinary visitors would ask for what it says: in the language of the entry, as people type in "
    "a chat, some with slang, with other words than the entry, or with a word or two alone. Ask only for what the entry answers. For an "
    "entry with several facts, ask for several of them. No greetings, no names, no numbers of telephones. Answer with a JSON list of lists "
    "of strings alone, one list for each entry, in their order."
)


class Phrased(NamedTuple):
    """The number of entries that got phrasings, and of the phrasings."""

    bot: str
    entries: int
    phrasings: int


async def begin(services: Services, caller: Caller, *, bot: str, tier: str | None = None) -> Computation:
    """Let a model write phrasings for a bot's entries, in the background. `knowledge.preview_show` shows the draft and its preview.

    Without `tier` the bot's own tier writes them if it has a model, else the first one that has. Raises `tier_unknown` and
    `model_missing`, and `trial_account_inactive` where the account may not send messages.
    """
    state, chatbot = await bots.resolve(services, caller, bot)
    chosen = _tier(services, chatbot, tier)
    if state.account.subscription_status not in MAY_SEND:
        raise refusals.trial_account_inactive(status=state.account.subscription_status)
    past = await previews.past_questions(services, chatbot)
    before = await stored.whole(services.db, chatbot.id)
    computation = Computation(str(uuid.uuid4()), chatbot.id, "preview", questions=len(past))

    async def work() -> Mapping[str, Any]:
        computation.phrased = await _written(services, state, chatbot, chosen, before.entries[:MOST_ENTRIES], computation)
        changed = {entry.id: entry for entry in computation.phrased}
        after = before._replace(entries=[changed.get(entry.id, entry) for entry in before.entries])
        return previews.work_of("preview", chatbot, before, after, questions=past, now_ms=services.clock(), phrasings=True)

    return await services.part(Computations).run(chatbot.account_id, computation, work)


async def apply(services: Services, caller: Caller, *, bot: str, preview: str) -> Phrased:
    """Add the phrasings of a draft to the entries that still exist; raises `preview_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    computation = await previews.show(services, caller, bot=bot, preview=preview)
    done = Phrased(chatbot.id, 0, 0)
    known = {entry.id: entry for entry in await stored.entries(services.db, chatbot.id)}
    for entry in computation.phrased:
        if entry.id in known:
            changed = await knowledge.add_phrasings(services, caller, chatbot, entry.id, entry.alt)
            done = Phrased(chatbot.id, done.entries + 1, done.phrasings + len(changed.alt) - len(known[entry.id].alt))
    return done


def _tier(services: Services, bot: Bot, name: str | None) -> Tier:
    tiers = services.config.models
    if name is not None and name not in tiers:
        raise refusals.tier_unknown(tier=name, tiers=sorted(tiers))
    for tier in [tiers[name]] if name is not None else [*filter(None, [tiers.get(bot.model)]), *tiers.values()]:
        if tier.engine != "knowledge" and tier.engine in services.engines:
            return tier
    raise refusals.model_missing()


async def _written(
    services: Services, state: AccountState, bot: Bot, tier: Tier, entries: Sequence[Entry], computation: Computation
) -> list[Entry]:
    """Ask the model for the phrasings of all entries, and count what it costs. A batch that fails is left out."""
    engine, phrased = cast("AnthropicEngine", services.engines[tier.engine]), list[Entry]()
    for start in range(0, len(entries), _BATCH):
        computation.report("asking the model", start, len(entries))
        batch = entries[start : start + _BATCH]
        question = "\n\n".join(
            f"{number}. [{entry.language}] {' / '.join((entry.question, *entry.alt[:MOST_PHRASINGS]))}\n{entry.answer[:_MOST_ANSWER]}"
            for number, entry in enumerate(batch, start=1)
        )
        try:
            text, usage = await engine.complete(tier.model, _SYSTEM, question, _MAX_TOKENS)
        except EngineError as fault:
            log.warning("bot %s: a model wrote no phrasings: %s", bot.id, fault)
            continue
        cost = cost_micro_usd(tier, usage)
        services.tallies.spent(tier.name, state.account.plan or "none", usage, cost)
        await today.count_trial(services.db, bot.id, services.clock(), usage.total, cost)
        phrased += [new for entry, written in zip(batch, _lists(text), strict=False) if (new := _with(entry, written)).alt != entry.alt]
    return phrased


def _lists(text: str) -> list[list[str]]:
    begin, end = text.find("["), text.rfind("]")
    try:
        lists = json.loads(text[begin : end + 1]) if 0 <= begin < end else []
    except (ValueError, RecursionError):
        return []
    return [[phrasing for phrasing in written if isinstance(phrasing, str)] if isinstance(written, list) else [] for written in lists]


def _with(entry: Entry, written: Sequence[str]) -> Entry:
    from chatsvc.language.folding import words

    known, new = {tuple(words(phrasing)) for phrasing in (entry.question, *entry.alt)}, list[str]()
    for text in (" ".join(phrasing.split()) for phrasing in written):
        folded = tuple(words(text))
        if folded and folded not in known and len(text) <= MAX_PHRASING and text.isprintable() and len(new) < MOST_PHRASINGS:
            known.add(folded)
            new.append(text)
    return entry._replace(alt=(*entry.alt, *new))
