"""Least figures of the search on the tuning sets. `scripts/bench/answers` prints the held-out sets too."""

from __future__ import annotations

import pytest

from tests.answers import judging
from tests.answers.judging import Tally

# Share of right replies, the questions without an answer counted, and of those alone.
LEAST = {
    "bakery.en": (0.69, 0.55),
    "climbing.en": (0.52, 0.85),
    "dentist.tr": (0.73, 0.60),
    "guesthouse.en": (0.70, 0.45),
    "gym.en": (0.59, 0.60),
    "haliyikama.tr": (0.60, 0.75),
    "kennel.en": (0.49, 0.50),
    "movers.en": (0.65, 0.85),
    "music.tr": (0.73, 0.75),
    "otoyikama.tr": (0.56, 0.75),
    "pansiyon.tr": (0.65, 0.85),
    "psikolog.tr": (0.61, 0.85),
    "weddingvenue.en": (0.63, 0.75),
}


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """Return the tally of the questions of the sets seen in tuning, by language."""
    found = {"tr": Tally(), "en": Tally()}
    for name, language in judging.businesses():
        if judging.part(name) != judging.HELD_OUT:
            entries, questions = judging.business(name, language)
            found[language] += judging.judge(judging.index_of(entries).facts, questions)
    return found


@pytest.mark.parametrize("language", ["tr", "en"])
def test_visitors_of_small_businesses_are_answered_as_well_as_they_were(language: str, tallies: dict[str, Tally]) -> None:
    tally = tallies[language]
    assert (tally.asked, tally.foreign) == (480, 240)
    assert tally.accuracy >= 0.83
    assert tally.recall3 >= 0.93
    assert tally.precision >= 0.95
    assert tally.precision_in_all >= 0.88
    assert tally.answered_rightly >= 0.61
    assert tally.rightly_with_hedged >= 0.74
    assert tally.precision_with_hedged >= 0.92
    assert tally.refused >= 0.88
    assert tally.refused_with_hedged >= 0.75
    assert tally.ask_coverage >= 0.6


def test_turkish_is_answered_as_well_as_english(tallies: dict[str, Tally]) -> None:
    turkish, english = tallies["tr"], tallies["en"]
    assert abs(turkish.accuracy - english.accuracy) <= 0.05
    assert abs(turkish.rightly_with_hedged - english.rightly_with_hedged) <= 0.05


@pytest.mark.parametrize("name", judging.SEEN_REPLIES)
def test_replies_hold_what_the_question_asks_for(name: str) -> None:
    entries, questions = judging.reply_questions(name)
    index = judging.index_of(entries).facts
    told = [(wanted is not None, judging.holds(index.answer(question), wanted)) for question, wanted in questions]
    known, unknown = ([right for is_known, right in told if is_known is wanted] for wanted in (True, False))
    least, least_refused = LEAST[name]
    assert (sum(known) + sum(unknown)) / len(told) >= least
    assert sum(unknown) / len(unknown) >= least_refused
