"""Least figures of the search on all labelled questions; `scripts/bench/answers` prints the held-out sets by themselves."""

from dataclasses import replace

import pytest

from tests.answers import judging
from tests.answers.judging import Tally
from tests.engines.knowledge.desk import Desk


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """Return the tally of the questions of the sets that nothing was fitted on, by language."""
    totals = {"tr": Tally(), "en": Tally()}
    for name, language in judging.businesses():
        if judging.part(name) == judging.HELD_OUT:
            entries, questions = judging.business(name, language)
            totals[language] += judging.judge(judging.index_of(entries), questions)
    return totals


@pytest.mark.parametrize("language", ["tr", "en"])
def test_visitors_of_small_businesses_are_answered_as_well_as_they_were(language: str, tallies: dict[str, Tally]) -> None:
    tally = tallies[language]
    assert (tally.asked, tally.foreign) == (240, 120)
    assert tally.accuracy >= 0.74
    assert tally.recall3 >= 0.88
    assert tally.precision >= 0.93
    assert tally.answered_rightly >= 0.22
    assert tally.refused >= 0.93


@pytest.mark.no_cover  # hundreds of questions, through lines that the engine's own tests cover
def test_replies_hold_what_the_question_asks_for() -> None:
    right = asked = 0
    for name in judging.replies():
        entries, questions = judging.replies_of(name)
        index = judging.index_of(entries)
        for question in questions:
            if question.wanted is not None:
                asked += 1
                result = index.search(question.text, subject=question.subject)
                facts = [*(hit.fact for hit in result.hits[:1] if hit.fact), *result.facts]
                right += any(question.expects(fact.text) for fact in facts[:4])
    assert right / asked >= 0.6


@pytest.mark.no_cover  # hundreds of questions, through lines that the engine's own tests cover
def test_few_questions_that_the_knowledge_does_not_answer_are_told_a_fact() -> None:
    mistakes = foreign = 0
    for name, language in judging.businesses():
        entries, questions = judging.business(name, language)
        index = judging.index_of(entries)
        for question in (question for question in questions if question.expected is None):
            desk = Desk(language)
            desk.turn = replace(desk.turn, knowledge=index)
            desk.say(question.text)
            evidence = desk.reply.evidence
            foreign += 1
            mistakes += bool(evidence and evidence.decision == "answer" and evidence.entries)
    assert mistakes / foreign <= 0.07
