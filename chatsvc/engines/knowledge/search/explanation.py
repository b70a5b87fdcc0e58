"""Explanation of a hit. Which words of the question matched which words of the entry, and how."""

from chatsvc.engines.knowledge.search.corpus import Corpus
from chatsvc.engines.knowledge.search.query import Query

_TOLD = 3  # topics


def why(query: Query, corpus: Corpus, entry: int) -> tuple[str, ...]:
    """Return a line for each informative word of the question that matched, in its order.

    "pazar = pazar" is the same word, "pazarlari ~ pazar" the same stem or beginning, "kacta -> saat (hours)" the same concept,
    "kapora (answer)" a word that only the answer holds; a corrected word is followed by its correction. A last line
    "(about: parking)" names the topics in common.
    """
    names = corpus.terms.names()
    holders: dict[int, str] = {}  # feature -> the entry's word that holds it
    own: set[str] = set()
    for phrasing in range(corpus.first[entry], corpus.first[entry + 1]):
        for number in corpus.tokens(phrasing):
            own.add(names[number])
            for feature in corpus.terms.of_word[number]:
                holders.setdefault(feature, names[number].lstrip("_"))
    lines = []
    for word in query.words:
        if not word.informs:
            continue
        said = word.text if word.read == word.text else f"{word.text} ({word.read}?)"
        met = [feature for feature in word.features if feature in holders]
        if word.read in own:
            lines.append(f"{said} = {word.read}")
        elif met:
            concept = corpus.terms.concept(met[0])
            lines.append(f"{said} -> {holders[met[0]]} ({concept})" if concept else f"{said} ~ {holders[met[0]]}")
        elif any(corpus.postings.holds(feature, entry) for feature in word.features):
            lines.append(f"{said} (answer)")
    if about := corpus.topics.shared_with(entry, query.topics)[:_TOLD]:
        lines.append(f"(about: {', '.join(about)})")
    return tuple(lines)
