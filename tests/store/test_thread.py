"""The thread of a connection: the version of the library that it is made with."""

import re
import tomllib
from pathlib import Path

import pytest

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.sqlite import thread

pytestmark = pytest.mark.sqlite


@pytest.mark.parametrize("version", ["0.21.9", "0.23.0", "1.0", "nonsense"])
def test_another_version_of_aiosqlite_is_refused_in_one_line(version: str) -> None:
    with pytest.raises(StoreUnavailable, match=f"aiosqlite {version} is installed; chatsvc works with 0.22"):
        thread.check_version(version)


def test_the_versions_are_those_of_the_project() -> None:
    thread.check_version()
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (bounds,) = [requirement for requirement in project["dependencies"] if requirement.startswith("aiosqlite")]
    versions = [tuple(map(int, part.split("."))) for part in re.findall(r"[\d.]+", bounds)]
    assert versions == [thread.OLDEST, thread.BEFORE]
