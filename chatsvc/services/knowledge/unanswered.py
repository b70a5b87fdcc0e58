"""Unanswered questions of visitors, stored without personal data in groups of similar questions.

The team turns a group into a new entry, or adds its wordings to an entry.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from chatsvc import background
from chatsvc.domain import paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.folding import primary
from chatsvc.domain.models import Bot, Entry, SendMessage
from chatsvc.domain.paging import ResultPage
from chatsvc.engines import Hit
from chatsvc.services.knowledge import knowledge
from chatsvc.services.services import Services
from chatsvc.store import conversations, knowledge_changes
from chatsvc.store import unanswered as stored
from chatsvc.store.unanswered import MissedQuestion, UnansweredGroup

log = logging.getLogger(__name__)

MOST_CHARACTERS = 500  # of a question that is kept
MOST_SHOWN = 50  # wordings of a group
PAGE = 20  # groups
MOST_READ = 50  # questions of an account, before those that need no entry are left out
_TIMEOUT_S = 10.0  # the caller waits for its error meanwhile; the first question loads the words of the languages
_BATCH = 200  # questions masked in one transaction
_MOST_MASKED = 20  # passes over a question, each of which finds a name, an address and a number at most
_ANY_TIME = datetime(2026, 1, 1)  # noqa: DTZ001  # dates are not looked at
MASK = "…"
_BESIDE_MASK = 2  # telling words of a question that held personal data
_NEAREST = 0.1  # least score of an entry that is named beside a question
_LONGEST_NAME = 3  # words
_MOST_EARLIER = 40  # messages of the conversation in which names are looked for
_ENDS = frozenset(".,;:!?")
# Questions are shown to the team for months and exported: they must not say who asked or how to reach anybody.
_ALIKE = 0.66  # similarity from which two questions count as one
_LETTERS = 0.8  # weight of shared letter trigrams; that of shared stems is 1
_STOP = 0.35  # weight of the stem of a stop word
_COMPARED = 300  # groups that a new question is compared with
_ROUNDS = 3  # of groups that are decided for one page
_MOST_WORDS = 10  # that are searched for
MOST_LISTED = 500  # groups


async def note(services: Services, bot: Bot, message: SendMessage, channel: str) -> None:
    """Store the question of a message without personal data, in a group of similar questions. Errors are logged, not raised."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            earlier: list[str] = []  # what the visitor wrote before in this conversation, newest first
            if message.user_id is not None:
                conversation = (bot.id, channel, message.user_id)
                history = await conversations.history(services.db, conversation, _MOST_EARLIER, services.clock())
                waiting = services.account_cache.unanswered.get(conversation, [])
                earlier = [previous.content for previous in reversed([*history.messages, *waiting]) if previous.role == "user"]
            question = await services.threads.run(partial(_question, message.message, bot, message.language, earlier), bot.account_id)
            if question is None:
                return
            group_id = await _group_to_join(services, bot.id, question.wording, question.language, bot.account_id)
            visitor = (channel, message.user_id) if message.user_id is not None else None
            await stored.note(services.db, bot.id, question._replace(visitor=visitor, group_id=group_id), services.clock())
    except Exception as fault:  # noqa: BLE001  # the message is processed all the same
        log.warning("bot %s: a question without an answer could not be noted: %s", bot.id, type(fault).__name__)


def _question(text: str, bot: Bot, language: str | None, earlier: Sequence[str]) -> stored.AskedQuestion | None:
    """Return the question to store, or None if it needs no entry. Answers, numbers, greetings, insults and names need none."""
    from chatsvc.language.folding import words
    from chatsvc.language.language_detection import guess
    from chatsvc.language.values import read

    names = (read(before[: 2 * MOST_CHARACTERS], now=_ANY_TIME, language=language, country=bot.country).name for before in earlier)
    name_words = frozenset(word for name in names if name for word in words(str(name.value)))
    question = without_personal_data(text, bot.country, language, name_words)[:MOST_CHARACTERS]
    if not is_question(question, language or bot.language):
        return None
    return stored.AskedQuestion(" ".join(words(question)), question, primary(language or guess(question) or bot.language))


async def _group_to_join(services: Services, bot_id: str, question: str, language: str, account_id: str) -> int | None:
    """Return the id of the group whose first question is most similar, or None if no group is similar enough."""
    groups = await stored.newest_groups(services.db, bot_id, language, _COMPARED)

    def most_alike() -> int | None:
        likeness, group_id = max((_likeness(question, first), -group_id) for group_id, first in groups)
        return -group_id if likeness >= _ALIKE else None

    return await services.threads.run(most_alike, account_id) if groups else None


def is_question(question: str, language: str) -> bool:
    """Return whether a message without personal data may become an entry. Insults, names, dates and remains of contact data may not."""
    from chatsvc.engines.knowledge import questions

    if not questions.needs_answer(question, primary(language)):
        return False
    return questions.tells(question) >= _BESIDE_MASK if MASK in question else not _is_name(question)


