"""Saved replies of an account: texts that operators insert into their messages."""

import re

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import SavedReply
from chatsvc.services.accounts import accounts
from chatsvc.services.services import Services
from chatsvc.store import saved_replies as stored

MOST = 200  # of an account
MOST_NAME = 60
MOST_TEXT = 4000


async def list_all(services: Services, caller: Caller, *, account: str | None = None) -> list[SavedReply]:
    """List the saved replies of an account by name."""
    state = await accounts.resolve(services, caller, account)
    return await stored.all_of(services.db, state.account.id)


async def put(services: Services, caller: Caller, *, name: str, text: str, account: str | None = None) -> SavedReply:
    """Save a reply, in place of one of the same name. Raises Refused for unfit texts and for more than MOST replies."""
    name = accounts.plain_text(name, "name", MOST_NAME)
    text = accounts.long_text(text, "text", MOST_TEXT)
    state = await accounts.resolve(services, caller, account)
    reply = SavedReply(name, text)
    if not await stored.put(services.db, state.account.id, reply, services.clock(), MOST):
        raise refusals.saved_replies_exhausted(most=MOST)
    return reply


async def remove(services: Services, caller: Caller, *, name: str, account: str | None = None) -> SavedReply:
    """Remove a saved reply; raises `saved_reply_not_found`."""
    state = await accounts.resolve(services, caller, account)
    removed = await stored.remove(services.db, state.account.id, name.strip())
    if removed is None:
        raise refusals.saved_reply_not_found(name=name)
    return removed


def filled(text: str, visitor_name: str | None) -> str:
    """Fill in `{name}`; without a name it goes with the white space before it."""
    if visitor_name:
        return text.replace("{name}", visitor_name)
    return re.sub(r"[ \t]*\{name\}", "", text).lstrip(" \t,")
