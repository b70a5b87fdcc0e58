"""Faults of knowledge files: codes with facts, worded in `translations/file_faults.yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatsvc import translations
from chatsvc.domain import terminal

_PLACES = frozenset({"first", "place"})  # numbers that count a place: written without separators


@dataclass(frozen=True, slots=True)
class FileFault:
    """Fault for the author of a file; `line` counts from 1. `facts` are the values in its sentence."""

    line: int
    code: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Word the fault in "en" or "tr"."""
        facts = translations.named("file_words", self.facts, language)
        return translations.worded("file_faults", self.code, facts, language, places=_PLACES)


class KnowledgeFileError(ValueError):
    """A file with faults, in its order. `unit` is what their numbers count: line, page or paragraph."""

    def __init__(self, source: str, faults: Sequence[FileFault], unit: str = "line") -> None:
        super().__init__(source, faults)
        self.source = source
        self.faults = tuple(faults)
        self.unit = unit

    def __str__(self) -> str:
        """Word all faults in English, a line each."""
        return "\n".join(f"{terminal.one_line(self.source)}, {self.unit} {fault.line}: {fault.text}" for fault in self.faults)