def _is_name(text: str) -> bool:
    from chatsvc.language import values

    parts = text.split()
    if 2 <= len(parts) <= _LONGEST_NAME and all(part.isalpha() and _may_be_name(part) for part in parts):
        return True
    name = values.read(text, now=_ANY_TIME, asked="confirm").name
    return name is not None and name.end - name.start == len(text.strip())


def without_personal_data(text: str, country: str, language: str | None = None, names: frozenset[str] = frozenset()) -> str:
    """Replace names, e-mail addresses and telephone numbers by an ellipsis. `names` are folded words of names given earlier."""
    from chatsvc.language.contacts import mask_contacts
    from chatsvc.language.values import read

    # The text is longer than the stored part, so that a number at the cut is found as a whole.
    question = text[: 2 * MOST_CHARACTERS]
    for _ in range(_MOST_MASKED):
        values = read(question, now=_ANY_TIME, language=language, country=country)
        spans = sorted(((value.start, value.end) for value in (values.email, values.phone, values.name) if value), reverse=True)
        if not spans:
            break
        for start, end in spans:
            question = question[:start] + MASK + question[end:]
    return _without_names(" ".join(mask_contacts(question, MASK).split()), names)


def _without_names(text: str, names: frozenset[str]) -> str:
    """Mask names, and unknown capitalised words beside a masked word or behind a closing such as "regards"."""
    from chatsvc.language.folding import fold
    from chatsvc.language.names import AMBIGUOUS_NAMES, BEFORE_NAMES, GIVEN_NAMES

    tokens = text.split(" ")
    bare = [token.strip(".,;:!?()") for token in tokens]
    masked = [False] * len(tokens)
    for index, word in enumerate(bare):
        given = word[:1].isupper() and fold(word) in GIVEN_NAMES - AMBIGUOUS_NAMES
        follows = index > 0 and (fold(bare[index - 1]) in BEFORE_NAMES or (masked[index - 1] and tokens[index - 1][-1:] not in _ENDS))
        masked[index] = given or fold(word) in names or (follows and _may_be_name(word))
    for index in range(len(tokens) - 2, -1, -1):
        beside = masked[index + 1] or tokens[index + 1].startswith(MASK)
        masked[index] = masked[index] or (beside and tokens[index][-1:] not in _ENDS and _may_be_name(bare[index]))
    shown = [MASK if hidden else token for token, hidden in zip(tokens, masked, strict=True)]
    return " ".join(token for before, token in pairwise(["", *shown]) if token != MASK or before != MASK)


def _may_be_name(word: str) -> bool:
    from chatsvc.engines.knowledge.search import lexicon
    from chatsvc.language.folding import fold
    from chatsvc.language.language_detection import is_word

    return word[:1].isupper() and not lexicon.shared().of_word(fold(word)) and not is_word(fold(word))


async def mask(services: Services) -> None:
    """Remove personal data from questions that an older version or an import has stored. Raises StoreUnavailable."""
    from chatsvc.language.folding import words

    def masked(text: str, country: str, language: str) -> tuple[str | None, str]:
        wording = without_personal_data(text, country, language)
        return " ".join(words(wording)) if is_question(wording, language) else None, wording

    while questions := await stored.unmasked(services.db, _BATCH):
        for number, bot_id, text, language, country in questions:
            folded, wording = await services.threads.run(partial(masked, text, country, language), "")
            group_id = await _group_to_join(services, bot_id, wording, language, "") if folded is not None else None
            await stored.mask(services.db, number, folded, wording, group_id)


class Cleared(NamedTuple):
    """The number of questions of a bot that were deleted."""

    bot: str
    cleared: int


async def groups(
    services: Services, _: Caller, *, bot: Bot, limit: int = 20, answered: bool | None = None
) -> list[tuple[UnansweredGroup, Hit | None]]:
    """List the groups of a bot's unanswered questions, most frequent first, each with the entry that fits best, if any.

    `answered` selects the groups that the knowledge answers by now (True) or still does not answer (False).
    """
    index = await services.knowledge.of(bot)
    shown = await listed(services, bot, max(1, min(limit, MOST_LISTED)), answered=answered)

    def nearest(group: UnansweredGroup) -> Hit | None:
        background.proceed()
        return next((hit for hit in index.search(group.question, group.language, 1).hits if hit.score >= _NEAREST), None)

    return await services.offload(lambda: [(group, nearest(group)) for group in shown])


