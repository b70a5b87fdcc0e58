"""Weak spots that a check of a bot's knowledge finds: kinds with facts, and their sentences in `translations/weak_spots.yaml`.

This module finds settings that every business needs (telephone, address, opening hours) and the bot lacks, and values in the
knowledge for them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from chatsvc import translations
from chatsvc.domain import opening_hours
from chatsvc.domain.folding import fold
from chatsvc.domain.models import Bot, Entry

MOST_SEARCHED = 10_000  # phrasings that a check searches for, unless all are wanted
# Worst first.
KINDS = (
    *("phone_missing", "address_missing", "opening_hours_missing"),
    *("answers_another", "duplicate_phrasing", "near_duplicate", "overlap", "foreign_language", "easily_missed", "long_answer"),
)


class LintFinding(NamedTuple):
    """One weak spot of the entry `entry`, or between it and `other` (ids). For a missing setting, `entry` has its value, or is None."""

    kind: str
    entry: str | None
    other: str | None
    facts: Mapping[str, object]

    def sentence(self, language: str = "en") -> str:
        """Return the sentence of the finding in "en" or "tr"."""
        kind, facts = f"{self.kind}_offered" if self.kind.endswith("_missing") and self.facts else self.kind, self.facts
        if self.kind == "opening_hours_missing" and facts:
            facts = {"value": opening_hours.in_words(str(facts["value"]), language)}
        return translations.worded("weak_spots", kind, facts, language)


SETTINGS = ("phone", "address", "opening_hours")
_LONGEST = 300  # characters of a value that is offered
_HEADINGS = {
    "phone": re.compile(r"telefon|phone|numaramiz|\bcall us|iletisim|\bcontact"),
    "address": re.compile(r"\badres|\baddress|\bneredesiniz|\bwhere are you|\bwhere to find us|\bkonum|\blocation"),
    "opening_hours": re.compile(r"calisma saat|acilis saat|opening (?:hours|times)|\bhours\b|kacta aciliyor|when are you open"),
}
_LABELS = {  # at the beginning of a line or a sentence, before the value
    "phone": re.compile(r"\A(?:tel|telefon|telephone|phone|call us|bizi arayin)\b"),
    "address": re.compile(r"\A(?:adres\w*|(?:our )?address)\s*:"),
    "opening_hours": re.compile(
        r"\A(?:calisma saat\w*|acilis saat\w*|(?:our )?(?:opening )?(?:hours|times)\b|(?:we|(?:the )?\w+) (?:are|is) open\b)"
    ),
}
_VALUE = {"address": re.compile(r":\s*(.+)"), "opening_hours": re.compile(r"(?::|\bopen\b|\bhours\b)\s*(.+)", re.IGNORECASE)}
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])|\n")
_PARTS = {"phone": _SENTENCE, "opening_hours": _SENTENCE, "address": re.compile(r"\n")}  # "Kaya Sok. No: 5" is no end of a sentence
_PHONE = re.compile(r"(?<![\w+])\+?\(?\d[\d ()./-]{5,24}\d(?!\w)")


def missing(bot: Bot) -> list[str]:
    """Return the names of the settings that the bot lacks."""
    return [name for name in SETTINGS if not getattr(bot, name)]


def findings(bot: Bot, entries: Iterable[Entry]) -> Iterator[LintFinding]:
    """Yield a finding for each setting that the bot lacks, with the value that the knowledge has for it."""
    open_settings = dict.fromkeys(missing(bot))
    headed: dict[str, tuple[str, str]] = {}
    labelled: dict[str, tuple[str, str]] = {}
    for entry in entries if open_settings else ():
        heading, answer = fold(entry.question[:_LONGEST]), entry.answer[:4_000]
        for name in open_settings:
            if name not in headed and _HEADINGS[name].search(heading) and (value := _value(name, answer)):
                headed[name] = (entry.id, value)
            for sentence in (part.lstrip(" -*") for part in _PARTS[name].split(answer) if name not in labelled):
                if _LABELS[name].match(fold(sentence)) and (value := _value(name, _behind(name, sentence))):
                    labelled[name] = (entry.id, value)
                    break
    offers = labelled | headed
    for name in open_settings:
        entry_id, value = offers.get(name, (None, ""))
        yield LintFinding(f"{name}_missing", entry_id, None, {"value": value} if value else {})


def _behind(name: str, sentence: str) -> str:
    """Return the part of a sentence after its label."""
    match = _VALUE[name].search(sentence) if name in _VALUE else None
    return match[1] if match else sentence


def _value(name: str, answer: str) -> str:
    if name == "phone":
        numbers = (match[0].strip() for match in _PHONE.finditer(answer))
        return next((number for number in numbers if 7 <= sum(map(str.isdigit, number)) <= 15), "")
    text = answer.strip()
    if name == "address":
        return text.rstrip(".") if len(text) <= _LONGEST and "\n" not in text and any(map(str.isdigit, text)) else ""
    try:
        return opening_hours.normalize(text) if len(text) <= _LONGEST else ""
    except opening_hours.OpeningHoursError:
        return ""
