"""Walks over all routes and forms of the dashboard with the ids of real records."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from chatsvc.dashboard.route import Access, Route
from chatsvc.dashboard.routes import ROUTES
from tests.dashboard.client import Client, Shown
from tests.dashboard.site import Business, Site

UNKNOWN = "00000000-0000-4000-8000-000000000000"
_PARAMETER = re.compile(r"\{(\w+)\}")

# DECISIONS.md section 6: the least access to each page; pages below one are like it unless they stand here themselves.
PAGES: Mapping[str, Access] = {
    "/": Access.SIGNED_IN,
    "/login": Access.PUBLIC,
    "/login/code": Access.WAITING,
    "/logout": Access.PUBLIC,
    "/setup": Access.PUBLIC,
    "/me": Access.SIGNED_IN,
    "/shown": Access.SIGNED_IN,
    "/inbox": Access.READER,
    "/conversations": Access.READER,
    "/bots": Access.READER,
    "/bots/{bot}/file": Access.OWNER,
    "/bots/{bot}/forms/{kind}": Access.EDITOR,
    "/bots/{bot}/texts/{sentence}": Access.EDITOR,
    "/bots/{bot}/knowledge/export": Access.EDITOR,
    "/bots/{bot}/knowledge/new": Access.EDITOR,
    "/bots/{bot}/channels": Access.OWNER,
    "/bots/{bot}/webhook": Access.OWNER,
    "/usage": Access.READER,
    "/webhooks": Access.OWNER,
    "/keys": Access.OWNER,
    "/operators": Access.OWNER,
    "/account": Access.OWNER,
    "/audit": Access.OWNER,
    "/accounts": Access.ADMINISTRATOR,
    "/system": Access.ADMINISTRATOR,
}


def least_access(template: str) -> Access:
    """Look up the least access to a page; raises KeyError for one that is in no section."""
    section = template
    while section not in PAGES and section:
        section = section.rpartition("/")[0]
    return PAGES[section]


def pages(method: str = "GET") -> list[Route]:
    """All routes of a method."""
    return [route for route in ROUTES if route.method == method]


# Answers that a browser saves.
DOWNLOADS = frozenset({"/bots/{bot}/bot.yaml", "/bots/{bot}/knowledge/export"})


def documents() -> list[Route]:
    """All pages that a browser shows."""
    return [route for route in pages() if route.template not in DOWNLOADS]


def parameters(template: str) -> list[str]:
    """The names of a template's parameters."""
    return _PARAMETER.findall(template)


async def ids_of(site: Site, business: Business) -> dict[str, str]:
    """The ids of an account's records by the names of parameters and fields."""
    email = "reader@example.com" if business is site.mine else "stranger@example.com"
    if "preview" not in business.ids:
        (change, *_) = (await site.do("knowledge.history", bot=business.bot)).items
        preview = await site.do("knowledge.lint", bot=business.bot)
        await asyncio.wait_for(preview.finished.wait(), 60)
        business.ids |= {"change": change.origin.id, "preview": preview.id}
    # Names that are the same in all accounts.
    names = {"sentence": "done", "kind": "quote"} if business is site.mine else {}
    return {**business.ids, **names, "email": email, "token": "never-made"}


def path_of(template: str, ids: Mapping[str, str]) -> str:
    """Fill in a template; a parameter without a record becomes an unknown id."""
    return _PARAMETER.sub(lambda match: ids.get(match[1], UNKNOWN), template)


class Found(NamedTuple):
    """A form on a page."""

    page: Shown
    form: Element

    @property
    def action(self) -> str:
        """The name of its operation."""
        return self.form.get("data-action", "")

    @property
    def path(self) -> str:
        """Where it is sent to."""
        return self.form.get("action") or self.page.path

    def values(self, **more: Any) -> list[tuple[str, Any]]:
        """Its fields as they are, confirmed."""
        return [(name, value) for name, value in self.page.values(self.form) if name not in more] + list(more.items())


async def crawl(client: Client, ids: Mapping[str, str]) -> Iterator[Shown]:
    """Read every page that the person may see."""
    found = []
    for route in pages():
        page = await client.get(path_of(route.template, ids))
        if page.status == 200 and page.headers["Content-Type"].startswith("text/html"):
            found.append(page)
    return iter(found)


async def forms(client: Client, ids: Mapping[str, str]) -> list[Found]:
    """Find every form that the person is shown, each path and operation once."""
    found: dict[tuple[str, str], Found] = {}
    for page in await crawl(client, ids):
        for form in page.forms():
            one = Found(page, form)
            found.setdefault((one.path, one.action), one)
    return list(found.values())
