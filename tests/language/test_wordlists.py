"""The text files of word lists: their format, and that every one of them says what it holds."""

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
FILES = [*(ROOT / "language").glob("*.txt"), *(path for path in (ROOT / "languages").glob("*/*.txt") if path.name in OF_LANGUAGES)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_says_what_it_holds_and_no_entry_is_empty(path: Path) -> None:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# ")
    assert len(first.split()) > 3
    entries = WordFile(str(path)).entries
    assert entries
    assert all(value for _, value in entries)


def written(tmp_path: Path, text: str) -> WordFile:
    path = tmp_path / "words.txt"
    path.write_text(text, encoding="utf-8")
    return WordFile(str(path))


def test_items_are_parted_by_blanks_and_joined_by_underscores_over_several_lines(tmp_path: Path) -> None:
    file = written(tmp_path, "# words\nyes: evet tabii_ki\n    olur\n\n# more\nno: hayır\n")
    assert file.group("") == {"yes": ["evet", "tabii ki", "olur"], "no": ["hayır"]}
    assert file.words("no") == {"hayır"}
    assert file.text("yes") == "evet tabii_ki olur"


def test_patterns_may_insert_others(tmp_path: Path) -> None:
    file = written(tmp_path, "# patterns\nday: (?:mon\n    |tues)day\nnext: next ${day}\n")
    assert re.fullmatch(file.expanded("${next}"), "next tuesday")


@pytest.mark.parametrize(("text", "message"), [("yes evet\n", "has no name: yes evet"), ("    evet\n", "before the first name")])
def test_a_line_that_belongs_to_no_entry_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(tmp_path, text)
