"""Texts of pages with their values, from `translations/`."""

from __future__ import annotations

from collections.abc import Mapping

from chatsvc import translations
from chatsvc.dashboard import directions


def text(language: str, key: str, /, **values: object) -> str:
    """Return a text with its placeholders filled in; `count` chooses between singular and plural. Raises KeyError."""
    template = translations.template(language, key, values.get("count"))
    if not values and "{" not in template:
        return template  # most texts: a page has hundreds
    return template.format_map(_Shown(language, values))


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
