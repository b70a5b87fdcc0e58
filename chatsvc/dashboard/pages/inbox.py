"""Inbox: requests and appointments of all bots, with filters and a form in each record; appointments also as a week."""

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp.web import Response

from chatsvc.dashboard import formats, records
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import View
from chatsvc.domain import times
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations.captures import STATUSES

_FILTERS = ("q", "bot", "status", "kind", "assignee")


async def _week(page: Page) -> Response:
    """Show the appointments of the week of a day, by default of today."""
    zone = ZoneInfo(page.timezone)
    today = formats.moment(page.services.clock(), page.timezone).date()
    try:
        day = date.fromisoformat(page.query["week"] or str(today))
        monday = day - timedelta(days=day.weekday())
        days = [monday + timedelta(days=place) for place in range(8)]
        midnights = [int(datetime.combine(one, time(), zone).timestamp() * 1000) for one in (days[0], days[-1])]
        before = monday - timedelta(days=7)
    except (ValueError, OverflowError):
        return page.fail(404)
    found = await page.perform("inbox.appointments", account=page.account_id, first=midnights[0], end=midnights[1])
    by_day = {one: [a for a in found if formats.moment(a.appointment.at, page.timezone).date() == one] for one in days[:-1]}
    week: dict[str, Any] = {"by_day": by_day, "before": before, "after": days[-1], "today": today, "weekdays": times.DAYS[page.language]}
    return page.render("inbox_week.html", waiting=await records.waiting(page), **week, **await records.values(page, items=found))


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    found = await page.listed("inbox.list", **chosen, limit=20, after=page.query.get("after"))
    return {
        "items": found.items,
        "next": found.next,
        "waiting": await records.waiting(page),
        "chosen": chosen,
        "statuses": [(one, page.text(f"records.status_{one}")) for one in STATUSES],
        "is_filtered": any(chosen.values()),
        **await records.values(page, typed, found.items),
    }


_list = View("inbox.html", _values)


async def show(page: Page) -> Response:
    """Show a page of the inbox; without an account, "Today" explains what to do first."""
    if page.account_id is None:
        return page.redirect("/")
    return await _week(page) if "week" in page.query else await _list(page)


async def decide(page: Page) -> Response:
    """Accept or refuse the change of a confirmed appointment that waits."""
    fields = await page.form()
    given = {name: fields.text(name) for name in ("tell", "text") if fields.text(name)}
    await page.perform("request.decide", request=fields.text("id"), accept=fields.text("accept") == "1", **given)
    return page.redirect(f"/inbox#{fields.text('id')}", done="saved")


async def change(page: Page) -> Response:
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await _list.refuse(page, fault, fields)
    return page.redirect(fields.text("next") or f"{page.url()}#{fields.text('id')}", done="saved")
