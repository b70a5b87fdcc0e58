"""Bots: list, create, activate, deactivate, delete, and import from a file. Each section of a bot's settings has a form of its own."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain import opening_hours, profiles, times
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, decode
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.web.forms import Fields, FormLimits, check_version, version_of

NEW = ("name", "model", "language", "country", "timezone", "description")
FIRST_PLACE = {
    "tr": {"language": "tr", "country": "TR", "timezone": "Europe/Istanbul"},
    "en": {"language": "en", "country": "GB", "timezone": "Europe/London"},
}
TEXTS = (
    *("name", "model", "timezone", "country", "language", "fallback", "phone", "email", "address"),
    *("greeting", "description", "instructions"),
)
HOURS = tuple(f"hours_{day}" for day in opening_hours.DAYS)
USUAL_HOURS = ("09:00-18:00", "10:00-14:00", "09:00-12:00, 13:00-18:00", "10:00-22:00", "00:00-24:00")
SWITCHES = ("ask_back", "hand_off")
NUMBERS = ("hand_off_wait", "hand_off_return", "appointment_minutes", "appointments_at_once")
SETTINGS = (*TEXTS, "form_of_address", *SWITCHES, *NUMBERS, *HOURS, *profiles.LANGUAGES)  # fields of which a form has some
GREETING = "smalltalk.greeting"
DAYS_CLOSED = ("from", "to", "note")
PIECES = ("general", "hours", "voice", "forms", "hand_off", "model", "danger")
FILE_LIMITS = FormLimits(size=1024 * 1024, field_size=256 * 1024)


@view("bots.html")
async def show_all(page: Page, typed: Fields) -> dict[str, Any]:
    listed = await page.perform("bot.list", account=page.account_id, after=page.query.get("after")) if page.account_id else None
    bots = listed.items if listed else []
    # A new bot is likely to be where another one is.
    defaults = {name: getattr(bots[0], name) for name in FIRST_PLACE["en"]} if bots else FIRST_PLACE[page.language]
    return {
        "bots": bots,
        "next": listed.next if listed else None,
        "tiers": [(tier, tier) for tier in page.services.config.models],
        "values": {name: typed.text(name) if typed else defaults.get(name, "") for name in NEW},
    }


@form(show_all)
async def create(page: Page, fields: Fields) -> Response:
    given = {name: fields.text(name) for name in NEW if name == "name" or fields.text(name)}
    bot = await page.perform("bot.create", account=page.account_id, **given)
    return page.redirect(f"/bots/{bot.id}/knowledge", done="bot_created")


def values_of(bot: Bot) -> dict[str, str | list[str]]:
    """Return the settings of a bot by the names of their fields."""
    profile, values = profiles.load(bot.profile), dict[str, str | list[str]]()
    for name in TEXTS:
        values[name] = getattr(bot, name) or ""
    for day, hours in opening_hours.by_day(bot.opening_hours).items():
        values[f"hours_{day}"] = hours
    values["fallback"] = bot.fallback or "none"
    values["ask_back"] = "off" if bot.ask_back is False else "on"
    values["hand_off"] = "on" if bot.hand_off else "off"
    for name in NUMBERS:
        values[name] = str(getattr(bot, name))
    values["form_of_address"] = profile.form_of_address
    for language in profiles.LANGUAGES:
        values[language] = profile.texts.get(GREETING, {}).get(language, "")
    values["suggestion"] = [*profile.suggestions, *[""] * (profiles.MOST_SUGGESTIONS - len(profile.suggestions))]
    return values


@view("bot_settings.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the settings of a bot. In the section of a refused form, the typed values replace the stored ones."""
    bot = await page.bot()
    profile, values = profiles.load(bot.profile), values_of(bot)
    return {
        "bot": bot,
        "path": f"/bots/{bot.id}",
        "version": version_of(values),
        "values": {**dict.fromkeys(DAYS_CLOSED, ""), **values, **_typed(typed)},
        # A tier that the configuration does not have any more stays a choice.
        "tiers": [(tier, tier) for tier in dict.fromkeys([*page.services.config.models, bot.model])],
        "usual_hours": dict.fromkeys([*filter(None, map(str, map(values.get, HOURS))), *USUAL_HOURS]),
        "days_of_week": list(zip(HOURS, times.DAYS[page.language], strict=True)),
        "closed": profile.closed,
        "forms": {kind: profile.form(kind) for kind in REQUEST_TYPES},
        "greets_in": [language for language in profiles.LANGUAGES if language != bot.language.partition("-")[0]],
        "refused": typed.text("piece") if page.info.route == "POST /bots/{bot}" else "",
        "pieces": [piece for piece in PIECES if piece not in ("hand_off", "danger") or page.may("bot.delete")],
    }


