"""Unanswered questions, without personal data, in groups of similar ones, each of which becomes an entry or phrasings of one."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from chatsvc.domain import paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.folding import fold
from chatsvc.domain.language import primary
from chatsvc.domain.models import Bot, Entry, SendMessage
from chatsvc.domain.paging import ResultPage
from chatsvc.services.accounts import bots
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.knowledge import knowledge
from chatsvc.services.services import Services
from chatsvc.store import knowledge_changes
from chatsvc.store import unanswered as stored

if TYPE_CHECKING:
    from chatsvc.engines import Knowledge

log = logging.getLogger(__name__)

MOST_CHARACTERS = 500  # of a question that is kept
MOST_SHOWN = 50  # wordings of a group
PAGE = 20  # groups
MOST_READ = 50  # questions of an account, before those that need no entry are left out
_TIMEOUT_S = 2.0  # the caller waits for its error meanwhile
_BATCH = 200  # questions masked in one transaction
_MOST_MASKED = 20  # passes over a question, each of which finds a name, an address and a number at most
_ANY_TIME = datetime(2026, 1, 1)  # noqa: DTZ001  # dates are not looked at
MASK = "…"
_BESIDE_MASK = 2  # telling words of a question that held personal data
_LONGEST_NAME = 3  # words
_ENDS = frozenset(".,;:!?")
# Questions are shown to the team for months and exported: they must not say who asked or how to reach anybody.
_ALIKE = 0.66  # similarity from which two questions count as one
_LETTERS = 0.8  # weight of shared letter trigrams; that of shared stems is 1
_STOP = 0.35  # weight of the stem of a stop word
_COMMON = 300  # groups compared for one stem; a more frequent stem says nothing


async def note(services: Services, bot: Bot, message: SendMessage, channel: str) -> None:
    """Store the question of a message without personal data. A fault here does not change the message's outcome."""
    try:
        question = _question(message.message, bot, message.language)
        if question is None:
            return
        if message.user_id is not None:
            question = question._replace(visitor=(channel, message.user_id))
        async with asyncio.timeout(_TIMEOUT_S):
            await stored.note(services.db, bot.id, question, services.clock())
    except Exception as fault:  # noqa: BLE001  # a note is not worth an answer
        log.warning("bot %s: a question without an answer could not be noted: %s", bot.id, type(fault).__name__)


def _question(said: str, bot: Bot, language: str | None) -> stored.AskedQuestion | None:
    """Return the question to store. None for an answer, a number, a greeting, an insult or a name, which need no entry."""
    from chatsvc.language.folding import words
    from chatsvc.language.language_detection import guess

    question = without_personal_data(said, bot.country, language)[:MOST_CHARACTERS]
    found = words(question)
    if not is_question(question, language or bot.language):
        return None
    return stored.AskedQuestion(" ".join(found), question, primary(language or guess(question) or bot.language))


@lru_cache(maxsize=4096)  # some milliseconds a question, and pages ask for the same ones again and again
def is_question(question: str, language: str) -> bool:
    """Return whether a masked message may become an entry. No insult, no name, no date, and no mere remainder of contact data."""
    from chatsvc.engines.knowledge import questions

    if not questions.needs_answer(question, primary(language)):
        return False
    return questions.tells(question) >= _BESIDE_MASK if MASK in question else not _is_name(question)


def _is_name(text: str) -> bool:
    """Return whether a text is, or looks like, a person's name."""
    from chatsvc.language import values

    parts = text.split()
    if 2 <= len(parts) <= _LONGEST_NAME and all(part.isalpha() and _may_be_name(part) for part in parts):
        return True
    found = values.read(text, now=_ANY_TIME, asked="confirm").name
    return found is not None and found.end - found.start == len(text.strip())


def without_personal_data(said: str, country: str, language: str | None = None) -> str:
    """Replace names, e-mail addresses and telephone numbers by an ellipsis. The reader of values finds them."""
    from chatsvc.language.contacts import mask_contacts
    from chatsvc.language.values import read

    # Longer than what is kept: a number that the cut would divide is found whole.
    question = said[: 2 * MOST_CHARACTERS]
    for _ in range(_MOST_MASKED):
        values = read(question, now=_ANY_TIME, language=language, country=country)
        found = sorted(((one.start, one.end) for one in (values.email, values.phone, values.name) if one), reverse=True)
        if not found:
            break
        for start, end in found:
            question = question[:start] + MASK + question[end:]
    return _without_names(" ".join(mask_contacts(question, MASK).split()))


