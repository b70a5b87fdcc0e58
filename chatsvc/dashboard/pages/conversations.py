"""List of conversations: search by visitor and words, filters by bot and channel."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.models import Conversation
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import search

_LIMIT = 50
_FILTERS = ("q", "bot", "channel", "handling")


async def show(page: Page) -> HttpResponse:
    """Show a page of the conversations."""
    chosen = {name: page.query.get(name) or None for name in _FILTERS}
    captured = bool(page.query.get("captured"))
    bots = await records.bots_of(page)
    filters: dict[str, Any] = {
        "chosen": chosen,
        "captured": captured,
        "is_filtered": captured or any(chosen.values()),
        "bots": bots,
        "bot_names": [(bot.id, bot.name) for bot in bots.values()],
        "channels": records.channels(page),
        "complete": not chosen["q"] or await search.is_complete(page.services),
    }
    try:
        found: ResultPage[Conversation] = await page.perform(
            "conversation.list", **chosen, captured=captured, limit=_LIMIT, after=page.query.get("after")
        )
    except Refused as fault:
        return page.refused("conversations.html", fault, conversations=[], next=None, **filters)
    return page.render("conversations.html", conversations=found.items, next=found.next, **filters)


ROUTES = (Route("GET", "/conversations", show, Access.READER),)
