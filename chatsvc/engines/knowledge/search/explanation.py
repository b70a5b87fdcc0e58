"""Explanation of a hit. Which words of the question matched which words of the entry, and how."""

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search.corpus import Corpus, phrasings_of
from chatsvc.engines.knowledge.search.query import Query
from chatsvc.language.folding import words

_TOLD = 3  # topics


def why(query: Query, corpus: Corpus, number: int, entry: Entry) -> tuple[str, ...]:
    """Return a line for each informative word of the question that matched, in its order. `number` is that of the entry.

    "pazar = pazar" is the same word, "pazarlari ~ pazar" the same stem or beginning, "kacta -> saat (hours)" the same concept,
    "kapora (answer)" a word that only the answer holds; a corrected word is followed by its correction. A last line
    "(about: parking)" names the topics in common.
    """
    own, holders = _held(corpus, entry)
    concepts = {at: name[1:] for name, at in corpus.features.items() if name[0] == "c"}
    lines = []
    for word in query.words:
        if not word.informs:
            continue
        said = word.text if word.read == word.text else f"{word.text} ({word.read}?)"
        met = [feature for feature in word.features if feature in holders]
        if word.read in own:
            lines.append(f"{said} = {word.read}")
        elif met:
            concept = concepts.get(met[0])
            lines.append(f"{said} -> {holders[met[0]]} ({concept})" if concept else f"{said} ~ {holders[met[0]]}")
        elif any(corpus.postings.holds(feature, number) for feature in word.features):
            lines.append(f"{said} (answer)")
    if about := corpus.topics.shared_with(number, query.topics)[:_TOLD]:
        lines.append(f"(about: {', '.join(about)})")
    return tuple(lines)


def _held(corpus: Corpus, entry: Entry) -> tuple[set[str], dict[int, str]]:
    """Return the words of an entry's phrasings, and its features with the word that holds each."""
    own: set[str] = set()
    holders: dict[int, str] = {}
    for text in phrasings_of(entry):
        spoken = words(text)
        own.update(spoken)
        for one in spoken:
            for feature in corpus.of_word[one]:
                holders.setdefault(feature, one)
        for match in corpus.lexicon.expressions(spoken):
            holders.setdefault(corpus.features["c" + match.concept], match.concept)
    return own, holders
