"""A question to the knowledge."""

from typing import NamedTuple


class Question(NamedTuple):
    """A question. `kind` is one of `sentences.KINDS` or "".

    `subjects` are the things talked about before, newest first: the words of each, and the id of its entry where that is known. `chosen`
    means that the caller chose the language. `before` is the visitor's message before this one, `refused` the id of an entry that is not
    meant.
    """

    text: str
    kind: str = ""
    language: str = ""
    subjects: tuple[tuple[str, str], ...] = ()
    chosen: bool = False
    before: str = ""
    refused: str = ""
