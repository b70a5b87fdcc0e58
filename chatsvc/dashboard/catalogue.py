"""Texts of pages with their values, from `translations/`."""

import re
from functools import lru_cache

from chatsvc import translations
from chatsvc.domain.folding import fold
from chatsvc.domain.operators import LANGUAGES

_ISOLATE_ENDS, _OTHER_ENDS = "\u2069", "\u202c"
# Embeddings, overrides and isolates of the writing direction, each with the character that ends it.
_ENDS = dict.fromkeys("\u202a\u202b\u202d\u202e", _OTHER_ENDS) | dict.fromkeys("\u2066\u2067\u2068", _ISOLATE_ENDS)
_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


def text(language: str, key: str, /, **values: object) -> str:
    """Return a text with its placeholders filled in. `count` chooses between singular and plural. Raise KeyError if it is unknown."""
    template = translations.template(language, key, values.get("count"))
    if not values and "{" not in template:
        return template  # most texts: a page has hundreds
    return template.format(**{name: translations.shown(_closed(value), language) for name, value in values.items()})


def choices(language: str, section: str, value: str = "") -> list[tuple[str, str]]:
    """Return codes and names of a section ("countries", "languages") for a field. `value` is included even without a name."""
    named = _by_name(language, section)
    return named if not value or value in translations.section(section) else [*named, (value, value)]


@lru_cache
def _by_name(language: str, section: str) -> list[tuple[str, str]]:
    """Return the codes of a section with their names, sorted by name. Languages of the pages come first."""
    names = [(code, translations.template(language, f"{section}.{code}")) for code in translations.section(section)]
    return sorted(names, key=lambda pair: (pair[0] not in LANGUAGES, fold(pair[1])))


def name_of(language: str, section: str, code: str) -> str:
    """Return the name of a code of a section, or the code itself if it has no name."""
    key = f"{section}.{code.replace('.', '_')}"
    return translations.template(language, key) if translations.has(key) else code


def closed(text: str) -> str:
    """Close the bidirectional control characters that a text leaves open, so that they do not reorder the text after it."""
    ends: list[str] = []
    for control in _CONTROLS.findall(text):
        if control in _ENDS:
            ends.append(_ENDS[control])
        elif control == _ISOLATE_ENDS and control in ends:
            # It ends the embeddings inside the isolate too.
            while ends.pop() != control:
                pass
        elif ends[-1:] == [control]:
            ends.pop()
    return text + "".join(reversed(ends)) if ends else text


def _closed(value: object) -> object:
    """Close the bidirectional control characters of a text, or of each text of a list."""
    if isinstance(value, list | tuple):
        return [closed(str(item)) for item in value]
    return closed(value) if isinstance(value, str) else value
