"""Inbox: requests and appointments of all bots, with filters and a form in each record. Appointments also appear in a calendar."""

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp.web import Response

from chatsvc.dashboard import calendar_grid, localization, records
from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain import times
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import Bot
from chatsvc.services.conversations.captures import STATUSES
from chatsvc.web.forms import NO_FIELDS, Fields

_FILTERS = ("q", "bot", "status", "kind", "assignee")
_ADDED = ("bot", "date", "time", "name", "phone", "email", "message")


def _day(page: Page, typed: Fields) -> date | None:
    """Return the day that the calendar shows, by default today. Return None if the URL names a day that does not exist."""
    try:
        day = date.fromisoformat(typed.text("date") or page.query.get("day") or "")
    except ValueError:
        if page.query.get("day"):
            return None
        day = localization.moment(page.services.clock(), page.timezone).date()
    return day if date.min + timedelta(days=30) < day < date.max - timedelta(days=30) else None


@view("inbox_calendar.html")
async def _calendar(page: Page, typed: Fields) -> dict[str, Any]:
    is_day, now = page.query.get("view") == "day", page.services.clock()
    length, day = timedelta(days=1 if is_day else 7), _day(page, typed) or localization.moment(now, page.timezone).date()
    values = await records.values(page, typed)
    bots = values["bots"]
    chosen: list[Bot] = [bots[page.query["bot"]]] if page.query.get("bot") in bots else list(bots.values())
    zones = {bot.timezone for bot in chosen}
    zone = zones.pop() if len(zones) == 1 else page.timezone
    first = day if is_day else day - timedelta(days=day.weekday())
    begin, end = (int(datetime.combine(edge, time(), ZoneInfo(zone)).timestamp() * 1000) for edge in (first, first + length))
    listed = await page.perform("inbox.appointments", account=page.account_id, first=begin, end=end)
    names = dict(values["people"]) | {page.operator.email: page.operator.name or page.operator.email}

    def person_of(item: InboxItem) -> str:
        email = item.request.assignee
        return names.get(email, email) if email else ""

    items = [item for item in listed if any(item.bot_id == bot.id for bot in chosen)]
    days = [first + timedelta(days=number) for number in range(length.days)]
    asked = {name: typed.text(name) if typed else page.query.get(name, "") for name in _ADDED}
    return {
        **values,
        "view": "day" if is_day else "week",
        "grid": calendar_grid.lay_out(days, chosen, items, ZoneInfo(zone), person_of if is_day else None),
        "zone": zone,
        "day": day,
        "first": first,
        "before": day - length,
        "after": day + length,
        "today": localization.moment(now, zone).date(),
        "weekdays": times.DAYS[page.language],
        "added": {**asked, "bot": asked["bot"] or next((bot.id for bot in chosen), "")},
        "adds": bool(typed or asked["time"]),
        "waiting": await records.waiting(page),
    }


@view("inbox.html")
async def _list(page: Page, typed: Fields) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    listed = await page.listed("inbox.list", **chosen, urgent_first=True, limit=20, after=page.query.get("after"))
    return {
        "items": listed.items,
        "next": listed.next,
        "waiting": await records.waiting(page),
        "chosen": chosen,
        "statuses": [(status, page.text(f"records.status_{status}")) for status in STATUSES],
        "is_filtered": any(chosen.values()),
        **await records.values(page, typed, listed.items),
    }


@view("inbox_record.html")
async def show_one(page: Page, typed: Fields) -> dict[str, Any]:
    item = await page.perform("inbox.find", record=page.params["request"])
    return {"item": item, **await records.values(page, typed, [item])}


async def show(page: Page) -> Response:
    """Show a page of the inbox. If the operator has no account, redirect to "Today", which explains what to do first."""
    if page.account_id is None:
        return page.redirect("/")
    if "view" not in page.query:
        return await _list(page)
    return page.fail(404) if _day(page, NO_FIELDS) is None else await _calendar(page)


@form()
async def decide(page: Page, fields: Fields) -> Response:
    """Accept or refuse a requested change of a confirmed appointment."""
    given = {name: fields.text(name) for name in ("tell", "text") if fields.text(name)}
    await page.perform("request.decide", request=fields.text("id"), accept=fields.text("accept") == "1", **given)
    return page.redirect(fields.text("next") or f"/inbox/{fields.text('id')}", done="saved")


async def _change(page: Page, fields: Fields) -> Response:
    await records.change(page, fields)
    return page.redirect(fields.text("next") or f"{page.url()}#{fields.text('id')}", done="saved")


change, change_one = form(_list)(_change), form(show_one)(_change)  # in the list, and on the record's own page


@form(_calendar)
async def add(page: Page, fields: Fields) -> Response:
    """Add an appointment that the team has made, and show its day in the calendar."""
    await page.perform("appointment.add", **{name: fields.text(name) or None for name in _ADDED})
    return page.redirect(f"/inbox?view=day&day={fields.text('date')}", done="saved")


@form()
async def feed(page: Page, fields: Fields) -> Response:
    address = await page.perform("appointment.calendar", bot=fields.text("bot"), renew="renew" in fields)
    return await page.show_once({page.text("inbox.feed"): address.url}, "/inbox?view=week", page.text("inbox.feed"))
