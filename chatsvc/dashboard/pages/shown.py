"""Secrets that are shown once: keys, signing keys, set-up links, recovery codes."""

from chatsvc.dashboard.page import Page
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    """Show the secrets of the form before, and delete them from the browser."""
    if page.request.method == "HEAD":
        return page.render("shown_gone.html")
    content, forget = await page.take_shown()
    if content is None:
        return page.render("shown_gone.html", status=410, more=[forget])
    return page.render("shown.html", more=[forget], **content)
