"""Limits of concurrent deliveries by bot and in all."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chatsvc.webhooks.dispatcher import CONNECTIONS, SLOTS_PER_BOT, DeliverySlots


def bots(count: int, name: str = "bot") -> list[str]:
    return [f"{name} {number}" for number in range(count)]


def test_a_receiver_that_has_not_answered_yet_has_one_delivery_under_way() -> None:
    slots = DeliverySlots()
    assert [slots.take("a", SLOTS_PER_BOT), slots.take("a", SLOTS_PER_BOT)] == [1, 0]
    slots.release("a")
    assert slots.take("a", SLOTS_PER_BOT) == 1


def test_one_that_answers_has_all_of_its_lanes_and_one_that_falls_silent_one() -> None:
    slots = DeliverySlots()
    slots.note("a", answered=True)
    assert [slots.take("a", 3), slots.take("a", 100), slots.take("a", 1)] == [3, SLOTS_PER_BOT - 3, 0]
    slots.note("a", answered=False)
    slots.release("a", SLOTS_PER_BOT - 1)
    assert slots.take("a", SLOTS_PER_BOT) == 0
    slots.release("a")
    assert slots.take("a", SLOTS_PER_BOT) == 1


def test_however_many_are_busy_the_next_one_finds_a_free_lane() -> None:
    slots = DeliverySlots()
    for bot in bots(200):
        slots.note(bot, answered=True)
        assert slots.take(bot, SLOTS_PER_BOT) >= 1
    # They die, all of them at once, and hold what they have.
    for bot in bots(200):
        slots.note(bot, answered=False)
    for bot in bots(100, "living"):
        assert slots.take(bot, SLOTS_PER_BOT) == 1


@pytest.mark.parametrize("dead", [200, 5000])
def test_dead_receivers_of_many_bots_leave_half_of_the_lanes_to_the_living(dead: int) -> None:
    slots = DeliverySlots()
    called = Counter[str]()
    for bot in bots(dead, "dead"):
        slots.note(bot, answered=False)
        if not slots.take(bot, SLOTS_PER_BOT):
            slots.wait_for_slot(bot, lambda bot=bot: called.update([bot]))  # type: ignore[misc]  # of the loop
    for bot in bots(CONNECTIONS // 2, "untried"):
        assert slots.take(bot, SLOTS_PER_BOT) == 1
        slots.release(bot)
    slots.note("living", answered=True)
    assert slots.take("living", SLOTS_PER_BOT) == SLOTS_PER_BOT
    assert not called


def test_200_bots_whose_receivers_have_died_leave_room_right_after_a_start() -> None:
    slots = DeliverySlots()
    assert sum(slots.take(bot, SLOTS_PER_BOT) for bot in bots(200, "dead")) == 200
    assert slots.take("living", SLOTS_PER_BOT) == 1
    slots.note("living", answered=True)
    assert slots.take("living", SLOTS_PER_BOT) == SLOTS_PER_BOT - 1


def test_who_has_to_wait_gets_a_lane_in_the_order_of_asking() -> None:
    slots, called = DeliverySlots(), list[str]()
    for bot in bots(CONNECTIONS):
        assert slots.take(bot, 1) == 1
    for bot in ("x", "y", "z"):
        assert slots.take(bot, 1) == 0
        slots.wait_for_slot(bot, lambda bot=bot: called.append(bot))  # type: ignore[misc]  # of the loop
    assert called == []
    slots.release("bot 7")
    assert called == ["x"]
    # What was called for is taken; nobody overtakes who waits.
    assert slots.take("late", 1) == 0
    slots.release("bot 8")
    slots.release("bot 9")
    assert called == ["x", "y", "z"]
    slots.release("x")
    assert slots.take("late", 1) == 1


def test_who_lines_up_where_lanes_are_free_is_called_at_once() -> None:
    slots, called = DeliverySlots(), list[str]()
    slots.wait_for_slot("a", lambda: called.append("a"))
    assert called == ["a"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_the_books_balance_and_nobody_waits_for_ever(seed: int) -> None:
    chance, slots = random.Random(seed), DeliverySlots()
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
                slots.release(bot, count)
            case 1:
                slots.note(bot, answered=chance.random() < 0.5)
            case _ if bot not in waiting:
                held[bot] += (taken := slots.take(bot, chance.randint(1, SLOTS_PER_BOT)))
                if not taken and not held[bot]:
                    waiting.add(bot)
                    slots.wait_for_slot(bot, lambda bot=bot: call(bot))  # type: ignore[misc]  # of the loop
        assert held.total() == slots._taken <= CONNECTIONS
        assert max(held.values(), default=0) <= SLOTS_PER_BOT
    while held.total():
        bot = next(bot for bot, count in held.items() if count)
        held[bot] -= 1
        slots.release(bot)
    assert waiting == set()
    assert (slots._taken, slots._silent, slots._held) == (0, 0, Counter())
