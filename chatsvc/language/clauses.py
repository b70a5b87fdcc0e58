"""Clauses of a message: sentences, and the parts of a sentence that stand for themselves."""

import re
from functools import cache
from typing import NamedTuple

from chatsvc.domain.folding import fold
from chatsvc.language import acts, linear
from chatsvc.language.sentences import FOLDER

MOST = 8  # clauses of a message; the last takes what remains
_MOST_CUTS = 12  # of a sentence that are looked at
_LONGEST = 600  # letters of a sentence that is looked into
_SURE = 0.6  # probability from which a part stands for itself
_SURER = 0.8  # the same for an act that may as well belong to its neighbour
_LEANING = ("give", "state", "nonsense", "skip", "correct")
_TOPIC = 3  # words from which a part is more than a noun or a value
_VAGUE = ("what", "whether", "price")  # kinds of a bare topic
_BLANK = " \t\r\n"
_AROUND = _BLANK + ",;-–—"  # signs around a clause that are no part of it
# A full stop in a number, a date or after a word of two letters ("dr.", "no.") ends nothing.
_END = re.compile(r"[!?…]+[\s!?….)\"']*|(?<=[^\W\d_]{3})\.+(?=\s|$)|(?<=[\w)])\.{2,}")


class Clause(NamedTuple):
    """A clause with its place in the message as typed."""

    text: str
    start: int
    end: int


def split(text: str, language: str = "", asked: str = "") -> tuple[Clause, ...]:
    """Return the clauses of a message, at most 8. Without a language only sentences are cut. `asked` as in `acts.classify`."""
    made: list[Clause] = []
    start = 0
    for found in _END.finditer(text):
        if len(made) >= MOST - 1:
            break
        _add(made, text, start, found.end(), language, asked)
        start = found.end()
    _add(made, text, start, len(text), language, asked)
    if len(made) > MOST:
        made[MOST - 1 :] = [_clause(text, made[MOST - 1].start, made[-1].end)]
    return tuple(made) or ((_clause(text, 0, len(text), _BLANK),) if text.strip() else ())


def _add(made: list[Clause], text: str, start: int, end: int, language: str, asked: str) -> None:
    """Add the clauses of one sentence."""
    whole = _clause(text, start, end)
    if not any(letter.isalnum() for letter in whole.text) and made:
        made[-1] = _clause(text, made[-1].start, end)  # an emoji, or the rest of the signs
    elif whole.text:
        made += _parts(text, whole, language, asked) if language and len(whole.text) <= _LONGEST else [whole]


def _parts(text: str, whole: Clause, language: str, asked: str) -> list[Clause]:
    """Return a sentence cut where the parts on both sides stand for themselves."""
    made: list[Clause] = []
    start = whole.start
    joints = [*_joints(language).finditer(text, whole.start, whole.end)][:_MOST_CUTS]
    cuts = [(found.end("ends") if found["ends"] else found.start(), found.end()) for found in joints]
    for (cut, after), next_ in zip(cuts, [*(cut for cut, _ in cuts[1:]), whole.end], strict=False):
        left, right = _clause(text, start, cut), _clause(text, after, next_)
        act, weight = _weighed(left.text, language, asked)
        next_act, next_weight = _weighed(right.text, language, asked) if weight else ("", 0)
        if weight * next_weight > 1 and (act != next_act or act == "ask"):  # two parts of one wish or one complaint stay together
            made.append(left)
            start = after
    return [*made, _clause(text, start, whole.end)]


def _weighed(text: str, language: str, asked: str) -> tuple[str, int]:
    """Return the act and weight of a part. 2: it stands for itself; 1: beside such a part; 0: neither."""
    read = acts.classify(text, language, asked)
    act = linear.best(read.acts)
    if asked and act == "give" and read.acts[act] >= _SURER:
        return act, 1  # the answer, however short
    bare = act == "ask" and "?" not in text and linear.best(read.kinds) in _VAGUE
    if (bare or act in _LEANING) and len(text.split()) < _TOPIC:
        return act, 0  # a noun or a value, which belongs to a list
    return act, int(read.acts[act] >= _SURER) if act in _LEANING else 2 * (read.acts[act] >= _SURE)


@cache
def _joints(language: str) -> re.Pattern[str]:
    """Compile the signs and words at which a sentence may be cut. Behind some a question ends ("? mi")."""
    file = FOLDER / language / "joiners.txt"
    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line[:1] not in {"", "#"}] if file.is_file() else []
    said = _any([line for line in lines if line[0] != "?"])
    ends = _any([line[1:].strip() for line in lines if line[0] == "?"])
    signs = r"[,;.]\s+|\s*\n\s*|\s+[-–—]+\s+"
    return re.compile(rf"(?:{signs})(?:(?:{said})\s+)?|\s+(?:{said})\s+|\s+(?P<ends>{ends})\s+(?:(?:{said})\s+)?", re.IGNORECASE)


def _any(words: list[str]) -> str:
    """Return a pattern of any of some words, typed with or without their diacritics. Without words nothing matches."""
    said = sorted({*words, *map(fold, words)}, key=len, reverse=True)
    return "|".join(re.escape(word).replace("\\ ", r"\s+") for word in said) or "(?!)"


def _clause(text: str, start: int, end: int, left_out: str = _AROUND) -> Clause:
    part = text[start:end].rstrip(left_out)
    kept = part.lstrip(left_out)
    start += len(part) - len(kept)
    return Clause(kept, start, start + len(kept))
