"""Reader of training sentences. Each names the act of a visitor's clause and, for a question, its kind.

A file holds headers and under each its sentences, one a line; `#` begins a comment:

    == ask price @name
    ne kadar tutuyor

`@` names what the bot had asked for; without it the clause stands by itself.
"""

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "languages"
ACTS = (
    *("ask", "book", "change", "cancel", "status", "give", "correct", "affirm", "deny", "skip", "refuse", "why"),
    *("stop", "complain", "person", "message", "greet", "thank", "part", "insult", "praise", "nonsense", "state", "identity", "keep"),
)
KINDS = ("price", "duration", "when", "where", "who", "how_many", "which", "may", "whether", "how", "what", "why", "open", "tongue", "free")
PURPOSES = ("meeting", "stay", "order", "course", "quote", "visit")
ASKED = ("name", "phone", "email", "date", "time", "nights", "number", "choice", "text", "confirm", "options")
_HEADER = re.compile(r"== ([a-z]{1,20})(?: ([a-z_]{1,20}))?(?: @([a-z]{1,20}))?")


class TrainingSentence(NamedTuple):
    """One training sentence. `kind` is the kind of a question or the purpose of a wish, where it is labelled.

    `asked` is "" where the bot had asked for nothing.
    """

    act: str
    kind: str
    asked: str
    text: str


def read(language: str, folder: Path = FOLDER) -> list[TrainingSentence]:
    """Read all sentences of a language. Raises ValueError with file and line for a header that is none."""
    made: list[TrainingSentence] = []
    for file in sorted((folder / language / "sentences").glob("*.txt")):
        head: tuple[str, str, str] | None = None
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            text = line.strip()
            if text.startswith("=="):
                head = _head(text, f"{file.name}:{number}")
            elif text and not text.startswith("#"):
                if head is None:
                    raise ValueError(f"{file.name}:{number}: a sentence before the first header")
                made.append(TrainingSentence(*head, text))
    return made


def _head(text: str, place: str) -> tuple[str, str, str]:
    found = _HEADER.fullmatch(text)
    act, kind, asked = (found[1], found[2] or "", found[3] or "") if found else ("", "", "")
    known = (*KINDS, "") if act == "ask" else (*PURPOSES, "") if act == "book" else ("",)
    if act not in ACTS or kind not in known or (asked and asked not in ASKED):
        raise ValueError(f"{place}: not a header of an act, a kind of question and what was asked: {text}")
    return act, kind, asked
