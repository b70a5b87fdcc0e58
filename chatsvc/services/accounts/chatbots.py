"""Bots of an account for the interface: GET /chatbots and GET /chatbots/{id} (SPEC.md 4.1, 4.2).

Both read the account's state in memory. services/accounts/bots.py creates and changes bots.
"""

from chatsvc.domain import errors
from chatsvc.domain.cursors import Position
from chatsvc.domain.models import Bot
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.paging import Listing
from chatsvc.services.services import Services


def find(state: AccountState, chatbot_id: str) -> Bot:
    """One bot of the account; raises `chatbot_not_found`, for another account's too."""
    bot = state.bots.get(chatbot_id)
    if bot is None:
        raise errors.chatbot_not_found()
    return bot


def page(services: Services, state: AccountState, limit: int, cursor: str | None) -> Listing[Bot]:
    """A page of the account's bots, newest first; raises `invalid_cursor` and `cursor_out_of_range`."""
    walk = ("chatbots", state.account.id)
    after = services.cursors.read(cursor, walk)
    bots = list(state.bots.values())
    end = after.number if after else len(bots)
    if after and (end >= len(bots) or bots[end].created_at != after.instant):
        # Bots that were deleted meanwhile have changed the places of the others.
        end = sum(bot.created_at < after.instant for bot in bots)
    start = max(0, end - limit)
    items = bots[start:end][::-1]
    depth = (after.depth if after else 0) + len(items)
    next_cursor = services.cursors.write(Position(items[-1].created_at, start, depth), walk) if start else None
    return Listing(items, limit, len(state.bots), next_cursor)
