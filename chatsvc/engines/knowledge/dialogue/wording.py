"""Sentences of the bot in Turkish and English, read from `wording.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import folded
from chatsvc.language.wordlists import WordFile

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft

LANGUAGES = ("tr", "en")

_FILE = WordFile("engines/knowledge/dialogue/wording.txt")
_SENTENCES = {name: _FILE.text(name) for name, _ in _FILE.entries}
_DAYS = {language: tuple(_FILE.items(f"days.{language}")) for language in LANGUAGES}
_MONTHS = {language: tuple(_FILE.items(f"months.{language}")) for language in LANGUAGES}
_YES_NO = {language: tuple(_FILE.items(f"yes_no.{language}")) for language in LANGUAGES}
_NO_SENTENCES = frozenset({"days", "months", "yes_no"})
_BRACES = re.compile(r"\{(\w+)\}")
_STAY = re.compile(
    r"\b(?:(?:\d+|a|one|two|three|four|five|six|per|each) nights?|double|twin|suite|overnight|geceli\w*|gece|oda\w*|konakla\w*)\b(?! saat)"
)
# The team comes to the visitor: "gelip bakar mısınız".
_VISIT = re.compile(r"\b(?:gelip|gel\w*meniz\w*|bakman\w*|gonder\w*|come (?:and|out|over|round|to (?:my|us|mine)))\b")
_SHOWN = 160  # characters of the visitor's message in the summary


def say(key: str, language: str, *, familiar: bool = False, **values: str) -> str:
    """Return a default sentence with its values filled in. English for other languages, and in familiar address if it has one."""
    name = f"{key}.{language if language in LANGUAGES else 'en'}"
    own = _SENTENCES.get(f"{name}.familiar") if familiar else None
    return filled(own or _SENTENCES[name], values)


def filled(sentence: str, values: Mapping[str, str]) -> str:
    """Put the values in for their names in braces. Everything else in braces stays as it is written.

    A sentence may be a stranger's, from an imported account: `str.format` would follow its attributes and widths.
    """
    return _BRACES.sub(lambda found: values.get(found[1], found[0]), sentence)


def names() -> list[str]:
    """Return the keys of the sentences that an owner can reword, in file order."""
    bases = (name.removesuffix(".tr") for name, _ in _FILE.entries if name.endswith(".tr"))
    return [name for name in bases if placeholders(name) is not None]


def sentences(key: str) -> dict[str, str]:
    """Return a default sentence by language."""
    return {language: _SENTENCES[f"{key}.{language}"] for language in LANGUAGES}


def wordings(key: str) -> list[str]:
    """Return a default sentence in every language and address."""
    of_key = re.compile(rf"{re.escape(key)}\.[a-z]{{2}}(?:\.familiar)?")
    return [sentence for name, sentence in _SENTENCES.items() if of_key.fullmatch(name)]


def placeholders(key: str) -> frozenset[str] | None:
    """Return the names in braces of a sentence. None if the dialogue has no such sentence."""
    if f"{key}.en" not in _SENTENCES or key in _NO_SENTENCES:
        return None
    return frozenset(_BRACES.findall(_SENTENCES[f"{key}.en"] + _SENTENCES[f"{key}.tr"]))


def ask(asked: str, draft: RequestDraft, say: Callable[..., str]) -> str:
    """Return the question for a field, in the words of the request's kind."""
    own = f"ask.{asked}"
    stays = draft.is_appointment and any(_STAY.search(folded(text)) for text in (draft.opening, *draft.more))
    visits = draft.is_appointment and any(_VISIT.search(folded(text)) for text in (draft.opening, *draft.more))
    of_kind = f"{own}.{'stay' if stays else 'visit' if visits else draft.request_type}"
    return say(of_kind if f"{of_kind}.en" in _SENTENCES else own)


def days(language: str) -> tuple[str, ...]:
    """Return the names of the days, Monday first."""
    return _DAYS[language]


def yes_no(language: str) -> tuple[str, ...]:
    """Return the words for yes and no."""
    return _YES_NO[language]


def day(value: date, language: str) -> str:
    """Return a date in words: `25 Kasım 2026 Çarşamba`, `Wednesday 25 November 2026`."""
    month, weekday = _MONTHS[language][value.month - 1], _DAYS[language][value.weekday()]
    return f"{value.day} {month} {value.year} {weekday}" if language == "tr" else f"{weekday} {value.day} {month} {value.year}"


def field_names(draft: RequestDraft, say: Callable[..., str]) -> str:
    """Return the names of the fields that can be changed: `tarih, saat, ad, telefon`."""
    kinds = ("date", "time", "name", "phone", "email") if draft.is_appointment else ("message", "name", "phone", "email")
    return ", ".join(say(f"field.{kind}").lower() for kind in kinds)


def summary(draft: RequestDraft, country: str, about: str, say: Callable[..., str]) -> str:
    """Return the summary of a draft about a matter, a line for each field. `country` is that of local telephone numbers."""
    about = " / ".join(about.split("\n"))
    about = about if len(about) <= _SHOWN else about[: _SHOWN - 1] + "…"
    lines = (
        ("date", day(draft.day, draft.language) if draft.is_appointment and draft.day else None),
        ("time", f"{draft.clock:%H:%M}" if draft.is_appointment and draft.clock else None),
        ("message", about or None),
        ("name", draft.name),
        ("phone", in_local_form(draft.phone, country) if draft.phone else None),
        ("email", draft.email),
    )
    extra = [f"- {say('field.nights') if name == 'nights' else name}: {value}" for name, value in draft.extra if value]
    lines_shown = [f"- {say(f'field.{kind}')}: {value}" for kind, value in lines if value]
    return "\n".join([say("summary"), "", *lines_shown, *extra])
