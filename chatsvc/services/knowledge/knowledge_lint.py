"""Check of a bot's knowledge for weak entries. These are hidden by other entries, duplicate, or probably missed by a search.

One pass searches for the phrasings of each entry, another one for questions that are generated from the entry (`generated`). Each pass
makes at most MOST_SEARCHED searches, spread over all entries; the first one searches for every phrasing on request. 50,000 entries with
250,000 phrasings take some minutes, half of that time for building the index.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain, islice, zip_longest

from chatsvc.domain.folding import primary
from chatsvc.domain.knowledge_findings import KINDS, MOST_SEARCHED, LintFinding
from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge import questions as judged
from chatsvc.engines.knowledge.search import facts, lexicon
from chatsvc.engines.knowledge.search.evidence import kind_of
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.tokens import STOPWORDS, stem
from chatsvc.language.folding import fold, words
from chatsvc.language.language_detection import guess

MOST_MISSED = 5  # entries that are named as easily missed
LONG_ANSWER = 1_500  # characters
_ALIKE = 0.9  # of the best score: two entries that a question fits this evenly are hardly two
_MISSED = 0.25  # share of its generated questions from which an entry is easily missed
_FEWEST = 2  # missed questions of an entry that is named
_OVERLAPS = 2  # generated questions of an entry that another one answers, from which the two overlap
_SHOWN = 3  # generated questions in a finding
_TELLING = 5  # words from which a text's language can be told

_HEADING = 3  # words of a heading that names a subject
_SENTENCES, _WORDS = 4, 3  # sentences of an answer that questions are made from, and words of each
# "Getting here", "What to wear", "Ne giymeli": no thing that one has, or that has a price
_DOING = re.compile(r"\A(?:\w+ing|how|what|who|when|where|ne|nasıl|kim\w*|nerede)\s", re.IGNORECASE)
# kind of fact -> questions for it; "" for any entry
_FORMS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "": ("do you have {}", "what about {}"),
        "money": ("how much is {}", "{} price"),
        "clock": ("what time is {}",),
        "length": ("how long does {} take",),
    },
    "tr": {
        "": ("{} var mı", "{} hakkında bilgi"),
        "money": ("{} ne kadar", "{} fiyatı"),
        "clock": ("{} kaçta",),
        "length": ("{} ne kadar sürer",),
    },
}

Progress = Callable[[str, int, int], None]


def findings(
    entries: Sequence[Entry],
    language: str,
    synonyms: Sequence[Sequence[str]] = (),
    *,
    everything: bool = False,
    progress: Progress = lambda *_: None,
) -> list[LintFinding]:
    """Check entries, and return all findings, worst first. `language` is the bot's. `progress` gets the step, the count and the total."""
    results: list[LintFinding] = []
    for done, entry in enumerate(entries, start=1):
        results.extend(_alone(entry))
        progress("looking at entries", done, len(entries))
    results.extend(_twice(entries))
    pairs = {pair for finding in results for pair in ((finding.entry, finding.other), (finding.other, finding.entry))}
    phrasings = sum(1 + len(entry.alt) for entry in entries)
    most = phrasings if everything else min(phrasings, MOST_SEARCHED)
    progress("indexing", 0, 0)
    index = KnowledgeIndex(entries, language, synonyms=synonyms)
    # Every entry's question, then every entry's first other phrasing, and so on.
    in_turn = zip_longest(*([(entry, phrasing) for phrasing in (entry.question, *entry.alt)] for entry in entries))
    for done, (entry, phrasing) in enumerate(islice(filter(None, chain.from_iterable(in_turn)), most), start=1):
        finding = _searched(index, entry, phrasing)
        if finding and (finding.entry, finding.other) not in pairs:
            pairs |= {(finding.entry, finding.other), (finding.other, finding.entry)}
            results.append(finding)
        progress("searching for phrasings", done, most)
    results.extend(_asked(index, entries, pairs, progress))
    return sorted(results, key=lambda finding: KINDS.index(finding.kind))


def _alone(entry: Entry) -> Iterator[LintFinding]:
    if len(entry.answer) > LONG_ANSWER:
        yield LintFinding("long_answer", entry.id, None, {"question": entry.question, "length": len(entry.answer)})
    asked = "\n".join((entry.question, *entry.alt))
    seems = guess(asked)
    is_foreign = seems is not None and seems != primary(entry.language) and len(words(asked)) >= _TELLING
    if is_foreign and guess(entry.answer) in {seems, None}:
        yield LintFinding("foreign_language", entry.id, None, {"question": entry.question, "language": entry.language, "seems": seems})


