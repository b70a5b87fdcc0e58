"""Conversations: pages for the interface (help/interface.md 5.4, 5.5), lists with a search, exports, and erasure of a visitor."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain import errors, paging, refusals, search_words
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import PLATFORMS
from chatsvc.domain.mails import MailState
from chatsvc.domain.models import BACK, MISSED, OPERATOR, RESOLVED, SNOOZED, STATUSES, WAITING, Bot, Conversation, Message, Note
from chatsvc.domain.paging import Listing, Position, ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.domain.search_words import Term
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.messages.conversation_locks import Busy
from chatsvc.services.services import Services
from chatsvc.store import conversation_team, erasure, mails, platforms, search_queries, unanswered
from chatsvc.store import conversations as stored
from chatsvc.store.conversation_team import RowDetails, TeamRecords
from chatsvc.store.erasure import Erased
from chatsvc.store.search_queries import ConversationFilter

DEFAULT_MESSAGES = 100
MAX_MESSAGES = 500
MOST_EXPORTED = 100_000  # messages of a single conversation


async def page(
    services: Services, state: AccountState, limit: int, cursor: str | None, *, chatbot_id: str | None = None, channel: str | None = None
) -> Listing[Conversation]:
    """Return a page of the account's conversations, newest first. Raise `invalid_cursor`, `cursor_out_of_range` or `chatbot_not_found`."""
    walk = ("conversations", state.account.id, chatbot_id, channel)
    after = services.cursors.read(cursor, walk) if cursor is not None else None
    if chatbot_id is not None:
        bots.find(state, chatbot_id)
    items, total, following = await stored.page(services.db, state.account.id, limit, bot_id=chatbot_id, channel=channel, after=after)
    depth = (after.depth if after else 0) + len(items)
    next_cursor = services.cursors.write(Position(*following, depth), walk) if following else None
    return Listing(items, limit, total, next_cursor)


async def resolve(services: Services, caller: Caller, conversation: str) -> tuple[Conversation, AccountState, Bot]:
    """Look up a conversation in the caller's scope, with its account and its bot; raises Refused."""
    shown = (await stored.find(services.db, caller.scope.accounts, conversation)).conversation
    bot = await bots.resolve(services, caller, shown.chatbot_id)
    return shown, await accounts.resolve(services, caller, bot.account_id), bot


async def find(services: Services, state: AccountState, conversation_id: str, message_limit: int) -> stored.Thread:
    """Return one conversation of the account with its newest messages. Raise `conversation_not_found`, also if another account has it."""
    try:
        async with services.big_reads:
            return await stored.find(services.db, [state.account.id], conversation_id, message_limit)
    except Refused:
        raise errors.conversation_not_found() from None


def terms_of(query: str) -> list[Term]:
    """Return the terms of a query for conversations. Stop words are used only if the query has no other words."""
    from chatsvc.engines.knowledge.search.tokens import STOPWORDS

    terms = search_words.terms(query)
    return [term for term in terms if term.word not in STOPWORDS] or terms


