"""Weak spots that a check of a bot's knowledge finds. Kinds with facts, worded in `translations/weak_spots.yaml`."""

from collections.abc import Mapping
from typing import NamedTuple

from chatsvc import translations

# Worst first.
KINDS = (
    *("phone_missing", "address_missing", "opening_hours_missing"),
    *("answers_another", "duplicate_phrasing", "near_duplicate", "overlap", "foreign_language", "easily_missed", "long_answer"),
)


class LintFinding(NamedTuple):
    """One weak spot: of `entry`, or between it and `other` (both ids). A missing setting has the entry that tells it, if one does."""

    kind: str
    entry: str | None
    other: str | None
    facts: Mapping[str, object]

    @property
    def text(self) -> str:
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Word the finding in "en" or "tr"."""
        kind = f"{self.kind}_offered" if self.kind.endswith("_missing") and self.facts else self.kind
        return translations.worded("weak_spots", kind, self.facts, language)
