"""Choice by place among things offered: "the second one", "2", "ilki", "sonuncusu"."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from chatsvc.language import catalogue
from chatsvc.language.wordlists import WordFile


class _OrdinalWords(NamedTuple):
    places: dict[str, int]
    beside: frozenset[str]
    none: frozenset[str]


@cache
def _words(language: str) -> _OrdinalWords:
    file = WordFile(f"languages/{language}/choosing.txt")
    places = {word: int(place) for place, found in file.group("place ").items() for word in found}
    return _OrdinalWords(places, file.words("beside"), file.words("none"))


def _of(language: str) -> _OrdinalWords:
    """Return the words of a language, and the digits of any."""
    return _words(language if language in catalogue.languages() else catalogue.FALLBACK)


def place_of(said: Sequence[str], count: int, language: str) -> int | None:
    """Return the index among `count` options that folded words name; None for none, or for more than a choice."""
    known = _of(language)
    counted = [word for word in said if word in known.places and (word != "one" or len(said) == 1)]
    places = {known.places[word] for word in counted}
    place = places.pop() if len(places) == 1 and set(said) - set(counted) <= known.beside else count
    return place % count if -count <= place < count else None


def names_none(said: Sequence[str], language: str) -> bool:
    """Return whether folded words choose none of the options."""
    return not _of(language).none.isdisjoint(said)
