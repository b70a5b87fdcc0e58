"""Whole conversations with a scripted model: what the team reads holds what the visitor wanted, and no untrue word is shown."""

import pytest

from tests.engines.model_talks import TALKS, Talk, replay, with_thoughts


@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.name)
async def test_the_records_hold_what_was_wanted_and_no_untrue_word_is_shown(talk: Talk) -> None:
    outcomes = await replay(talk)
    read = str(outcomes[-1].records) + "\n".join(outcomes[-1].sentences)
    assert [words for words in talk.noted if words not in read] == []
    assert [words for words in talk.never if any(words in outcome.reply for outcome in outcomes)] == []


async def test_each_turn_reads_the_records_of_the_turns_before() -> None:
    outcomes = await replay(TALKS[1])
    asked = [str(outcome.bodies[0]["messages"][-1]) for outcome in outcomes]
    assert ["Already noted in this conversation" in text for text in asked] == [False, True, True]
    assert "“my cargo ebike brakes squeal like mad”" in asked[1]
    assert "change_record" in str(outcomes[1].bodies[0]["tools"])


async def test_marks_of_a_model_in_the_house_change_nothing() -> None:
    plain, marked = await replay(TALKS[0]), await replay(with_thoughts(TALKS[0]))
    assert [outcome.reply for outcome in plain] == [outcome.reply for outcome in marked]
