"""Replies to questions about two small businesses, told right by what they must hold.

The questions stand in tests/answers/replies, with the kind of each and the subject spoken of before. right: share of the answerable
questions whose reply holds what it must and is told outright or hedged; refused: share of the others that get no answer.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.engines.knowledge.search.answering import Answer, FactIndex
from tests.answers import judging


def main() -> None:
    """Print the figures of each business, and with -v each reply that is not right."""
    for name in judging.replies():
        entries, questions = judging.reply_questions(name)
        index = FactIndex(judging.index_of(entries))
        right = told = refused = foreign = outright = 0
        for question, wanted in questions:
            answer = index.answer(question)
            held = judging.holds(answer, wanted)
            foreign += wanted is None
            refused += wanted is None and held
            told += wanted is not None
            right += wanted is not None and held
            outright += wanted is not None and held and answer.decision == "answer"
            if "-v" in sys.argv and not held:
                _show(question.text, answer, wanted)
        print(f"{name}: {told} asked, right {right / told:.3f} (outright {outright / told:.3f}), {foreign} foreign, refused {refused}")


def _show(text: str, answer: Answer, wanted: str | None) -> None:
    print(f"  {text} -> [{answer.decision} {answer.confidence:.2f}] {answer.text!r} <{answer.question}> wanted {wanted}")


if __name__ == "__main__":
    main()
