"""Loader of the text files that hold word lists, patterns and sentences.

All of them have one format, in UTF-8:

    # A comment. The first line of a file says what the file holds.
    name: item item several_words_in_one_item
        items continued on an indented line

Each language has such files in its folder of `languages/`; `LanguageWords` reads the files of one name of all languages.
"""

import re
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
FOLDER = _PACKAGE / "languages"
_PIECE = re.compile(r"\$\{([a-z_]{1,40})\}")
# `*`, `+` or `{2,}` of a single character or a class. `(?s:.*)` before the end of a text is left: it is tried once.
_OPEN = re.compile(r"(\\[wdsS]|(?<!\\)(?<!\?s:)[.\]])(?:\*|\+|\{(\d),\})(?![+?])")
_LONGEST_REPEAT = 40  # characters of a word, or between two words, that a pattern of a file passes over


class WordFile:
    """One file of word lists, which maps names to values. The constructor reads the whole file."""

    def __init__(self, path: str) -> None:
        """Read the file at `path`, relative to the package. Raises ValueError for a line that belongs to no entry."""
        self.entries: list[tuple[str, str]] = []  # (name, value); the lines of a value are stripped and joined by newlines
        for line in (_PACKAGE / path).read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if not text or line[0] == "#":
                continue
            if not line[0].isspace():
                name, colon, first = line.partition(":")
                if not colon:
                    raise ValueError(f"{path}: this line has no name: {line}")
                self.entries.append((name, first.strip()))
            elif self.entries:
                name, value = self.entries[-1]
                self.entries[-1] = name, f"{value}\n{text}" if value else text
            else:
                raise ValueError(f"{path}: a continuation before the first name: {line}")

    def text(self, name: str) -> str:
        return dict(self.entries)[name].replace("\n", " ")

    def items(self, name: str) -> list[str]:
        """Return the items of a name in their order, or none if the name is missing. `_` in an item stands for a blank."""
        return [item.replace("_", " ") for entry, value in self.entries if entry == name for item in value.split()]

    def words(self, name: str) -> frozenset[str]:
        return frozenset(self.items(name))

    def group(self, prefix: str) -> dict[str, list[str]]:
        """Return the items of each name that begins with `prefix`, in a dictionary by the rest of the name."""
        items: dict[str, list[str]] = {}
        for name, value in self.entries:
            if name.startswith(prefix):
                items.setdefault(name.removeprefix(prefix), []).extend(item.replace("_", " ") for item in value.split())
        return items

    def expanded(self, pattern: str) -> str:
        """Return a pattern in which `${name}` is replaced by the value of that name."""
        return _PIECE.sub(lambda match: self.expanded(dict(self.entries)[match[1]]), pattern.replace("\n", ""))


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression. Open repeats are bounded, so that its time grows only linearly with the length of a text."""
    least = {"+": "1", "*": "0"}
    return re.compile(_OPEN.sub(lambda repeat: f"{repeat[1]}{{{repeat[2] or least[repeat[0][-1]]},{_LONGEST_REPEAT}}}", pattern))


class LanguageWords(WordFile):
    """The files of all languages that have the same name, read like one file. Languages may lack the file, or names in it."""

    def __init__(self, name: str) -> None:
        self.files = {path.parent.name: WordFile(str(path)) for path in sorted(FOLDER.glob(f"*/{name}"))}
        self.entries = [entry for file in self.files.values() for entry in file.entries]

    def any_of(self, name: str, around: str = "{}") -> re.Pattern[str]:
        """Compile the patterns of a name in all languages into one pattern. In `around`, `{}` stands for these patterns."""
        patterns = [file.expanded(value) for file in self.files.values() for entry, value in file.entries if entry == name]
        return compiled(around.replace("{}", "|".join(f"(?:{pattern})" for pattern in patterns)))
