"""Which configuration a command takes, and what it says of one that is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.support import Site, environment, refusal, run


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    by_option = refusal(run("-c", "missing.yaml", "account", "list", cwd=tmp_path))
    assert f"{tmp_path}/missing.yaml: the configuration that -c names cannot be read" in by_option
    by_name = refusal(run("account", "list", cwd=tmp_path, env=environment(CHATSVC_CONFIG="missing.yaml")))
    assert "$CHATSVC_CONFIG names cannot be read" in by_name
    assert list(tmp_path.iterdir()) == []


def test_every_fault_is_told_at_once_with_file_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("server:\n  listen: nowhere\n  port: 80\nlimits: {requests_per_minute: lots}\nmodels: {fast: {engine: oracle}}\n")
    done = run("-c", file, "account", "list", cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert "Traceback" not in done.err
    for position in ("2:11", "3:3", "4:31", "5:25"):
        assert f"{file}:{position}: " in done.err, done.err
    assert len(done.err.strip().splitlines()) == 4
    assert "oracle" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


def test_a_data_folder_that_cannot_be_used_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "config.yaml").write_text("server: {listen: 127.0.0.1:0}\ndata_dir: ./file/data\n")
    for command in ("account list", "serve"):
        assert f"the data folder {tmp_path}/file/data cannot be used" in refusal(run(*command.split(), cwd=tmp_path))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda _, key: key.unlink(), "its master key"),
        (lambda _, key: key.write_text("ab" * 32), "the master key is not the one this database was made with"),
        (lambda _, key: key.write_text(key.read_text()[:32]), "does not hold a master key"),
        (lambda database, _: database.write_text("not what it was " * 500), "not a database"),
    ],
    ids=["no key", "another key", "half a key", "no database"],
)
def test_a_data_folder_that_is_not_whole_is_told_in_one_line_and_left_alone(
    tmp_path: Path, harm: Callable[[Path, Path], object], says: str
) -> None:
    Site(tmp_path).account()
    key, database = tmp_path / "data" / "master.key", tmp_path / "data" / "chatsvc.db"
    harm(database, key)
    before = database.read_bytes(), key.exists() and key.read_text()
    for command in ("account list", "serve"):
        assert says in refusal(run(*command.split(), cwd=tmp_path))
    assert (database.read_bytes(), key.exists() and key.read_text()) == before
