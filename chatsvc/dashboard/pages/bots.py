"""Bots: list, create; the settings of one in pieces, each with a form of its own; closed days; activate, deactivate, delete; its file."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.versions import changed_since, version_of
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import opening_hours, profiles, times
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.knowledge_files.decoding import decode
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.web.forms import FormLimits

NEW = ("name", "model", "language", "country", "timezone", "description")
PLACE = ("language", "country", "timezone")
FIRST_PLACE = {
    "tr": {"language": "tr", "country": "TR", "timezone": "Europe/Istanbul"},
    "en": {"language": "en", "country": "GB", "timezone": "Europe/London"},
}
OWN = ("name", "model", "timezone", "country", "language", "fallback")  # settings that take an owner
CONTACT = ("phone", "email", "address")
WORDS = ("greeting", "description", "instructions")
HOURS = tuple(f"hours_{day}" for day in opening_hours.DAYS)
USUAL_HOURS = ("09:00-18:00", "10:00-14:00", "09:00-12:00, 13:00-18:00", "10:00-22:00", "00:00-24:00")
SWITCHES = ("ask_back", "hand_off")
NUMBERS = ("hand_off_wait", "hand_off_return", "appointment_minutes", "appointments_at_once")
GREETING = "smalltalk.greeting"
DAYS_CLOSED = ("from", "to", "note")
PIECES = ("general", "hours", "voice", "forms", "hand_off", "model", "danger")


async def _list(page: Page, typed: Fields) -> dict[str, Any]:
    found = await page.perform("bot.list", account=page.account_id, after=page.query.get("after")) if page.account_id else None
    bots = found.items if found else []
    # A new bot is likely to be where another one is.
    place = {name: getattr(bots[0], name) for name in PLACE} if bots else FIRST_PLACE[page.language]
    return {
        "bots": bots,
        "next": found.next if found else None,
        "tiers": [(one, one) for one in page.services.config.models],
        "values": {name: typed.text(name) if typed else place.get(name, "") for name in NEW},
    }


def _new(page: Page, fields: Fields) -> dict[str, Any]:
    given = {name: fields.text(name) for name in NEW if fields.text(name)}
    return {"account": page.account_id, **given, "name": fields.text("name")}


show_all = View("bots.html", _list)
create = Action("bot.create", show_all, _new, to="/bots/{made.id}/knowledge", done="bot_created")


def values_of(bot: Bot) -> dict[str, str | list[str]]:
    values = {name: getattr(bot, name) or "" for name in (*OWN, *CONTACT, *WORDS)}
    profile = profiles.load(bot.profile)
    return {
        **values,
        **{f"hours_{day}": hours for day, hours in opening_hours.by_day(bot.opening_hours or "").items()},
        "fallback": bot.fallback or "none",
        "ask_back": "off" if bot.ask_back is False else "on",
        "hand_off": "on" if bot.hand_off else "off",
        **{name: str(getattr(bot, name)) for name in NUMBERS},
        "form_of_address": profile.form_of_address,
        **{language: profile.texts.get(GREETING, {}).get(language, "") for language in profiles.LANGUAGES},
        "suggestion": [*profile.suggestions, *[""] * (profiles.MOST_SUGGESTIONS - len(profile.suggestions))],
    }


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the settings; in the piece of a refused form, what was typed."""
    bot = await page.perform("bot.show", bot=page.params["bot"])
    profile = profiles.load(bot.profile)
    return {
        "bot": bot,
        "path": f"/bots/{bot.id}",
        "version": version_of(values_of(bot)),
        "values": {**dict.fromkeys(DAYS_CLOSED, ""), **values_of(bot), **_typed(typed)},
        # One that the configuration does not have any more stays a choice.
        "tiers": [(one, one) for one in dict.fromkeys([*page.services.config.models, bot.model])],
        "usual_hours": dict.fromkeys([*filter(None, opening_hours.by_day(bot.opening_hours or "").values()), *USUAL_HOURS]),
        "days_of_week": list(zip(HOURS, times.DAYS[page.language], strict=True)),
        "closed": profile.closed,
        "forms": {kind: profile.form(kind) for kind in REQUEST_TYPES},
        "greets_in": [one for one in profiles.LANGUAGES if one != bot.language.partition("-")[0]],
        "refused": _piece(typed) if page.info.route == "POST /bots/{bot}" else "",
        "pieces": [one for one in PIECES if one not in ("hand_off", "danger") or page.may("bot.delete")],
    }


