"""Walks over all routes and forms of the dashboard with the ids of real records."""

import asyncio
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from chatsvc.dashboard.page import Access
from chatsvc.dashboard.routes import ROUTES, Route
from chatsvc.domain.websites import Site as Website
from chatsvc.services.accounts import bot_files
from chatsvc.store import sites
from tests.dashboard.client import Client, Shown
from tests.dashboard.site import Business, Site
from tests.store.inspection import execute, insert
from tests.tables import rows

UNKNOWN = "00000000-0000-4000-8000-000000000000"
_PARAMETER = re.compile(r"\{(\w+)\}")

# The least access to each page; pages below one are like it unless they stand here themselves.
PAGES: Mapping[str, Access] = {path: Access[access.upper()] for path, access in rows("dashboard/access")}


def least_access(template: str) -> Access:
    """Look up the least access to a page. Raises KeyError for an unlisted one."""
    section = template
    while section not in PAGES:
        section = section.rpartition("/")[0]
        if not section:
            raise KeyError(f"{template} is in no section of access.tsv: add it with the least access to it")
    return PAGES[section]


def pages(method: str = "GET") -> list[Route]:
    """All routes of a method."""
    return [route for route in ROUTES if (route.get if method == "GET" else route.post) is not None]


def parameters(template: str) -> list[str]:
    """The names of a template's parameters."""
    return _PARAMETER.findall(template)


async def ids_of(site: Site, business: Business) -> dict[str, str]:
    """Collect the ids of an account's records by parameter name. Creates the rare ones."""
    if "preview" not in business.ids:
        bot = business.bot
        email = "reader@example.com" if business is site.mine else "stranger@example.com"
        if business is site.other:
            await site.do("operator.add", email=email, account=business.account, role="reader")
        if not await site.do("backup.list"):
            await site.do("backup.create", keep=True)
        await site.do("channel.set", bot=bot, channel="web", sites=["https://shop.example.com"])
        preview = await site.do("knowledge.lint", bot=bot)
        await asyncio.wait_for(preview.finished.wait(), 60)
        business.ids |= {
            "attempt": await _attempt(site, business),
            "backup": (await site.do("backup.list"))[0].name,
            "channel": "web",
            "change": (await site.do("knowledge.history", bot=bot)).items[0].origin.id,
            "email": email,
            "kind": "appointment",
            "preview": preview.id,
            "site": await _website(site, business),
            "sentence": bot_files.default_sentences()[0].name,
            "token": "never-made",
        }
    return business.ids


async def _website(site: Site, business: Business) -> str:
    """Insert a website that waits to be read by hand."""
    website = Website(str(uuid.uuid4()), business.bot, "https://127.0.0.1/", [], [], 1, 0, review=True, state="idle")
    await sites.create(site.app.services.db, website)
    return website.id


async def _attempt(site: Site, business: Business) -> str:
    """Insert a failed attempt of the bot's webhook."""
    ((event,),) = await execute(site.app, "SELECT max(number) FROM webhook_events WHERE bot_id = :1", business.bot)
    row: dict[str, object] = {
        "id": str(uuid.uuid4()),
        "delivery_id": str(uuid.uuid4()),
        "event_number": event,
        "bot_id": business.bot,
        "url": "https://hooks.example.com/chatsvc",
        "body": b'{"event":"request.created"}',
        "at": site.clock(),
        "success": 0,
        "status_code": 500,
        "error": "http_status",
        "duration_ms": 1234,
    }
    await insert(site.app, "webhook_attempts", ", ".join(row), [tuple(row.values())])
    return str(row["id"])


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
        """The path that a form is sent to."""
        return self.form.get("action") or self.page.path

    def values(self, **more: Any) -> list[tuple[str, Any]]:
        """Its fields as they are, confirmed."""
        return [(name, value) for name, value in self.page.values(self.form) if name not in more] + list(more.items())


async def crawl(client: Client, ids: Mapping[str, str]) -> Iterator[Shown]:
    """Read every page that the person may see."""
    forms = []
    for route in pages():
        page = await client.get(path_of(route.template, ids))
        if page.status == 200 and page.headers["Content-Type"].startswith("text/html"):
            forms.append(page)
    return iter(forms)


async def forms(client: Client, ids: Mapping[str, str]) -> list[Found]:
    """Find every form that the person is shown, each path and operation once."""
    forms: dict[tuple[str, str], Found] = {}
    for page in await crawl(client, ids):
        for form in page.forms():
            entry = Found(page, form)
            forms.setdefault((entry.path, entry.action), entry)
    return list(forms.values())
