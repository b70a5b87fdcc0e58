"""Hours and entries in the language of who writes and reads them."""

from __future__ import annotations

import pytest

from chatsvc.domain import opening_hours
from chatsvc.usecases.administration import perform
from tests import conftest
from tests.fakes import ADMIN


@pytest.mark.parametrize("typed", ["Pzt-Cum 9-18:30", "her gün 9-22, pazar kapalı", "Mon 9-12 and 13-18; Wed 9-17, Sat-Sun 10-14"])
def test_hours_are_written_with_turkish_days_and_read_again(typed: str) -> None:
    kept = opening_hours.normalize(typed)
    shown = opening_hours.written(kept, "tr")
    assert not set(opening_hours.DAYS) & set(shown.replace("-", " ").split())
    assert opening_hours.normalize(shown) == kept
    assert opening_hours.written(kept, "en") == kept


@pytest.mark.parametrize(
    ("question", "answer", "language"),
    [
        ("Do you have parking?", "Yes, there is a car park behind the building.", "en"),
        ("Otopark var mı?", "Evet, binanın arkasında otopark var.", "tr"),
        ("WiFi", "12345678", "tr"),
    ],
)
async def test_an_entry_has_the_language_of_its_text(caller: conftest.Caller, question: str, answer: str, language: str) -> None:
    services = caller.app.services
    await perform(services, ADMIN, "bot.set", {"bot": caller.bot, "language": "tr"})
    made = await perform(services, ADMIN, "knowledge.set", {"bot": caller.bot, "question": question, "answer": answer})
    assert made.language == language
    said = {"bot": caller.bot, "entry": made.id, "question": "Parken?", "answer": "Ja.", "language": "de"}
    assert (await perform(services, ADMIN, "knowledge.set", said)).language == "de"
    kept = {"bot": caller.bot, "entry": made.id, "question": question, "answer": answer}
    assert (await perform(services, ADMIN, "knowledge.set", kept)).language == "de"
