"""Who may have how many deliveries under way."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chatsvc.webhooks.lanes import CONNECTIONS, LANES, Lanes


def bots(count: int, name: str = "bot") -> list[str]:
    return [f"{name} {number}" for number in range(count)]


def test_a_receiver_that_has_not_answered_yet_has_one_delivery_under_way() -> None:
    lanes = Lanes()
    assert [lanes.take("a", LANES), lanes.take("a", LANES)] == [1, 0]
    lanes.give_back("a")
    assert lanes.take("a", LANES) == 1


def test_one_that_answers_has_all_of_its_lanes_and_one_that_falls_silent_one() -> None:
    lanes = Lanes()
    lanes.note("a", answered=True)
    assert [lanes.take("a", 3), lanes.take("a", 100), lanes.take("a", 1)] == [3, LANES - 3, 0]
    lanes.note("a", answered=False)
    lanes.give_back("a", LANES - 1)
    assert lanes.take("a", LANES) == 0
    lanes.give_back("a")
    assert lanes.take("a", LANES) == 1


def test_however_many_are_busy_the_next_one_finds_a_free_lane() -> None:
    lanes = Lanes()
    for bot in bots(200):
        lanes.note(bot, answered=True)
        assert lanes.take(bot, LANES) >= 1
    # They die, all of them at once, and hold what they have.
    for bot in bots(200):
        lanes.note(bot, answered=False)
    for bot in bots(100, "living"):
        assert lanes.take(bot, LANES) == 1


@pytest.mark.parametrize("dead", [200, 5000])
def test_dead_receivers_of_many_bots_leave_half_of_the_lanes_to_the_living(dead: int) -> None:
    lanes = Lanes()
    called = Counter[str]()
    for bot in bots(dead, "dead"):
        lanes.note(bot, answered=False)
        if not lanes.take(bot, LANES):
            lanes.line_up(bot, lambda bot=bot: called.update([bot]))  # type: ignore[misc]  # of the loop
    for bot in bots(CONNECTIONS // 2, "untried"):
        assert lanes.take(bot, LANES) == 1
        lanes.give_back(bot)
    lanes.note("living", answered=True)
    assert lanes.take("living", LANES) == LANES
    assert not called


def test_200_bots_whose_receivers_have_died_leave_room_right_after_a_start() -> None:
    lanes = Lanes()
    assert sum(lanes.take(bot, LANES) for bot in bots(200, "dead")) == 200
    assert lanes.take("living", LANES) == 1
    lanes.note("living", answered=True)
    assert lanes.take("living", LANES) == LANES - 1


def test_who_has_to_wait_gets_a_lane_in_the_order_of_asking() -> None:
    lanes, called = Lanes(), list[str]()
    for bot in bots(CONNECTIONS):
        assert lanes.take(bot, 1) == 1
    for bot in ("x", "y", "z"):
        assert lanes.take(bot, 1) == 0
        lanes.line_up(bot, lambda bot=bot: called.append(bot))  # type: ignore[misc]  # of the loop
    assert called == []
    lanes.give_back("bot 7")
    assert called == ["x"]
    # What was called for is taken; nobody overtakes who waits.
    assert lanes.take("late", 1) == 0
    lanes.give_back("bot 8")
    lanes.give_back("bot 9")
    assert called == ["x", "y", "z"]
    lanes.give_back("x")
    assert lanes.take("late", 1) == 1


def test_who_lines_up_where_lanes_are_free_is_called_at_once() -> None:
    lanes, called = Lanes(), list[str]()
    lanes.line_up("a", lambda: called.append("a"))
    assert called == ["a"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_the_books_balance_and_nobody_waits_for_ever(seed: int) -> None:
    chance, lanes = random.Random(seed), Lanes()
    held, waiting = Counter[str](), set[str]()
    names = bots(800)

    def call(bot: str) -> None:
        waiting.remove(bot)
        held[bot] += 1

    for _ in range(4000):
        bot = chance.choice(names)
        match chance.randrange(4):
            case 0 if held[bot]:
                count = chance.randint(1, held[bot])
                held[bot] -= count
                lanes.give_back(bot, count)
            case 1:
                lanes.note(bot, answered=chance.random() < 0.5)
            case _ if bot not in waiting:
                held[bot] += (taken := lanes.take(bot, chance.randint(1, LANES)))
                if not taken and not held[bot]:
                    waiting.add(bot)
                    lanes.line_up(bot, lambda bot=bot: call(bot))  # type: ignore[misc]  # of the loop
        assert held.total() == lanes._taken <= CONNECTIONS
        assert max(held.values(), default=0) <= LANES
    while held.total():
        bot = next(bot for bot, count in held.items() if count)
        held[bot] -= 1
        lanes.give_back(bot)
    assert waiting == set()
    assert (lanes._taken, lanes._silent, lanes._held) == (0, 0, Counter())