def _typed(fields: Fields) -> dict[str, str | list[str]]:
    names = (*OWN, *CONTACT, *WORDS, *HOURS, *SWITCHES, *NUMBERS, *profiles.LANGUAGES, *DAYS_CLOSED, "form_of_address")
    typed: dict[str, str | list[str]] = {name: fields.raw(name) for name in names if name in fields}
    if "suggestion" in fields:
        # The fault of one names its place among those that are not empty.
        typed["suggestion"] = sorted(fields.all("suggestion"), key=lambda text: not text.strip())
    return typed


def _piece(fields: Fields) -> str:
    return fields.text("piece") if fields.text("piece") in PIECES else "general"


def _settings(fields: Fields) -> dict[str, object]:
    settings: dict[str, object] = {name: fields.text(name) for name in (*OWN, *CONTACT, *WORDS, "form_of_address") if name in fields}
    settings |= {name: fields.text(name) == "on" for name in SWITCHES if name in fields}
    settings |= {name: fields.number(name) for name in NUMBERS if name in fields}
    if hours := {name.removeprefix("hours_"): fields.text(name) for name in HOURS if name in fields}:
        settings["hours"] = hours
    if greetings := {one: fields.raw(one) for one in profiles.LANGUAGES if one in fields}:
        settings["texts"] = {GREETING: greetings}
    if "suggestion" in fields:
        settings["suggestions"] = [text.strip() for text in fields.all("suggestion") if text.strip()]
    return settings


show = View("bot_settings.html", _values)
close = Action("closed.add", show, "first=from last=to note", to="/bots/{bot}#hours", done="saved")
reopen = Action("closed.remove", None, "first=from", to="/bots/{bot}#hours", done="removed")
activate = Action("bot.activate", to="/bots/{bot}", done="activated")
deactivate = Action("bot.deactivate", to="/bots/{bot}", done="deactivated")
delete = Action("bot.delete", show, to="/bots", done="removed", confirm=True)


async def _lead(page: Page, _: Bot) -> Response:
    piece = _piece(await page.form())
    return page.redirect(f"{page.path}?piece={piece}#{piece}", done="saved")


_set = Action("bot.set", show, lambda _, fields: _settings(fields), then=_lead)


async def submit(page: Page) -> Response:
    """Change the settings of one section, unless somebody else has changed the same ones meanwhile."""
    fields, bot = await page.form(), await page.perform("bot.show", bot=page.params["bot"])
    changed = changed_since(fields.text("version"), values_of(bot), _typed(fields))
    if changed:
        return page.conflict(show.template, changed, **await _values(page, fields))
    return await _set(page)


async def export(page: Page) -> Response:
    text = await page.perform("bot.export", bot=page.params["bot"])
    return page.download(text.encode(), "application/yaml", "bot.yaml")


async def _file(page: Page, typed: Fields) -> dict[str, Any]:
    return {"bot": await page.perform("bot.show", bot=page.params["bot"]), "text": typed.raw("text")}


show_file = View("bot_file.html", _file)


async def apply(page: Page) -> Response:
    """Show what a bot's file would change. With `yes`, apply it."""
    bot_id, fields = page.params["bot"], await page.form(FormLimits(size=1024 * 1024, field_size=256 * 1024))
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
        sentence = f"{fault.source}: {fault.faults[0].sentence(page.language)}"
        return page.render("bot_file.html", status=422, fault=sentence, **await _file(page, fields))
    except Refused as fault:
        return await show_file.refuse(page, fault, fields)
    return page.redirect(f"/bots/{bot_id}", done="saved")
