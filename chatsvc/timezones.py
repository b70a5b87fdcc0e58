"""Time zones of the system and of this program: the newer ones are used."""

import re
import zoneinfo
from functools import lru_cache
from pathlib import Path

import tzdata

SHIPPED: str = tzdata.IANA_VERSION


def _system_version() -> str | None:
    """Return the version of the system's time zones. Return None if the system has no time zones, and "" if they name no version."""
    folder = next((path for path in map(Path, zoneinfo.TZPATH) if (path / "Europe").is_dir()), None)
    if folder is None:
        return None
    try:
        with (folder / "tzdata.zi").open(encoding="ascii", errors="replace") as file:
            match = re.fullmatch(r"# version (\d{4}[a-z]+)\s*", file.readline(100))
    except OSError:
        return ""
    return match[1] if match else ""


@lru_cache(maxsize=1)
def use_newest_zones() -> str | None:
    """Read time zones from this program where the system's are older: rules change, and systems are seldom updated.

    Return the version of the system's older ones ("" if unknown), or None if the system's are in use or missing.
    """
    version = _system_version()
    if version is None or version >= SHIPPED:
        return None
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    return version
