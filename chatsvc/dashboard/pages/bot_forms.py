"""A form of a bot: the fields that it asks for besides the standard ones, row by row, with the conversation that they lead to."""

import re
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.versions import changed_since, version_of
from chatsvc.domain import profiles, refusals, times
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.profiles import APPOINTMENTS, KINDS, Form, FormField
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import bot_files

MOST = 12
NO_ROW = {"name": "", "kind": KINDS[0], "choices": "", "required": "1", "ask_tr": "", "ask_en": ""}

Row = dict[str, str]


async def _values(page: Page, appointment: str | None = None, rows: list[Row] | None = None) -> dict[str, Any]:
    """Return the values of the page: those of the form in force, or those typed."""
    bot, kind = await page.perform("bot.show", bot=page.params["bot"]), page.params["kind"]
    if kind not in REQUEST_TYPES:
        raise refusals.form_not_found(form=kind)
    form = profiles.load(bot.profile).form(kind)
    shown = rows if rows is not None else [_row(field) for field in form.fields]
    lasts = appointment or form.appointment
    now = times.local(page.services.clock(), bot.timezone)
    sample = bot_files.sample_questions(bot, kind, Form(lasts, tuple(map(_field_of, filter(_is_named, shown)))), page.language, now)
    return {
        "bot": bot,
        "version": version_of(_saved(form)),
        "kind": kind,
        "appointment": lasts,
        "rows": shown or [NO_ROW],
        "kinds": [(one, page.text(f"bot_forms.of_{one}")) for one in KINDS],
        "sample": sample,
        "most": MOST,
        "appointments": [(one, page.text(f"bot_forms.is_{one}")) for one in APPOINTMENTS],
    }


def _saved(form: Form) -> dict[str, object]:
    """Return what a version of the form is made of, in a form that can be shown."""
    rows = [f"{field.name}: {', '.join(filter(None, [*field.choices, *field.ask.values()]))}" for field in form.fields]
    return {"is": form.appointment, "fields": rows}


def _row(field: FormField) -> Row:
    asked = {f"ask_{language}": field.ask.get(language, "") for language in profiles.LANGUAGES}
    return {"name": field.name, "kind": field.kind, "choices": ", ".join(field.choices), "required": "1" if field.required else "", **asked}


def _is_named(row: Row) -> bool:
    return bool(row["name"].strip())


def _value(row: Row) -> dict[str, Any]:
    asked = {language: text for language in profiles.LANGUAGES if (text := row[f"ask_{language}"].strip())}
    choices = [choice.strip() for choice in re.compile(r"[,\n]").split(row["choices"]) if choice.strip()] if row["kind"] == "choice" else []
    return {"name": row["name"].strip(), "kind": row["kind"], "ask": asked, "choices": choices, "required": bool(row["required"])}


def _field_of(row: Row) -> FormField:
    value = _value(row)
    return FormField(**{**value, "kind": value["kind"] if value["kind"] in KINDS else KINDS[0], "choices": tuple(value["choices"])})


def _typed(fields: Fields) -> list[Row]:
    return [
        {**{name: fields.raw(f"{name}_{at}") for name in NO_ROW}, "required": "1" if fields.checked(f"required_{at}") else ""}
        for at in range(MOST)
        if f"name_{at}" in fields
    ]


def _rearranged(rows: list[Row], act: str) -> list[Row]:
    """Add, move or remove a row: `add`, `up-1`, `down-1`, `remove-1`. Anything else leaves them."""
    verb, _, place = act.partition("-")
    at = int(place) if place.isascii() and place.isdigit() else MOST
    if verb == "add" and len(rows) < MOST:
        return [*rows, NO_ROW]
    if at >= len(rows):
        return rows
    rest = rows[:at] + rows[at + 1 :]
    to = {"up": max(0, at - 1), "down": at + 1}.get(verb)
    if to is not None:
        return [*rest[:to], rows[at], *rest[to:]]
    return rest if verb == "remove" else rows


async def show(page: Page) -> Response:
    return page.render("bot_form.html", is_changed=False, **await _values(page))


async def submit(page: Page) -> Response:
    """Change one form; a field without a name is left out. A button of a row changes the rows alone, and nothing is saved."""
    kind, bot_id, fields = page.params["kind"], page.params["bot"], await page.form()
    rows, appointment = _typed(fields), fields.text("is")
    if act := fields.text("do"):
        return page.render("bot_form.html", is_changed=True, **await _values(page, appointment, _rearranged(rows, act)))
    # A fault names the place of a field among those with a name.
    rows = sorted(rows, key=lambda row: not _is_named(row))
    form: dict[str, object] = {"fields": [_value(row) for row in rows if _is_named(row)]}
    if kind == "appointment" and appointment:
        form["is"] = appointment
    bot = await page.perform("bot.show", bot=bot_id)
    typed = _saved(Form(appointment or "time", tuple(map(_field_of, filter(_is_named, rows)))))
    changed = changed_since(fields.text("version"), _saved(profiles.load(bot.profile).form(kind)), typed)
    if changed:
        return page.conflict("bot_form.html", changed, is_changed=False, **await _values(page, appointment, rows))
    try:
        await page.perform("bot.set", bot=bot_id, forms={kind: form})
    except Refused as fault:
        return page.refused("bot_form.html", fault, is_changed=False, **await _values(page, appointment, rows))
    return page.redirect(f"/bots/{bot_id}/forms/{kind}", done="saved")
