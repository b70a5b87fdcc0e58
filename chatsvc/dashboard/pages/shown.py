"""Secrets that are shown once: keys, signing keys, set-up links, recovery codes."""

from aiohttp.web import Response

from chatsvc.dashboard.page import Page


async def show(page: Page) -> Response:
    """Show the secrets of the form before, and delete them from the browser."""
    if page.request.method == "HEAD":
        return page.render("shown_gone.html")
    content = await page.take_shown()
    return page.drop_shown(page.render("shown_gone.html", status=410) if content is None else page.render("shown.html", **content))
