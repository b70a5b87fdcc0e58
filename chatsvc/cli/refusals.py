"""Refusals as sentences of the command line, with its commands and options."""

from collections.abc import Callable, Mapping
from typing import Any

from chatsvc import translations
from chatsvc.domain.escaping import one_line
from chatsvc.domain.refusals import Refused

# Sentences of faults are imported where one is worded: every command imports this module.
_FIELDS = {
    "account.name": "the account's name",
    "bot.name": "the bot's name",
    "site.max_pages": "--max-pages",
    "site.every": "--every",
    "site.pattern": "a pattern of --include or --exclude",
    "key.name": "the key's name",
    "operator.name": "the operator's name",
}


def _no_bots(facts: Mapping[str, Any]) -> str:
    plan, most = facts["plan"], facts["most"]
    if plan is None:
        return "no more bots: the account has no plan"
    return f"no more bots: the plan {plan} has {most} bot{'' if most == 1 else 's'}, and the account has as many"


def _faults(facts: Mapping[str, Any]) -> str:
    return "\n".join(_line(fault, facts.get("file", "")) for fault in facts["faults"])


def _line(fault: Mapping[str, Any], file: str) -> str:
    """Return a fault as a sentence, with its position in settings, bot's file, knowledge file or entry."""
    from chatsvc.domain import profiles
    from chatsvc.domain.knowledge_files.parsed import FileFault

    code, facts = fault["code"], fault["facts"]
    if "field" in fault:
        return f"{fault['field']}: {profiles.fault_sentence(code, facts)}"
    if "column" in fault:
        position = f":{fault['line']}:{fault['column']}" if fault["line"] else ""
        return f"{fault.get('file', file)}{position}: {profiles.fault_sentence(code, facts)}"
    text = FileFault(fault["line"], code, facts).sentence()
    return f"{one_line(fault['file'])}, {fault['unit']} {fault['line']}: {text}" if "unit" in fault else text


def _opening_hours(facts: Mapping[str, Any]) -> str:
    from chatsvc.domain import opening_hours

    return f"the opening hours cannot be read: {opening_hours.sentence(facts['fault'], facts['facts'])}"


# Refusals whose sentence is more than a template of their facts.
SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "several": lambda facts: "; ".join(sentence(Refused(item["code"], **item["facts"])) for item in facts["faults"]),
    "opening_hours_invalid": _opening_hours,
    "bot_file_invalid": _faults,
    "bot_settings_invalid": _faults,
    "bot_tests_failed": lambda facts: "\n".join(["tests fail:", *(f"{item['ask']}: {item['why']}" for item in facts["outcomes"])]),
    "bots_exhausted": _no_bots,
    "files_invalid": _faults,
    "entry_invalid": _faults,
}


def sentence(refusal: Refused) -> str:
    """Return a refusal as a sentence. A newer service may send an unknown code, which is then shown itself."""
    write, key = SENTENCES.get(refusal.code), f"refusals.{refusal.code}"
    if write is not None:
        return write(refusal.facts)
    if not translations.has(key):
        return f"the service refuses: {refusal}"
    facts = {name: shown(name, value) for name, value in refusal.facts.items()}
    return translations.template(translations.COMMAND_LINE, key, facts.get("count")).format(**facts)


def shown(name: str, value: object) -> object:
    """Format a fact (a named value) of a refusal or finding for its sentence. Lists are joined, and None becomes "none"."""
    if isinstance(value, list):
        return ("; " if name in ("faults", "problems") else ", ").join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    if value is None:
        return "none"
    return _FIELDS.get(value, value) if name == "field" and isinstance(value, str) else value
