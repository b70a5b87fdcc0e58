"""Bots: list, create, activate, deactivate, delete, and import from a file. Each section of a bot's settings has a form of its own.

On another page, each sentence that the bot says can be changed or reset. The form of each kind of record (request, appointment) has a page,
which lists its additional fields and previews the bot's questions.
"""

import re
from collections.abc import Mapping
from typing import Any

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain import opening_hours, profiles, refusals, times
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.folding import fold
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, decode
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import APPOINTMENTS, KINDS, Form, FormField
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import bot_files
from chatsvc.web.forms import Fields, FormLimits, check_version, version_of, whole_number

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
    """Return the settings of a bot as texts, by the names of their form fields."""
    profile = profiles.load(bot.profile)
    return {
        **{name: getattr(bot, name) or "" for name in TEXTS},
        **{f"hours_{day}": hours for day, hours in opening_hours.by_day(bot.opening_hours).items()},
        "fallback": bot.fallback or "none",
        "ask_back": "off" if bot.ask_back is False else "on",
        "hand_off": "on" if bot.hand_off else "off",
        **{name: str(getattr(bot, name)) for name in NUMBERS},
        "form_of_address": profile.form_of_address,
        **{language: profile.texts.get(GREETING, {}).get(language, "") for language in profiles.LANGUAGES},
        "suggestion": [*profile.suggestions, *[""] * (profiles.MOST_SUGGESTIONS - len(profile.suggestions))],
    }


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
    typed: dict[str, str | list[str]] = {name: fields.raw(name) for name in (*SETTINGS, *DAYS_CLOSED) if name in fields}
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


# Situations of the dialogue in their order, with the beginnings of their sentences' names; the longest beginning counts.
SITUATIONS: Mapping[str, tuple[str, ...]] = {
    "talk": ("smalltalk", "kind", "noted", "sorry", "insult", "foreign", "language"),
    "answers": ("back", "unknown", "offer", "not_text", "business", "facts"),
    "hours": ("hours", "day"),
    "requests": (
        *("open", "ask", "short", "field", "kind.", "any", "no", "without", "privacy"),
        *("summary", "done", "cancelled", "not_sent", "resume"),
    ),
    "mistakes": ("hint", "past", "far", "over", "never", "clashes", "closed.", "insists"),
    "booked": ("status", "change", "decision"),
    "team": ("handoff", "person", "open.person", "open.nobody", "unavailable", "closed"),
}
_BEGINNINGS = sorted(((begin, name) for name, begins in SITUATIONS.items() for begin in begins), key=lambda pair: -len(pair[0]))


Wording = dict[str, Any]


def _wordings(bot: Bot) -> list[Wording]:
    """Return a dictionary for each sentence of the dialogue. `own` are the bot's own texts by language, `current` the texts that it uses.

    `situation` is the part of the dialogue in which the bot uses the sentence. `title` is the translation key of its description, or
    None for a rare sentence. `phrase` is the key of an example of the visitor's words before it, or None if there is no example.
    """
    own, wordings = profiles.load(bot.profile).texts, list[Wording]()
    for sentence in bot_files.default_sentences():
        parts, texts = sentence.name.replace("?", "").split("."), own.get(sentence.name, {})
        title_key = "bot_texts.at_" + "_".join(parts)
        phrase_keys = ("bot_texts.said_" + "_".join(parts[:length]) for length in range(len(parts), 0, -1))
        wordings.append(
            {
                "default": sentence,
                "own": texts,
                "current": {language: texts.get(language) or text for language, text in sentence.texts.items()},
                "situation": next(name for begin, name in _BEGINNINGS if sentence.name.startswith(begin)),
                "title": title_key if translations.has(title_key) else None,
                "phrase": next(filter(translations.has, phrase_keys), None),
            }
        )
    return wordings


async def show_texts(page: Page) -> Response:
    bot, q, state = await page.bot(), page.query.get("q", ""), page.query.get("status", "")
    usual: dict[str, list[Wording]] = {name: [] for name in SITUATIONS}
    rare: dict[str, list[Wording]] = {name: [] for name in SITUATIONS}
    order = {f"bot_texts.{key}": number for number, key in enumerate(translations.section("bot_texts"))}
    for wording in sorted(_wordings(bot), key=lambda wording: order.get(wording["title"] or "", 0)):
        keys = filter(None, (wording["title"], wording["phrase"]))
        texts = [wording["default"].name, *wording["current"].values(), *map(page.text, keys)]
        if fold(q.strip()) in fold(" ".join(texts)) and (state != "own" or wording["own"]):
            (usual if wording["title"] else rare)[wording["situation"]].append(wording)
    is_open = bool(q.strip() or state)
    return page.render("bot_texts.html", bot=bot, usual=usual, rare=rare, is_open=is_open, q=q, state=state)


