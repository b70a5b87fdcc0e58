"""Classification of a single text, for parts of the service that look at messages outside of a dialogue."""

from chatsvc.domain.models import Bot, Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge import acts, business
from chatsvc.engines.knowledge.acts import SMALL_TALK, sentences_of
from chatsvc.language import catalogue
from chatsvc.language.folding import words
from chatsvc.language.language_detection import guess

_NO_QUESTION = (*SMALL_TALK, "give", "person", "call")
_FEWEST_WORDS = 3  # of a question that names no thing


def _acts(text: str, language: str) -> list[acts.Act]:
    shown = guess(text) or language
    return [acts.classify(part, shown if shown in catalogue.languages() else catalogue.FALLBACK) for part in sentences_of(text)]


def asks(text: str, language: str) -> bool:
    """Return whether a text contains a question."""
    return any(act.name == "ask" for act in _acts(text, language))


def needs_answer(text: str, language: str) -> bool:
    """Return whether the knowledge should have an entry for a text. Small talk and a few words without a subject need none."""
    if all(act.name in _NO_QUESTION for act in _acts(text, language)):
        return False
    return bool(tells(text)) or len(words(text)) >= _FEWEST_WORDS


def calls_a_person(text: str, language: str) -> bool:
    """Return whether a visitor asks for a person, or complains."""
    return any(act.name in ("person", "complain") for act in _acts(text, language))


def tells(text: str) -> int:
    """Return the number of content words in a text, which say what it is about."""
    return sum(word not in business.LIGHT and not word.isdigit() for word in words(text))


def entry_for(bot: Bot, knowledge: Knowledge, question: str) -> Entry | None:
    """Return the entry that would answer a question at the start of a conversation, or None."""
    if all(act.name in SMALL_TALK for act in _acts(question, bot.language)):
        return None
    result = knowledge.search(question, limit=1)
    return result.hits[0].entry if result.decision == "answer" and result.hits else None
