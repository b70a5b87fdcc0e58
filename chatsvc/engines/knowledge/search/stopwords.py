"""Stop words, which weigh less in a search but are not dropped. "how much" and "ne zaman" do say something."""

from functools import lru_cache

from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/search/stopwords.txt")
STOPWORDS = _FILE.words("turkish") | _FILE.words("english")
_LIGHT = STOPWORDS | _FILE.words("light")
_LIGHT_FORM = _FILE.pattern("light_form")


@lru_cache(maxsize=8_192)
def is_light(word: str) -> bool:
    """Return whether a folded word says little about what is asked. A stop word, a number, a time, a frequent verb."""
    return word in _LIGHT or word.isdigit() or _LIGHT_FORM.fullmatch(word) is not None
