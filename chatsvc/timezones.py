"""Time zones by name. The system and this program both have zones; the newer version is used."""

import re
from datetime import tzinfo
from functools import lru_cache
from pathlib import Path


def zone(name: str) -> tzinfo | None:
    """Return the time zone with this name, or None if this machine does not know it. It raises no error, so that replies do not fail."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def shipped_version() -> str:
    """Return the version of this program's time zones, such as `2026a`."""
    import tzdata

    return str(tzdata.IANA_VERSION)


def _system_version() -> str | None:
    """Return the version of the system's time zones. Return None if there are none, and "" if their version is unknown."""
    from zoneinfo import TZPATH

    folder = next((path for path in map(Path, TZPATH) if (path / "Europe").is_dir()), None)
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
    """Use this program's time zones if the system's are older. Rules change, and systems are seldom updated.

    Return the version of the system's zones ("" if unknown) if they are older. Return None if they are used, or missing.
    """
    import zoneinfo

    version = _system_version()
    if version is None or version >= shipped_version():
        return None
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    return version
