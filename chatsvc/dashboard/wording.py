"""Sentences of pages: refusals, findings of an examination, visitors, and reasons of a search."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from chatsvc import translations
from chatsvc.dashboard import catalogue, formats
from chatsvc.doctor.report import Finding
from chatsvc.domain import bot_file_faults, opening_hours
from chatsvc.domain.knowledge_files.parsed import FileFault
from chatsvc.domain.models import Conversation
from chatsvc.domain.refusals import Refused

# Facts that are names of fields or roles, and the file that translates them.
_SECTIONS = {"field": "fields", "role": "roles", "roles": "roles", "rule": "targets"}


def sentence(language: str, refusal: Refused) -> str:
    key = f"refusals.{refusal.code}"
    if not translations.has(key):
        key = "refusals.unexpected_fault"
    return catalogue.text(language, key, **_shown(language, refusal.facts))


# Fields of forms, each with the refusals about it that do not name one.
_REFUSALS = {
    "timezone": "timezone_unknown",
    "country": "country_unknown",
    "phone": "phone_invalid",
    "language": "language_invalid operator_language_unknown",
    "model": "tier_unknown",
    "plan": "plan_unknown",
    "status": "status_unknown",
    "email": "email_invalid operator_exists",
    "role": "role_missing role_unknown",
    "password": "password_too_short password_too_long password_common password_is_email",
    "current": "password_wrong",
    "code": "code_wrong",
    "expires": "time_invalid time_passed",
    "url": "target_refused",
    "event": "events_missing",
    "site": "site_invalid too_many_sites",
    "color": "color_invalid",
    "logo": "logo_invalid",
    "privacy_url": "web_address_invalid",
    "phone_number_id": "phone_number_id_invalid",
    "token": "token_invalid token_refused",
}
_FIELDS = {code: field for field, codes in _REFUSALS.items() for code in codes.split()}
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


class WordedFinding(NamedTuple):
    """A finding of an examination in words. `state` is ok, warning or fault, `remedy` None for ok."""

    name: str
    state: str
    found: str
    remedy: str | None


def finding(language: str, one: Finding) -> WordedFinding:
    facts = {name: _fact(language, name, value) for name, value in one.facts.items()}
    name = catalogue.text(language, f"doctor.name_{one.name.lower().replace(' ', '_')}")
    remedy = None if one.state == "ok" else catalogue.text(language, f"doctor.remedy_{one.code}", **facts)
    return WordedFinding(name, one.state, catalogue.text(language, f"doctor.found_{one.code}", **facts), remedy)


def _fact(language: str, name: str, value: object) -> object:
    """Write a fact. A size gets its unit, counts their purposes; other numbers stay as they are (a port has no separators)."""
    if name == "free" and isinstance(value, int):
        return formats.size(value, language)
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    return str(value) if isinstance(value, int) else value


def visitor(language: str, conversation: Conversation) -> str:
    """Return a visitor's name, else the e-mail address, else a short label. It has the end of the user_id."""
    user_id = conversation.user_id
    shown = user_id if len(user_id) <= 16 else user_id[-4:].upper()
    named = conversation.visitor_name or conversation.visitor_email
    return named or catalogue.text(language, "conversations.visitor_id", id=shown)


_FORMS = (
    ("same", re.compile(r"\A(?P<said>.+?) = .+")),
    ("alike", re.compile(r"\A(?P<said>.+?) ~ (?P<found>.+)")),
    ("means", re.compile(r"\A(?P<said>(?:(?! -> ).)+) -> (?P<found>(?:(?! \().)+) \(.*\)")),
    ("in_answer", re.compile(r"\A(?P<said>.+?) \(answer\)")),
    ("topic", re.compile(r"\A\(about: .+\)")),
)


def reasons(language: str, lines: Iterable[str]) -> str:
    """Word the reasons for which a search found an entry, with commas between them.

    The search gives them as lines: `word = word`, `word ~ word`, `word -> word (concept)`, `word (answer)`, `(about: topics)`.
    """
    return ", ".join(_reason(language, line) for line in lines)


def _reason(language: str, line: str) -> str:
    for name, form in _FORMS:
        if match := form.fullmatch(line):
            return catalogue.text(language, f"reasons.{name}", **match.groupdict())
    return line
