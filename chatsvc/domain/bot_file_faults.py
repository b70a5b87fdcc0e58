"""Faults of a bot's file. Worded by code and facts, from `translations/bot_file_faults.yaml`."""

from collections.abc import Mapping
from typing import Any

from chatsvc import translations
from chatsvc.domain import opening_hours


def sentence(code: str, facts: Mapping[str, Any], language: str = "en") -> str:
    """Word a fault in "en" or "tr"."""
    values = translations.named("bot_file_words", facts, language)
    if code == "setting_invalid":
        refusal, its_facts = facts["refusal"], facts["facts"]
        if refusal == "opening_hours_invalid":
            reason = opening_hours.sentence(its_facts["fault"], its_facts["facts"], language)
        else:
            reason = ", ".join(f"{key}: {value}" for key, value in its_facts.items())
        values = {"setting": facts["setting"], "reason": reason}
    return translations.worded("bot_file_faults", code, values, language)
