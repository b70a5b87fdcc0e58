"""GET /conversations and GET /conversations/{id} (SPEC.md 4.4, 4.5), and the administrator's view of them."""

from __future__ import annotations

from collections.abc import Sequence

from chatsvc.domain import errors, shapes
from chatsvc.domain.cursors import Position
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Conversation
from chatsvc.domain.shapes import Json
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import conversations as stored
from chatsvc.store import transcripts
from chatsvc.usecases import bots, chatbots
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.paging import Listing
from chatsvc.usecases.services import Services

DEFAULT_MESSAGES = 100
MAX_MESSAGES = 500


async def page(
    services: Services, state: AccountState, limit: int, cursor: str | None, *, chatbot_id: str | None = None, channel: str | None = None
) -> Listing[Conversation]:
    """A page of the account's conversations, newest first.

    Raises `invalid_cursor`, `cursor_out_of_range`, and `chatbot_not_found` for a filter by a bot that is not the account's.
    """
    walk = ("conversations", state.account.id, chatbot_id, channel)
    cursors = services.cursors
    after = cursors.read(cursor, walk)
    if chatbot_id is not None:
        chatbots.find(state, chatbot_id)
    found = await stored.page(services.db, state.account.id, limit, bot_id=chatbot_id, channel=channel, after=after)
    depth = (after.depth if after else 0) + len(found.items)
    next_cursor = cursors.write(Position(*found.last, depth), walk) if found.has_more and found.last else None
    return Listing(found.items, limit, found.total, next_cursor)


async def find(services: Services, state: AccountState, conversation_id: str, message_limit: int) -> stored.Thread:
    """One conversation of the account with its newest messages; raises `conversation_not_found`, for another account's too."""
    async with services.big_reads:
        thread = await stored.find(services.db, state.account.id, conversation_id, message_limit)
    if thread is None:
        raise errors.conversation_not_found()
    return thread


async def list_all(services: Services, *, bot: str | None = None, limit: int = 100) -> list[Json]:
    """For the administrator: the newest conversations of a bot, or of all accounts."""
    if bot is not None:
        owner, chatbot = await bots.resolve(services, bot)
        found = (await stored.page(services.db, owner.account.id, limit, bot_id=chatbot.id)).items
    else:
        found = []
        for account in await stored_accounts.everyone(services.db):
            found += (await stored.page(services.db, account.id, limit)).items
        found.sort(key=lambda conversation: conversation.last_message_at, reverse=True)
    return [{**shapes.conversation(c), "message_count": c.message_count} for c in found[:limit]]


async def show(services: Services, *, conversation: str, message_limit: int = DEFAULT_MESSAGES) -> Json:
    """For the administrator: one conversation with its newest messages."""
    thread = await stored.find(services.db, None, conversation, message_limit)
    if thread is None:
        raise Refused(f"there is no conversation {conversation}")
    return shapes.conversation_detail(*thread)


async def export(services: Services, *, bot: str | None = None, after: Sequence[object] | None = None) -> Json:
    """For the administrator: the next page of whole conversations behind `after`, of a bot or of all accounts.

    Gives `parts`, of which a long conversation has several, and `next`, None at the end.
    """
    if bot is not None:
        bot = (await bots.resolve(services, bot))[1].id
    place = transcripts.Place(*after) if after is not None else None  # type: ignore[arg-type]  # as this gave it
    parts, place = await transcripts.walk(services.db, bot, place)
    return {
        "parts": [
            {
                "conversation": shapes.conversation(part.conversation) if part.conversation else None,
                "message_count": part.conversation.message_count if part.conversation else 0,
                "messages": [shapes.message(message) for message in part.messages],
                "begins": part.begins,
                "ends": part.ends,
            }
            for part in parts
        ],
        "next": place,
    }
