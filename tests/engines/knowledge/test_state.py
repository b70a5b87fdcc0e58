"""State of a dialogue: what is written is read back, and anything else counts as no state."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.state import RequestDraft, State, Subject, load
from tests.engines.knowledge.test_turns import Visitor
from tests.fakes import START

DAY_MS = 24 * 3_600_000
DRAFT = (
    RequestDraft("appointment", "stay")
    .put("date", "2026-12-05")
    .put("name", "Ada Hill", "record")
    .quote("a double")
    .miss("phone")
    .skip("x.Plate")
)
FULL = State(
    at=START,
    language="en",
    pending=states.FIELD + "phone",
    draft=DRAFT,
    record="a1",
    wanted=("2026-12-06", "10:00"),
    subjects=(Subject("how much is the spa", "Spa"), Subject("parking")),
    matter=(("ask", "how much is the spa"),),
    told={"insult": 2},
    turns=1,
    heard={"name": "Ada", "until": "2026-12-08"},
    untimed=("2026-12-01",),
)
OFFERED = State(at=START, pending=states.OPTIONS, options=(("price", "Spa"), ("", "Pool")))


@pytest.mark.parametrize("state", [State(at=START), FULL, OFFERED])
def test_a_state_is_read_back_as_it_was_written(state: State) -> None:
    assert load(state.dump(START), START) == state


def test_a_state_older_than_a_week_is_none() -> None:
    assert load(FULL.dump(START), START + 6 * DAY_MS) == FULL
    assert load(FULL.dump(START), START + 8 * DAY_MS) == State()


@pytest.mark.parametrize("text", [None, "", "x", "[]", "null", "1", '"a"', "{}", "[" * 50_000, '{"v":2', '{"v":2,"at":"now"}'])
def test_anything_that_is_no_state_counts_as_none(text: str | None) -> None:
    assert load(text, START) == State()


@pytest.mark.parametrize("version", [0, 1, 3, "2", None])
def test_a_state_of_another_version_counts_as_none(version: Any) -> None:
    kept = json.loads(FULL.dump(START) or "") | {"v": version}
    assert load(json.dumps(kept), START) == State()


def test_a_state_too_large_counts_as_none() -> None:
    kept = json.loads(FULL.dump(START) or "") | {"i": "a" * states.MAX_CHARACTERS}
    assert load(json.dumps(kept), START) == State()


def shapes() -> list[tuple[str, Any]]:
    """Return each key of a full state with values of shapes that it never has."""
    wrong: tuple[Any, ...] = ([[]], [["a"]], {"a": []}, True)
    return [(key, value) for key in json.loads(FULL.dump(START) or "") for value in wrong]


@pytest.mark.parametrize(("key", "value"), shapes())
def test_an_unknown_shape_never_fails(key: str, value: Any) -> None:
    read = load(json.dumps(json.loads(FULL.dump(START) or "") | {key: value}), START)
    assert load(read.dump(START), START) == replace(read, at=START)


@pytest.mark.parametrize("pending", ["offer", "confirm", "field.phone", "nothing of the kind"])
def test_a_question_without_its_form_counts_as_no_state(pending: str) -> None:
    assert load(State(at=START, pending=pending).dump(START), START) == State()


@pytest.mark.parametrize(("key", "value"), [("date", "tomorrow"), ("time", "noon")])
def test_a_day_or_time_that_is_none_counts_as_no_state(key: str, value: str) -> None:
    assert load(State(at=START, pending=states.CONFIRM, draft=DRAFT.put(key, value)).dump(START), START) == State()


@pytest.mark.parametrize(("tongue", "wish"), [("tr", "randevu almak istiyorum"), ("en", "I'd like to book an appointment")])
def test_nothing_is_read_out_of_the_sentences_of_the_bot(tongue: str, wish: str) -> None:
    """With the same history and no state the bot knows of no form."""
    asked = Visitor(speaks=tongue, hours=None)
    asked.say(wish)
    assert load(asked.dialogue, START).has_open_form
    asked.dialogue = None
    reply = asked.say("hello" if tongue == "en" else "merhaba")
    assert not load(reply.dialogue, START).has_open_form
