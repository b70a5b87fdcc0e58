"""Delays after wrong passwords: their rules, over restarts and over all processes of a store."""

from pathlib import Path

import pytest

from chatsvc.domain import passwords
from chatsvc.domain.passwords import ADDRESS_FAILURES, ANYWHERE_FAILURES, EMAIL_FAILURES, LONGEST_S, SignInAttempt, delay_s
from chatsvc.store import sessions
from chatsvc.store.database import Database
from tests.store.conftest import Open
from tests.store.inspection import query

pytestmark = pytest.mark.postgres


def test_the_pause_grows_from_1_to_60_seconds() -> None:
    assert [delay_s(failures, 5) for failures in range(4, 13)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert delay_s(10_000, 5) == 60


async def fail(db: Database, email: str, address: str, now: int, *, is_known: bool = False) -> int:
    """Fail once; the seconds to wait where the attempt is not taken."""
    begun = await sessions.begin_attempt(db, email, address, now, is_known=is_known)
    return begun if isinstance(begun, int) else 0


async def test_somebody_who_waits_as_told_is_always_let_try_again(db: Database) -> None:
    now, waits = 0, list[int]()
    for _ in range(100):
        wait = await fail(db, "a@b", "192.0.2.1", now)
        waits.append(wait)
        if wait:
            now += wait * 1000
            assert await fail(db, "a@b", "192.0.2.1", now) == 0
    assert waits[:EMAIL_FAILURES] == [0] * EMAIL_FAILURES
    assert max(waits) == LONGEST_S
    assert await fail(db, "c@d", "192.0.2.2", now) == 0


@pytest.mark.parametrize("later", [passwords.WINDOW_MS, -1])
async def test_failures_are_forgotten_after_15_minutes_and_with_a_clock_that_is_set_back(later: int, db: Database) -> None:
    for _ in range(EMAIL_FAILURES):
        assert await fail(db, "a@b", "192.0.2.1", 0) == 0
    assert await fail(db, "a@b", "192.0.2.1", 0) == 1
    assert await fail(db, "a@b", "192.0.2.1", later) == 0


@pytest.mark.parametrize(("one", "two", "shared"), [("2001:db8::1", "2001:db8::ffff:2", True), ("2001:db8::1", "2001:db8:0:1::1", False),
                                                    ("192.0.2.1", "192.0.2.2", False), ("unknown", "unknown", True)])  # fmt: skip
async def test_a_customers_ipv6_network_counts_as_one_address(one: str, two: str, shared: bool, db: Database) -> None:
    for number in range(ADDRESS_FAILURES):
        assert await fail(db, f"{number}@x", one, 0) == 0
    assert bool(await fail(db, "other@x", two, 0)) is shared


async def test_a_right_password_forgets_the_e_mail_address_and_not_the_rest_of_the_address(db: Database) -> None:
    for number in range(ADDRESS_FAILURES - 1):
        assert await fail(db, f"{number}@x", "192.0.2.1", 0) == 0
    own = await sessions.begin_attempt(db, "own@x", "192.0.2.1", 0)
    assert isinstance(own, SignInAttempt)
    await sessions.passed(db, own)
    assert await fail(db, "next@x", "192.0.2.1", 0) == 0
    assert await fail(db, "next@x", "192.0.2.1", 0) == 1


async def test_strangers_write_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch, db: Database, path: Path) -> None:
    monkeypatch.setattr(sessions, "MOST_FAILURES", 30)
    for number in range(50):
        assert await fail(db, f"{number}@x", f"192.0.{number}.1", 0) == 0
    assert query(path, "SELECT count(*) FROM sign_in_failures") == [(30,)]
    # Whoever has to wait writes none.
    for _ in range(EMAIL_FAILURES):
        await fail(db, "a@b", "198.51.100.7", 1)
    before = query(path, "SELECT max(number) FROM sign_in_failures")
    assert await fail(db, "a@b", "198.51.100.7", 1) == 1
    assert query(path, "SELECT max(number) FROM sign_in_failures") == before
    await sessions.forget_failures(db, passwords.WINDOW_MS)
    assert query(path, "SELECT DISTINCT at FROM sign_in_failures") == [(1,)]
    await sessions.forget_failures(db, passwords.WINDOW_MS + 1)
    assert query(path, "SELECT count(*) FROM sign_in_failures") == [(0,)]


async def test_the_delays_hold_over_a_restart(open_db: Open, path: Path) -> None:
    for _ in range(EMAIL_FAILURES):
        db = await open_db(path)
        assert await fail(db, "a@b", "192.0.2.1", 0) == 0
        await db.close()
    db = await open_db(path)
    assert await fail(db, "a@b", "192.0.2.1", 0) == 1
    await db.close()
    # The store holds neither the e-mail address nor the client's.
    assert {len(key) for (key,) in query(path, "SELECT key FROM sign_in_failures")} == {16}


async def test_a_strangers_failures_hold_nobody_up_elsewhere(db: Database) -> None:
    for _ in range(EMAIL_FAILURES):
        assert await fail(db, "owner@x", "198.51.100.7", 0) == 0
    # The next address of the same network does not help a guesser.
    assert await fail(db, "owner@x", "198.51.100.8", 0) == 1
    assert await fail(db, "owner@x", "192.0.2.1", 0) == 0


async def test_guessing_from_many_networks_is_slowed_and_leaves_a_known_address_alone(db: Database) -> None:
    for number in range(ANYWHERE_FAILURES):
        assert await fail(db, "owner@x", f"10.0.{number}.1", 0) == 0
    assert await fail(db, "owner@x", "10.1.0.1", 0) == 1
    known = [await fail(db, "owner@x", "192.0.2.1", 0, is_known=True) for _ in range(EMAIL_FAILURES + 1)]
    assert known == [*[0] * EMAIL_FAILURES, 1]


async def test_a_right_password_does_not_forget_the_failures_of_others(db: Database) -> None:
    for number in range(ANYWHERE_FAILURES - 1):
        assert await fail(db, "owner@x", f"10.0.{number}.1", 0) == 0
    own = await sessions.begin_attempt(db, "owner@x", "192.0.2.1", 0)
    assert isinstance(own, SignInAttempt)
    await sessions.passed(db, own)
    assert [await fail(db, "owner@x", f"10.1.{number}.1", 0) for number in range(2)] == [0, 1]
