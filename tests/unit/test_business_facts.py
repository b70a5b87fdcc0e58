"""Settings that every business is asked for: what is missing, and what the knowledge says of it."""

import pytest

from chatsvc.domain import knowledge_findings
from chatsvc.domain.models import Bot, Entry
from tests.tables import rows

BOT = Bot("b", "a", "Pedal", None, "offline", True, 0, 0, 0)


@pytest.mark.parametrize(("question", "answer", "setting", "value"), rows("unit/business_facts"))
def test_a_missing_setting_is_named_with_what_the_knowledge_says(question: str, answer: str, setting: str, value: str) -> None:
    findings = {finding.kind: finding for finding in knowledge_findings.findings(BOT, [Entry("e", question, (), answer, "tr")])}
    assert findings.keys() == {"phone_missing", "address_missing", "opening_hours_missing"}
    named = findings[f"{setting}_missing"]
    assert (named.entry, named.facts) == (("e", {"value": value}) if value else (None, {}))
    assert setting == "opening_hours" or all(value in named.sentence(language) for language in ("tr", "en"))


@pytest.mark.parametrize(
    ("hours", "turkish", "english"),
    [
        (
            "mon-fri 09:00-12:00; mon-fri 13:00-18:00; sat 10:00-14:00",
            "Pazartesi-Cuma 09:00-12:00 / 13:00-18:00, Cumartesi 10:00-14:00",
            "Monday-Friday 09:00-12:00 / 13:00-18:00, Saturday 10:00-14:00",
        ),
        ("sun 20:00-24:00; mon 00:00-02:00", "Pazar 20:00-02:00", "Sunday 20:00-02:00"),
    ],
)
def test_opening_hours_are_offered_as_people_write_them(hours: str, turkish: str, english: str) -> None:
    finding = knowledge_findings.LintFinding("opening_hours_missing", "e", None, {"value": hours})
    assert (turkish in finding.sentence("tr"), english in finding.sentence()) == (True, True)
    bot = BOT._replace(phone="1", address="x", opening_hours=hours)
    assert list(knowledge_findings.findings(bot, [])) == []
    assert knowledge_findings.missing(bot._replace(phone=None)) == ["phone"]
