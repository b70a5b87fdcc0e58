"""The pauses after wrong passwords."""

from __future__ import annotations

import pytest

from chatsvc.domain import sign_in_delays
from chatsvc.domain.sign_in_delays import (
    ADDRESS_FAILURES,
    ANYWHERE_FAILURES,
    EMAIL_FAILURES,
    LONGEST_S,
    SignInAttempt,
    SignInDelays,
    delay_s,
)


def test_the_pause_grows_from_1_to_60_seconds() -> None:
    assert [delay_s(failures, 5) for failures in range(4, 13)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert delay_s(10_000, 5) == 60


def fail(delays: SignInDelays, email: str, address: str, now: int, *, is_known: bool = False) -> int:
    """Fail once; the seconds to wait where the attempt is not taken."""
    begun = delays.begin(email, address, now, is_known=is_known)
    return begun if isinstance(begun, int) else 0


def test_somebody_who_waits_as_told_is_always_let_try_again() -> None:
    delays, now, waits = SignInDelays(), 0, []
    for _ in range(100):
        wait = fail(delays, "a@b", "192.0.2.1", now)
        waits.append(wait)
        if wait:
            now += wait * 1000
            assert fail(delays, "a@b", "192.0.2.1", now) == 0
    assert waits[:EMAIL_FAILURES] == [0] * EMAIL_FAILURES
    assert max(waits) == LONGEST_S
    assert fail(delays, "c@d", "192.0.2.2", now) == 0


def test_failures_are_forgotten_after_15_minutes_and_with_a_clock_that_is_set_back() -> None:
    for later in (sign_in_delays.WINDOW_MS, -1):
        delays = SignInDelays()
        for _ in range(EMAIL_FAILURES):
            assert fail(delays, "a@b", "192.0.2.1", 0) == 0
        assert fail(delays, "a@b", "192.0.2.1", 0) == 1
        assert fail(delays, "a@b", "192.0.2.1", later) == 0


@pytest.mark.parametrize(("one", "two", "shared"), [("2001:db8::1", "2001:db8::ffff:2", True), ("2001:db8::1", "2001:db8:0:1::1", False),
                                                    ("192.0.2.1", "192.0.2.2", False), ("unknown", "unknown", True)])  # fmt: skip
def test_a_customers_ipv6_network_counts_as_one_address(one: str, two: str, shared: bool) -> None:
    delays = SignInDelays()
    for number in range(ADDRESS_FAILURES):
        assert fail(delays, f"{number}@x", one, 0) == 0
    assert bool(fail(delays, "other@x", two, 0)) is shared


def test_a_right_password_forgets_the_e_mail_address_and_not_the_rest_of_the_address() -> None:
    delays = SignInDelays()
    for number in range(ADDRESS_FAILURES - 1):
        assert fail(delays, f"{number}@x", "192.0.2.1", 0) == 0
    own = delays.begin("own@x", "192.0.2.1", 0)
    assert isinstance(own, SignInAttempt)
    delays.passed(own)
    assert fail(delays, "next@x", "192.0.2.1", 0) == 0
    assert fail(delays, "next@x", "192.0.2.1", 0) == 1


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_delays, "MOST_KEYS", 10)
    delays = SignInDelays()
    for number in range(100):
        assert fail(delays, f"{number}@x", f"192.0.2.{number}", 0) == 0
    assert len(delays._failures) == 10


def test_a_strangers_failures_hold_nobody_up_elsewhere() -> None:
    delays, now = SignInDelays(), 0
    for _ in range(EMAIL_FAILURES):
        assert fail(delays, "owner@x", "198.51.100.7", now) == 0
    # The next address of the same network does not help a guesser.
    assert fail(delays, "owner@x", "198.51.100.8", now) == 1
    assert fail(delays, "owner@x", "192.0.2.1", now) == 0


def test_guessing_from_many_networks_is_slowed_and_leaves_a_known_address_alone() -> None:
    delays, now = SignInDelays(), 0
    for number in range(ANYWHERE_FAILURES):
        assert fail(delays, "owner@x", f"10.0.{number}.1", now) == 0
    assert fail(delays, "owner@x", "10.1.0.1", now) == 1
    for number in range(EMAIL_FAILURES):
        assert fail(delays, "owner@x", "192.0.2.1", now, is_known=True) == 0, number
    assert fail(delays, "owner@x", "192.0.2.1", now, is_known=True) == 1


def test_a_right_password_does_not_forget_the_failures_of_others() -> None:
    delays = SignInDelays()
    for number in range(ANYWHERE_FAILURES - 1):
        assert fail(delays, "owner@x", f"10.0.{number}.1", 0) == 0
    own = delays.begin("owner@x", "192.0.2.1", 0)
    assert isinstance(own, SignInAttempt)
    delays.passed(own)
    assert [fail(delays, "owner@x", f"10.1.{number}.1", 0) for number in range(2)] == [0, 1]