@view("bot_text.html")
async def show_sentence(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the form for one sentence. If a text is saved empty, the bot uses the default text again."""
    bot, name = await page.bot(), page.params["sentence"]
    wording = next((wording for wording in _wordings(bot) if wording["default"].name == name), None)
    if wording is None:
        raise refusals.sentence_not_found(sentence=name)
    saved = {language: wording["own"].get(language, "") for language in profiles.LANGUAGES}
    values = {language: typed.raw(language) for language in profiles.LANGUAGES} if typed else saved
    return {"bot": bot, "wording": wording, "values": values, "saved": saved, "version": version_of(saved)}


@form(show_sentence)
async def set_sentence(page: Page, fields: Fields) -> Response:
    values = await show_sentence.values(page, fields)
    check_version(fields.text("version"), values["saved"], values["values"])
    await page.perform("bot.set", bot=page.params["bot"], texts={page.params["sentence"]: values["values"]})
    return page.redirect(f"/bots/{page.params['bot']}/texts", done="saved")


MOST_FIELDS = 12
NO_ROW = {"name": "", "kind": KINDS[0], "choices": "", "required": "1", "ask_tr": "", "ask_en": ""}

FieldRow = dict[str, str]


@view("bot_form.html")
async def show_form(page: Page, typed: Fields) -> dict[str, Any]:
    """Return a form of the bot with its fields as rows. If rows were typed, return these, rearranged by the pressed button."""
    bot, kind = await page.bot(), page.params["kind"]
    if kind not in REQUEST_TYPES:
        raise refusals.form_not_found(form=kind)
    form, button = profiles.load(bot.profile).form(kind), typed.text("do")
    rows = _rearranged(_typed_rows(typed), button) if typed else [_row(field) for field in form.fields]
    lasts = typed.text("is") or form.appointment
    now = times.local(page.services.clock(), bot.timezone)
    return {
        "bot": bot,
        "version": version_of(_saved_form(form)),
        "kind": kind,
        "appointment": lasts,
        "rows": rows or [NO_ROW],
        "kinds": [(kind, page.text(f"bot_forms.of_{kind}")) for kind in KINDS],
        "sample": bot_files.sample_questions(bot, kind, _form_of(lasts, rows), page.language, now),
        "most": MOST_FIELDS,
        "appointments": [(length, page.text(f"bot_forms.is_{length}")) for length in APPOINTMENTS],
        "is_changed": bool(button),
    }


def _saved_form(form: Form) -> dict[str, object]:
    """Return the contents of a form as texts, to compute its version and to show what somebody else has changed."""
    rows = [f"{field.name}: {', '.join(filter(None, [*field.choices, *field.ask.values()]))}" for field in form.fields]
    return {"is": form.appointment, "fields": rows}


def _row(field: FormField) -> FieldRow:
    asked = {f"ask_{language}": field.ask.get(language, "") for language in profiles.LANGUAGES}
    return {"name": field.name, "kind": field.kind, "choices": ", ".join(field.choices), "required": "1" if field.required else "", **asked}


def _fields_of(rows: list[FieldRow]) -> list[dict[str, Any]]:
    """Return the fields of a bot's form. They are the typed rows that have a name."""
    return [
        {
            "name": row["name"].strip(),
            "kind": row["kind"],
            "ask": {language: text for language in profiles.LANGUAGES if (text := row[f"ask_{language}"].strip())},
            "choices": list(filter(None, map(str.strip, re.split(r"[,\n]", row["choices"])))) if row["kind"] == "choice" else [],
            "required": bool(row["required"]),
        }
        for row in rows
        if row["name"].strip()
    ]


def _form_of(appointment: str, rows: list[FieldRow]) -> Form:
    known = [{**value, "kind": value["kind"] if value["kind"] in KINDS else KINDS[0]} for value in _fields_of(rows)]
    return Form(appointment, tuple(FormField(**{**value, "choices": tuple(value["choices"])}) for value in known))


def _typed_rows(fields: Fields) -> list[FieldRow]:
    """Return the typed rows. When they are saved, rows with a name come first, because a fault names a field by its position."""
    rows = [
        {**{name: fields.raw(f"{name}_{number}") for name in NO_ROW}, "required": "1" if f"required_{number}" in fields else ""}
        for number in range(MOST_FIELDS)
        if f"name_{number}" in fields
    ]
    return rows if fields.text("do") else sorted(rows, key=lambda row: not row["name"].strip())


def _rearranged(rows: list[FieldRow], button: str) -> list[FieldRow]:
    """Return the rows after a button (`add`, `up-1`, `down-1`, `remove-1`) has added, moved or removed a row. Ignore other buttons."""
    verb, _, number = button.partition("-")
    index = whole_number(number)
    if verb == "add":
        return [*rows, NO_ROW][:MOST_FIELDS]
    if verb in ("up", "down", "remove") and index is not None and index < len(rows):
        row = rows.pop(index)
        if verb != "remove":
            rows.insert(index + 1 if verb == "down" else max(0, index - 1), row)
    return rows


@form(show_form)
async def set_form(page: Page, fields: Fields) -> Response:
    """Save a form of the bot, without the rows that have no name. A button of a row only rearranges the rows and saves nothing."""
    if fields.text("do"):
        return await show_form(page, fields)
    kind, rows, appointment = page.params["kind"], _typed_rows(fields), fields.text("is")
    saved = _saved_form(profiles.load((await page.bot()).profile).form(kind))
    check_version(fields.text("version"), saved, _saved_form(_form_of(appointment or "time", rows)))
    lasts = {"is": appointment} if kind == "appointment" and appointment else {}
    await page.perform("bot.set", bot=page.params["bot"], forms={kind: {"fields": _fields_of(rows), **lasts}})
    return page.redirect(f"/bots/{page.params['bot']}/forms/{kind}", done="saved")