async def list_all(
    services: Services,
    caller: Caller,
    *,
    bot: Bot | None = None,
    channel: str | None = None,
    q: str | None = None,
    captured: bool = False,
    handling: str | None = None,
    missed: bool = False,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[Conversation]:
    """List the conversations of one bot, or of the caller's scope, newest first. `_filter` describes the other filters.

    `handling` is "waiting" or "operator". `missed` selects conversations that no operator took in time. A page may be short although
    another page follows.
    """
    if handling is not None and handling not in (WAITING, OPERATOR):
        raise refusals.status_unknown(status=handling, known=[WAITING, OPERATOR])
    status = MISSED if missed else handling
    wanted = await _filter(services, caller, bot=bot, channel=channel, q=q, captured=captured, status=status)
    if wanted is None:
        return ResultPage([], None)
    page = await search_queries.conversations(services.db, caller.scope.accounts, wanted, paging.clamped(limit), after)
    return ResultPage([conversation for conversation, _ in page.items], page.next)


async def _filter(
    services: Services,
    caller: Caller,
    *,
    bot: Bot | None = None,
    channel: str | None = None,
    q: str | None = None,
    captured: bool = False,
    status: str | None = None,
    label: str | None = None,
) -> ConversationFilter | None:
    """Return the filter of a list of conversations, or None if it selects nothing. Raises Refused for an unknown status or bot.

    `q` has the beginnings of words in messages and captures, or in the visitor's name, e-mail, phone and user_id; a whole user_id with a
    digit selects that visitor alone. `captured` selects conversations with a request. `status` is one of domain.models.STATUSES.
    """
    bot_id = bot.id if bot else None
    if status is not None and status not in STATUSES:
        raise refusals.status_unknown(status=status, known=list(STATUSES))
    terms = terms_of(q) if q else []
    if q and q.strip() and not terms:
        return None
    wanted = ConversationFilter(bot_id, channel, terms, status, caller.actor.id, label, captured=captured)
    if q and (user_id := search_words.user(q)) is not None:
        of_user = wanted._replace(terms=(), user_id=user_id)
        if (await search_queries.conversations(services.db, caller.scope.accounts, of_user, 1)).items:
            return of_user
    return wanted


class TeamThread(NamedTuple):
    """A conversation with its newest messages. `mails` are the mails that sent answers; `phone` is the visitor's telephone number."""

    conversation: Conversation
    messages: list[Message]
    mails: Mapping[int, MailState]
    phone: str | None
    team: TeamRecords


async def show(services: Services, caller: Caller, *, conversation: str, message_limit: int = DEFAULT_MESSAGES) -> TeamThread:
    """Show one conversation with its newest messages, the mails that sent them, and the visitor's telephone number."""
    view = await conversation_team.view(services.db, caller.scope.accounts, conversation, message_limit, caller.actor.id)
    is_answered = any(message.role == OPERATOR for message in view.messages)
    mailed = await mails.of_messages(services.db, conversation) if is_answered else {}
    phones = await _phones(services, [view.conversation])
    return TeamThread(view.conversation, view.messages, mailed, phones.get(conversation), view.team)


async def _phones(services: Services, shown: Iterable[Conversation]) -> dict[str, str]:
    ids = [conversation.id for conversation in shown if conversation.channel in PLATFORMS]
    return await platforms.phones(services.db, ids) if ids else {}


class TranscriptPage(NamedTuple):
    """Page of exported conversations. A long conversation takes several pages. The keys of `phones` and `notes` are ids."""

    parts: list[stored.Part]
    next: stored.TranscriptPosition | None
    phones: Mapping[str, str]
    notes: Mapping[str, list[Note]]


async def export(
    services: Services,
    caller: Caller,
    *,
    bot: Bot | None = None,
    conversation: str | None = None,
    after: stored.TranscriptPosition | None = None,
) -> TranscriptPage:
    """Export a page of conversations of one bot or of the caller's scope, or one `conversation`. `after` is the last page's `next`."""
    if conversation is not None:
        async with services.big_reads:
            thread = await stored.find(services.db, caller.scope.accounts, conversation, MOST_EXPORTED)
        parts, behind = [stored.Part(*thread, begins=True, ends=True)], None
    else:
        bot_id = bot.id if bot else None
        position = stored.TranscriptPosition(*after) if after is not None else None
        parts, behind = await stored.walk(services.db, caller.scope.accounts, bot_id, position)
    shown = [part.conversation for part in parts if part.conversation is not None]
    notes = await conversation_team.notes_of(services.db, [conversation.id for conversation in shown])
    return TranscriptPage(parts, behind, await _phones(services, shown), notes)


MOST_WAITING = 20
_AROUND = 40  # letters before a word that a search finds


class ConversationRow(NamedTuple):
    """Conversation in the team's list. `hit` is the part of a message that matches a search: words before, the match, words after."""

    conversation: Conversation
    details: RowDetails
    hit: tuple[str, str, str] | None = None


async def list_rows(
    services: Services, caller: Caller, *, limit: int = paging.DEFAULT, after: str | None = None, oldest_first: bool = False, **filters: Any
) -> ResultPage[ConversationRow]:
    """List conversations like `list_all`, with the data of the operator who asks. `_filter` describes the filters.

    Snoozed conversations are left out unless a status, a label or words ask for them. Without these filters, the first page begins with
    up to MOST_WAITING conversations that wait for a person, and up to as many whose snooze has ended. Later pages omit these.
    """
    wanted = await _filter(services, caller, **filters)
    if wanted is None:
        return ResultPage([], None)
    accounts, first = caller.scope.accounts, list[tuple[Conversation, int]]()
    is_sought = bool(wanted.terms or wanted.captured or wanted.user_id or (wanted.label and wanted.status is None))
    is_open = not is_sought and wanted.status not in (SNOOZED, RESOLVED)
    wanted = wanted._replace(open_only=is_open, oldest_first=oldest_first)
    if is_open and wanted.status is None:
        if after is None:
            for status in (WAITING, BACK):
                chosen = wanted._replace(status=status)
                first += (await search_queries.conversations(services.db, accounts, chosen, MOST_WAITING)).items
        wanted = wanted._replace(without_first=True)
    page = await search_queries.conversations(services.db, accounts, wanted, paging.clamped(limit), after)
    rows = [*first, *page.items]
    numbers = [number for _, number in rows]
    details = await conversation_team.details(services.db, numbers, caller.actor.id)
    hits = await _hits(services, numbers, wanted.terms) if wanted.terms else {}
    shown = [ConversationRow(conversation, details[number], hits.get(number)) for conversation, number in rows if number in details]
    return ResultPage(shown, page.next)


async def export_rows(services: Services, caller: Caller, **filters: Any) -> AsyncIterator[list[ConversationRow]]:
    """Iterate over the pages of all conversations that `list_rows` lists with these filters. Raises Refused before the first page."""
    first = await list_rows(services, caller, **filters)
    return paging.following(first, lambda after: list_rows(services, caller, **filters, after=after))


async def _hits(services: Services, numbers: Sequence[int], terms: Sequence[Term]) -> dict[int, tuple[str, str, str]]:
    """Find in each conversation (by row number) the newest word that begins with a search term. Return it with some words around it."""
    texts = await conversation_team.recent_texts(services.db, numbers)
    wanted = [term.word for term in terms]
    hits: dict[int, tuple[str, str, str]] = {}
    for number, text in texts:
        span = search_words.first_of(text, wanted) if number not in hits else None
        if span is not None:
            begin, end = max(0, span[0] - _AROUND), span[1] + 2 * _AROUND
            before = ("…" if begin else "") + text[begin : span[0]]
            hits[number] = before, text[slice(*span)], text[span[1] : end] + ("…" if end < len(text) else "")
    return hits


ERASE_WAIT_S = 5.0  # beyond the time that an answer may take


class ErasedVisitor(NamedTuple):
    """An erased visitor, with the number of deleted records of each kind."""

    user_id: str
    erased: Erased


async def erase(services: Services, caller: Caller, *, user_id: str, bot: Bot | None = None, account: str | None = None) -> ErasedVisitor:
    """Erase all records of a visitor, with one bot or all bots of an account.

    Counts and usage remain because they contain no visitor. Raises Refused for a missing bot, and `visitor_busy` if an answer to the
    visitor takes too long; a second call then continues the erasure.
    """
    erasing = [bot.id] if bot is not None else list((await accounts.resolve(services, caller, account)).bots)
    began, erased = services.clock(), Erased()
    try:
        for bot_id in erasing:
            users = [user_id]
            for known in users:  # grows with those who turned out to be the same person on a platform
                users += [user for user in await platforms.linked(services.db, bot_id, known) if user not in users]
            # The visitor comes last, so that a second call continues.
            for user in reversed(users):
                erased = erased.plus(await _with_bot(services, user, bot_id))
                await erasure.forget_answers(services.db, user, bot_id, began)
                erased = erased.plus(Erased(questions=await unanswered.erase(services.db, bot_id, user)))
    except Busy:
        raise refusals.visitor_busy() from None
    await services.db.purge()
    return ErasedVisitor(user_id, erased)


async def _with_bot(services: Services, user_id: str, bot_id: str) -> Erased:
    erased, locks, loop = Erased(), services.conversation_locks, asyncio.get_running_loop()
    wait_s = services.config.anthropic.timeout_s + ERASE_WAIT_S
    # A first message that is being answered has no conversation yet: wait for its lock, so that its records exist.
    for key in await locks.locked(user_id, bot_id):
        async with locks.lock(key, loop.time() + wait_s):
            pass
    for conversation in await erasure.conversations(services.db, user_id, bot_id):
        # Locked, since an answer in flight would write back the history that it has read.
        async with locks.lock(conversation, loop.time() + wait_s):
            while (batch := await erasure.some_of(services.db, conversation)) is not None:
                services.account_cache.unanswered.clear()
                erased = erased.plus(batch)
    return erased
