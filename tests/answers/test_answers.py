"""Floors under the figures of the search, on the sets of our own; `scripts/bench/answers` prints them all."""

from __future__ import annotations

import pytest

from tests.answers import judging
from tests.answers.judging import Tally


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """What came of all questions of the sets that the vocabulary was not made with, by language."""
    found = {"tr": Tally(), "en": Tally()}
    for name, language in judging.businesses():
        if name not in judging.TUNED_ON:
            entries, questions = judging.business(name, language)
            found[language] += judging.judge(judging.index_of(entries), questions)
    return found


@pytest.mark.parametrize("language", ["tr", "en"])
def test_visitors_of_small_businesses_are_answered_as_well_as_they_were(language: str, tallies: dict[str, Tally]) -> None:
    tally = tallies[language]
    assert (tally.asked, tally.foreign) == (480, 240)
    assert tally.accuracy >= 0.70
    assert tally.recall3 >= 0.85
    assert tally.precision_in_all >= 0.88
    assert tally.answered_rightly >= 0.45
    assert tally.refused >= 0.90
    assert tally.ask_coverage >= 0.50


def test_turkish_is_answered_as_well_as_english(tallies: dict[str, Tally]) -> None:
    turkish, english = tallies["tr"], tallies["en"]
    assert abs(turkish.accuracy - english.accuracy) <= 0.05
    assert abs(turkish.answered_rightly - english.answered_rightly) <= 0.05
