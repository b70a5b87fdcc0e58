"""A form of a bot: its additional fields, one in each row, and a preview of the conversation that they produce."""

import re
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain import profiles, refusals, times
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.profiles import APPOINTMENTS, KINDS, Form, FormField
from chatsvc.services.accounts import bot_files
from chatsvc.web.forms import Fields, check_version, version_of, whole_number

MOST = 12
NO_ROW = {"name": "", "kind": KINDS[0], "choices": "", "required": "1", "ask_tr": "", "ask_en": ""}

Row = dict[str, str]


@view("bot_form.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the page. These are the saved form, or the typed rows if a button rearranges them."""
    bot, kind = await page.bot(), page.params["kind"]
    if kind not in REQUEST_TYPES:
        raise refusals.form_not_found(form=kind)
    form, button = profiles.load(bot.profile).form(kind), typed.text("do")
    rows = _rearranged(_typed(typed), button) if typed else [_row(field) for field in form.fields]
    lasts = typed.text("is") or form.appointment
    now = times.local(page.services.clock(), bot.timezone)
    return {
        "bot": bot,
        "version": version_of(_saved(form)),
        "kind": kind,
        "appointment": lasts,
        "rows": rows or [NO_ROW],
        "kinds": [(kind, page.text(f"bot_forms.of_{kind}")) for kind in KINDS],
        "sample": bot_files.sample_questions(bot, kind, _form_of(lasts, rows), page.language, now),
        "most": MOST,
        "appointments": [(length, page.text(f"bot_forms.is_{length}")) for length in APPOINTMENTS],
        "is_changed": bool(button),
    }


def _saved(form: Form) -> dict[str, object]:
    """Return the contents of a form as texts, from which its version is computed and which can be shown."""
    rows = [f"{field.name}: {', '.join(filter(None, [*field.choices, *field.ask.values()]))}" for field in form.fields]
    return {"is": form.appointment, "fields": rows}


def _row(field: FormField) -> Row:
    asked = {f"ask_{language}": field.ask.get(language, "") for language in profiles.LANGUAGES}
    return {"name": field.name, "kind": field.kind, "choices": ", ".join(field.choices), "required": "1" if field.required else "", **asked}


def _values(rows: list[Row]) -> list[dict[str, Any]]:
    """Return the fields of the form, which are the rows with a name."""
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


def _form_of(appointment: str, rows: list[Row]) -> Form:
    known = [{**value, "kind": value["kind"] if value["kind"] in KINDS else KINDS[0]} for value in _values(rows)]
    return Form(appointment, tuple(FormField(**{**value, "choices": tuple(value["choices"])}) for value in known))


def _typed(fields: Fields) -> list[Row]:
    """Return the typed rows. Rows with a name come first, because faults identify a field by its position among them."""
    rows = [
        {**{name: fields.raw(f"{name}_{number}") for name in NO_ROW}, "required": "1" if f"required_{number}" in fields else ""}
        for number in range(MOST)
        if f"name_{number}" in fields
    ]
    return rows if fields.text("do") else sorted(rows, key=lambda row: not row["name"].strip())


def _rearranged(rows: list[Row], button: str) -> list[Row]:
    """Add, move or remove a row for the button `add`, `up-1`, `down-1` or `remove-1`. Ignore any other button."""
    verb, _, number = button.partition("-")
    index = whole_number(number)
    if verb == "add":
        return [*rows, NO_ROW][:MOST]
    if verb in ("up", "down", "remove") and index is not None and index < len(rows):
        row = rows.pop(index)
        if verb != "remove":
            rows.insert(index + 1 if verb == "down" else max(0, index - 1), row)
    return rows


@form(show)
async def submit(page: Page, fields: Fields) -> Response:
    """Save one form, without the fields that have no name. The button of a row only changes the rows and saves nothing."""
    if fields.text("do"):
        return await show(page, fields)
    kind, rows, appointment = page.params["kind"], _typed(fields), fields.text("is")
    saved = _saved(profiles.load((await page.bot()).profile).form(kind))
    check_version(fields.text("version"), saved, _saved(_form_of(appointment or "time", rows)))
    lasts = {"is": appointment} if kind == "appointment" and appointment else {}
    await page.perform("bot.set", bot=page.params["bot"], forms={kind: {"fields": _values(rows), **lasts}})
    return page.redirect(f"/bots/{page.params['bot']}/forms/{kind}", done="saved")
