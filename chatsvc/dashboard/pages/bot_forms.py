"""Forms of a bot. The fields that it asks for besides the standard ones, for each kind of request."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import profiles, refusals
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.profiles import APPOINTMENTS, KINDS, Form, FormField
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

BLANK = 2  # empty rows behind the fields
MOST = 12


def _kind(page: Page) -> str:
    kind = page.params["kind"]
    if kind not in REQUEST_TYPES:
        raise refusals.form_not_found(form=kind)
    return kind


def _rows(form: Form) -> list[dict[str, str]]:
    return [_row(field) for field in (*form.fields, *[FormField("")] * BLANK)][:MOST]


def _row(field: FormField) -> dict[str, str]:
    asked = {f"ask_{language}": field.ask.get(language, "") for language in profiles.LANGUAGES}
    choices, required = "\n".join(field.choices), "1" if field.required else ""
    return {"name": field.name, "kind": field.kind, "choices": choices, "required": required, **asked}


async def show_one(page: Page) -> HttpResponse:
    """Show one form."""
    kind, bot = _kind(page), await page.perform("bot.show", bot=page.params["bot"])
    form = profiles.load(bot.profile).form(kind)
    return page.render("bot_form.html", bot=bot, kind=kind, **_options(form.appointment, _rows(form)))


def _options(appointment: str, rows: list[dict[str, str]]) -> dict[str, Any]:
    return {"appointment": appointment, "rows": rows, "appointments": APPOINTMENTS, "kinds": KINDS}


def _typed(fields: Fields) -> list[dict[str, str]]:
    names = ("name", "kind", "choices", "ask_tr", "ask_en")
    return [
        {**{name: fields.raw(f"{name}_{at}") for name in names}, "required": "1" if fields.checked(f"required_{at}") else ""}
        for at in range(MOST)
        if f"name_{at}" in fields
    ]


def _field(row: dict[str, str]) -> dict[str, object]:
    asked = {language: text for language in profiles.LANGUAGES if (text := row[f"ask_{language}"].strip())}
    choices = [line.strip() for line in row["choices"].splitlines() if line.strip()]
    return {"name": row["name"].strip(), "kind": row["kind"], "ask": asked, "choices": choices, "required": bool(row["required"])}


async def submit(page: Page) -> HttpResponse:
    """Change one form; a field without a name is left out."""
    kind, bot_id, fields = _kind(page), page.params["bot"], await page.form()
    rows, appointment = _typed(fields), fields.text("is")
    form: dict[str, object] = {"fields": [_field(row) for row in rows if row["name"].strip()]}
    if kind == "appointment" and appointment:
        form["is"] = appointment
    try:
        await page.perform("bot.set", bot=bot_id, forms={kind: form})
    except Refused as fault:
        bot = await page.perform("bot.show", bot=bot_id)
        return page.refused("bot_form.html", fault, bot=bot, kind=kind, **_options(appointment, rows))
    return page.redirect(f"/bots/{bot_id}#forms", done="saved")


ROUTES = (
    Route("GET", "/bots/{bot}/forms/{kind}", show_one, Access.EDITOR),
    Route("POST", "/bots/{bot}/forms/{kind}", submit, Access.EDITOR),
)
