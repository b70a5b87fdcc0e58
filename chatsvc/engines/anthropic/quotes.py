"""Check of a visitor's quotes against their messages. Spaces, case and punctuation are ignored; false quotes are dropped."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.domain.folding import fold

MOST_CHARS = 4_000  # characters of all quotes that are looked up
_FEWEST_WORDS = 3  # of a part that is cut out of a quote where no punctuation is
_SHARE = 0.6  # of its words that a quote must have from the visitor
_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"\n|(?<=[.!?;])\s+|\.{2,}|…|\s[/|–—+-]\s|[“”\"«»]")


class _SpokenMessage(NamedTuple):
    """A message, its folded words with a blank around each, and the span of each word in `text`."""

    text: str
    words: str
    spans: list[tuple[int, int]]


class _QuotedPart(NamedTuple):
    """A part of a message, from the word `first` to the word before `last`."""

    message: int
    first: int
    last: int


class Quotes(NamedTuple):
    """The visitor's own words in the order of the conversation (`verbatim`), and the quotes that were not found (`dropped`)."""

    verbatim: tuple[str, ...]
    dropped: tuple[str, ...]


def check(quotes: Iterable[str], spoken: Sequence[str]) -> Quotes:
    """Return the visitor's words that the quotes repeat, and the quotes that were not found. A quote may join parts of several messages."""
    messages = [_message(text) for text in spoken]
    parts, dropped, left = set[_QuotedPart](), list[str](), MOST_CHARS
    for quote in quotes:
        text, left = quote[:left], left - len(quote[:left])
        words = _folded_words(text)
        whole = _find(words, messages) if words else None
        matched = [whole] if whole else _pieces(text, messages)
        if matched:
            parts.update(matched)
        elif text.strip():
            dropped.append(text.strip())
    return Quotes(tuple(dict.fromkeys(_text(messages[part.message], part) for part in _merged(parts))), tuple(dropped))


def without(spoken: Sequence[str], noted: Iterable[str]) -> tuple[str, ...]:
    """Return the messages of two or more words that are in no record yet, or else the last message."""
    before = " ".join(_message(text).words for text in noted)
    messages = [(text.strip(), _message(text)) for text in spoken]
    return tuple(text for text, message in messages if len(message.spans) > 1 and message.words not in before) or tuple(spoken[-1:])


def _message(text: str) -> _SpokenMessage:
    spans = [match.span() for match in _WORD.finditer(text)]
    return _SpokenMessage(text, f" {' '.join(_folded_words(text))} ", spans)


def _folded_words(text: str) -> list[str]:
    return [fold(word).replace(" ", "") for word in _WORD.findall(text)]  # a few characters fold to more than one word


def _find(words: Sequence[str], messages: Sequence[_SpokenMessage]) -> _QuotedPart | None:
    """Return the last place in the messages that has these words in this order, or None."""
    wanted = f" {' '.join(words)} "
    for number in range(len(messages) - 1, -1, -1):
        offset = messages[number].words.rfind(wanted)
        if offset >= 0:
            first = messages[number].words.count(" ", 0, offset)
            return _QuotedPart(number, first, first + len(words))
    return None


def _pieces(quote: str, messages: Sequence[_SpokenMessage]) -> list[_QuotedPart]:
    """Return the parts of messages from which a quote was joined. Return no parts if too few words are the visitor's."""
    parts, of, matched = list[_QuotedPart](), 0, 0
    for piece in _PARTS.split(quote):
        words = _folded_words(piece)
        of += len(words)
        whole = _find(words, messages) if words else None
        for part in [whole] if whole else _runs(words, messages):
            parts.append(part)
            matched += part.last - part.first
    return parts if of and matched >= _SHARE * of else []


def _runs(words: Sequence[str], messages: Sequence[_SpokenMessage]) -> list[_QuotedPart]:
    """Return the longest runs of words that occur in a message, from left to right."""
    runs, index = list[_QuotedPart](), 0
    while index + _FEWEST_WORDS <= len(words):
        run, length = _find(words[index : index + _FEWEST_WORDS], messages), _FEWEST_WORDS
        while (
            run is not None and index + length < len(words) and (longer := _find(words[index : index + length + 1], messages)) is not None
        ):
            run, length = longer, length + 1
        if run is not None:
            runs.append(run)
        index += length if run is not None else 1
    return runs


def _merged(parts: Iterable[_QuotedPart]) -> list[_QuotedPart]:
    """Return the parts in the order of the conversation. Overlapping and neighbouring parts are merged."""
    merged = list[_QuotedPart]()
    for part in sorted(parts):
        before = merged[-1] if merged else None
        if before is not None and before.message == part.message and part.first <= before.last:
            merged[-1] = before._replace(last=max(before.last, part.last))
        else:
            merged.append(part)
    return merged


def _text(message: _SpokenMessage, part: _QuotedPart) -> str:
    """Return the words of a part as they were typed, with the punctuation behind them."""
    end = message.spans[part.last - 1][1]
    behind = re.match(r"[!?.)%€£$₺]{0,3}", message.text[end : end + 3])
    return " ".join(message.text[message.spans[part.first][0] : end + (behind.end() if behind else 0)].split())
