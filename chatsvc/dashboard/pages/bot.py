"""Settings of a bot: texts of its own, opening hours, closed days; activate and deactivate. Its file."""

from __future__ import annotations

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.responses import respond
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.hand_off import MOST_MINUTES
from chatsvc.domain.knowledge_files import KnowledgeFileError, decode
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.http.forms import FormLimits
from chatsvc.http.response import HttpResponse

OWN = ("name", "model", "timezone", "country", "language", "fallback")  # settings that take an owner
WORDS = ("greeting", "description", "instructions", "opening_hours")
SWITCHES = ("ask_back", "hand_off")
FILE_LIMITS = FormLimits(size=1024 * 1024, field_size=256 * 1024)
MINUTES = ("hand_off_wait", "hand_off_return")


def values_of(bot: Bot, language: str) -> dict[str, str | list[str]]:
    """Return the fields of the form for a bot, in a language of the pages."""
    values = {name: getattr(bot, name) or "" for name in (*OWN, *WORDS)}
    profile = profiles.load(bot.profile)
    closed = profile.to_json().get("closed") or []
    return {
        **values,
        "opening_hours": opening_hours.written(values["opening_hours"], language),
        "fallback": bot.fallback or "none",
        "ask_back": "off" if bot.ask_back is False else "on",
        "hand_off": "on" if bot.hand_off else "off",
        **{name: str(getattr(bot, name)) for name in MINUTES},
        "address": profile.address,
        "closed": "\n".join(map(str, closed if isinstance(closed, list) else ())),
        "suggestion": [*profile.suggestions, *[""] * (profiles.MOST_SUGGESTIONS - len(profile.suggestions))],
    }


def _tiers(page: Page, bot: Bot) -> list[tuple[str, str]]:
    """Return the choices of the model. One that the configuration does not have any more stays."""
    return [(one, one) for one in dict.fromkeys([*page.services.config.models, bot.model])]


async def show(page: Page) -> HttpResponse:
    """Show the settings."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    return page.render("bot_settings.html", bot=bot, values=values_of(bot, page.language), tiers=_tiers(page, bot))


async def submit(page: Page) -> HttpResponse:
    """Change the settings that the form has."""
    bot_id, fields = page.params["bot"], await page.form()
    typed: dict[str, str | list[str]] = {
        name: fields.raw(name) for name in (*OWN, *WORDS, *SWITCHES, *MINUTES, "address", "closed") if name in fields
    }
    if "suggestion" in fields:
        typed["suggestion"] = fields.all("suggestion")
    try:
        await page.perform("bot.set", bot=bot_id, **_settings(fields))
    except Refused as fault:
        bot = await page.perform("bot.show", bot=bot_id)
        return page.refused("bot_settings.html", fault, bot=bot, values={**values_of(bot, page.language), **typed}, tiers=_tiers(page, bot))
    return page.redirect(f"/bots/{bot_id}", done="saved")


def _settings(fields: Fields) -> dict[str, object]:
    settings: dict[str, object] = {name: fields.text(name) for name in (*OWN, *WORDS, "address") if name in fields}
    settings |= {name: fields.text(name) == "on" for name in SWITCHES if name in fields}
    settings |= {name: fields.number(name, MOST_MINUTES) for name in MINUTES if name in fields}
    if "closed" in fields:
        settings["closed"] = [line.strip() for line in fields.raw("closed").splitlines() if line.strip()]
    if "suggestion" in fields:
        settings["suggestions"] = [text.strip() for text in fields.all("suggestion") if text.strip()]
    return settings


async def activate(page: Page) -> HttpResponse:
    """Let the bot accept messages."""
    await page.perform("bot.activate", bot=page.params["bot"])
    return page.redirect(f"/bots/{page.params['bot']}", done="activated")


async def deactivate(page: Page) -> HttpResponse:
    """Let the bot reject messages."""
    await page.perform("bot.deactivate", bot=page.params["bot"])
    return page.redirect(f"/bots/{page.params['bot']}", done="deactivated")


async def export(page: Page) -> HttpResponse:
    """Download the bot's file."""
    text = await page.perform("bot.export", bot=page.params["bot"])
    return respond(200, text.encode(), "application/yaml", [("Content-Disposition", 'attachment; filename="bot.yaml"')])


async def show_file(page: Page) -> HttpResponse:
    """Show the form that takes a bot's file."""
    return page.render("bot_file.html", bot=await page.perform("bot.show", bot=page.params["bot"]), text="")


async def apply(page: Page) -> HttpResponse:
    """Show what a bot's file would change. With `yes`, apply it."""
    bot_id, fields = page.params["bot"], await page.form(FILE_LIMITS)
    text, name = fields.raw("text"), "bot.yaml"
    try:
        for upload in fields.uploads():
            text, name = decode(upload.filename, upload.file.read()), upload.filename
        if not fields.checked("yes"):
            found = await page.perform("bot.compare", bot=bot_id, file=name, text=text)
            bot = await page.perform("bot.show", bot=bot_id)
            return page.render("bot_file_changes.html", bot=bot, lines=found.lines, text=text)
        await page.perform("bot.apply", bot=bot_id, file=name, text=text)
    except KnowledgeFileError as fault:
        bot = await page.perform("bot.show", bot=bot_id)
        sentence = fault.faults[0].sentence(page.language)
        return page.render("bot_file.html", status=422, fault=f"{fault.source}: {sentence}", bot=bot, text=fields.raw("text"))
    except Refused as fault:
        return page.refused("bot_file.html", fault, bot=await page.perform("bot.show", bot=bot_id), text=fields.raw("text"))
    return page.redirect(f"/bots/{bot_id}", done="saved")


ROUTES = (
    Route("GET", "/bots/{bot}", show, Access.READER),
    Route("POST", "/bots/{bot}", submit, Access.READER),
    Route("POST", "/bots/{bot}/activate", activate, Access.READER),
    Route("POST", "/bots/{bot}/deactivate", deactivate, Access.READER),
    Route("GET", "/bots/{bot}/bot.yaml", export, Access.READER),
    Route("GET", "/bots/{bot}/file", show_file, Access.OWNER),
    Route("POST", "/bots/{bot}/file", apply, Access.OWNER),
)
