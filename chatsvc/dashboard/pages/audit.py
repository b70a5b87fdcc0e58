"""Audit log: who did what, by command line or page, with what outcome."""

from __future__ import annotations

from chatsvc.dashboard import catalogue
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

_LIMIT = 50


async def show(page: Page) -> HttpResponse:
    """List records, newest first: an administrator's of the whole installation, an owner's of the account."""
    since = page.query.get("since") or None
    account = None if page.operator.admin else page.account_id
    try:
        listed = await page.perform_everywhere("audit", account=account, since=since, limit=_LIMIT, after=page.query.get("after"))
    except Refused as fault:
        return page.refused("audit.html", fault, records=[], next=None, since=since, names={}, act_of=str)
    names = {account.id: account.name for account in page.accounts}
    return page.render("audit.html", records=listed.items, next=listed.next, since=since, names=names, act_of=lambda name: _act(page, name))


def _act(page: Page, operation: str) -> str:
    """Word an operation; one of an earlier version by its name."""
    key = f"acts.{operation.replace('.', '_')}"
    return page.text(key) if catalogue.has(key) else operation


ROUTES = (Route("GET", "/audit", show, Access.OWNER),)
