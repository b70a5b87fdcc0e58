"""Turns search terms into SQL: scope, candidates by rare terms, and conditions on documents.

In a statement ?1 is the scope, ?2 the bot, ?3 and ?4 the bounds of a term, ?7 the patterns of all terms.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.domain.search_words import Term
from chatsvc.store.database import Connection
from chatsvc.store.owners import ALL_BOTS, ONE_BOT, SOME_BOTS, Accounts, listed

RARE = 10_000  # entries of a term that are all read
MOST_READ = 3  # terms whose entries are read
_HIGHEST = "\U0010ffff"
# FROM clauses of the bots `b`, by Owners.kind.
BOTS = {"one": ONE_BOT, "some": SOME_BOTS, "all": ALL_BOTS}
_ENTRIES = "CROSS JOIN search_words w ON w.bot = +b.number AND w.word BETWEEN ?3 AND ?4"
# Condition on a document `d`: it has all patterns. Without a document nothing matches, unless there are no patterns.
MATCHES = "NOT EXISTS (SELECT 1 FROM json_each(?7) s WHERE coalesce(instr(d.words, s.value), 0) = 0)"


class Owners(NamedTuple):
    """Owners of the records that are searched. One bot, which the caller has looked up, or all of `accounts` (None for all)."""

    accounts: Accounts
    bot_id: str | None

    @property
    def kind(self) -> str:
        """Key of BOTS: "one", "some" or "all"."""
        return "one" if self.bot_id is not None else "all" if self.accounts is None else "some"

    @property
    def values(self) -> tuple[str | None, str | None]:
        """The parameters ?1 and ?2."""
        return listed(self.accounts), self.bot_id


def _bounds(term: Term) -> tuple[str, str]:
    """Return the first and the last word that a term stands for."""
    return term.word, term.word if term.exact else term.word + _HIGHEST


def patterns(terms: Sequence[Term]) -> str:
    """Return the texts that a document with all terms contains, as JSON. A document is a JSON array of words."""
    return json.dumps([_pattern(term) for term in terms])


def _pattern(term: Term) -> str:
    quoted = json.dumps(term.word, ensure_ascii=False)
    return quoted if term.exact else quoted[:-1]


def candidates(connection: Connection, owners: Owners, terms: Sequence[Term]) -> list[int] | None:
    """Return the numbers of the conversations that have all rare terms, highest first. None where no term is rare."""
    counted = sorted((_count(connection, owners, term), index) for index, term in enumerate(terms))
    rare = [terms[index] for count, index in counted if count <= RARE][:MOST_READ]
    if not rare:
        return None
    return sorted(set.intersection(*(_entries(connection, owners, term) for term in rare)), reverse=True)


def _count(connection: Connection, owners: Owners, term: Term) -> int:
    """Count the entries of a term, up to RARE + 1."""
    (count,) = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM {BOTS[owners.kind]} {_ENTRIES} LIMIT ?5) page", (*owners.values, *_bounds(term), RARE + 1)
    ).fetchone()
    return int(count)


def _entries(connection: Connection, owners: Owners, term: Term) -> set[int]:
    # As one text: fetching a row releases the interpreter lock and acquires it again.
    (text,) = connection.execute(
        f"SELECT json_group_array(w.conversation) FROM {BOTS[owners.kind]} {_ENTRIES}", (*owners.values, *_bounds(term))
    ).fetchone()
    return set(json.loads(text))
