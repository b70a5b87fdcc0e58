"""`chatsvc parse`: the same reading that fills a bot's slots, with no service and no data folder."""

import json
from pathlib import Path

import pytest

from tests.cli.support import Done, refusal, run, usage_error

NOW = "2026-11-20T10:00"
SAID = "Yarın saat 3'e randevu almak istiyorum, ben Ayşe Yılmaz, ayse@example.com, 0532 123 45 67"
READ = {
    "language": "tr",
    "date": "2026-11-21",
    "time": "15:00",
    "email": "ayse@example.com",
    "phone": "+905321234567",
    "name": "Ayşe Yılmaz",
}
NOTHING = {"date": None, "time": None, "email": None, "phone": None, "name": None}


def parse(folder: Path, *arguments: str | Path) -> Done:
    """Run in a folder that has no configuration, and see that nothing is made there."""
    done = run("parse", *arguments, cwd=folder)
    assert not (folder / "data").exists()
    return done


def read(folder: Path, *arguments: str | Path) -> object:
    done = parse(folder, *arguments, "--json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


def test_a_sentence_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, SAID, "--now", NOW) == READ
    assert read(tmp_path, "Do you take cards?", "--now", NOW) == {"language": "en", **NOTHING}


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "said.txt"
    file.write_text(f"{SAID}\n\nDo you take cards?\n", "utf-8")
    assert read(tmp_path, "--file", file, "--now", NOW) == [READ, {"language": "en", **NOTHING}]
    lines = parse(tmp_path, "--file", file, "--now", NOW).out.splitlines()
    assert lines[:3] == [SAID, "  language  tr", "  date      2026-11-21"]
    assert lines[7] == "Do you take cards?"


def test_country_and_language_and_time_zone_count(tmp_path: Path) -> None:
    values = read(tmp_path, "020 7946 0958 at 5", "--country", "gb", "--language", "en-GB", "--timezone", "Europe/London")
    assert values == {"language": "en", **NOTHING, "phone": "+442079460958", "time": "17:00"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--now", "soon"], "'soon' is no time"),
        (["--now", "2026-11-20T10:00Z"], "has a time zone of its own"),
        (["--timezone", "Mars/Olympus"], "'Mars/Olympus' is no time zone"),
        (["--country", "Turkey"], "'Turkey' is no country"),
        (["--language", "!"], "'!' is no language tag"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, arguments: list[str], says: str) -> None:
    assert says in refusal(parse(tmp_path, "merhaba", *arguments))


def test_one_of_text_and_file_is_needed(tmp_path: Path) -> None:
    usage_error(parse(tmp_path), "TEXT or --file")
    usage_error(parse(tmp_path, "x", "--file", Path(__file__)), "TEXT or --file")
    (tmp_path / "said.txt").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refusal(parse(tmp_path, "--file", tmp_path / "said.txt"))
