"""Entries that the bot's last replies told: what the conversation speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from weakref import WeakKeyDictionary

from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge, Turn
from chatsvc.engines.knowledge.dialogue import ask_back, facts

_REPLIES = 4  # replies of the bot that are looked through for the entry spoken of
_MOST_STATED = 4  # entries of one reply
_MOST = 3_000  # entries; in more, the reply is searched for
_SEARCHED = 350  # characters of a reply that is searched for
_MOST_SENTENCES = 24  # of a reply
_MOST_CACHED = 64  # replies, for each knowledge
_stated: WeakKeyDictionary[Knowledge, dict[str, tuple[list[Entry], list[Entry]]]] = WeakKeyDictionary()


def last(turn: Turn) -> list[Entry]:
    """Return the only entry that the last reply offered. Otherwise the entries of the last reply that gave an answer."""
    back = ask_back.offered(turn)
    return back if len(back) == 1 else next(before(turn), [])


def before(turn: Turn) -> Iterator[list[Entry]]:
    """Yield the entries of the last replies that gave an answer, the newest first."""
    replies = [past.content for past in reversed(turn.history) if past.role == "assistant"][:_REPLIES]
    partly: list[Entry] = []
    for reply in replies:
        stated, part = _stated_in(turn, reply)
        if stated:
            yield [entry for entry in stated if entry in partly] or partly or stated
            partly = []
        else:
            partly = partly or part
    if partly:
        yield partly


def _stated_in(turn: Turn, reply: str) -> tuple[list[Entry], list[Entry]]:
    """Return the entries that a reply states whole, and partly. Cached, since a turn asks repeatedly."""
    known = _stated.setdefault(turn.knowledge, {})
    if reply not in known:
        if len(known) >= _MOST_CACHED:
            known.clear()
        known[reply] = _read_in(turn, reply)
    return known[reply]


def _read_in(turn: Turn, reply: str) -> tuple[list[Entry], list[Entry]]:
    entries = turn.knowledge.entries
    if len(entries) > _MOST:
        entries = [hit.entry for hit in turn.knowledge.search(reply[:_SEARCHED]).hits]
    said = facts.sentences(reply)[:_MOST_SENTENCES]
    # one plain scan for each sentence: nesting the loops the other way takes three times as long
    likely = list({entry.id: entry for sentence in said for entry in entries if sentence in entry.answer}.values())
    own = {entry.id: facts.sentences(entry.answer) for entry in likely}
    whole = (entry for entry in likely if all(sentence in reply for sentence in own[entry.id]))
    partly = (entry for entry in likely if any(sentence in own[entry.id] for sentence in said))
    return list(islice(whole, _MOST_STATED)), list(islice(partly, _MOST_STATED))
