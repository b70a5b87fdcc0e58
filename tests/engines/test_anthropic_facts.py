"""Facts in a prompt: hours in words, whether the business is open now, and how it is reached."""

from dataclasses import replace
from datetime import datetime

import pytest

from chatsvc.domain.models import Entry
from chatsvc.engines import site_of
from chatsvc.engines.anthropic import prompt
from tests.engines.test_anthropic import BOT, TURN, Shelf, system_blocks

WEEK = BOT._replace(opening_hours="mon-fri 09:00-12:00; mon-fri 13:00-18:00; sat 10:00-14:00")
CLOSED = WEEK._replace(profile='{"closed": ["2026-11-28 Fair", "2026-11-30..2027-01-10"]}')


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        ("mon-fri 09:00-18:00; sat 10:00-14:00", "Monday to Friday 09:00-18:00; Saturday 10:00-14:00; Sunday closed"),
        ("mon-sun 00:00-24:00", "Monday to Sunday 00:00-24:00"),
        ("by arrangement", "by arrangement"),
    ],
)
def test_hours_are_in_words(hours: str, words: str) -> None:
    assert prompt.hours_in_words(hours) == words


@pytest.mark.parametrize(
    ("now", "bot", "status"),
    [
        ("2026-11-27 10:00", WEEK, "open until 12:00"),
        ("2026-11-27 12:30", WEEK, "closed; opens today 13:00"),
        ("2026-11-27 19:00", WEEK, "closed; opens Saturday 10:00"),
        ("2026-11-28 15:00", WEEK, "closed; opens Monday 09:00"),
        ("2026-11-27 19:00", CLOSED, "closed; opens Monday 11 January 09:00"),
        ("2026-11-27 19:00", BOT._replace(opening_hours=None), None),
        ("2026-11-27 19:00", BOT._replace(opening_hours="by arrangement"), None),
        ("2026-11-27 23:59", BOT._replace(opening_hours="mon-sun 00:00-24:00"), "open until 00:00"),
    ],
)
def test_the_model_reads_whether_it_is_open(now: str, bot: object, status: str | None) -> None:
    assert prompt.status(bot, datetime.fromisoformat(now)) == status  # type: ignore[arg-type]


def test_a_prompt_has_the_state_of_now_and_the_closed_days_behind_its_stable_part() -> None:
    blocks = system_blocks(replace(TURN, bot=CLOSED), prompt.ON_PREM)
    assert "It is now Friday, 20 November 2026, 18:14 (Europe/Istanbul).\nNow: closed; opens Saturday 10:00." in blocks[-1]["text"]
    assert "Also closed on: 2026-11-28 Fair; 2026-11-30..2027-01-10." in blocks[-1]["text"]
    assert "Now:" not in blocks[0]["text"]


def test_the_site_is_the_one_that_was_read() -> None:
    pages = Shelf((Entry("1", "q", (), "a", "en", "faq.md"), Entry("2", "q", (), "a", "en", "https://www.example.com/prices?x=1")))
    assert "Website: https://www.example.com\n" in system_blocks(replace(TURN, knowledge=pages), prompt.ON_PREM)[0]["text"]
    assert site_of(TURN.knowledge) == ""
