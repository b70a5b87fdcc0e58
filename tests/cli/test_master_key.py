"""`chatsvc master-key rotate` with and without a running service. No key is shown."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import Site, environment, run


def test_a_rotation_tells_what_it_did_and_shows_no_key(site: Site, tmp_path: Path) -> None:
    bot = site.bot(site.account())
    site.json("webhook", "set", bot, "--pull", "--event", "request.created")
    file = site.data / "master.key"
    before = file.read_text()
    rotated = site.json("master-key", "rotate")
    assert list(rotated) == ["rotated_at", "resealed", "unusable", "master_key"]
    assert (rotated["resealed"] >= 1, rotated["unusable"], rotated["master_key"]) == (True, 0, str(file))
    assert file.read_text() != before
    (tmp_path / "new").write_text("C3" * 32)
    done = site.run("master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert (done.status, done.err) == (0, "")
    assert "c3c3" not in done.out.lower()
    assert file.read_text() == "c3" * 32 + "\n"
    assert site.json("webhook", "rotate", bot)["signing_key"]


def test_a_file_that_holds_no_key_is_refused_and_not_shown(site: Site, tmp_path: Path) -> None:
    (tmp_path / "new").write_text("c3" * 31 + "zz")
    before = (site.data / "master.key").read_text()
    says = site.refused("master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert says == f"{tmp_path}/new does not hold a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them"
    assert (site.data / "master.key").read_text() == before


def test_a_key_from_the_environment_is_rotated_to_the_next_one_there(fresh: Site, tmp_path: Path) -> None:
    def chatsvc(key: str | None, *arguments: str | Path) -> tuple[int, str]:
        done = run("-c", fresh.config, *arguments, env=environment(**({"CHATSVC_MASTER_KEY": key} if key else {})))
        return done.status, done.err

    assert chatsvc("5a" * 32, "init")[0] == 0
    assert not (fresh.data / "master.key").exists()
    status, err = chatsvc("5a" * 32, "master-key", "rotate")
    assert (status, "name it with --new-key-file" in err) == (1, True)
    (tmp_path / "new").write_text("c3" * 32)
    status, err = chatsvc("5a" * 32, "master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert (status, err) == (0, "Put the new key into the configuration now: with the old one the service does not start again.\n")
    assert chatsvc("c3" * 32, "account", "list") == (0, "")
    for wrong in ("5a" * 32, None):
        status, err = chatsvc(wrong, "account", "list")
        assert (status, "master" in err, "5a5a" in err) == (1, True, False)
