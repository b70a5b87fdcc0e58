"""Settings of a bot in pieces, each with a form of its own; closed days; activate, deactivate and delete. Its file."""

from __future__ import annotations

from chatsvc.dashboard import formats
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.responses import respond
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.knowledge_files import KnowledgeFileError, decode
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.http.forms import FormLimits
from chatsvc.http.response import HttpResponse

OWN = ("name", "model", "timezone", "country", "language", "fallback")  # settings that take an owner
WORDS = ("greeting", "description", "instructions")
HOURS = tuple(f"hours_{day}" for day in opening_hours.DAYS)
SWITCHES = ("ask_back", "hand_off")
FILE_LIMITS = FormLimits(size=1024 * 1024, field_size=256 * 1024)
MINUTES = ("hand_off_wait", "hand_off_return")
GREETING = "smalltalk.greeting"
OWNERS_PIECES = ("hand_off", "danger")
PIECES = ("general", "hours", "voice", "forms", "hand_off", "model", "danger")


def values_of(bot: Bot) -> dict[str, str | list[str]]:
    """Return the fields of the form for a bot."""
    values = {name: getattr(bot, name) or "" for name in (*OWN, *WORDS)}
    profile = profiles.load(bot.profile)
    return {
        **values,
        **{f"hours_{day}": hours for day, hours in opening_hours.by_day(bot.opening_hours or "").items()},
        "fallback": bot.fallback or "none",
        "ask_back": "off" if bot.ask_back is False else "on",
        "hand_off": "on" if bot.hand_off else "off",
        **{name: str(getattr(bot, name)) for name in MINUTES},
        "address": profile.address,
        **{language: profile.texts.get(GREETING, {}).get(language, "") for language in profiles.LANGUAGES},
        "suggestion": [*profile.suggestions, *[""] * (profiles.MOST_SUGGESTIONS - len(profile.suggestions))],
    }


async def show(page: Page, fault: Refused | None = None, typed: dict[str, str | list[str]] | None = None, piece: str = "") -> HttpResponse:
    """Show the settings; after a refusal with what was typed in one piece."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    shown = {
        "bot": bot,
        "path": f"/bots/{bot.id}",
        "values": {"from": "", "to": "", "note": "", **values_of(bot), **(typed or {})},
        # One that the configuration does not have any more stays a choice.
        "tiers": [(one, one) for one in dict.fromkeys([*page.services.config.models, bot.model])],
        "days_of_week": list(zip(HOURS, formats.DAYS[page.language], strict=True)),
        "closed": profiles.load(bot.profile).closed,
        "forms": {kind: profiles.load(bot.profile).form(kind) for kind in REQUEST_TYPES},
        "greets_in": [one for one in profiles.LANGUAGES if one != bot.language.partition("-")[0]],
        "refused": piece,
        "pieces": [one for one in PIECES if one not in OWNERS_PIECES or page.may("bot.delete")],
    }
    return page.refused("bot_settings.html", fault, **shown) if fault else page.render("bot_settings.html", **shown)


async def submit(page: Page) -> HttpResponse:
    """Change the settings that the form has."""
    bot_id, fields = page.params["bot"], await page.form()
    texts = (*OWN, *WORDS, *HOURS, *SWITCHES, *MINUTES, *profiles.LANGUAGES, "address")
    typed: dict[str, str | list[str]] = {name: fields.raw(name) for name in texts if name in fields}
    if "suggestion" in fields:
        # The fault of one names its place among those that are not empty.
        typed["suggestion"] = sorted(fields.all("suggestion"), key=lambda text: not text.strip())
    piece = fields.text("piece") if fields.text("piece") in PIECES else "general"
    try:
        await page.perform("bot.set", bot=bot_id, **_settings(fields))
    except Refused as fault:
        return await show(page, fault, typed, piece)
    return page.redirect(f"/bots/{bot_id}#{piece}", done="saved")


async def close(page: Page) -> HttpResponse:
    """Add days on which the business is closed."""
    bot_id, fields = page.params["bot"], await page.form()
    typed: dict[str, str | list[str]] = {name: fields.text(name) for name in ("from", "to", "note")}
    try:
        await page.perform("closed.add", bot=bot_id, first=typed["from"], last=typed["to"], note=typed["note"])
    except Refused as fault:
        return await show(page, fault, typed)
    return page.redirect(f"/bots/{bot_id}#hours", done="saved")


async def reopen(page: Page) -> HttpResponse:
    """Remove closed days."""
    fields = await page.form()
    await page.perform("closed.remove", bot=page.params["bot"], first=fields.text("from"))
    return page.redirect(f"/bots/{page.params['bot']}#hours", done="removed")


def _settings(fields: Fields) -> dict[str, object]:
    settings: dict[str, object] = {name: fields.text(name) for name in (*OWN, *WORDS, "address") if name in fields}
    settings |= {name: fields.text(name) == "on" for name in SWITCHES if name in fields}
    settings |= {name: fields.number(name) for name in MINUTES if name in fields}
    if hours := {name.removeprefix("hours_"): fields.text(name) for name in HOURS if name in fields}:
        settings["hours"] = hours
    if greetings := {one: fields.raw(one) for one in profiles.LANGUAGES if one in fields}:
        settings["texts"] = {GREETING: greetings}
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


async def delete(page: Page) -> HttpResponse:
    """Delete the bot with everything that belongs to it."""
    try:
        (await page.form()).require_confirmation()
        await page.perform("bot.delete", bot=page.params["bot"])
    except Refused as fault:
        return await show(page, fault)
    return page.redirect("/bots", done="removed")


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
    Route("POST", "/bots/{bot}/closed", close, Access.READER),
    Route("POST", "/bots/{bot}/closed/remove", reopen, Access.READER),
    Route("POST", "/bots/{bot}/activate", activate, Access.READER),
    Route("POST", "/bots/{bot}/deactivate", deactivate, Access.READER),
    Route("POST", "/bots/{bot}/delete", delete, Access.READER),
    Route("GET", "/bots/{bot}/bot.yaml", export, Access.READER),
    Route("GET", "/bots/{bot}/file", show_file, Access.OWNER),
    Route("POST", "/bots/{bot}/file", apply, Access.OWNER),
)
