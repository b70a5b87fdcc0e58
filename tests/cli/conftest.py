"""Installations to run commands on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.support import BOTH, Site


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run commands without a service in tests that do not choose: each of them starts several commands."""
    if "site" in metafunc.fixturenames and BOTH.mark not in metafunc.definition.own_markers:
        metafunc.parametrize("site", ["alone"], indirect=True)


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two shared installations, "alone" and "served". Each test makes its own accounts."""
    shared = Site(tmp_path_factory.mktemp(request.param))
    # So that no test of the shared installation is the one with the only account.
    shared.account("first of all")
    shared.account("second of all")
    if request.param == "alone":
        yield shared
        return
    with shared.serve():
        yield shared
    assert "Traceback" not in shared.log.read_text()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Site]:
    """An installation where no command has run yet."""
    new = Site(tmp_path)
    yield new
    if new.serving:
        with new.serving:
            pass
