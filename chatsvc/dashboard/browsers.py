"""Name and preferred language of a browser, from its headers."""

import re

from chatsvc.domain.operators import LANGUAGES

DEFAULT, FOREIGN = "tr", "en"  # where no language is named, and where all of them are others
# The first that matches counts: most browsers also name those that they resemble.
_BROWSERS = {
    "Edge": r"Edg(?:e|A|iOS)?/(\d+)",
    "Opera": r"(?:OPR|Opera)/(\d+)",
    "Samsung Internet": r"SamsungBrowser/(\d+)",
    "Firefox": r"(?:Firefox|FxiOS)/(\d+)",
    "Chrome": r"(?:Headless)?(?:Chrome|CriOS|Chromium)/(\d+)",
    "Safari": r"Version/(\d+)\S* (?:Mobile/\S+ )?Safari/",
    "curl": r"^curl/(\d+)",
}
_SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Macintosh": "macOS"}
_SYSTEMS |= {"CrOS": "ChromeOS", "Linux": "Linux"}


def name(header: str) -> str:
    """Return browser and system of a User-Agent header, such as `Firefox 145, Windows`. Return an unknown header unchanged."""
    browser = next((f"{name} {match[1]}" for name, pattern in _BROWSERS.items() if (match := re.search(pattern, header))), None)
    if browser is None:
        return header
    system = next((system for mark, system in _SYSTEMS.items() if mark in header), None)
    return f"{browser}, {system}" if system else browser


def language(header: str, own: str | None = None) -> str:
    """Return the language of a page. This is the operator's own, otherwise the one that Accept-Language prefers (RFC 9110, 12.5.4)."""
    if own in LANGUAGES:
        return own
    best, best_quality = DEFAULT, 0.0
    for part in header.split(","):
        tag, _, parameter = part.partition(";")
        preferred = tag.strip().lower().partition("-")[0]
        weight = re.fullmatch(r"\s*q\s*=\s*(\S*)\s*", parameter, re.IGNORECASE)
        try:
            quality = min(1.0, float(weight[1])) if weight else 1.0
        except ValueError:
            quality = 0.0
        if preferred in LANGUAGES and quality > best_quality:
            best, best_quality = preferred, quality
        elif preferred.isalpha() and quality > 0 and not best_quality:
            best = FOREIGN
    return best
