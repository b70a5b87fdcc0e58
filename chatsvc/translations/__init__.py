"""Catalogue of all texts for people, in English and Turkish: pages, mails, refusals, findings, faults of files, and errors.

The file `NAME.yaml` is a section, and the key of a text in it is `NAME.key`. A text is a template with placeholders; it may have two forms,
one for the count 1 and one for all others. `cli` contains texts of the command line that differ from the English of pages.
"""

from collections.abc import Container, Mapping
from functools import cache
from importlib import resources

COMMAND_LINE = "cli"
Text = str | Mapping[str, str]


@cache
def section(name: str) -> Mapping[str, Mapping[str, Text]]:
    """Load a section of the catalogue: a mapping of key to the text in each language. It is empty if there is no such section."""
    import yaml  # most commands word nothing

    # libyaml reads the files in a tenth of the time; a build of PyYAML without it has only the other one.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    file = resources.files("chatsvc.translations").joinpath(f"{name}.yaml")
    texts: Mapping[str, Mapping[str, Text]] = yaml.load(file.read_text("utf-8"), loader) if file.is_file() else {}  # noqa: S506  # both loaders are safe ones
    return texts


@cache
def texts() -> Mapping[str, Mapping[str, Text]]:
    """Load all texts of the catalogue, by their full keys such as `NAME.key`."""
    files = sorted(file.name for file in resources.files("chatsvc.translations").iterdir())
    names = [name.removesuffix(".yaml") for name in files if name.endswith(".yaml")]
    return {f"{name}.{key}": entry for name in names for key, entry in section(name).items()}


def has(key: str) -> bool:
    """Return whether the catalogue has a text under `key`."""
    name, _, rest = key.partition(".")
    return rest in section(name)


def template(language: str, key: str, count: object = None) -> str:
    """Return the text of a key with its placeholders unfilled. `count` chooses singular or plural. Raise KeyError for an unknown key."""
    name, _, rest = key.partition(".")
    entry = section(name)[rest]
    text = entry["en" if language == COMMAND_LINE and language not in entry else language]
    return text if isinstance(text, str) else text["one" if count == 1 else "other"]


def worded(name: str, code: str, facts: Mapping[str, object], language: str, *, places: Container[str] = ()) -> str:
    """Return the sentence for a code in section `name`, or the code if it has none. Facts in `places` get no thousands separators."""
    if code not in section(name):
        return f"{code} {dict(facts)}" if facts else code
    written = {fact: value if fact in places else shown(value, language) for fact, value in facts.items()}
    return template(language, f"{name}.{code}").format(**written)


def shown(value: object, language: str) -> object:
    """Format a value for a text. Whole numbers get thousands separators of the language, lists get commas; others stay unchanged."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool):
        grouped = f"{value:,}"
        return grouped.replace(",", ".") if language == "tr" else grouped
    return value


def named(name: str, facts: Mapping[str, object], language: str) -> dict[str, object]:
    """Translate those facts whose value is a key of the section `name`. The other facts stay unchanged."""
    words = section(name)
    return {
        fact: template(language, f"{name}.{value}") if isinstance(value, str) and value in words else value for fact, value in facts.items()
    }
