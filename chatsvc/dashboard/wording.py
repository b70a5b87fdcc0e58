"""Sentences of pages: refusals, findings of an examination, names of visitors, and the reasons of search results."""

import re
from collections.abc import Iterable
from typing import Any

from chatsvc import translations
from chatsvc.dashboard import localization
from chatsvc.doctor import Finding
from chatsvc.domain import opening_hours, profiles
from chatsvc.domain.knowledge_files.parsed import FileFault
from chatsvc.domain.models import Conversation
from chatsvc.domain.refusals import Refused

# Facts that are names of fields or roles, and the file that translates them.
_SECTIONS = {"field": "fields", "role": "roles", "roles": "roles", "rule": "targets"}
# Fields of forms, each with the refusals about it that do not name one.
_REFUSALS = {
    "timezone": "timezone_unknown",
    "country": "country_unknown",
    "phone": "phone_invalid",
    "language": "language_invalid operator_language_unknown",
    "model": "tier_unknown",
    "plan": "plan_unknown",
    "status": "status_unknown",
    "date": "date_unknown",
    "time": "time_unknown",
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
    """Return the sentences of a refusal, by the name of the form field that each is about."""
    facts: Any = refusal.facts
    match refusal.code:
        case "several":
            refusals = [faults_of(language, Refused(fault["code"], **fault["facts"])) for fault in facts["faults"]]
            return {field: text for faults in refusals for field, text in faults.items()}
        case "fields_changed":
            nothing = localization.text(language, "parts.nothing")
            return {
                field: localization.text(language, "parts.changed_field", now=text or nothing) for field, text in facts["fields"].items()
            }
        case "bot_settings_invalid":
            return {_field(fault["field"]): fault_line(language, fault) for fault in facts["faults"]}
        case "opening_hours_invalid" if "days" in facts["facts"]:
            return {f"hours_{day}": localization.text(language, "bot.hours_wrong") for day in facts["facts"]["days"].split(", ")}
    name = facts["field"].rpartition(".")[2] if "field" in facts else _FIELDS.get(refusal.code)
    return {_NAMES.get(name, name): sentence(language, refusal)} if name else {}


def _field(path: str) -> str:
    """Return the name of the form field for a setting's path: `name_1` for `forms.quote.fields.1.name`, `tr` for `texts.bye.tr`."""
    first, *rest = path.split(".")
    if first == "forms":
        row = re.search(r"\.(\d+)(?:\.([a-z_]+(?:\.[a-z_]+)*))?", path)
        return f"{(row[2] or 'name').replace('.', '_')}_{row[1]}" if row else "name_0"
    return rest[-1] if first == "texts" else _NAMES.get(first, first)


def sentence(language: str, refusal: Refused) -> str:
    """Return the sentence of a refusal. Fields and roles have the same names as on the page."""
    facts: Any = refusal.facts
    values = {name: _named(language, _SECTIONS[name], value) if name in _SECTIONS else value for name, value in facts.items()}
    if isinstance(faults := facts.get("faults"), list):
        values["faults"] = "\n".join(fault_line(language, fault, str(facts.get("file", ""))) for fault in faults)
    if isinstance(facts.get("facts"), dict):
        values["fault"] = opening_hours.sentence(str(facts["fault"]), facts["facts"], language)
    none = localization.text(language, "refusals.none")
    key = f"refusals.{refusal.code}" if translations.has(f"refusals.{refusal.code}") else "refusals.unexpected_fault"
    return localization.text(language, key, **{name: none if value is None else value for name, value in values.items()})


def fault_line(language: str, fault: Any, file: str = "") -> str:
    """Return one line about a fault in a file, an entry or a setting, with its position. Return a fault that is a text unchanged."""
    if not isinstance(fault, dict):
        return str(fault)
    if fault.keys() == {"code", "facts"}:
        return sentence(language, Refused(fault["code"], **fault["facts"]))
    if translations.has(f"bot_file_faults.{fault['code']}"):
        position = f"{file}:{fault['line']}:{fault['column']}" if "column" in fault else _path(language, str(fault["field"]))
        return f"{position}: {profiles.fault_sentence(fault['code'], fault['facts'], language)}"
    text = FileFault(fault["line"], fault["code"], fault["facts"]).sentence(language)
    if "unit" in fault:
        unit = translations.template(language, f"file_words.{fault['unit']}")
        return f"{fault['file']}, {unit} {fault['line']}: {text}"
    return text[:1].upper() + text[1:]


def _path(language: str, path: str) -> str:
    """Write the path of a setting for readers, such as `Closed days › 1` for `closed.0`. Indexes are shown from 1."""
    first, *rest = path.split(".")
    return " › ".join([localization.name_of(language, "fields", first), *(str(int(part) + 1) if part.isdigit() else part for part in rest)])


def _named(language: str, section: str, value: object) -> object:
    """Translate a name or a list of names. Return a name without a translation unchanged."""
    if isinstance(value, list):
        return [_named(language, section, name) for name in value]
    return localization.name_of(language, section, value) if isinstance(value, str) else value


def finding(language: str, finding: Finding) -> dict[str, Any]:
    """Return a finding of an examination as texts: name, state, sentence and remedy. The remedy is None if all is well."""
    facts = {name: _fact(language, name, value) for name, value in finding.facts.items()}
    name = localization.text(language, f"doctor.name_{finding.name.lower().replace(' ', '_')}")
    remedy = None if finding.state == "ok" else localization.text(language, f"doctor.remedy_{finding.code}", **facts)
    text = localization.text(language, f"doctor.found_{finding.code}", **facts)
    return {"name": name, "state": finding.state, "sentence": text, "remedy": remedy}


def _fact(language: str, name: str, value: object) -> object:
    """Return a fact of a finding as text. Free space gets its unit, and counts get their purposes. Other numbers (ports) stay plain."""
    if name == "free" and isinstance(value, int):
        return localization.size(value, language)
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    return str(value) if isinstance(value, int) else value


def visitor(language: str, conversation: Conversation) -> str:
    """Return a visitor's name, otherwise the e-mail address, otherwise a short label with the end of the `user_id`."""
    user_id = conversation.user_id
    label = user_id if len(user_id) <= 16 else user_id[-4:].upper()
    return conversation.visitor_name or conversation.visitor_email or localization.text(language, "conversations.visitor_id", id=label)


def reasons(language: str, lines: Iterable[str]) -> str:
    """Return the reasons why a search found an entry, as text separated by commas."""
    return ", ".join(_reason(language, line) for line in lines)


def _reason(language: str, line: str) -> str:
    """Translate a reason `a = b`, `a ~ b`, `a -> b (concept)`, `a (answer)` or `(about: topics)`. Return other reasons unchanged."""
    for name, separator in (("same", " = "), ("alike", " ~ "), ("means", " -> "), ("in_answer", " (answer)")):
        term, separated, rest = line.partition(separator)
        if term and separated:
            return localization.text(language, f"reasons.{name}", term=term, match=rest.partition(" (")[0] if name == "means" else rest)
    return localization.text(language, "reasons.topic") if line.startswith("(about: ") else line
