"""Word lists and patterns by which names are recognised, folded."""

from __future__ import annotations

from chatsvc.language.wordlists import LanguageWords, WordFile

_FOREIGN = WordFile("language/foreign_names.txt")
_GIVEN = LanguageWords("given_names.txt")
GIVEN_NAMES = _GIVEN.words("given") | _FOREIGN.words("given")
SURNAMES = _GIVEN.words("surnames") | _FOREIGN.words("surnames")

_WORDS = LanguageWords("names.txt")
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
INTRODUCING = _WORDS.words("introducing")

_CUES = LanguageWords("name_cues.txt")
STRONG_CUE = _CUES.any_of("strong")
WEAK_CUE = _CUES.any_of("weak")
CAPITAL_CUE = _CUES.any_of("capital")
NO_CUE = _CUES.any_of("no_cue")
SURNAME_CUE = _CUES.any_of("surname", r"\A[ ,.]*+(?:{})")
SURNAME_SAID = _CUES.any_of("surname_said", r"\b(?:{})[ :=]*$")
FIRST_NAME_CUE = _CUES.any_of("first_name", r"\A[ ,.]*+(?:{}) ?(?=[a-z])")
RATHER = _CUES.any_of("rather", "(?:{}) ")
RELATION = _CUES.any_of("relation")
TELLING = _CUES.any_of("telling", r"\b(?:{})\b")
OPENING = _CUES.any_of("opening", r"(?:^|[.,;:!?\n]|\b(?:{})) ?\w*+(?:'\w*+)?(?: \w*+)? ?$")
IT_IS = _CUES.any_of("it_is", r"\b(?:{}) $")
QUALITY = _CUES.any_of("quality", "(?:{})$")
VERB = _CUES.any_of("verb", "(?:{})$")
PARTED = _CUES.any_of("parting", r"(?<![a-z])(?:{})[ ,.!\n-]+$")