async def page(
    services: Services,
    _: Caller,
    *,
    bot: Bot,
    q: str = "",
    question: int | None = None,
    answered: bool | None = None,
    limit: int = PAGE,
    after: str | None = None,
) -> ResultPage[UnansweredGroup]:
    """List a page of groups of unanswered questions, most frequent first. A group must contain all words of `q`. Raises `position_invalid`.

    `question` selects the group of the question with this row number, and raises `question_not_found`. `answered` filters like in `groups`.
    """
    from chatsvc.language.folding import words

    limit = max(1, min(limit, PAGE))
    (start,) = paging.parsed(after, paging.number) or (0,)
    if not 0 <= start <= stored.MOST_KEPT:
        raise refusals.position_invalid(position=after)
    group_id = None if question is None else await _group_of(services, bot, question)
    wanted = tuple(words(q)[:_MOST_WORDS])
    shown = await listed(services, bot, limit + 1, start, answered=answered, words=wanted, group_id=group_id)
    return paging.page_of(shown, limit, lambda _: paging.position(start + limit))


async def listed(
    services: Services,
    bot: Bot,
    limit: int,
    start: int = 0,
    *,
    answered: bool | None = None,
    words: Sequence[str] = (),
    group_id: int | None = None,
) -> list[UnansweredGroup]:
    """List groups of unanswered questions, and search whether the knowledge answers them by now.

    The result of the search is stored, and valid until the knowledge changes.
    """
    index = await services.knowledge.of(bot)
    change = await knowledge_changes.last(services.db, bot.id)
    rows: list[UnansweredGroup] = []

    def is_answered(group: UnansweredGroup) -> bool:
        from chatsvc.engines.knowledge.questions import entry_for

        background.proceed()
        return entry_for(bot, index, group.question) is not None

    def decide(undecided: Sequence[UnansweredGroup]) -> list[tuple[int, bool]]:
        return [(group.group_id, is_answered(group)) for group in undecided]

    for _ in range(_ROUNDS):
        rows = await stored.groups(
            services.db, bot.id, limit, MOST_SHOWN, start=start, change=change, answered=answered, words=words, group_id=group_id
        )
        undecided = [group for group in rows if group.answered is None]
        if not undecided:
            break
        await stored.decide(services.db, bot.id, await services.offload(partial(decide, undecided)), change[0])
    return [group._replace(answered=bool(group.answered)) for group in rows if answered is None or group.answered == answered]


async def _group_of(services: Services, bot: Bot, question: int) -> int:
    group_id = await stored.group_of(services.db, bot.id, question)
    if group_id is None:
        raise refusals.question_not_found(question=question)
    return group_id


async def answer(services: Services, _: Caller, *, bot: Bot, question: int) -> UnansweredGroup:
    """Return the group of a question, so that its wordings can become a new entry. Raises `question_not_found`."""
    group_id = await _group_of(services, bot, question)
    (group,) = await stored.groups(services.db, bot.id, 1, MOST_SHOWN, group_id=group_id)
    return group


async def add_to(services: Services, caller: Caller, *, bot: Bot, question: int, entry: str) -> Entry:
    """Add the wordings of a question's group to an entry as phrasings; raises `question_not_found` and `entry_not_found`."""
    group = await answer(services, caller, bot=bot, question=question)
    return await knowledge.add_phrasings(services, caller, bot, entry, group.asked)


async def forget(services: Services, _: Caller, *, bot: Bot, question: int | None = None) -> Cleared:
    """Delete all unanswered questions of a bot, or only the group of the question with the row number `question`."""
    group_id = None if question is None else await _group_of(services, bot, question)
    return Cleared(bot.id, await stored.clear(services.db, bot.id, group_id))


def most_missed(questions: Sequence[MissedQuestion], limit: int) -> list[MissedQuestion]:
    """Add up questions by group, and return the `limit` most frequent groups. The knowledge may answer some of them by now."""
    by_group: dict[tuple[str, int], MissedQuestion] = {}
    for question in questions:
        first = by_group.setdefault((question.bot_id, question.group_id), question._replace(times=0))
        by_group[question.bot_id, question.group_id] = first._replace(times=first.times + question.times)
    return sorted(by_group.values(), key=lambda missed: (-missed.times, missed.id))[:limit]


@lru_cache(maxsize=4096)
def _features(question: str) -> tuple[dict[str, float], frozenset[str]]:
    """Return the stems of a question with their weights, and its letter trigrams."""
    from chatsvc.engines.knowledge.search.tokens import STOPWORDS, stem, trigrams
    from chatsvc.language.folding import words

    read = words(question)
    stems = {stem(word): _STOP if word in STOPWORDS else 1.0 for word in read}
    return stems, frozenset(gram for word in read for gram in trigrams(word))


def _likeness(question: str, other: str) -> float:
    (stems, letters), (others, other_letters) = _features(question), _features(other)
    by_stems = 2 * sum(weight for stem, weight in stems.items() if stem in others) / max(1.0, sum(stems.values()) + sum(others.values()))
    by_letters = 2 * len(letters & other_letters) / max(1, len(letters) + len(other_letters))
    return max(by_stems, _LETTERS * by_letters)
