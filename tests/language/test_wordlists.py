"""The text files of word lists: their format, and that every one of them says what it holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import chatsvc
from chatsvc.language.wordlists import WordFile

ROOT = Path(chatsvc.__file__).parent
# files of a language in this format; others have formats of their own
OF_LANGUAGES = {
    name for path in (ROOT / "language").glob("*.py") for name in re.findall(r'LanguageWords\("([a-z_]+\.txt)"\)', path.read_text())
}
FILES = [
    path.relative_to(ROOT).as_posix()
    for path in sorted(ROOT.rglob("*.txt"))
    if path.is_relative_to(ROOT / "engines")
    or path.parent == ROOT / "language"
    or (path.name in OF_LANGUAGES and path.parent.parent.name == "languages")
]


def written(tmp_path: Path, text: str) -> WordFile:
    path = tmp_path / "words.txt"
    path.write_text(text, encoding="utf-8")
    return WordFile(str(path))


@pytest.mark.parametrize("name", FILES)
def test_every_file_begins_with_a_line_of_what_it_holds(name: str) -> None:
    first = (ROOT / name).read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# ")
    assert len(first.split()) > 3


@pytest.mark.parametrize("name", FILES)
def test_every_file_can_be_loaded_and_no_entry_is_empty(name: str) -> None:
    entries = WordFile(name).entries
    assert entries
    assert [entry for entry, value in entries if not value] == []


def test_items_are_parted_by_blanks_and_joined_by_underscores_over_several_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "# words\nyes: evet tabii_ki\n    olur\n\n# more\nno: hayır\n")
    assert file.items("yes") == ["evet", "tabii ki", "olur"]
    assert file.words("no") == {"hayır"}
    assert file.group("") == {"yes": ["evet", "tabii ki", "olur"], "no": ["hayır"]}
    assert file.text("yes") == "evet tabii_ki olur"


def test_patterns_may_stand_on_several_lines_and_insert_others(tmp_path: Path) -> None:
    file = written(tmp_path, "# patterns\nday: (?:mon\n    |tues)day\nnext: next ${day}\nboth:\n    a\n    ${day}\n")
    assert file.pattern("next").fullmatch("next tuesday")
    assert [one.pattern for one in file.patterns("both")] == ["a", "(?:mon|tues)day"]
    assert file.any_of("both").fullmatch("monday")


@pytest.mark.parametrize(("text", "told"), [("yes evet\n", "has no name: yes evet"), ("    evet\n", "before the first name")])
def test_a_line_that_belongs_to_no_entry_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        written(tmp_path, text)
