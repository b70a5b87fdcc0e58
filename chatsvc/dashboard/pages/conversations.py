"""List of conversations: search by visitor and words, filters by status, bot and channel. It also stands beside an open conversation."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.hand_off import WAITING
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import search
from chatsvc.usecases.conversation_list import MOST_WAITING, ConversationRow

_LIMIT = 40
_FILTERS = ("q", "bot", "channel", "status", "after")
_NOTHING = {"waiting": (), "is_cut": False, "conversations": (), "next": None}


async def show(page: Page) -> HttpResponse:
    values = await filters(page)
    try:
        return page.render("conversations.html", **values, **await rows(page))
    except Refused as fault:
        return page.refused("conversations.html", fault, **values, **_NOTHING)


def kept(page: Page) -> dict[str, str]:
    """Return the filters of the list that the page's address has."""
    return {name: page.query[name] for name in (*_FILTERS, "captured") if page.query.get(name)}


async def filters(page: Page) -> dict[str, Any]:
    """Return what the template of the list needs beside the rows."""
    chosen = {name: page.query.get(name) or None for name in _FILTERS}
    captured = bool(page.query.get("captured"))
    bots = await records.bots_of(page)
    return {
        "chosen": chosen,
        "captured": captured,
        "kept": kept(page),
        "is_filtered": captured or any(value for name, value in chosen.items() if name != "after"),
        "bots": bots,
        "bot_names": [(bot.id, bot.name) for bot in bots.values()],
        "channels": records.channels(page),
        "complete": not chosen["q"] or await search.is_complete(page.services),
    }


async def rows(page: Page) -> dict[str, Any]:
    """Return the rows of the list; raises Refused for an unknown filter."""
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    captured = bool(page.query.get("captured"))
    found: ResultPage[ConversationRow] = await page.perform("conversation.rows", **chosen, captured=captured, limit=_LIMIT)
    is_grouped = not (chosen["status"] or chosen["q"] or captured)
    waiting = [one for one in found.items if is_grouped and one.conversation.handling == WAITING]
    others = [one for one in found.items if one not in waiting]
    return {"waiting": waiting, "is_cut": len(waiting) == MOST_WAITING, "conversations": others, "next": found.next}


async def beside(page: Page) -> dict[str, Any]:
    """Return what the list beside an open conversation needs. Filters that are refused show no rows."""
    try:
        return {**await filters(page), **await rows(page)}
    except Refused:
        return {**await filters(page), **_NOTHING}


ROUTES = (Route("GET", "/conversations", show, Access.READER),)
