"""Which configuration a command takes, and what it says of one that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.support import environment, refusal, run


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Three configurations, each with a data folder of its own beside it."""
    files = {}
    for name in ("option", "environment", "current"):
        folder = tmp_path / name
        folder.mkdir()
        files[name] = folder / ("config.yaml" if name == "current" else "settings.yaml")
        files[name].write_text(f"data_dir: ./data-of-{name}\n")
    return files


def used(tmp_path: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("chatsvc.db"))


def test_the_option_comes_before_the_environment_before_the_current_folder_before_the_defaults(
    tmp_path: Path, places: dict[str, Path]
) -> None:
    named = environment(CHATSVC_CONFIG=str(places["environment"]))
    assert run("-c", places["option"], "account", "list", cwd=tmp_path / "current", env=named).status == 0
    assert used(tmp_path) == ["option/data-of-option"]
    assert run("account", "list", cwd=tmp_path / "current", env=named).status == 0
    assert used(tmp_path) == ["environment/data-of-environment", "option/data-of-option"]
    assert run("account", "list", cwd=tmp_path / "current").status == 0
    assert used(tmp_path) == ["current/data-of-current", "environment/data-of-environment", "option/data-of-option"]
    (tmp_path / "nothing here").mkdir()
    assert run("account", "list", cwd=tmp_path / "nothing here", env=environment(CHATSVC_CONFIG="")).status == 0
    assert (tmp_path / "nothing here" / "data" / "chatsvc.db").exists()


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    by_option = refusal(run("-c", "missing.yaml", "account", "list", cwd=tmp_path))
    assert f"{tmp_path}/missing.yaml: the configuration that -c names cannot be read" in by_option
    by_name = refusal(run("account", "list", cwd=tmp_path, env=environment(CHATSVC_CONFIG="missing.yaml")))
    assert "$CHATSVC_CONFIG names cannot be read" in by_name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["serve"], ["account", "list"]])
def test_every_fault_is_told_at_once_with_file_line_and_column(tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("server:\n  listen: nowhere\n  port: 80\nlimits: {requests_per_minute: lots}\nmodels: {fast: {engine: oracle}}\n")
    done = run("-c", file, *command, cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert "Traceback" not in done.err
    for position in ("2:11", "3:3", "4:31", "5:25"):
        assert f"{file}:{position}: " in done.err, done.err
    assert len(done.err.strip().splitlines()) == 4
    assert "oracle" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"a: [", b"a: &x [*x]", b"[" * 5000])
def test_what_is_no_configuration_at_all_is_refused_without_a_traceback(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(raw)
    done = run("-c", file, "account", "list", cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"chatsvc: {file}")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", [["account", "list"], ["serve"]])
def test_a_data_folder_that_cannot_be_used_is_told_in_one_line(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "config.yaml").write_text("server: {listen: 127.0.0.1:0}\ndata_dir: ./file/data\n")
    done = run(*command, cwd=tmp_path)
    assert f"the data folder {tmp_path}/file/data cannot be used" in refusal(done)


def _newer(database: Path, _: Path) -> None:
    raw = bytearray(database.read_bytes())
    raw[60:64] = (999).to_bytes(4, "big")
    database.write_bytes(raw)


@pytest.mark.parametrize("command", [["account", "list"], ["serve"]])
@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda _, key: key.unlink(), "its master key"),
        (lambda _, key: key.write_text("ab" * 32), "the master key is not the one this database was made with"),
        (lambda _, key: key.write_text(key.read_text()[:32]), "does not hold a master key"),
        (lambda database, _: database.write_text("not what it was " * 500), "not a database"),
        (_newer, "install the newer chatsvc again"),
    ],
    ids=["no key", "another key", "half a key", "no database", "newer schema"],
)
def test_a_data_folder_that_is_not_whole_is_told_in_one_line_and_left_alone(
    tmp_path: Path, command: list[str], harm: Callable[[Path, Path], object], says: str
) -> None:
    (tmp_path / "config.yaml").write_text("server: {listen: 127.0.0.1:0}\n")
    assert run("account", "create", "Acme", cwd=tmp_path).status == 0
    key, database = tmp_path / "data" / "master.key", tmp_path / "data" / "chatsvc.db"
    harm(database, key)
    before = database.read_bytes(), key.exists() and key.read_text()
    done = run(*command, cwd=tmp_path)
    assert says in refusal(done)
    assert (database.read_bytes(), key.exists() and key.read_text()) == before
