"""Fixtures of the tests of websites: a service that may read this machine, and a site."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Any

import pytest

from chatsvc.config import Config
from chatsvc.services.administration import perform
from chatsvc.services.knowledge import site_reading
from chatsvc.services.knowledge.site_reading import SiteReadings
from tests import conftest
from tests.fakes import ADMIN, FakeClock
from tests.websites.server import WebsiteServer


@pytest.fixture
def config(config: Config) -> Config:
    """The configuration with websites on this machine allowed."""
    return replace(config, website=replace(config.website, allowed_networks=(ip_network("127.0.0.0/8"),)))


@pytest.fixture
async def server() -> AsyncIterator[WebsiteServer]:
    async with WebsiteServer() as running:
        yield running


@dataclass
class Reader:
    """Operations on the websites of one bot."""

    caller: conftest.Caller
    clock: FakeClock

    async def do(self, operation: str, **arguments: Any) -> Any:
        return await perform(self.caller.app.services, ADMIN, operation, arguments)

    async def read(self, site_id: str) -> Any:
        """Wait until a site is read, and return its state."""
        while (site := await self.do("site.state", site=site_id)).state == "reading":
            await self.caller.app.services.part(SiteReadings).start(site_id)
        return site

    async def add(self, url: str, **given: Any) -> Any:
        return await self.read((await self.do("site.add", bot=self.caller.bot, url=url, **given)).id)

    async def sync(self, site_id: str) -> Any:
        self.clock.now += 1000
        await self.do("site.sync", site=site_id)
        return await self.read(site_id)

    async def entries(self) -> dict[str, Any]:
        return {entry.question: entry for entry in await self.do("knowledge.list", bot=self.caller.bot)}

    async def pages(self, site_id: str) -> dict[str, tuple[str, str | None]]:
        """State and reason of each page, by path."""
        shown = await self.do("site.show", site=site_id)
        return {"/" + page.url.split("/", 3)[3]: (page.state, page.reason) for page in shown.pages}


@pytest.fixture
def reader(caller: conftest.Caller, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """The websites of a bot, read without the pause between two pages."""
    monkeypatch.setattr(site_reading, "PAUSE_S", 0.0)
    return Reader(caller, clock)
