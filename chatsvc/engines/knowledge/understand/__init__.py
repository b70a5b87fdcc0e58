"""Understanding of a message: its clauses with their acts and question kinds, the values in it, and its language.

Made once for each message. The policy reads this and the state; it does not look at the words again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import NamedTuple

from chatsvc.domain.language import primary
from chatsvc.engines import Turn, language
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language import acts, catalogue, clauses, values
from chatsvc.language.folding import words
from chatsvc.language.name_words import GIVEN_NAMES
from chatsvc.language.values import Mention, Values

_NO_NUMBER = frozenset({"confirm", "name", "phone", "email"})  # questions that a small number does not answer
_VALUES, _NAME_WORDS = frozenset({"date", "time", "nights", "number"}), 3  # questions that a full name is no answer to
LIKELY, SURE = 0.4, 0.6
"""Least probability of an act that the policy follows, and of one that has consequences."""


@dataclass(frozen=True, slots=True)
class ReadClause:
    """A clause with its place in the message, its most probable act and question kind, and the probabilities of all."""

    text: str
    start: int
    end: int
    act: str
    kind: str
    acts: Mapping[str, float]
    kinds: Mapping[str, float]
    matter: int  # words that say what it is about: no stop words, and none that its act is made of
    purpose: str = ""  # of a wish, one of `sentences.PURPOSES`
    of_wish: bool = False  # a question of words that wishes are made of: "how do I book?"

    def may_be(self, *names: str) -> float:
        """Return the probability that the clause is one of these acts."""
        return sum(self.acts.get(name, 0.0) for name in names)

    def is_one_of(self, *names: str) -> bool:
        """Return whether the clause is most probably one of these acts."""
        return (self.act in names and self.acts[self.act] >= LIKELY) or self.may_be(*names) > 0.5

    @property
    def asks(self) -> bool:
        """True if the clause is a question about something."""
        return self.act == "ask"


class AskedFor(NamedTuple):
    """Question of the bot before the message: the key of a form's field, and the answer that is expected.

    `act` is the expectation as acts are read, `value` as values are read.
    """

    key: str = ""
    act: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Understanding:
    """Meaning of a message. `language` is the visitor's, `asked` the key of the field that the bot had asked for, "" for none."""

    text: str
    language: str
    asked: str
    clauses: tuple[ReadClause, ...]
    values: Values

    def may_be(self, *names: str) -> float:
        """Return the greatest probability over the clauses that one is one of these acts."""
        return max((clause.may_be(*names) for clause in self.clauses), default=0.0)

    def says(self, *names: str) -> bool:
        """Return whether a clause is most probably one of these acts."""
        return any(clause.is_one_of(*names) for clause in self.clauses)

    def surely_says(self, *names: str) -> bool:
        """Return whether a clause is one of these acts without much doubt."""
        return self.may_be(*names) >= SURE

    def says_only(self, *names: str) -> bool:
        """Return whether every clause is one of these acts."""
        return bool(self.clauses) and all(clause.is_one_of(*names) for clause in self.clauses)

    @property
    def questions(self) -> tuple[ReadClause, ...]:
        """The clauses that ask about something."""
        return tuple(clause for clause in self.clauses if clause.asks)

    @property
    def content(self) -> int:
        """The number of words beside the values that are no stop words."""
        return content_of(self.values.rest)

    def holds_value(self, clause: ReadClause) -> bool:
        """Return whether a day, a time or another value stands in a clause."""
        found = (self.values.date, self.values.time, self.values.nights, self.values.people, self.values.phone, self.values.email)
        return any(one is not None and clause.start <= one.start < clause.end for one in found)

    @property
    def counts_thing(self) -> bool:
        """True if the message's number stands before the thing that it counts: "4 rugs"."""
        return self.values.number is not None and _counts(self.text, self.values.number, self.values.language)


def content_of(text: str) -> int:
    """Count the words of a text that are no stop words."""
    return len(_content(text))


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOPWORDS and not word.isdigit()]


class ToldDays(NamedTuple):
    """Days told before a message: the first one of the request, that of the appointment that is changed, and a month."""

    first: date | None = None
    moved: date | None = None
    month: date | None = None  # its first day


_NOTHING_TOLD = ToldDays()


