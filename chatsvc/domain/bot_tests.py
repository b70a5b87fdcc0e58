"""Tests of a bot: a question and what its reply must be, the comparison with a reply, and sentences on failures."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc import translations
from chatsvc.domain.folding import fold

DECISIONS = ("answer", "ask", "abstain")
MOST_TESTS = 500
EXPECTATIONS = ("entry", "contains", "lacks", "decision")


class BotTest(NamedTuple):
    """A question with what is expected of its reply.

    `language` overrides the detected one. `entry` is the question or the id of the entry that must answer; `contains` and `lacks` are texts
    that the reply must or must not have; `decision` is the expected decision of the search.
    """

    ask: str
    language: str | None = None
    entry: str | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    decision: str | None = None

    @property
    def id(self) -> str:
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:16]

    def values(self) -> dict[str, object]:
        """Return the values that a bot's file has for this test. A list with only one text is replaced by the text."""
        lists = {name: list(texts) if len(texts) > 1 else texts[0] for name in ("contains", "lacks") if (texts := getattr(self, name))}
        given = {**self._asdict(), "contains": None, "lacks": None, **lists}
        return {name: value for name, value in given.items() if value is not None}


class BotTestOutcome(NamedTuple):
    """Outcome of one test. `why` has the code and the facts of each expectation that was not met."""

    ask: str
    passed: bool
    decision: str | None
    confidence: float | None
    entry: str | None
    reply: str
    why: Sequence[tuple[str, Mapping[str, Any]]]


class BotTestRun(NamedTuple):
    """A run of a bot's tests: its time, who started it, and numbers of tests and failures. `questions` are those of failed tests."""

    run_at: int
    by: str
    tests: int
    failed: int
    questions: Sequence[str]


def judge(
    test: BotTest, text: str, decision: str | None = None, confidence: float | None = None, entry: str | None = None, entry_id: str = ""
) -> BotTestOutcome:
    """Compare a reply with what its test expects. Case, accents and white space do not count in texts.

    `entry` and `entry_id` name the entry that the reply came from.
    """
    why: list[tuple[str, dict[str, Any]]] = []
    if test.decision and test.decision != decision:
        why.append(("other_decision", {"found": decision or "-", "expected": test.decision}))
    if test.entry is None:
        pass
    elif entry is None:
        why.append(("no_entry", {"expected": test.entry}))
    elif entry_id != test.entry and _folded(entry) != _folded(test.entry):
        why.append(("other_entry", {"found": entry, "expected": test.entry}))
    elif decision == "ask" and test.decision is None:
        why.append(("not_answered", {"expected": test.entry}))
    folded = _folded(text)
    if not folded and test.contains:
        why.append(("no_reply", {}))
    else:
        why += [("text_missing", {"text": wanted}) for wanted in test.contains if _folded(wanted) not in folded]
        why += [("text_present", {"text": unwanted}) for unwanted in test.lacks if _folded(unwanted) in folded]
    return BotTestOutcome(test.ask, not why, decision, confidence, entry, text, why)


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


def reasons(outcome: BotTestOutcome, language: str = "en") -> str:
    """Return why a test failed as a sentence in "en" or "tr", or "" if it passed."""
    return "; ".join(translations.worded("test_reasons", code, facts, language) for code, facts in outcome.why)
