"""Pages of other sites that embed the widget, and what a visitor does in it."""

import asyncio
from typing import Any

from aiohttp import web
from playwright.async_api import Frame, Page

STRICT = "default-src 'none'; script-src {service}; frame-src {service}; style-src 'self'; img-src 'self'"
PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>Shop</title>
<meta name="viewport" content="width=device-width">{head}</head>
<body><main><h1>Shop</h1></main>
<script src="{script}" {attributes} async></script></body></html>"""


class HostSite:
    """A page that embeds a widget, on an origin of its own: localhost instead of 127.0.0.1."""

    def __init__(self, service: str, bot: str) -> None:
        self.service, self.bot, self.url = service, bot, ""
        self.language, self.head, self.attributes, self.policy = "en", "", "", STRICT
        self.headers: dict[str, str] = {}
        self.script = ""  # in place of the line that the dashboard shows
        self._runner: web.AppRunner

    async def start(self) -> None:
        site = web.Application()
        site.router.add_get("/", self._page)
        site.router.add_get("/sandbox", self._sandbox)
        self._runner = web.AppRunner(site)
        await self._runner.setup()
        listener = web.TCPSite(self._runner, "127.0.0.1", 0)
        await listener.start()
        self.url = f"http://localhost:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _page(self, _: web.Request) -> web.Response:
        values: dict[str, Any] = {"service": self.service, "bot": self.bot}
        named = "" if self.script else f'data-bot="{self.bot}" {self.attributes}'
        script = self.script or f"{self.service}/widget.js"
        text = PAGE.format(language=self.language, head=self.head, attributes=named, script=script, **values)
        headers = {"Content-Security-Policy": self.policy.format(**values), **self.headers}
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def _sandbox(self, _: web.Request) -> web.Response:
        text = '<!doctype html><iframe src="/" sandbox="allow-scripts allow-same-origin" width="800" height="700"></iframe>'
        return web.Response(text=text, content_type="text/html")


async def frame_of(page: Page, bot: str) -> Frame:
    """Wait for the widget's frame and its script."""
    for _ in range(200):
        for frame in page.frames:
            if f"/widget/{bot}" in frame.url:
                await frame.wait_for_selector("[data-action=send]")
                return frame
        await page.wait_for_timeout(50)
    raise TimeoutError("the frame has not opened")


async def opened(page: Page, site: HostSite, path: str = "/") -> Frame:
    """Open the site's page and its widget; the frame."""
    await page.goto(site.url + path)
    inner = page.frames[-1] if path != "/" else page.main_frame
    await until(inner, "!!window.chatsvc")
    await inner.evaluate("chatsvc.open()")
    return await frame_of(page, site.bot)


async def say(frame: Frame | Page, text: str) -> None:
    await frame.get_by_role("textbox").fill(text)
    await frame.locator("[data-action=send]").click()


async def choose(frame: Frame | Page, action: str) -> None:
    await frame.locator("header summary").click()
    await frame.locator(f"[data-action={action}]").click()


async def log_of(frame: Frame | Page) -> list[str]:
    return await frame.locator("[role=log] .said").all_inner_texts()


async def until(frame: Frame | Page, expression: str, timeout_s: float = 30) -> None:
    """Wait until an expression is true; the pages' policies forbid playwright's own way of waiting."""
    async with asyncio.timeout(timeout_s):
        while not await frame.evaluate(expression):  # noqa: ASYNC110  # a page has no event for it
            await asyncio.sleep(0.05)


async def sees(frame: Frame | Page, text: str, timeout_s: float = 30) -> None:
    await frame.locator("[role=log] .said", has_text=text).first.wait_for(timeout=timeout_s * 1000)
