"""Clauses of a message: sentences, and the parts of a sentence that stand for themselves."""

from __future__ import annotations

import re
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from chatsvc.domain.folding import fold
from chatsvc.language import acts, linear
from chatsvc.language.sentences import FOLDER

MOST = 8  # clauses of a message; the last takes what remains
_MOST_CUTS = 12  # of a sentence that are looked at
_LONGEST = 600  # letters of a sentence that is looked into
_SURE = 0.5  # probability from which a part stands for itself
_SURER = 0.8  # the same for an act that may as well belong to its neighbour
_LEANING = ("give", "state", "nonsense", "skip", "correct")
_TOPIC = 3  # words from which a part is more than a noun or a value
_VAGUE = ("what", "whether", "price")  # kinds of a bare topic
_BLANK = " \t\r\n"
_AROUND = _BLANK + ",;-–—"  # signs around a clause that are no part of it
# A full stop in a number, a date or after a word of two letters ("dr.", "no.") ends nothing.
_END = re.compile(r"[!?…]+[\s!?….)\"']*|(?<=[^\W\d_]{3})\.+(?=\s|$)|(?<=[\w)])\.{2,}|\n+")


class Clause(NamedTuple):
    """A clause with its place in the message as typed."""

    text: str
    start: int
    end: int


def split(text: str, language: str = "") -> tuple[Clause, ...]:
    """Return the clauses of a message, at most 8. Without a language only sentences are cut."""
    made: list[Clause] = []
    start = 0
    for found in _END.finditer(text):
        if len(made) >= MOST - 1:
            break
        _add(made, text, start, found.end(), language)
        start = found.end()
    _add(made, text, start, len(text), language)
    if len(made) > MOST:
        made[MOST - 1 :] = [_clause(text, made[MOST - 1].start, made[-1].end)]
    return tuple(made) or ((_clause(text, 0, len(text), _BLANK),) if text.strip() else ())


def _add(made: list[Clause], text: str, start: int, end: int, language: str) -> None:
    """Add the clauses of one sentence."""
    whole = _clause(text, start, end)
    if not any(letter.isalnum() for letter in whole.text) and made:
        made[-1] = _clause(text, made[-1].start, end)  # an emoji, or the rest of the signs
    elif whole.text:
        made += _parts(text, whole, language) if language and len(whole.text) <= _LONGEST else [whole]


def _parts(text: str, whole: Clause, language: str) -> list[Clause]:
    """Return a sentence cut where the parts on both sides stand for themselves."""
    made: list[Clause] = []
    start = whole.start
    cuts = list(_joints(language).finditer(text, whole.start, whole.end))[:_MOST_CUTS]
    for cut, next_ in zip_longest(cuts, cuts[1:]):
        left, right = _clause(text, start, cut.start()), _clause(text, cut.end(), next_.start() if next_ else whole.end)
        act, weight = _weighed(left.text, language)
        next_act, next_weight = _weighed(right.text, language) if weight else ("", 0)
        if weight * next_weight > 1 and (act != next_act or act == "ask"):  # two parts of one wish or one complaint stay together
            made.append(left)
            start = cut.end()
    return [*made, _clause(text, start, whole.end)]


def _weighed(text: str, language: str) -> tuple[str, int]:
    """Return the act and weight of a part. 2: it stands for itself; 1: beside such a part; 0: neither."""
    read = acts.classify(text, language)
    act = linear.best(read.acts)
    bare = act == "ask" and "?" not in text and linear.best(read.kinds) in _VAGUE
    if (bare or act in _LEANING) and len(text.split()) < _TOPIC:
        return act, 0  # a noun or a value, which belongs to a list
    return act, int(read.acts[act] >= _SURER) if act in _LEANING else 2 * (read.acts[act] >= _SURE)


@cache
def _joints(language: str) -> re.Pattern[str]:
    """Compile the signs and joining words at which a sentence may be cut."""
    file = FOLDER / language / "joiners.txt"
    words = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line[:1] not in {"", "#"}] if file.is_file() else []
    signs = r"[,;.]\s+|\s+[-–—]+\s+"
    said = "|".join(re.escape(word).replace("\\ ", r"\s+") for word in sorted({*words, *map(fold, words)}, key=len, reverse=True))
    return re.compile((rf"(?:{signs})(?:(?:{said})\s+)?|\s+(?:{said})\s+" if said else signs), re.IGNORECASE)


def _clause(text: str, start: int, end: int, left_out: str = _AROUND) -> Clause:
    part = text[start:end].rstrip(left_out)
    kept = part.lstrip(left_out)
    start += len(part) - len(kept)
    return Clause(kept, start, start + len(kept))
