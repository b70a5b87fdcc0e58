"""First page. What waits for the team today, and what is left to set up for a new account."""

from collections.abc import Sequence
from typing import NamedTuple

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.services.team.today import FOR_DEVELOPERS, Step, Today

WAITING_PATH = "/waiting"


class StepLink(NamedTuple):
    """A first step with the page where it is taken, or no path for roles that may not take it."""

    name: str
    done: bool
    path: str | None
    for_developers: bool


# Operation that a step needs, and its page.
_STEPS = {
    "teach": ("knowledge.add", "/bots/{bot}/knowledge"),
    "try": ("bot.try", "/bots/{bot}/try"),
    "bot": ("bot.create", "/bots#new"),
    "settings": ("bot.set", "/bots/{bot}#hours"),
    "key": ("key.create", "/keys"),
    "webhook": ("webhook.set", "/bots/{bot}/webhook"),
    "embed": ("channel.set", "/bots/{bot}/channels"),
}


async def show(page: Page) -> Response:
    if page.account_id is None:
        return page.render("today.html", today=None, waiting=None, faults=[])
    today: Today = await page.perform("today", account=page.account_id)
    shown = await records.values(page, items=today.appointments)
    examined = await page.perform("doctor.show") if page.may("doctor.show") else None
    steps = _linked(page, today.steps, next(iter(shown["bots"]), None))
    waiting = await records.waiting(page)
    return page.render("today.html", today=today, waiting=waiting, steps=steps, faults=examined.faults if examined else [], **shown)


def _linked(page: Page, steps: Sequence[Step], bot: str | None) -> list[StepLink]:
    linked = []
    for step in steps:
        operation, path = _STEPS[step.name]
        there = path.format(bot=bot) if bot or "{bot}" not in path else "/bots"
        linked.append(StepLink(step.name, step.done, there if page.may(operation) else None, step.name in FOR_DEVELOPERS))
    return linked


async def show_waiting(page: Page) -> Response:
    """Show the visitors who wait. The script reads this page again and again for the list on "Today" and in the inbox."""
    return page.render("waiting.html", waiting=await records.waiting(page), bots=await records.bots_of(page))


async def settle(page: Page) -> Response:
    """Take a visitor to whom nobody came off the list."""
    await page.perform("conversation.settle", conversation=(await page.form()).text("id"))
    return page.redirect("/", done="saved")
