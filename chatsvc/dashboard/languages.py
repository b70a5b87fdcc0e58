"""Choice of a page's language: the operator's, else the browser's; English for other languages, Turkish where none is named."""

from aiohttp.web import Request

from chatsvc.domain.operators import LANGUAGES

DEFAULT = "tr"
FOREIGN = "en"
"""For a browser whose languages are all others."""


def choose(request: Request | None, own: str | None = None) -> str:
    if own in LANGUAGES:
        return own
    return accepted(request.headers.get("Accept-Language", "") if request is not None else "")


def accepted(header: str) -> str:
    """Return the language that an Accept-Language field prefers (RFC 9110, 12.5.4)."""
    best, best_quality = DEFAULT, 0.0
    for part in header.split(","):
        tag, _, parameter = part.partition(";")
        language = tag.strip().lower().partition("-")[0]
        quality = _quality(parameter)
        if language in LANGUAGES and quality > best_quality:
            best, best_quality = language, quality
        elif language.isalpha() and quality > 0 and not best_quality:
            best = FOREIGN
    return best


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(1.0, float(value))
    except ValueError:
        return 0.0
