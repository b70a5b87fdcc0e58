"""Websites of bots: add, list, show, read again (site_reading.py), apply or discard the draft of a reading, remove."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain import refusals, websites
from chatsvc.domain.actors import Caller
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.models import Bot, Entry
from chatsvc.domain.targets import with_https
from chatsvc.domain.websites import Site, SiteDifference, SiteEntry, SitePage
from chatsvc.services.accounts import bots
from chatsvc.services.knowledge import previews, unanswered
from chatsvc.services.knowledge.knowledge import origin_of
from chatsvc.services.knowledge.previews import Computation
from chatsvc.services.knowledge.site_reading import SiteReadings
from chatsvc.services.services import Services
from chatsvc.store import knowledge
from chatsvc.store import sites as stored

_MOST_PATTERN = 200  # characters
_MOST_PATTERNS = 20
_MOST_QUESTIONS = 20


class ShownSite(NamedTuple):
    """A site with pages, draft (`difference`), unanswered questions. `edited` has entries that a person changed, with the site's text."""

    site: Site
    bot: Bot
    pages: Sequence[SitePage]
    difference: SiteDifference | None
    edited: Sequence[tuple[Entry, SiteEntry]]
    unanswered: Sequence[str]


async def add(
    services: Services,
    _: Caller,
    *,
    bot: Bot,
    url: str,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_pages: int = websites.MOST_PAGES,
    every_days: int = websites.EVERY_DAYS,
    review: bool = True,
) -> Site:
    """Add a website and begin to read it. Raises `target_refused`, `number_out_of_range`, `text_too_long` and `site_not_added`."""
    for field, value, least, most in (("max_pages", max_pages, 1, websites.MAX_PAGES), ("every", every_days, 0, websites.MAX_DAYS)):
        if not least <= value <= most:
            raise refusals.number_out_of_range(field=f"site.{field}", most=most)
    included, excluded = ([pattern.strip() for pattern in patterns if pattern.strip()] for patterns in (include, exclude))
    longest = max(map(len, [*included, *excluded]), default=0)
    if len(included) + len(excluded) > _MOST_PATTERNS or longest > _MOST_PATTERN:
        raise refusals.text_too_long(field="site.pattern", most=_MOST_PATTERN, length=longest)
    try:
        address = await services.website.check(with_https(url.strip()))
    except TargetRefused as refusal:
        raise refusals.target_refused(fault=str(refusal), rule=refusal.rule) from None
    site = Site(str(uuid.uuid4()), bot.id, address, included, excluded, max_pages, every_days, review, started_at=services.clock())
    if not await stored.create(services.db, site):
        raise refusals.site_not_added(url=address, most=stored.MOST_SITES)
    if services.node is not None:
        services.part(SiteReadings).start(site.id)
    return site


async def list_all(services: Services, _: Caller, *, bot: Bot) -> list[Site]:
    """List the websites of a bot."""
    return await stored.of_bot(services.db, bot.id)


async def _resolve(services: Services, caller: Caller, site_id: str) -> tuple[Bot, Site]:
    site = await stored.find(services.db, site_id)
    if site is None:
        raise refusals.site_not_found(site=site_id)
    return await bots.resolve(services, caller, site.bot_id), site


async def state(services: Services, caller: Caller, *, site: str) -> Site:
    """Show a website with the progress of its reading, without its pages; raises `site_not_found`."""
    return (await _resolve(services, caller, site))[1]


async def show(services: Services, caller: Caller, *, site: str) -> ShownSite:
    """Show a website with its pages and its draft; raises `site_not_found`."""
    chatbot, website = await _resolve(services, caller, site)
    pages = await stored.pages(services.db, website.id)
    applied = await stored.applied(services.db, website.id)
    current = {entry.id: entry for entry in await knowledge.entries(services.db, chatbot.id)}
    draft = await stored.draft(services.db, website.id)
    difference = await services.offload(lambda: websites.difference(draft, applied, current)) if draft is not None else None
    asked = [group.question for group in await unanswered.listed(services, chatbot, _MOST_QUESTIONS, answered=False)]
    return ShownSite(website, chatbot, pages, difference, websites.edited(applied, current), asked)


async def sync(services: Services, caller: Caller, *, site: str) -> Site:
    """Begin to read a website again, unless it is being read. If no service runs, wait for the end of the reading."""
    _, website = await _resolve(services, caller, site)
    await stored.begin(services.db, website.id, services.clock())
    reading = services.part(SiteReadings).start(website.id)
    if services.node is None:
        await asyncio.wait([reading])
    return (await _resolve(services, caller, site))[1]


async def _draft(services: Services, site: Site) -> list[SiteEntry]:
    draft = await stored.draft(services.db, site.id)
    if draft is None:
        raise refusals.site_without_draft(site=site.id)
    return draft


async def preview(services: Services, caller: Caller, *, site: str) -> Computation:
    """Begin to preview how the draft of a website changes the answers to past questions. Raises `site_without_draft`."""
    chatbot, website = await _resolve(services, caller, site)
    draft, applied = await _draft(services, website), await stored.applied(services.db, website.id)
    before = await knowledge.whole(services.db, chatbot.id)
    entries = await services.offload(lambda: websites.changed_entries(before.entries, draft, applied))
    # Phrasings are left out, since a draft may add and remove hundreds of them.
    return await previews.compare(services, chatbot, before, before._replace(entries=entries), phrasings=False, site=website)


async def apply(services: Services, caller: Caller, *, site: str) -> Site:
    """Apply the draft of a website; raises `site_without_draft`."""
    chatbot, website = await _resolve(services, caller, site)
    draft = await _draft(services, website)
    await stored.apply(services.db, website, draft, origin_of(services, caller))
    services.knowledge.invalidate(chatbot.id)
    return (await _resolve(services, caller, site))[1]


async def discard(services: Services, caller: Caller, *, site: str) -> Site:
    """Discard the draft of a website; raises `site_without_draft`. The next reading makes another one."""
    _, website = await _resolve(services, caller, site)
    if website.state != "review":
        raise refusals.site_without_draft(site=site)
    await stored.discard(services.db, website.id)
    return (await _resolve(services, caller, site))[1]


async def remove(services: Services, caller: Caller, *, site: str) -> Site:
    """Remove a website with its entries."""
    chatbot, website = await _resolve(services, caller, site)
    await stored.remove(services.db, website, origin_of(services, caller))
    services.knowledge.invalidate(chatbot.id)
    return website
