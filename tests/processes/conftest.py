"""A PostgreSQL that listens on a port, and installations over it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.postgres import Postgres, require_programs
from tests.processes.support import PostgresSite


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A PostgreSQL that tests may stop, start and damage."""
    require_programs()
    with Postgres(listens=True) as server:
        yield server


NewSite = Callable[[str], PostgresSite]


@pytest.fixture
def new_site(server: Postgres, tmp_path: Path) -> Iterator[NewSite]:
    """Makes installations by name, all over one database."""
    database = server.new_database()
    sites: list[PostgresSite] = []

    def make(name: str) -> PostgresSite:
        sites.append(PostgresSite(tmp_path / name, server, database))
        return sites[-1]

    yield make
    for site in sites:
        if site.serving:
            with site.serving:
                pass


@pytest.fixture
def site(new_site: NewSite) -> PostgresSite:
    return new_site("one")
