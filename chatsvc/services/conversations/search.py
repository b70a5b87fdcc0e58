"""Keeps the search index of conversations up to date, in background and before searches. Words of texts and terms of queries."""

import asyncio
import logging

from chatsvc.domain import search_words
from chatsvc.domain.search_words import Term
from chatsvc.services.services import Services
from chatsvc.store import search
from chatsvc.store.search import QueuedText

log = logging.getLogger(__name__)

PAUSE_S = 0.02
# Seconds of pause for each second of work, while the service has few requests and while it has many.
QUIET_PAUSE, BUSY_PAUSE = 2, 40
FEW_REQUESTS = 2  # in flight, or answered since the last batch: one caller who sends without a pause keeps the writer busy too
REPORT_EVERY_S = 60.0
MANY = 1_000  # conversations in the queue whose progress is logged
BEFORE_SEARCH = 4  # batches


def words_of(text: QueuedText) -> set[str]:
    """Return the words that the index holds of a conversation's texts. Stop words of messages, half of all words, are left out."""
    from chatsvc.engines.knowledge.search.tokens import STOPWORDS

    c = search_words
    contacts = [(name, email, phone) for _, name, email, phone in text.captures]
    found = c.values(
        user_id=text.user_id,
        emails=[text.visitor_email, *(email for _, email, _ in contacts)],
        phones=[phone for *_, phone in contacts],
    )
    for said in text.contents:
        found |= c.words(said) - STOPWORDS
    for known in (text.user_id, text.visitor_name or "", text.visitor_email or "", *text.addresses):
        found |= c.words(known)
    for capture in text.captures:
        captured = set().union(*(c.words(value) for value in capture if value))
        found |= captured | {c.IN_CAPTURE + word for word in captured} | {c.CAPTURED}
    return found


def terms_of(query: str) -> list[Term]:
    """Return the terms of a query for conversations. Stop words count only where there is nothing else."""
    from chatsvc.engines.knowledge.search.tokens import STOPWORDS

    terms = search_words.terms(query)
    return [term for term in terms if term.word not in STOPWORDS] or terms


async def work_off(services: Services) -> None:
    """Index all queued conversations, in small batches with pauses for other writers; raises StoreUnavailable."""
    if await search.is_complete(services.db):
        return
    loop = asyncio.get_running_loop()
    reported = 0.0
    began, answered = loop.time(), _answered(services)
    while await search.index(services.db, words_of) == search.BATCH:
        now = loop.time()
        if now - reported > REPORT_EVERY_S:
            left, reported = await search.backlog(services.db), now
            if left > MANY:
                log.info("search index: %d conversations left", left)
        # Messages of the messaging apps are no requests: their turns count.
        busy = max(services.tallies.in_flight, services.conversation_locks.unfinished, _answered(services) - answered)
        is_quiet = busy <= FEW_REQUESTS
        await asyncio.sleep(max(PAUSE_S, (QUIET_PAUSE if is_quiet else BUSY_PAUSE) * (now - began)))
        began, answered = loop.time(), _answered(services)


def _answered(services: Services) -> int:
    return sum(services.tallies.requests.values())


async def catch_up(services: Services) -> None:
    """Index the newest queued conversations before a search."""
    for _ in range(BEFORE_SEARCH):
        if await search.is_complete(services.db):
            return
        await search.index(services.db, words_of)


async def is_complete(services: Services) -> bool:
    """Whether a search finds all conversations; false while the background work is behind."""
    return await search.is_complete(services.db)
