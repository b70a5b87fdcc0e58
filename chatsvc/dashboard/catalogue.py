"""Texts of pages with their values, from `translations/`."""

from collections.abc import Mapping
from functools import lru_cache

from chatsvc import translations
from chatsvc.dashboard import directions
from chatsvc.domain.folding import fold
from chatsvc.domain.operators import LANGUAGES


def text(language: str, key: str, /, **values: object) -> str:
    """Return a text with its placeholders filled in; `count` chooses between singular and plural. Raises KeyError."""
    template = translations.template(language, key, values.get("count"))
    if not values and "{" not in template:
        return template  # most texts: a page has hundreds
    return template.format_map(_Shown(language, values))


def choices(language: str, section: str, value: str = "") -> list[tuple[str, str]]:
    """List the codes of a section ("countries", "languages") with their names, for a field. `value` is in the list even without a name."""
    named = _by_name(language, section)
    return named if not value or value in translations.section(section) else [*named, (value, value)]


@lru_cache
def _by_name(language: str, section: str) -> list[tuple[str, str]]:
    """List codes with their names by name, languages of pages before others."""
    names = [(code, translations.template(language, f"{section}.{code}")) for code in translations.section(section)]
    return sorted(names, key=lambda one: (one[0] not in LANGUAGES, fold(one[1])))


def name_of(language: str, section: str, code: str) -> str:
    """Name a code of a section; one without a name is its own."""
    return translations.template(language, f"{section}.{code}") if translations.has(f"{section}.{code}") else code


class _Shown(dict[str, object]):
    """Values of placeholders: whole numbers with separators, lists with commas, texts with their directions closed."""

    def __init__(self, language: str, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self._language = language

    def __getitem__(self, name: str) -> object:
        from chatsvc.dashboard import formats

        value = super().__getitem__(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return formats.number(value, self._language)
        if isinstance(value, list | tuple):
            return ", ".join(directions.closed(str(one)) for one in value)
        # Before the rest of the sentence; a Markup stays one.
        return directions.closed(value) if type(value) is str else value
