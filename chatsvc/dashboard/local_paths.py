"""Paths of this service in redirects, against open redirects."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

# Browsers read "//host" and "/\host" as another host, and drop tabs and line breaks.
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


def local(path: str | None, otherwise: str = "/") -> str:
    """Return a path of this service, else `otherwise`."""
    return path if path is not None and len(path) <= 2000 and _LOCAL.fullmatch(path) else otherwise


def with_query(path: str, values: Mapping[str, object]) -> str:
    """Append parameters to a path, without those that are None or empty."""
    given = {name: str(value) for name, value in values.items() if value is not None and value != ""}
    fragment = "#" + path.partition("#")[2] if "#" in path else ""
    path = path.partition("#")[0]
    if not given:
        return path + fragment
    return f"{path}{'&' if '?' in path else '?'}{urlencode(given)}{fragment}"
