"""Judgements of one text by itself, for the parts of the service that look at messages outside of a dialogue."""

from typing import cast

from chatsvc.domain.models import Bot, Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge.policy import smalltalk
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.question import Question
from chatsvc.engines.knowledge.understand import ReadClause, content_of, read_clauses
from chatsvc.language.language_detection import guess

_NO_QUESTION = (*smalltalk.ACTS, "insult", "give", "person")
_TELLING = 2  # letters of a word that tells what a question is about
_FEWEST_WORDS = 3  # of a question that names no thing
_CALLS = 0.8  # probability from which a person is called
_LIKELY = 0.4  # least probability of one act where it is to be told from all others
_SURELY = 0.9  # probability of small talk, an insult or an answer to the bot, which is no entry to be


def _read(text: str, language: str) -> tuple[ReadClause, ...]:
    return read_clauses(text, guess(text) or language)


def asks(text: str, language: str) -> bool:
    """Return whether a text asks something."""
    return any(clause.asks for clause in _read(text, language))


def needs_answer(text: str, language: str) -> bool:
    """Return whether a text may become an entry. No small talk, insult or answer to the bot, and nothing that names no thing."""
    read = _read(text, language)
    if all(clause.may_be(*_NO_QUESTION) >= _SURELY and clause.acts[clause.act] >= _LIKELY for clause in read):
        return False
    if any(clause.matter for clause in read):
        return True
    return len(text.split()) >= _FEWEST_WORDS and any(clause.asks for clause in read)


def calls_a_person(text: str, language: str) -> bool:
    """Return whether a visitor asks for a person, or complains."""
    return any(clause.may_be("person", "complain") >= _CALLS for clause in _read(text, language))


def tells(text: str) -> int:
    """Count the words of a text that say what it is about."""
    return content_of(text)


def entry_for(bot: Bot, knowledge: Knowledge, question: str) -> Entry | None:
    """Return the entry that answers a question at the start of a conversation, hedged or not."""
    read = _read(question, bot.language)
    if not read or all(clause.is_one_of(*smalltalk.ACTS) for clause in read):
        return None
    kind = next((clause.kind for clause in read if clause.asks), "")
    found = cast(KnowledgeIndex, knowledge).facts.answer(Question(question, kind, guess(question) or ""))
    if found.decision == "answer" or (found.decision == "hedge" and bot.ask_back is not False):
        return next((entry for entry in knowledge.entries if entry.id == found.entry), None)
    return None
