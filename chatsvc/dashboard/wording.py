"""Sentences of refusals on pages, from `translations/refusals.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

from chatsvc.dashboard import catalogue
from chatsvc.domain.refusals import Refused

# Facts that are names of fields or roles, and the file that translates them.
_SECTIONS = {"field": "fields", "role": "roles", "roles": "roles"}


def sentence(language: str, refusal: Refused) -> str:
    """Word a refusal in a language of the dashboard."""
    key = f"refusals.{refusal.code}"
    if not catalogue.has(key):
        key = "refusals.unexpected_fault"
    return catalogue.text(language, key, **_shown(language, refusal.facts))


def _shown(language: str, facts: Mapping[str, object]) -> dict[str, object]:
    """Name fields and roles as the page does."""
    shown = {name: _named(language, _SECTIONS[name], value) if name in _SECTIONS else value for name, value in facts.items()}
    faults = facts.get("faults")
    if isinstance(faults, list):
        shown["faults"] = "\n".join(map(str, faults))
    return {name: catalogue.text(language, "refusals.none") if value is None else value for name, value in shown.items()}


def _named(language: str, section: str, value: object) -> object:
    """Translate a name, or a list of them; one without a translation stays."""
    if isinstance(value, list):
        return [_named(language, section, one) for one in value]
    key = f"{section}.{str(value).replace('.', '_')}"
    return catalogue.text(language, key) if catalogue.has(key) else value