def _without_names(text: str) -> str:
    """Mask given names, and unknown capitalised words beside contact data or a closing."""
    from chatsvc.language.folding import fold
    from chatsvc.language.name_words import AMBIGUOUS_NAMES, BEFORE_NAMES, GIVEN_NAMES

    tokens = text.split(" ")
    bare = [token.strip(".,;:!?()") for token in tokens]
    masked = [False] * len(tokens)
    for at, word in enumerate(bare):
        given = word[:1].isupper() and fold(word) in GIVEN_NAMES - AMBIGUOUS_NAMES
        follows = at > 0 and (fold(bare[at - 1]) in BEFORE_NAMES or (masked[at - 1] and tokens[at - 1][-1:] not in _ENDS))
        masked[at] = given or (follows and _may_be_name(word))
    for at in range(len(tokens) - 2, -1, -1):
        beside = masked[at + 1] or tokens[at + 1].startswith(MASK)
        masked[at] = masked[at] or (beside and tokens[at][-1:] not in _ENDS and _may_be_name(bare[at]))
    kept = [MASK if hidden else token for token, hidden in zip(tokens, masked, strict=True)]
    return " ".join(token for at, token in enumerate(kept) if token != MASK or at == 0 or kept[at - 1] != MASK)


def _may_be_name(word: str) -> bool:
    return word[:1].isupper() and not _is_known(word)


def _is_known(word: str) -> bool:
    """Return whether a word is one of a language, and no name."""
    from chatsvc.engines.knowledge.search import lexicon
    from chatsvc.language.folding import fold
    from chatsvc.language.language_detection import is_word

    folded = fold(word)
    return bool(lexicon.of_word(folded)) or is_word(folded)


async def mask(services: Services) -> None:
    """Remove personal data from questions that an older version or an import has stored. Raises StoreUnavailable."""
    from chatsvc.language.folding import words

    def masked(questions: list[stored.Unmasked]) -> list[tuple[int, str, str]]:
        wordings = [(one.number, without_personal_data(one.question, one.country, one.language)) for one in questions]
        return [(number, " ".join(words(wording)), wording) for number, wording in wordings]

    while questions := await stored.unmasked(services.db, _BATCH):
        await stored.mask(services.db, await services.offload(partial(masked, questions)))


class UnansweredGroup(NamedTuple):
    """Phrasings of one question, the most frequent first.

    `id` is the number of the first one. `nearest` is the entry that matches best, with its score, unless no entry matches well
    enough to be offered; `answered` says that the knowledge answers the question by now, and was not asked it in vain since.
    """

    id: int
    question: str
    times: int
    asked: list[str]
    language: str
    last_asked_at: int
    channels: list[str]
    nearest: tuple[Entry, float] | None
    answered: bool


class EntryDraft(NamedTuple):
    """An entry without an answer, made of a group: its question and other phrasings."""

    question: str
    alt: list[str]
    language: str


class Cleared(NamedTuple):
    """The number of questions deleted of a bot."""

    bot: str
    questions: int


async def _asked(services: Services, bot: Bot) -> list[stored.Asked]:
    return [one for one in await stored.most_asked(services.db, bot.id) if is_question(one.question, one.language)]


async def groups(services: Services, caller: Caller, *, bot: str, limit: int = 20, answered: bool | None = None) -> list[UnansweredGroup]:
    """List a bot's unanswered questions in groups, most frequent first. Only those that the knowledge has `answered` by now, or not."""
    _, chatbot = await bots.resolve(services, caller, bot)
    asked = await _asked(services, chatbot)
    if not asked:
        return []
    known = await _known(services, chatbot)
    return await services.offload(lambda: _shown(asked, known, limit, answered))


