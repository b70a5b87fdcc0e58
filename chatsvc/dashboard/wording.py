"""Sentences of refusals on pages, from `translations/refusals.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from chatsvc import translations
from chatsvc.dashboard import catalogue
from chatsvc.domain import bot_file_faults, opening_hours
from chatsvc.domain.knowledge_files.faults import FileFault
from chatsvc.domain.refusals import Refused

# Facts that are names of fields or roles, and the file that translates them.
_SECTIONS = {"field": "fields", "role": "roles", "roles": "roles", "rule": "targets"}


def sentence(language: str, refusal: Refused) -> str:
    """Word a refusal in a language of the dashboard."""
    key = f"refusals.{refusal.code}"
    if not translations.has(key):
        key = "refusals.unexpected_fault"
    return catalogue.text(language, key, **_shown(language, refusal.facts))


# Fields of forms by the refusals that do not name one.
_FIELDS = {
    "timezone_unknown": "timezone",
    "country_unknown": "country",
    "language_invalid": "language",
    "operator_language_unknown": "language",
    "tier_unknown": "model",
    "plan_unknown": "plan",
    "status_unknown": "status",
    "email_invalid": "email",
    "operator_exists": "email",
    "role_missing": "role",
    "role_unknown": "role",
    "password_too_short": "password",
    "password_too_long": "password",
    "password_common": "password",
    "password_is_email": "password",
    "password_wrong": "current",
    "code_wrong": "code",
    "time_invalid": "expires",
    "time_passed": "expires",
    "target_refused": "url",
    "events_missing": "event",
    "site_invalid": "site",
    "too_many_sites": "site",
    "color_invalid": "color",
    "logo_invalid": "logo",
    "web_address_invalid": "privacy_url",
    "phone_number_id_invalid": "phone_number_id",
    "token_invalid": "token",
    "token_refused": "token",
}
# Fields that forms name otherwise than the operations.
_NAMES = {"message_credits": "credits", "closed": "from", "suggestions": "suggestion"}


def faults_of(language: str, refusal: Refused) -> dict[str, str]:
    """Return the sentences of a refusal by the fields of its form."""
    facts: Any = refusal.facts
    match refusal.code:
        case "several":
            found: dict[str, str] = {}
            for one in facts["faults"]:
                found |= faults_of(language, Refused(one["code"], **one["facts"]))
            return found
        case "bot_settings_invalid":
            return {_field(one["field"]): fault_line(language, one) for one in facts["faults"]}
        case "opening_hours_invalid" if "days" in facts["facts"]:
            return {f"hours_{day}": catalogue.text(language, "bot.hours_wrong") for day in facts["facts"]["days"].split(", ")}
    name = facts["field"].rpartition(".")[2] if "field" in facts else _FIELDS.get(refusal.code)
    return {_NAMES.get(name, name): sentence(language, refusal)} if name else {}


def _field(path: str) -> str:
    """Name the field of a form for the path of a value: `name_1` for `forms.quote.fields.1.name`, `tr` for `texts.bye.tr`."""
    first, *rest = path.split(".")
    if first == "forms":
        place = next((one for one in rest if one.isdigit()), "")
        named = "_".join(one for one in rest[rest.index(place) + 1 :] if not one.isdigit()) if place else "name"
        return f"{named or 'name'}_{place or 0}"
    return rest[-1] if first == "texts" else _NAMES.get(first, first)


def _shown(language: str, facts: Mapping[str, object]) -> dict[str, object]:
    """Name fields and roles as the page does."""
    shown = {name: _named(language, _SECTIONS[name], value) if name in _SECTIONS else value for name, value in facts.items()}
    faults = facts.get("faults")
    if isinstance(faults, list) and all(isinstance(one, dict) and one.keys() == {"code", "facts"} for one in faults):
        shown["faults"] = "\n".join(sentence(language, Refused(one["code"], **one["facts"])) for one in faults)
    elif isinstance(faults, list):
        shown["faults"] = "\n".join(fault_line(language, one, str(facts.get("file", ""))) for one in faults)
    if isinstance(facts.get("facts"), dict):
        shown["fault"] = opening_hours.sentence(str(facts["fault"]), cast("dict[str, str]", facts["facts"]), language)
    return {name: catalogue.text(language, "refusals.none") if value is None else value for name, value in shown.items()}


def fault_line(language: str, fault: Any, file: str = "") -> str:
    """Word one fault of files, of an entry or of settings, with its place. A text stays as it is."""
    if not isinstance(fault, dict):
        return str(fault)
    if "unit" in fault:
        said = FileFault(fault["line"], fault["code"], fault["facts"]).sentence(language)
        unit = translations.template(language, f"file_words.{fault['unit']}")
        return f"{fault['file']}, {unit} {fault['line']}: {said}"
    if translations.has(f"bot_file_faults.{fault['code']}"):
        said = bot_file_faults.sentence(fault["code"], fault["facts"], language)
        place = f"{file}:{fault['line']}:{fault['column']}" if "column" in fault else _path(language, str(fault["field"]))
        return f"{place}: {said}"
    said = FileFault(fault["line"], fault["code"], fault["facts"]).sentence(language)
    return said[:1].upper() + said[1:]


def _path(language: str, path: str) -> str:
    """Name a value of the settings, such as `closed.0` or `forms.quote.fields.1.name`; places count from 1."""
    first, *rest = path.split(".")
    return " › ".join([str(_named(language, "fields", first)), *(str(int(one) + 1) if one.isdigit() else one for one in rest)])


def _named(language: str, section: str, value: object) -> object:
    """Translate a name, or a list of them; one without a translation stays."""
    if isinstance(value, list):
        return [_named(language, section, one) for one in value]
    key = f"{section}.{str(value).replace('.', '_')}"
    return catalogue.text(language, key) if translations.has(key) else value
