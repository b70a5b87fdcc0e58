"""How well a bot's knowledge answers questions whose answers are known: the figures of the tests and of scripts/bench/answers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.language.folding import fold
from tests.knowledge_files import parse_file

BUSINESSES = Path(__file__).parent / "businesses"
# What the vocabulary was made with, and what the confidence was weighed with besides; the others are only ever measured.
TUNED_ON = ("dental", "fashion", "restaurant", "vet")
WEIGHED_ON = ("accounting", "cycles", "hotel", "studio")
HELD_OUT = "held out"
FOREIGN = "foreign"
_ASKED_BACK = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A visitor's question. `expected` is the id of the entry that answers it, or None."""

    text: str
    expected: str | None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of judged questions, and shares of them. Tallies can be added."""

    asked: int = 0  # questions that the knowledge has an answer to
    first: int = 0  # of these: the right entry is the first hit
    three: int = 0  # ... among the first three
    five: int = 0
    answered: int = 0
    right: int = 0  # answered, and with the right entry
    offered: int = 0  # not rightly answered, but asked back with the right entry among the first three
    foreign: int = 0  # questions that it has no answer to
    misled: int = 0  # of these: answered all the same
    abstained: int = 0  # of these: not even asked back

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(count + more for count, more in zip(astuple(self), astuple(other), strict=True)))

    @property
    def accuracy(self) -> float:
        return _share(self.first, self.asked)

    @property
    def recall3(self) -> float:
        return _share(self.three, self.asked)

    @property
    def recall5(self) -> float:
        return _share(self.five, self.asked)

    @property
    def precision(self) -> float:
        """Share of the answers that are right, foreign questions left aside."""
        return _share(self.right, self.answered)

    @property
    def precision_in_all(self) -> float:
        return _share(self.right, self.answered + self.misled)

    @property
    def answered_rightly(self) -> float:
        return _share(self.right, self.asked)

    @property
    def refused(self) -> float:
        return 1.0 - _share(self.misled, self.foreign, 0.0)

    @property
    def silent(self) -> float:
        return _share(self.abstained, self.foreign)

    @property
    def ask_coverage(self) -> float:
        return _share(self.offered, self.asked - self.right)


def _share(part: int, whole: int, of_nothing: float = 1.0) -> float:
    return part / whole if whole else of_nothing


def judge(index: KnowledgeIndex, questions: Iterable[Question], language: str | None = None) -> Tally:
    total = Tally()
    for question in questions:
        finding = index.search(question.text, language)
        ids = [hit.entry.id for hit in finding.hits]
        answers, asks = finding.decision == "answer", finding.decision == "ask"
        if question.expected is None:
            total += Tally(foreign=1, misled=answers, abstained=finding.decision == "abstain")
            continue
        rank = ids.index(question.expected) if question.expected in ids else len(ids) + 5
        total += Tally(
            asked=1,
            first=rank == 0,
            three=rank < _ASKED_BACK,
            five=rank < 5,
            answered=answers,
            right=answers and rank == 0,
            offered=asks and rank < _ASKED_BACK,
        )
    return total


def businesses() -> list[tuple[str, str]]:
    """Return our own sets in order: (name, language)."""
    return sorted((name, language) for name, language in (path.stem.split(".") for path in BUSINESSES.glob("*.tsv")))


def part(name: str) -> str:
    """Return the use of a set: "tuned on", "weighed on", or "held out" if it serves only to measure."""
    return "tuned on" if name in TUNED_ON else "weighed on" if name in WEIGHED_ON else HELD_OUT


def business(name: str, language: str) -> tuple[list[Entry], list[Question]]:
    """Return the knowledge of a business and what its visitors ask: one of our own sets."""
    path = BUSINESSES / f"{name}.{language}.md"
    entries = _entries_of(path, language)
    known = {fold(entry.question): entry.id for entry in entries}
    questions = []
    for line in path.with_suffix(".tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, text, expected = line.split("\t")
            questions.append(Question(text, None if kind == FOREIGN else known[fold(expected)], kind))
    return entries, questions


def _entries_of(path: Path, language: str) -> list[Entry]:
    parsed = enumerate(parse_file(path.name, path.read_text(encoding="utf-8"), language))
    return [Entry(str(number), entry.question, entry.alt, entry.answer, entry.language, entry.source) for number, entry in parsed]


def clinc(path: Path, phrasings: int, seed: int) -> tuple[list[Entry], list[Question]]:
    """Return CLINC150 as a bot, and the questions of its test sets. Each intent has this number of phrasings, drawn by the seed."""
    data = json.loads(path.read_text(encoding="utf-8"))
    chance = random.Random(seed)
    texts = {name: [text for text, intent in data["train"] if intent == name] for name in sorted({intent for _, intent in data["train"]})}
    drawn = {name: chance.sample(of_intent, phrasings) for name, of_intent in texts.items()}
    entries = [Entry(name, first, tuple(rest), "-", "en") for name, (first, *rest) in drawn.items()]
    asked = [*data["test"], *data["oos_test"]]
    return entries, [Question(text, intent if intent in texts else None) for text, intent in asked]


def index_of(entries: Sequence[Entry]) -> KnowledgeIndex:
    """Return the index of a bot's knowledge. Its default language is that of its first entry."""
    return KnowledgeIndex(entries, entries[0].language)


REPLIES = Path(__file__).parent / "replies"
# What the answers were made with; the others are only measured.
SEEN_REPLIES = (
    *("bakery.en", "climbing.en", "dentist.tr", "guesthouse.en", "gym.en", "haliyikama.tr"),
    *("kennel.en", "movers.en", "music.tr", "otoyikama.tr", "pansiyon.tr", "psikolog.tr", "weddingvenue.en"),
)


@dataclass(frozen=True, slots=True)
class ReplyQuestion:
    """A visitor's question after something was spoken of, and what the reply must hold; None for what is not known."""

    text: str
    subject: str | None
    wanted: str | None

    def expects(self, text: str) -> bool:
        """Return whether a text holds one of the wanted texts of each group."""
        return self.wanted is not None and all(any(option in text for option in group.split("|")) for group in self.wanted.split("&"))


def replies() -> list[str]:
    """Return the businesses with questions whose reply must hold something: their names, in order."""
    return sorted(path.stem for path in REPLIES.glob("*.tsv"))


def replies_of(name: str) -> tuple[list[Entry], list[ReplyQuestion]]:
    """Return the knowledge of one of these, and its questions."""
    (path,) = (path for path in REPLIES.glob(f"{name}.*") if path.suffix != ".tsv")
    entries = _entries_of(path, name.rpartition(".")[2])
    questions = []
    for line in (REPLIES / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _, subject, text, wanted, *_ = line.split("\t")
            questions.append(ReplyQuestion(text, subject.split(" ;; ")[0] or None, None if wanted == "-" else wanted))
    return entries, questions