async def page(
    services: Services,
    caller: Caller,
    *,
    bot: str,
    q: str = "",
    question: int | None = None,
    answered: bool | None = None,
    limit: int = PAGE,
    after: str | None = None,
) -> ResultPage[UnansweredGroup]:
    """List a page of groups as `groups` does, only those with all words of `q`. Raises `position_invalid`.

    `question` selects the group of that number; raises `question_not_found`.
    """
    _, chatbot = await bots.resolve(services, caller, bot)
    limit = max(1, min(limit, PAGE))
    (start,) = paging.parsed(after, paging.number) or (0,)
    if not 0 <= start <= stored.MOST_KEPT:
        raise refusals.position_invalid(position=after)
    asked = await _asked(services, chatbot)
    if question is not None:
        asked = (await _group_of(services, chatbot, question)).wordings
    if not asked:
        return ResultPage([], None)
    known, wanted = await _known(services, chatbot), fold(q).split()
    found = await services.offload(lambda: _shown(asked, known, start + limit + 1, answered, wanted))
    return paging.page_of(found[start:], limit, lambda _: paging.position(start + limit))


async def _group_of(services: Services, bot: Bot, question: int) -> _Group:
    """Find the group of a question by its number; raises `question_not_found`."""
    asked = await _asked(services, bot)
    for group in await services.offload(lambda: _grouped(asked)):
        if question in {one.number for one in group.wordings}:
            return group
    raise refusals.question_not_found(question=question)


async def answer(services: Services, caller: Caller, *, bot: str, question: int) -> EntryDraft:
    """Make a draft of an entry from the group of a question."""
    _, chatbot = await bots.resolve(services, caller, bot)
    group = await _group_of(services, chatbot, question)
    first, *others = [one.question for one in group.wordings[:MOST_SHOWN]]
    return EntryDraft(first, others, group.first.language)


async def add_to(services: Services, caller: Caller, *, bot: str, question: int, entry: str) -> Entry:
    """Make the wordings of a group phrasings of an entry; raises `question_not_found` and `entry_not_found`."""
    _, chatbot = await bots.resolve(services, caller, bot)
    group = await _group_of(services, chatbot, question)
    wordings = [one.question for one in group.wordings[:MOST_SHOWN]]
    return await knowledge.add_phrasings(services, caller, chatbot, entry, wordings)


async def forget(services: Services, caller: Caller, *, bot: str, question: int | None = None) -> Cleared:
    """Delete all unanswered questions of a bot, or the group of one."""
    _, chatbot = await bots.resolve(services, caller, bot)
    numbers = None if question is None else [one.number for one in (await _group_of(services, chatbot, question)).wordings]
    return Cleared(chatbot.id, await stored.clear(services.db, chatbot.id, numbers))


@dataclass(slots=True)
class _Group:
    """Phrasings of one question, the most frequent first."""

    first: stored.Asked
    stems: dict[str, float]  # stem -> weight
    letters: frozenset[str]
    wordings: list[stored.Asked] = field(default_factory=list)

    def likeness(self, stems: dict[str, float], letters: frozenset[str]) -> float:
        """Return the similarity to the first question, from 0 to 1."""
        shared = sum(weight for stem, weight in stems.items() if stem in self.stems)
        by_stems = 2 * shared / (sum(stems.values()) + sum(self.stems.values()))
        by_letters = 2 * len(letters & self.letters) / (len(letters) + len(self.letters))
        return max(by_stems, _LETTERS * by_letters)


class _CurrentKnowledge(NamedTuple):
    """Knowledge of a bot, with the time of its last change in milliseconds."""

    bot: Bot
    knowledge: Knowledge
    changed_at: int

    def answers(self, first: stored.Asked, others: Sequence[stored.Asked] = ()) -> bool:
        """Return whether the knowledge answers a question. One that was missed again since the last change is not answered.

        `others` are its other wordings, which count as the same.
        """
        from chatsvc.engines.knowledge.questions import entry_for

        is_older = all(one.last_asked_at <= self.changed_at for one in (first, *others))
        return is_older and entry_for(self.bot, self.knowledge, first.question) is not None


async def _known(services: Services, bot: Bot) -> _CurrentKnowledge:
    return _CurrentKnowledge(bot, await services.knowledge.of(bot), await knowledge_changes.last_at(services.db, bot.id))


async def open_groups(services: Services, bot: Bot, asked: Sequence[stored.Asked], limit: int) -> list[UnansweredGroup]:
    """Group questions as `groups` does, without those that need no entry or that the bot's knowledge answers by now."""
    known = await _known(services, bot)
    questions = [one for one in asked if is_question(one.question, one.language)]
    return await services.offload(lambda: _shown(questions, known, limit, answered=False))


