"""Time zones of the system and of this program: the newer ones are used."""

import re
import zoneinfo
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import tzdata


class ZoneVersions(NamedTuple):
    """Versions of the time zones that are shipped, and of those of the system. None if it has none, "" if they name no version."""

    shipped: str
    system: str | None


def zone_versions(folders: Iterable[str]) -> ZoneVersions:
    """Return the versions of the time zones here; `folders` are those of the system."""
    for folder in map(Path, folders):
        if (folder / "Europe").is_dir():
            try:
                with (folder / "tzdata.zi").open(encoding="ascii", errors="replace") as file:
                    first = file.readline(100)
            except OSError:
                first = ""
            found = re.fullmatch(r"# version (\d{4}[a-z]+)\s*", first)
            return ZoneVersions(tzdata.IANA_VERSION, found[1] if found else "")
    return ZoneVersions(tzdata.IANA_VERSION, None)


@lru_cache(maxsize=1)
def use_newest_zones() -> ZoneVersions:
    """Read time zones from this program where the system's are older: rules change, and systems are seldom updated."""
    versions = zone_versions(zoneinfo.TZPATH)
    if versions.system is not None and versions.system < versions.shipped:
        zoneinfo.reset_tzpath(to=())
        zoneinfo.ZoneInfo.clear_cache()
    return versions
