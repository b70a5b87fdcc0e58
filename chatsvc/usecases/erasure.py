"""A visitor's wish to be forgotten: everything that was said to and captured by bots goes, and nothing readable stays behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from chatsvc.domain.errors import Refused
from chatsvc.domain.shapes import Json
from chatsvc.store import erasure as stored
from chatsvc.store import unanswered
from chatsvc.store.erasure import Erased, Place
from chatsvc.usecases import accounts, bots
from chatsvc.usecases.services import Services

WAIT_S = 5.0  # beyond the time that an answer may take


async def erase(services: Services, *, user_id: str, bot: str | None = None, account: str | None = None) -> Json:
    """Erase all that is kept of a visitor, with one bot or with every bot of an account, which may be left out where there is one.

    Counts and usage stay, for they hold no visitor. Raises Refused for a bot that is not there, and where an answer to the visitor
    takes too long to wait for; run again, it goes on.
    """
    theirs = [(await bots.resolve(services, bot))[1].id] if bot is not None else [*(await accounts.resolve(services, account)).bots]
    began, erased = services.clock(), Erased()
    for bot_id in theirs:
        erased = erased.plus(await _with_bot(services, user_id, bot_id))
        await stored.forget_answers(services.db, user_id, bot_id, began)
        erased = erased.plus(Erased(questions=await unanswered.erase(services.db, bot_id, user_id)))
    await services.db.purge()
    return {"user_id": user_id, **erased._asdict()}


async def _with_bot(services: Services, user_id: str, bot_id: str) -> Erased:
    erased = Erased()
    # A first message that is being answered has no conversation yet: it is waited for, and gone with what it has written.
    if services.conversation_locks:
        for bot_answering, channel, _ in services.conversation_locks.locked(user_id, bot_id):
            async with _alone(services, (bot_answering, channel, user_id)):
                pass
    for place in await stored.places(services.db, user_id, bot_id):
        async with _alone(services, place[1:]):
            while (some := await stored.some_of(services.db, place, partial(_invalidate, services, place))) is not None:
                erased = erased.plus(some)
    return erased


def _invalidate(services: Services, place: Place, _: Erased) -> None:
    services.account_cache.invalidate(place.account_id)


@asynccontextmanager
async def _alone(services: Services, conversation: tuple[str, str, str]) -> AsyncIterator[None]:
    """While nobody is answered in the conversation: an answer under way would bring back what it has read."""
    if services.conversation_locks is None:
        yield
        return

    import asyncio

    from chatsvc.usecases.conversation_locks import Busy

    deadline = asyncio.get_running_loop().time() + services.config.anthropic.timeout_s + WAIT_S
    try:
        async with services.conversation_locks.lock(conversation, deadline):
            yield
    except Busy:
        raise Refused("an answer to this visitor is under way: try again in a moment") from None