def _typed(fields: Fields) -> dict[str, str | list[str]]:
    typed = dict[str, str | list[str]]()
    for name in (*SETTINGS, *DAYS_CLOSED):
        if name in fields:
            typed[name] = fields.raw(name)
    if "suggestion" in fields:
        # The fault of one names its place among those that are not empty.
        typed["suggestion"] = sorted(fields.all("suggestion"), key=lambda text: not text.strip())
    return typed


def _settings(fields: Fields) -> dict[str, Any]:
    settings = dict[str, Any]()
    for name in SETTINGS:
        if name not in fields:
            continue
        if name in SWITCHES:
            settings[name] = fields.text(name) == "on"
        elif name in NUMBERS:
            settings[name] = fields.number(name)
        elif name in HOURS:
            settings.setdefault("hours", {})[name.removeprefix("hours_")] = fields.text(name)
        elif name in profiles.LANGUAGES:
            settings.setdefault("texts", {GREETING: {}})[GREETING][name] = fields.raw(name)
        else:
            settings[name] = fields.text(name)
    if "suggestion" in fields:
        settings["suggestions"] = [text.strip() for text in fields.all("suggestion") if text.strip()]
    return settings


@form(show)
async def submit(page: Page, fields: Fields) -> Response:
    """Change the settings of one section. Raise `fields_changed` if somebody else has changed the same settings meanwhile."""
    check_version(fields.text("version"), values_of(await page.bot()), _typed(fields))
    await page.perform("bot.set", bot=page.params["bot"], **_settings(fields))
    piece = fields.text("piece") or "general"
    return page.redirect(f"{page.path}?piece={piece}#{piece}", done="saved")


@form(show)
async def close(page: Page, fields: Fields) -> Response:
    first, last, note = (fields.text(name) for name in DAYS_CLOSED)
    await page.perform("closed.add", bot=page.params["bot"], first=first, last=last, note=note)
    return page.redirect(f"/bots/{page.params['bot']}#hours", done="saved")


@form()
async def reopen(page: Page, fields: Fields) -> Response:
    await page.perform("closed.remove", bot=page.params["bot"], first=fields.text("from"))
    return page.redirect(f"/bots/{page.params['bot']}#hours", done="removed")


activate = act("bot.activate", "bot", to="/bots/{bot}", done="activated")
deactivate = act("bot.deactivate", "bot", to="/bots/{bot}", done="deactivated")
delete = act("bot.delete", "bot", to="/bots", done="removed", shown=show, confirm=True)


async def export(page: Page) -> Response:
    text = await page.perform("bot.export", bot=page.params["bot"])
    return page.download(text.encode(), "application/yaml", "bot.yaml")


@view("bot_file.html")
async def show_file(page: Page, typed: Fields) -> dict[str, Any]:
    return {"bot": await page.bot(), "text": typed.raw("text")}


async def apply(page: Page) -> Response:
    """Show how a bot's file would change the bot. With the field `yes`, apply the file."""
    bot_id, fields = page.params["bot"], await page.form(FILE_LIMITS)
    text, name = fields.raw("text"), "bot.yaml"
    try:
        for upload in fields.uploads.getall("file", []):
            text, name = decode(upload.filename, upload.file.read()), upload.filename
        if "yes" not in fields:
            compared = await page.perform("bot.compare", bot=bot_id, file=name, text=text)
            return page.render("bot_file_changes.html", bot=await page.bot(), lines=compared.lines, text=text)
        await page.perform("bot.apply", bot=bot_id, file=name, text=text)
    except KnowledgeFileError as fault:
        sentence = f"{fault.source}: {fault.faults[0].sentence(page.language)}"
        return page.render("bot_file.html", status=422, fault=sentence, **await show_file.values(page, fields))
    except Refused as refusal:
        return await show_file.refuse(page, refusal, fields)
    return page.redirect(f"/bots/{bot_id}", done="saved")
