"""Detection of the visitor's own name, as typed and without titles. It is announced ("my name is"), asked for, or next to other values."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from chatsvc.language import symbols
from chatsvc.language.folding import fold_with_offsets, folded, masked, words
from chatsvc.language.language_detection import is_word
from chatsvc.language.tokens import Kind, Mention
from chatsvc.language.wordlists import FOLDER, LanguageWords, WordFile

_FILE, _GIVEN, _CUES = map(LanguageWords, ("names.txt", "given_names.txt", "name_cues.txt"))
_FOREIGN = WordFile("language/foreign_names.txt")
GIVEN_NAMES = _GIVEN.words("given") | _FOREIGN.words("given")
BEFORE_NAMES, AMBIGUOUS_NAMES = _FILE.words("before_names"), _FILE.words("ambiguous")
_SURNAMES = _GIVEN.words("surnames") | _FOREIGN.words("surnames")
_TITLES, _COURTESIES, _NAMES_AND_WORDS, _PARTICLES, _COPULAS, _AROUND, _EVERYDAY, _PLACES = map(
    _FILE.words,
    ("titles", "courtesies", "names_and_words", "particles", "copulas", "around", "everyday", "places"),
)
_NOT_NAMES = _FILE.words("not_names") | _TITLES
_BEHIND = _FILE.words("behind") | _FILE.words("behind_any")
_NOT, _REJECTED_BEHIND = _FILE.words("rejected_before"), _FILE.words("rejected_behind")
_OTHERS = _FILE.words("others") | _FILE.words("relatives") | _FILE.words("pets")
_CUTS = _FILE.words("outright") | _FILE.words("cues") | _BEHIND | _NOT | _REJECTED_BEHIND | _OTHERS | _FILE.words("labels")
_ENDINGS = _FILE.any_of("endings", r"(?<=[a-z][a-z])(?:{})$")
_ASKS = _FILE.any_of("asks")
_STRONG_CUE, _WEAK_CUE, _CAPITAL_CUE, _NO_CUE = map(_CUES.any_of, ("strong", "weak", "capital", "no_cue"))
_SURNAME_CUE = _CUES.any_of("surname", r"\A[ ,.]*+(?:{})")
_PARTED = _CUES.any_of("parting", r"(?<![a-z])(?:{})[ ,.!\n-]+$")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_NEXT_WORD = re.compile(rf" {{0,9}}({_WORD.pattern})")
_TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?|\d[\d:.]*|[^\w\s]|\n")
_SUFFIX = re.compile(r"(?<=[^\W\d_]{2})['’](?:y?[ıiuüİ]m|[dt][ıiuü]r|y?[ae]|n[ıiuü]n|[ıiuü]n|s)$")
_MOST_WORDS, _MOST_TOKENS, _BEFORE = 4, 120, 60
_DASHED = re.compile(r"(?:^|[.!?,\n ]) ?[-~–] ?$")
_KEYS = re.compile(r"asd|sdf|qwe|zxc|hjkl|(.)\1\1|^[^aeiouy]{4}")  # keys side by side
Span = tuple[int, int]


def find(text: str, values: Collection[Span], contacts: Collection[Span], asked: str = "") -> Mention[str] | None:
    """Return the visitor's name in a text, or None. The name is `explicit` if words announce it.

    `values` are the spans of other values in the text, `contacts` those of telephone numbers and e-mail addresses. `asked` is the kind
    of the field that the bot asked for.
    """
    return _announced(masked(text, contacts)) or _standing(text, sorted({*values, *contacts}), asked, contact=bool(contacts))


def asks(text: str) -> bool:
    return "?" in text or bool(_ASKS.search(folded(text)))


def _announced(raw: str) -> Mention[str] | None:
    message = fold_with_offsets(raw)
    text = message.text
    for pattern in (_STRONG_CUE, _CAPITAL_CUE, _WEAK_CUE):
        for match in pattern.finditer(text):
            start = message.offsets[match.end()]
            if pattern is _CAPITAL_CUE and not raw[start:][:1].isupper():
                continue
            before = max(match.start() - 24, text.rfind(",", 0, match.start()), 0)
            if _NO_CUE.search(text, before, match.end()):
                continue
            if name := _name_from(raw, start, sure=pattern is _STRONG_CUE):
                gap = _SURNAME_CUE.match(folded(raw[name.end : name.end + 40]))
                if gap and (surname := _name_from(raw, name.end + gap.end(), sure=True)):
                    return Mention(f"{name.value} {surname.value}", name.start, surname.end, explicit=True)
                return name
    return None


def _name_from(raw: str, start: int, *, sure: bool) -> Mention[str] | None:
    """Return the name that begins at `start`, behind a cue. If the cue is not `sure`, the name must be known or have a capital."""
    taken: list[re.Match[str]] = []
    position = start
    while len(taken) < _MOST_WORDS and (match := _WORD.match(raw, position)):
        base, behind = _base(match[0]), raw[match.end() :]
        position = len(raw) - len(behind.lstrip(" "))
        if not taken and base in _TITLES:
            sure = True
            continue
        if not _continues(match[0], base, taken, sure=sure):
            break
        taken.append(match)
        is_apart = position - match.end() > 1 or behind[:1] not in ("", " ")
        if is_apart or _SUFFIX.search(match[0]) or (match[0].endswith(".") and len(base) > 1):
            break
    while taken and taken[-1][0] in _PARTICLES:
        taken.pop()
    if not taken or not (sure or _is_believed(raw, taken)):
        return None
    following = _NEXT_WORD.match(raw, taken[-1].end())
    if following and _base(following[1]) in _COURTESIES:
        return None
    return _name(raw, taken, explicit=True)


def _is_believed(raw: str, taken: Sequence[re.Match[str]]) -> bool:
    """Return whether words behind an unsure cue are a name: they are a known name, or have a capital and end the clause."""
    base, is_capital = _base(taken[0][0]), taken[0][0][0].isupper()
    is_given = base in GIVEN_NAMES
    if base in _PLACES and not is_given:
        return False
    if is_given and base not in AMBIGUOUS_NAMES:
        return True
    ends = not raw[taken[-1].end() :].strip() or raw[taken[-1].end()] in ".,;!?\n-"
    return is_capital and (is_given or ends) and (len(taken) > 1 or (ends and (is_given or not is_ordinary(base))))


def _continues(word: str, base: str, taken: Sequence[re.Match[str]], *, sure: bool) -> bool:
    if taken and word in _PARTICLES:
        return True
    cased = taken[0][0][0].isupper() if taken else word[0].isupper()
    if base in GIVEN_NAMES or (taken and base in _SURNAMES):
        return not (taken and cased and word[0].islower() and base in AMBIGUOUS_NAMES)
    if taken and cased and word[0].islower():
        return False
    if word[0].isupper() and cased and base in _NAMES_AND_WORDS:
        return True
    if base in _NOT_NAMES or _is_grammar(base):
        return False
    if not taken:
        return sure or word[0].isupper()
    return cased or not is_ordinary(base)


_MOST_PARTS = 3  # of a name that begins with one that is not known


def _standing(text: str, values: Sequence[Span], asked: str, *, contact: bool) -> Mention[str] | None:
    """Find a name without an introduction such as "my name is": an answer, a name next to contact data or other values, or a signature."""
    pieces = [run for run in _pieces(text, values, asked=asked == "name") if run]
    question = asks(text)
    shouted = text.isupper()
    best: tuple[int, Mention[str]] | None = None
    for run in pieces:
        rank = _rank(run, shouted=shouted)
        beside = any(0 <= run[0].start() - end <= 3 or 0 <= start - run[-1].end() <= 3 for start, end in values)
        alone, last = len(pieces) == 1, not _WORD.search(text, run[-1].end())
        before, following = folded(text[: run[0].start()])[-_BEFORE:], _NEXT_WORD.match(text, run[-1].end())
        signed = (last and (_PARTED.search(before) or _DASHED.search(before))) or (following and folded(following[1]) in _BEHIND)
        if asked == "name":
            needed = 3 if question else 1 if alone else 2
        elif contact and (alone or beside):
            needed = 1 if alone and not question else 2
        elif signed or (contact and last and not question):
            needed = 2 if signed else 4
        elif values and (alone or beside) and not question:
            needed = 2 if alone and len(run) > 1 else 3
        else:
            needed = 3 if asked and asked != "confirm" and alone and not question else 9
        if rank >= needed and (best is None or rank > best[0]):
            best = rank, _name(text, run)
    return best[1] if best else None


def _pieces(text: str, values: Sequence[Span], *, asked: bool) -> Iterator[list[re.Match[str]]]:
    """Yield runs of words between values, labels or punctuation. Rejected names ("not Shaun") and those of other people are left out."""
    run: list[re.Match[str]] = []
    out = False
    for match in [*list(_TOKEN.finditer(text))[:_MOST_TOKENS], None]:
        base = folded(match[0].rstrip(".")) if match else ""
        inside = match is not None and any(start <= match.start() < end for start, end in values)
        known = match is not None and match[0][0].isupper() and (base in GIVEN_NAMES or (bool(run) and base in _NAMES_AND_WORDS))
        if match and match[0][0].isalpha() and not inside and (base not in _CUTS or known or (run and match[0] in _PARTICLES)):
            run.append(match)
            if not match[0].endswith(".") or len(base) <= 1 or base in _TITLES:
                continue
        if run and not out and base not in _REJECTED_BEHIND:
            yield _stripped(run, asked=asked)
        if run or inside or (match and match[0][0].isalpha()):
            out = not inside and (base in _NOT or base in _OTHERS)
        run = []


def _stripped(run: list[re.Match[str]], *, asked: bool) -> list[re.Match[str]]:
    """Remove titles and courtesies around a name. Return nothing if it is the name of another person ("Ayşe Hanım")."""
    while run and (_base(run[0][0]) in _TITLES or _base(run[0][0]) in _AROUND) and not (len(run) > 1 and _is_given(run[0])):
        run = run[1:]
    while run and _base(run[-1][0]) in _AROUND:
        run = run[:-1]
    if len(run) > 1 and _base(run[-1][0]) in _COURTESIES:
        return run[:-1] if asked else []
    if len(run) > _MOST_PARTS and not _is_given(run[0]):  # "belgemi getiriyorum zeynep kurt"
        return next((run[start:] for start in range(1, len(run)) if _is_given(run[start])), run)
    return run


def _rank(run: Sequence[re.Match[str]], *, shouted: bool) -> int:
    """Return how likely words are a name: 0 is no name, 1 unknown words, 2 capitalised words, 3 a given name, 4 a given name and more."""
    bases = [_base(word[0]) for word in run]
    capital = [word[0][0].isupper() and not shouted for word in run]
    sole, known = len(run) == 1, _is_given(run[0])
    if len(run) > _MOST_WORDS or _KEYS.search("".join(bases)) or (sole and len(bases[0]) == 1):
        return 0
    if sole and not known and (bases[0] in _PLACES or (run[0][0].isupper() and not shouted)):
        return 0
    later = [base for base, word in zip(bases[1:], run[1:], strict=True) if word[0] not in _PARTICLES and len(base) > 1]
    whole = all(upper or word[0] in _PARTICLES for upper, word in zip(capital, run, strict=True))
    strange = (base for base in later if base not in GIVEN_NAMES | _SURNAMES and not (whole and base in _NAMES_AND_WORDS))
    if any(is_ordinary(base, capital=whole and known) for base in strange):
        return 0
    if known and (bases[0] not in AMBIGUOUS_NAMES or capital[0]):
        return 3 if sole else 4
    initial = len(bases[0]) == 1 and whole
    if not known and not initial and is_ordinary(bases[0], capital=whole and not sole and not is_word(bases[0])):
        return 0
    return 2 if whole else 1


def _is_given(word: re.Match[str]) -> bool:
    base = _base(word[0])
    return base.split("-")[0] in GIVEN_NAMES or bool(_without_copula(base))


def _without_copula(base: str) -> str:
    """Return the given name in a word with a Turkish "I am" ending, as in `emreyim`. Return "" if there is none."""
    if base in GIVEN_NAMES:
        return ""
    heads = (base.removesuffix(ending) for ending in _COPULAS if base.endswith(ending) and len(ending) > 1)
    return next((head for head in heads if head in GIVEN_NAMES and head not in AMBIGUOUS_NAMES), "")


def _is_grammar(base: str) -> bool:
    return symbols.symbol_of(base) != Kind.UNKNOWN.value or base in symbols.NUMBER_OF or base in symbols.CASES


def is_ordinary(base: str, *, capital: bool = False) -> bool:
    """Return whether a folded word is an everyday word and not a name. A word with a `capital` must be listed to count as one."""
    if base in _NOT_NAMES or base in _EVERYDAY or base in _AROUND or _is_grammar(base):
        return True
    return not capital and (is_word(base) or base in load() or bool(_ENDINGS.search(base)))


@lru_cache(maxsize=1)
def load() -> frozenset[str]:
    """Load the ordinary words, which are those in the example sentences of visitors (`acts.txt`). The result is cached."""
    texts = (path.read_text(encoding="utf-8") for path in FOLDER.glob("*/acts.txt"))
    parts = (part.partition("\n") for text in texts for part in text.split("\n== "))
    known = {word for act, _, sentences in parts if act != "give" for line in sentences.splitlines() for word in words(line)}
    return frozenset(known) - (GIVEN_NAMES - AMBIGUOUS_NAMES) - _SURNAMES


@lru_cache(maxsize=4_096)
def _base(word: str) -> str:
    return folded(_SUFFIX.sub("", word).rstrip("."))


def _name(text: str, run: Sequence[re.Match[str]], *, explicit: bool = False) -> Mention[str]:
    last = _SUFFIX.sub("", run[-1][0])
    if head := _without_copula(folded(last)):
        last = last[: len(head)]
    last = last.rstrip(".") if len(last) > 2 else last
    start, end = run[0].start(), run[-1].start() + len(last)
    return Mention(text[start:end], start, end, explicit)
