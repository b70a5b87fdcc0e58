"""Names of browsers in the list of sessions, from the header User-Agent."""

import re

# The first that matches counts: most browsers also name those that they resemble.
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/(\d+)"),
    ("Opera", r"(?:OPR|Opera)/(\d+)"),
    ("Samsung Internet", r"SamsungBrowser/(\d+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/(\d+)"),
    ("Chrome", r"(?:Headless)?(?:Chrome|CriOS|Chromium)/(\d+)"),
    ("Safari", r"Version/(\d+)\S* (?:Mobile/\S+ )?Safari/"),
    ("curl", r"^curl/(\d+)"),
)
_SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "macOS": "Macintosh",
    "ChromeOS": "CrOS",
    "Linux": "Linux",
}


def name(header: str) -> str:
    """Return browser and system, such as `Firefox 145, Windows`. A header that names no known browser stays as it is."""
    browser = next((f"{one} {found[1]}" for one, pattern in _BROWSERS if (found := re.search(pattern, header))), None)
    if browser is None:
        return header
    system = next((one for one, mark in _SYSTEMS.items() if mark in header), None)
    return f"{browser}, {system}" if system else browser