class OpenQuestion(NamedTuple):
    """A group of questions without an answer, with its bot."""

    bot_id: str
    group: UnansweredGroup


async def open_of_account(
    services: Services, state: AccountState, questions: Sequence[stored.BotQuestion], limit: int
) -> list[OpenQuestion]:
    """Group an account's questions as `open_groups` does, the most frequent ones first."""
    found: list[OpenQuestion] = []
    for bot_id in {one.bot_id for one in questions} & state.bots.keys():
        asked = [one.asked for one in questions if one.bot_id == bot_id]
        groups = await open_groups(services, state.bots[bot_id], asked, limit)
        found += [OpenQuestion(bot_id, group) for group in groups]
    return sorted(found, key=lambda one: -one.group.times)[:limit]


class MissedQuestion(NamedTuple):
    """A group of similar questions of a bot. `id` is the number of the most frequent one, `times` the sum of their counts."""

    bot_id: str
    id: int
    question: str
    language: str
    times: int


def most_missed(questions: Sequence[stored.BotQuestion], limit: int) -> list[MissedQuestion]:
    """Group questions of bots, the most frequent ones first, whether the knowledge answers them by now or not."""
    found: list[MissedQuestion] = []
    for bot_id in {one.bot_id for one in questions}:
        asked = [one.asked for one in questions if one.bot_id == bot_id and is_question(one.asked.question, one.asked.language)]
        for group in _grouped(asked):
            times = sum(one.times for one in group.wordings)
            found.append(MissedQuestion(bot_id, group.first.number, group.first.question, group.first.language, times))
    return sorted(found, key=lambda one: (-one.times, one.id))[:limit]


def _shown(
    asked: Sequence[stored.Asked], known: _CurrentKnowledge, limit: int, answered: bool | None, wanted: Sequence[str] = ()
) -> list[UnansweredGroup]:
    found = [(sum(one.times for one in group.wordings), group) for group in _grouped(asked)]
    found.sort(key=lambda pair: -pair[0])
    shown: list[UnansweredGroup] = []
    for count, group in found:
        if len(shown) >= limit:
            break
        wordings = [one.question for one in group.wordings[:MOST_SHOWN]]
        if wanted and not _has(fold(" ".join(wordings)), wanted):
            continue
        has_answer = known.answers(group.first, group.wordings)
        if answered is not None and has_answer != answered:
            continue
        shown.append(
            UnansweredGroup(
                group.first.number,
                group.first.question,
                count,
                wordings,
                group.first.language,
                max(one.last_asked_at for one in group.wordings),
                sorted({channel for one in group.wordings for channel in one.channels}),
                _nearest(group.first, known.knowledge),
                has_answer,
            )
        )
    return shown


def _has(text: str, wanted: Sequence[str]) -> bool:
    return all(word in text for word in wanted)


def _nearest(asked: stored.Asked, index: Knowledge) -> tuple[Entry, float] | None:
    found = index.search(asked.question, asked.language, 1)
    hit = next(iter(found.hits), None) if found.decision != "abstain" else None
    return (hit.entry, hit.score) if hit else None


def _grouped(asked: Sequence[stored.Asked]) -> list[_Group]:
    """Group questions. Each joins the most similar group that shares a stem with it, or begins one."""
    from chatsvc.engines.knowledge.search.stemming import stem, trigrams
    from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
    from chatsvc.language.folding import words

    made: list[_Group] = []
    holders: dict[str, list[int]] = {}  # language and the beginning of a stem -> groups
    for one in asked:
        said = words(one.question)
        stems = {stem(word): _STOP if word in STOPWORDS else 1.0 for word in said}
        letters = frozenset(gram for word in said for gram in trigrams(word))
        # four letters: a stem with a slip at its end is found as well
        keys = {f"{one.language} {stem[:4]}" for stem, weight in stems.items() if weight == 1.0 or max(stems.values()) < 1.0}
        likely = Counter(at for key in keys for at in holders.get(key, ())[:_COMMON])
        best = max((made[at] for at, _ in likely.most_common(50)), key=lambda group: group.likeness(stems, letters), default=None)
        if best is None or best.likeness(stems, letters) < _ALIKE:
            best = _Group(one, stems, letters)
            for key in keys:
                holders.setdefault(key, []).append(len(made))
            made.append(best)
        best.wordings.append(one)
    return made
