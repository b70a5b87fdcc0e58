"""Reading of knowledge files in the tests' own process."""

from chatsvc.domain.knowledge_files.parsed import Parsed, ParsedEntry
from chatsvc.file_reader import child


def read(name: str, text: str, language: str) -> Parsed:
    return child.parse(name, text.encode(), language)


def parse_file(name: str, text: str, language: str) -> list[ParsedEntry]:
    return read(name, text, language).entries
