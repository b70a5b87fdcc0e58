"""Cookies: parsing of `Cookie`, rendering of `Set-Cookie` (RFC 6265)."""

import re
from collections.abc import Iterable

MAX_COOKIES = 64
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]*")


def parse(lines: Iterable[str]) -> dict[str, str]:
    """Parse the `Cookie` fields of a request. Malformed pairs are ignored, and so is all beyond MAX_COOKIES."""
    found: dict[str, str] = {}
    for line in lines:
        for pair in line.split(";", MAX_COOKIES)[:MAX_COOKIES]:
            name, separator, value = pair.strip(" \t").partition("=")
            value = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
            if separator and _NAME.fullmatch(name) and _VALUE.fullmatch(value) and len(found) < MAX_COOKIES:
                found.setdefault(name, value)
    return found


def render(name: str, value: str, *, max_age_s: int | None = None, secure: bool, http_only: bool = True, same_site: str = "Lax") -> str:
    """Render the value of `Set-Cookie` for the whole site; raises ValueError. `max_age_s`: None lasts for the session, 0 deletes."""
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise ValueError("a cookie's name or value has characters that cannot be sent")
    if name.startswith(("__Host-", "__Secure-")) and not secure:
        raise ValueError(f"browsers accept {name} only when it is secure")
    parts = [f"{name}={value}", "Path=/"]
    if max_age_s is not None:
        parts.append(f"Max-Age={max_age_s}")
    parts += ["HttpOnly"] * http_only + ["Secure"] * secure + [f"SameSite={same_site}"]
    return "; ".join(parts)
