"""Inbox: requests and appointments of all bots, with filters and a form in each record; appointments also as a calendar."""

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp.web import Response

from chatsvc.dashboard import calendar_grid, formats, records
from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import times
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations.calendar import CalendarAddress
from chatsvc.services.conversations.captures import STATUSES

_FILTERS = ("q", "bot", "status", "kind", "assignee")
_DAYS = {"week": 7, "day": 1}
_ADDED = ("bot", "date", "time", "name", "phone", "email", "message")


def _day(page: Page, typed: Fields) -> date | None:
    """Return the day that a calendar is about, by default today; None for one that no calendar has."""
    try:
        day = date.fromisoformat(typed.text("date") or page.query.get("day") or "")
    except ValueError:
        if page.query.get("day"):
            return None
        day = formats.moment(page.services.clock(), page.timezone).date()
    return day if date.min + timedelta(days=30) < day < date.max - timedelta(days=30) else None


async def _calendar_values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the appointments of a day or of the week around it, laid out."""
    view = page.query.get("view", "week")
    length, day = _DAYS.get(view, 7), _day(page, typed) or formats.moment(page.services.clock(), page.timezone).date()
    bots = await records.bots_of(page)
    chosen = [bots[page.query["bot"]]] if page.query.get("bot") in bots else list(bots.values())
    zones = {bot.timezone for bot in chosen}
    zone = zones.pop() if len(zones) == 1 else page.timezone
    first = day - timedelta(days=day.weekday()) if length > 1 else day
    days = [first + timedelta(days=number) for number in range(length)]
    begin, end = (int(datetime.combine(one, time(), ZoneInfo(zone)).timestamp() * 1000) for one in (first, first + timedelta(days=length)))
    found = await page.perform("inbox.appointments", account=page.account_id, first=begin, end=end)
    found = [one for one in found if any(one.bot_id == bot.id for bot in chosen)]
    values = await records.values(page, typed)
    names = {email: name for email, name in values["people"] if email != page.operator.email}
    names[page.operator.email] = page.operator.name or page.operator.email

    def person_of(one: Any) -> str:
        email = one.appointment.request.assignee
        return names.get(email, email) if email else ""

    grid = calendar_grid.lay_out(days, chosen, found, ZoneInfo(zone), person_of if length == 1 else None)
    asked = {name: typed.text(name) if typed else page.query.get(name, "") for name in _ADDED}
    return {
        **values,
        "view": view if view in _DAYS else "week",
        "grid": grid,
        "zone": zone,
        "day": day,
        "first": first,
        "before": day - timedelta(days=length),
        "after": day + timedelta(days=length),
        "today": formats.moment(page.services.clock(), zone).date(),
        "weekdays": times.DAYS[page.language],
        "added": {**asked, "bot": asked["bot"] or next((bot.id for bot in chosen), "")},
        "adds": bool(typed or asked["time"]),
        "waiting": await records.waiting(page),
    }


_calendar = View("inbox_calendar.html", _calendar_values)


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    found = await page.listed("inbox.list", **chosen, urgent_first=True, limit=20, after=page.query.get("after"))
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


async def _record_values(page: Page, typed: Fields) -> dict[str, Any]:
    item = await page.perform("inbox.find", record=page.params["request"])
    return {"item": item, **await records.values(page, typed, [item])}


show_one = View("inbox_record.html", _record_values)


async def show(page: Page) -> Response:
    """Show a page of the inbox; without an account, "Today" explains what to do first."""
    if page.account_id is None:
        return page.redirect("/")
    if "view" not in page.query:
        return await _list(page)
    return page.fail(404) if _day(page, NO_FIELDS) is None else await _calendar(page)


async def decide(page: Page) -> Response:
    """Accept or refuse the change of a confirmed appointment that waits."""
    fields = await page.form()
    given = {name: fields.text(name) for name in ("tell", "text") if fields.text(name)}
    await page.perform("request.decide", request=fields.text("id"), accept=fields.text("accept") == "1", **given)
    return page.redirect(fields.text("next") or f"/inbox/{fields.text('id')}", done="saved")


async def change(page: Page) -> Response:
    """Change a record of the list."""
    return await _change(page, _list)


async def change_one(page: Page) -> Response:
    """Change a record on its own page."""
    return await _change(page, show_one)


async def _change(page: Page, view: View) -> Response:
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await view.refuse(page, fault, fields)
    return page.redirect(fields.text("next") or f"{page.url()}#{fields.text('id')}", done="saved")


async def add(page: Page) -> Response:
    """Add an appointment that the team has made, and show its day."""
    fields = await page.form()
    try:
        await page.perform("appointment.add", **{name: fields.text(name) or None for name in _ADDED})
    except Refused as fault:
        return await _calendar.refuse(page, fault, fields)
    return page.redirect(f"/inbox?view=day&day={fields.text('date')}", done="saved")


async def _show_address(page: Page, made: CalendarAddress) -> Response:
    return await page.show_once({page.text("inbox.feed"): made.url}, "/inbox?view=week", page.text("inbox.feed"))


feed = Action("appointment.calendar", given="bot renew:checked", then=_show_address)
