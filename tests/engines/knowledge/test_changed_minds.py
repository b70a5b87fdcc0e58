"""Visitors who change their mind: what they take back, and what they put in its place."""

from __future__ import annotations

import pytest

from tests.engines.knowledge.test_form_turns import BOOKED, Guest

CANCELED = (*BOOKED, "please cancel my booking")


@pytest.mark.parametrize(
    "message",
    [
        "no wait, keep it",
        "don't cancel after all",
        "oh sorry, dont cancel it, we are coming",
        "actually we will come after all",
        "please ignore the cancellation",
    ],
)
def test_a_cancellation_taken_back_is_captured_and_no_longer_told(message: str) -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    guest.capture("please cancel my booking")
    kept = guest.capture(message)
    assert kept.change is not None and not kept.change.cancels
    assert ": keep as it is, 2026-11-" in guest.records[-1].message
    assert "cancel" not in guest.say("what did I book?").text


@pytest.mark.parametrize("message", ["don't cancel anything", "keep my booking please", "no no dont cancel it"])
def test_nothing_is_captured_where_nothing_was_to_change(message: str) -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    reply = guest.say(message)
    assert reply.captured is None
    assert "stays as it is" in reply.text
