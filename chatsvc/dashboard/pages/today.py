"""First page. It shows the work that waits for the team today and, for a new account, the remaining steps of its set-up."""

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page, form
from chatsvc.domain import knowledge_findings, opening_hours
from chatsvc.services.team.today import FOR_DEVELOPERS, Today
from chatsvc.web.forms import Fields

WAITING_PATH = "/waiting"


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
    # A page that refreshes itself shows the offers that it has.
    today: Today = await page.perform("today", account=page.account_id, offers=not page.is_refresh and page.may("bot.set", "phone"))
    values = await records.values(page, items=today.appointments)
    examination = await page.perform("doctor.show") if page.may("doctor.show") else None
    bot, steps = next(iter(values["bots"]), None), []
    for step in today.steps:
        operation, template = _STEPS[step.name]
        path = template.format(bot=bot) if bot or "{bot}" not in template else "/bots"
        # Roles that may not take a step get no link.
        steps.append({**step._asdict(), "path": path if page.may(operation) else None, "for_developers": step.name in FOR_DEVELOPERS})
    faults, waiting = examination.faults if examination else [], await records.waiting(page)
    return page.render("today.html", today=today, waiting=waiting, steps=steps, faults=faults, hours=opening_hours.in_words, **values)


async def show_waiting(page: Page) -> Response:
    """Show the waiting visitors. A script polls this page to refresh their list on "Today" and in the inbox."""
    return page.render("waiting.html", waiting=await records.waiting(page), bots=await records.bots_of(page))


@form()
async def adopt(page: Page, fields: Fields) -> Response:
    """Set a setting to the value found in the bot's knowledge, unless somebody has set it meanwhile."""
    name, bot = fields.text("setting"), await page.perform("bot.show", bot=fields.text("bot"))
    if name not in knowledge_findings.missing(bot) and page.may("bot.set", "phone"):
        return page.redirect("/")
    await page.perform("bot.set", bot=bot.id, **{name: fields.text("value")})
    return page.redirect("/", done="saved")


@form()
async def settle(page: Page, fields: Fields) -> Response:
    """Mark a missed conversation as done, which removes its visitor from the list."""
    await page.perform("conversation.settle", conversation=fields.text("id"))
    return page.redirect("/", done="saved")
