"""Erasure of a visitor: deletes all stored data and purges it from the files."""

import asyncio
from typing import NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import accounts
from chatsvc.services.messages.conversation_locks import Busy
from chatsvc.services.services import Services
from chatsvc.store import erasure as stored
from chatsvc.store import platforms, unanswered
from chatsvc.store.erasure import Erased

WAIT_S = 5.0  # beyond the time that an answer may take


class ErasedVisitor(NamedTuple):
    """A visitor and the number of records deleted of each kind."""

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
                await stored.forget_answers(services.db, user, bot_id, began)
                erased = erased.plus(Erased(questions=await unanswered.erase(services.db, bot_id, user)))
    except Busy:
        raise refusals.visitor_busy() from None
    await services.db.purge()
    return ErasedVisitor(user_id, erased)


async def _with_bot(services: Services, user_id: str, bot_id: str) -> Erased:
    erased, locks, loop = Erased(), services.conversation_locks, asyncio.get_running_loop()
    wait_s = services.config.anthropic.timeout_s + WAIT_S
    # A first message that is being answered has no conversation yet: wait for its lock, so that its records exist.
    for key in await locks.locked(user_id, bot_id):
        async with locks.lock(key, loop.time() + wait_s):
            pass
    for conversation in await stored.conversations(services.db, user_id, bot_id):
        # Locked, since an answer in flight would write back the history that it has read.
        async with locks.lock(conversation, loop.time() + wait_s):
            while (some := await stored.some_of(services.db, conversation)) is not None:
                services.account_cache.unanswered.clear()
                erased = erased.plus(some)
    return erased