def understand(turn: Turn, asked: AskedFor, now: datetime, before: str, told: ToldDays = _NOTHING_TOLD) -> Understanding:
    """Read a message.

    `asked` is what the bot had asked for, `now` local wall time, `before` the language of the dialogue so far, `told` the days told before.
    """
    spoken = language.detected(turn) or before or primary(turn.language or turn.bot.language)
    speaks = spoken if spoken in catalogue.languages() else before or turn.bot.language
    found = values.read(turn.message, now=now, language=speaks, country=turn.bot.country, asked=asked.value, since=told.first)
    read = read_clauses(turn.message, speaks, asked.act, found)
    changing = asked.value in _NO_NUMBER or (turn.captured and not asked.value)
    if changing and found.number and not found.time and _changes(read) and not _counts(turn.message, found.number, speaks):
        found = values.read(turn.message, now=now, language=speaks, country=turn.bot.country, asked="time")  # "make it 10"
    if asked.value in (*_VALUES, "") and found.name is None and _begins_with_name(turn.message):
        named = values.read(turn.message, now=now, language=speaks, country=turn.bot.country, asked="name")
        if asked.value:
            found = replace(found, name=named.name)
        elif named.name is not None and named.name.value == turn.message.strip(" .!,"):
            found = named
    changes = told.moved and found.later and (asked.value == "date" or any(one.is_one_of("correct", "change") for one in read))
    if changes and told.moved:  # "two weeks later" is counted from the appointment's day
        found = values.from_day(turn.message, found, told.moved, country=turn.bot.country)
    if told.month and found.date and turn.message[found.date.start : found.date.end].count(str(found.date.value.day)):
        of_month = values.from_day(turn.message, found, told.month - timedelta(days=1), country=turn.bot.country)
        same = of_month.date and (of_month.date.value.day, of_month.date.value.month) == (found.date.value.day, told.month.month)
        found = of_month if same else found  # "the 8th"
    return Understanding(turn.message, spoken, asked.key, _nodded(turn.message) or read, found)


def _nodded(text: str) -> tuple[ReadClause, ...]:
    """Return the yes of a message that is a picture of one alone."""
    nods = any(one in _NODS for one in text) and not any(map(str.isalnum, text))
    return (ReadClause(text, 0, len(text), "affirm", "", {"affirm": 1.0}, {}, 0),) if nods else ()


def read_clauses(text: str, speaks: str, asked: str = "", found: Values | None = None) -> tuple[ReadClause, ...]:
    """Read the clauses of a text in a language. `asked` is one of `sentences.ASKED`, "" for nothing. `found` are the text's values."""
    return tuple(_read(clause, speaks, asked, found) for clause in clauses.split(text, speaks, asked))


def _counts(text: str, number: Mention[int], speaks: str) -> bool:
    """Return whether a number stands before the thing that it counts: "make it 10 inch", but not "make it 10 then"."""
    behind = words(text[number.end :])[:1]
    return any(word not in STOPWORDS and not any(acts.is_carrier(word, act, speaks) for act in _GIVING) for word in behind)


def _changes(read: Iterable[ReadClause]) -> bool:
    return any(clause.is_one_of("correct", "change", "give", "deny") for clause in read)


def _begins_with_name(text: str) -> bool:
    said = words(text)
    return 1 < len(said) <= _NAME_WORDS and said[0] in GIVEN_NAMES


_NODS = frozenset("👍👌✅🆗")


_GIVEN = frozenset({"name", "phone", "email", "date", "time"})  # what may have been asked for, and is given by its value alone
_GIVING = ("give", "correct")  # acts whose words carry a value
_TELLING = frozenset({"state", "complain"})  # acts without words of their own
_REFUSING = frozenset({"deny", "stop", "refuse"})  # acts that may name the wish that is none


def _read(clause: clauses.Clause, speaks: str, asked: str, given: Values | None) -> ReadClause:
    found = acts.classify(clause.text, speaks, asked)
    beside = (
        values.blanked(clause.text, [(start - clause.start, end - clause.start) for start, end in given.spans]) if given else clause.text
    )
    if asked in _GIVEN and given and not beside.strip(" .,!") and (asked != "name" or (given.name and " " in given.name.value)):
        found = found._replace(acts={"give": 1.0})  # nothing but what was asked for, whatever the model takes a surname for
    act = max(found.acts, key=lambda name: found.acts[name])
    kind = max(found.kinds, key=lambda name: found.kinds[name], default="") if act == "ask" else ""
    called = GIVEN_NAMES if act == "person" else frozenset()
    spent = (act, "book") if act in _REFUSING else (act,) if act not in _TELLING else ()
    matter = sum(not any(acts.is_carrier(word, one, speaks) for one in spent) and word not in called for word in _content(beside))
    purpose = max(found.purposes, key=lambda name: found.purposes[name]) if act == "book" else ""
    purpose = purpose if purpose and found.purposes[purpose] >= SURE else ""
    of_wish = act == "ask" and all(acts.is_carrier(word, "book", speaks) for word in _content(clause.text))
    return ReadClause(clause.text, clause.start, clause.end, act, kind, found.acts, found.kinds, matter, purpose, of_wish)
