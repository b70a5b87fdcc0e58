"""Catalogue of the dashboard's texts, read from `translations/NAME.yaml`; the key of a text is `NAME.key`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml

from chatsvc.dashboard import directions
from chatsvc.domain.operators import LANGUAGES

# libyaml reads the files in a tenth of the time; a build of PyYAML without it has only the other one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A text is a template, or one for the count 1 and one for all others.
Text = str | Mapping[str, str]


@cache
def texts() -> Mapping[str, Mapping[str, Text]]:
    """Read all texts: key -> language -> text."""
    found: dict[str, Mapping[str, Text]] = {}
    folder = resources.files("chatsvc.dashboard").joinpath("translations")
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            section: dict[str, Any] = yaml.load(file.read_text("utf-8"), _LOADER)  # noqa: S506  # both loaders are safe ones
            found |= {f"{file.name.removesuffix('.yaml')}.{key}": entry for key, entry in section.items()}
    return found


def text(language: str, key: str, /, **values: object) -> str:
    """Return a text with its placeholders filled in; `count` chooses between singular and plural. Raises KeyError."""
    if language not in LANGUAGES:
        raise KeyError(language)
    template = texts()[key][language]
    if not values and isinstance(template, str) and "{" not in template:
        return template  # most texts: a page has hundreds
    if not isinstance(template, str):
        template = template["one" if values.get("count") == 1 else "other"]
    return template.format_map(_Shown(language, values))


def has(key: str) -> bool:
    """Report whether there is a text."""
    return key in texts()


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
