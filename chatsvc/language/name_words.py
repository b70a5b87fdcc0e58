"""Word lists and patterns by which names are recognised, folded."""

from __future__ import annotations

from chatsvc.language.wordlists import WordFile

_GIVEN = WordFile("language/given_names.txt")
GIVEN_NAMES = _GIVEN.words("turkish") | _GIVEN.words("english") | _GIVEN.words("other")
SURNAMES = _GIVEN.words("surnames")

_WORDS = WordFile("language/name_words.txt")
TITLES = _WORDS.words("titles")
COURTESIES = _WORDS.words("courtesies")
BUSINESS = _WORDS.words("business")
DEMONYMS = _WORDS.words("demonyms")
CONTINUATIONS = _WORDS.words("continuations")
NOT_NAMES = _WORDS.words("not_names") | TITLES
NAMES_AND_WORDS = _WORDS.words("names_and_words")
CAPITAL_ONLY = _WORDS.words("capital_only")
AMBIGUOUS_NAMES = _WORDS.words("ambiguous")
BEFORE_NAMES = _WORDS.words("before_names")
PARTICLES = _WORDS.words("particles")
FINAL_PARTICLES = _WORDS.words("final_particles")
COPULAS = _WORDS.words("copulas")

_CUES = WordFile("language/name_cues.txt")
STRONG_CUE = _CUES.any_of("strong")
WEAK_CUE = _CUES.any_of("weak")
CAPITAL_CUE = _CUES.pattern("capital")
NO_CUE = _CUES.pattern("no_cue")
SURNAME_CUE = _CUES.pattern("surname")
CUES_BEHIND = _CUES.patterns("behind")
RELATION = _CUES.pattern("relation")
# (pattern, whether any words with capitals are a name, whether it takes a given name and more)
SIGNATURES = [(_CUES.compile(value), ".capital" in name, ".several" in name) for name, value in _CUES.entries if name.startswith("closing")]