def _twice(entries: Sequence[Entry]) -> Iterator[LintFinding]:
    """Yield a finding for each pair of entries that share a phrasing, the words of their questions, or their answer."""
    first: dict[tuple[object, ...], Entry] = {}  # what entries may share -> the first entry that has it
    for entry in entries:
        spoken, others, asked = primary(entry.language), {entry.id}, words(entry.question)
        keys: list[tuple[object, ...]] = [(spoken, " ".join(words(phrasing)) or phrasing) for phrasing in (entry.question, *entry.alt)]
        keys.append((spoken, "answer", fold(entry.answer)))
        if telling := frozenset(stem(word) for word in asked if word not in STOPWORDS):
            keys.append((spoken, "question", telling, _kinds(asked)))
        for key, phrasing in zip_longest(keys, (entry.question, *entry.alt)):
            other = first.setdefault(key, entry)
            if other.id not in others:
                others.add(other.id)
                shared = {"phrasing": phrasing} if phrasing else {}
                yield _pair("duplicate_phrasing" if phrasing else "near_duplicate", entry, other, **shared)


def _kinds(asked: Sequence[str]) -> frozenset[str]:
    """Return the kinds of fact for which the words of a question ask. "when" asks for a "clock", "price" for "money"."""
    return frozenset(filter(None, (kind_of(lexicon.shared().of_word(word)) for word in asked)))


def _pair(kind: str, entry: Entry, other: Entry, **facts: str) -> LintFinding:
    return LintFinding(kind, entry.id, other.id, {"question": entry.question, "other": other.question, **facts})


def _searched(index: KnowledgeIndex, entry: Entry, phrasing: str) -> LintFinding | None:
    """Search for one of an entry's own phrasings. Return a finding if another entry ranks first, or nearly as high."""
    # ranked as if the phrasing were none of the entry's own, which always finds it
    hits = [hit for hit in index.rank(phrasing, entry.language) if primary(hit.entry.language) == primary(entry.language)]
    if not hits:
        return None
    first = hits[0]
    if first.entry.id != entry.id:
        result = index.search(phrasing, entry.language)
        if result.decision == "answer" and result.hits[0].entry.id == entry.id:  # the bot answers it rightly all the same
            return None
        return _pair("answers_another", entry, first.entry, phrasing=phrasing)
    if phrasing == entry.question and len(hits) > 1 and hits[1].score >= _ALIKE * first.score:
        return _pair("near_duplicate", entry, hits[1].entry)
    return None


def _asked(index: Knowledge, entries: Sequence[Entry], known: Container[object], progress: Progress) -> Iterator[LintFinding]:
    """Search for the questions generated from each entry. Yield overlaps of entries, then the entries that are missed most often."""
    lists = [(entry, generated(entry)[: max(1, MOST_SEARCHED // len(entries))]) for entry in entries[:MOST_SEARCHED]]
    lost: list[tuple[float, Entry, list[str], int]] = []
    for done, (entry, questions) in enumerate(lists, start=1):
        results = [(question, index.search(question, entry.language)) for question in questions]
        offered = ((question, result.hits[: {"answer": 1, "ask": 3}.get(result.decision, 0)]) for question, result in results)
        missed = [question for question, hits in offered if entry.id not in {hit.entry.id for hit in hits}]
        answering: dict[str, tuple[Entry, list[str]]] = {}
        for question, other in ((question, result.hits[0].entry) for question, result in results if result.decision == "answer"):
            answering.setdefault(other.id, (other, []))[1].append(f"“{question}”")
        for other, quoted in answering.values():
            if other.id != entry.id and len(quoted) >= _OVERLAPS and (entry.id, other.id) not in known:
                yield _pair("overlap", entry, other, questions=", ".join(quoted[:_SHOWN]))
        if len(missed) >= max(_FEWEST, _MISSED * len(questions)):
            lost.append((len(missed) / len(questions), entry, missed, len(questions)))
        progress("searching for generated questions", done, len(lists))
    for _, entry, missed, of in sorted(lost, key=lambda row: (-row[0], -row[3]))[:MOST_MISSED]:
        examples = ", ".join(f"“{question}”" for question in missed[:_SHOWN])
        facts = {"question": entry.question, "missed": len(missed), "of": of, "questions": examples}
        yield LintFinding("easily_missed", entry.id, None, facts)


def generated(entry: Entry) -> list[str]:
    """Generate questions that visitors may ask about an entry.

    A short heading is put into question forms for the kinds of fact in the answer ("how much is ..."). If the entry has no other
    phrasings, the first content words of each sentence of the answer are used too.
    """
    heading = entry.question.rstrip("?!. ")
    questions, heading_words = [heading], words(heading)
    is_short = len(heading_words) <= _HEADING and "?" not in entry.question and not _DOING.match(heading)
    if is_short and not _kinds(heading_words):
        forms = _FORMS.get(primary(entry.language), _FORMS["en"])
        stated = facts.kinds_of(entry.answer)
        questions += [form.format(heading.lower()) for kind, of_kind in forms.items() if kind in ("", *stated) for form in of_kind]
    for sentence in facts.sentences(entry.answer)[:_SENTENCES] if not entry.alt else ():
        telling = [word.strip('.,;:!?()"“”') for word in sentence.split() if judged.tells(word)]
        if len(telling) >= _WORDS:
            questions.append(" ".join(telling[:_WORDS]).lower())
    return list(dict.fromkeys(questions))
