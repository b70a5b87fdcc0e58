"""`bot export` and `bot apply`: a bot in one file."""

from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.cli.support import BOTH, Site

GOOD = Path(__file__).with_name("bot.yaml").read_text("utf-8")
BAD = Path(__file__).with_name("faulty_bot.yaml").read_text("utf-8")


@pytest.fixture
def bot(site: Site) -> str:
    return site.bot(site.account())


def exported(site: Site, bot: str) -> str:
    text: str = site.json("bot", "export", bot)["yaml"]
    return text


@BOTH
def test_a_bot_is_applied_from_a_file_and_the_same_file_changes_nothing(site: Site, bot: str, tmp_path: Path) -> None:
    file = tmp_path / "bot.yaml"
    before = site.json("bot", "show", bot)
    file.write_text(exported(site, bot), encoding="utf-8")
    assert site.json("bot", "apply", bot, str(file)) == before
    file.write_text(GOOD, encoding="utf-8")
    first = site.json("bot", "apply", bot, str(file))
    assert (first["name"], first["opening_hours"], first["ask_back"]) == ("Otel Deniz", "mon-sun 09:00-22:00", False)
    assert (first["closed"], first["form_of_address"]) == (["2026-12-31", "2027-01-01..2027-01-15"], "familiar")
    assert first["texts"]["done"] == {"tr": "Aldım.", "en": "Noted."}
    assert first["forms"]["appointment"]["fields"][0]["choices"] == ["deniz", "bahçe"]
    shown = site.run("bot", "show", bot).out
    assert "2026-12-31; 2027-01-01..2027-01-15" in shown
    assert "Hangi oda?" in shown
    assert site.json("bot", "apply", bot, str(file)) == first
    text = exported(site, bot)
    assert '  - "2027-01-01..2027-01-15"' in text
    assert 'is: "nights"' in text
    file.write_text(text, encoding="utf-8")
    assert site.json("bot", "apply", bot, str(file)) == first
    assert exported(site, bot) == text
    file.write_text("closed: []\n", encoding="utf-8")  # what a file does not name stays
    assert site.json("bot", "apply", bot, str(file)) == {**first, "closed": [], "updated_at": ANY}


def test_a_dry_run_shows_what_would_change_and_changes_nothing(site: Site, bot: str, tmp_path: Path) -> None:
    file = tmp_path / "bot.yaml"
    before = exported(site, bot)
    file.write_text("name: Otel Deniz\nclosed: [2026-12-31]\n", encoding="utf-8")
    lines = site.json("bot", "apply", bot, str(file), "--dry-run")["lines"]
    assert {line for line in lines if line[0] != " "} == {
        '-name: "Desk"',
        '+name: "Otel Deniz"',
        "-closed: []",
        "+closed:",
        '+  - "2026-12-31"',
    }
    assert '+name: "Otel Deniz"' in site.run("bot", "apply", bot, str(file), "--dry-run").out.splitlines()
    assert exported(site, bot) == before
    file.write_text(before, encoding="utf-8")
    assert site.run("bot", "apply", bot, str(file), "--dry-run").out == "nothing would change\n"
    file.write_text("nam: x\n", encoding="utf-8")
    assert site.run("bot", "apply", bot, str(file), "--dry-run").status == 1


def test_all_faults_are_told_at_once_with_line_and_column_and_nothing_is_changed(site: Site, bot: str, tmp_path: Path) -> None:
    file = tmp_path / "bot.yaml"
    before = site.json("bot", "show", bot)
    file.write_text(BAD, encoding="utf-8")
    done = site.run("bot", "apply", bot, str(file))
    assert done.status == 1
    places = (
        *("1:1", "2:10", "2:17", "3:18", "5:14", "5:28", "6:3", "8:21", "8:37", "8:63", "9:3", "10:16", "11:11", "12:1"),
        *("13:8", "14:8", "15:23", "17:5", "18:24", "19:24"),
    )
    assert [position for position in places if f"bot.yaml:{position}: " not in done.err] == []
    assert site.json("bot", "show", bot) == before


def test_a_file_that_is_no_yaml_or_no_list_of_names_is_refused(site: Site, bot: str, tmp_path: Path) -> None:
    file = tmp_path / "bot.yaml"
    for text in ("a: [", "- a\n- b\n", "texts: [x]\nforms: {appointment: [1]}\nclosed: {a: b}\nname: [1]\n"):
        file.write_text(text, encoding="utf-8")
        done = site.run("bot", "apply", bot, str(file))
        assert done.status == 1
        assert "bot.yaml:" in done.err
