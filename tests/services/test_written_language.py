"""Entries in the language of who writes and reads them."""

import pytest

from chatsvc.services.administration import perform
from chatsvc.services.knowledge.file_reading import read_files
from tests import conftest
from tests.fakes import ADMIN


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
    entry = await perform(services, ADMIN, "knowledge.set", {"bot": caller.bot, "question": question, "answer": answer})
    assert entry.language == language
    changed = {"bot": caller.bot, "entry": entry.id, "question": "Parken?", "answer": "Ja.", "language": "de"}
    assert (await perform(services, ADMIN, "knowledge.set", changed)).language == "de"
    unchanged = {"bot": caller.bot, "entry": entry.id, "question": question, "answer": answer}
    assert (await perform(services, ADMIN, "knowledge.set", unchanged)).language == "de"


ENGLISH, TURKISH = (
    ("Do you have parking?", "Yes, there is a car park behind the building."),
    ("Otopark var mı?", "Evet, binanın arkasında var."),
)
FILES = {
    "faq.md": "## {0[0]}\n\n{0[1]}\n\n## {1[0]}\n\n{1[1]}\n",
    "faq.csv": 'question,answer\n{0[0]},"{0[1]}"\n{1[0]},"{1[1]}"\n',
    "faq.jsonl": '{{"question": "{0[0]}", "answer": "{0[1]}"}}\n{{"question": "{1[0]}", "answer": "{1[1]}"}}\n',
    "page.md": "# Info\n\n### One\n\n{0[0]} {0[1]}\n\n### Two\n\n{1[0]} {1[1]}\n",
    "page.html": "<h2>{0[0]}</h2><p>{0[1]}</p><h2>{1[0]}</h2><p>{1[1]}</p>",
}


@pytest.mark.parametrize("language", ["en", "tr", "de"])
@pytest.mark.parametrize("name", FILES)
def test_entries_of_a_file_have_the_language_of_their_text(name: str, language: str) -> None:
    (file,) = read_files([(name, FILES[name].format(ENGLISH, TURKISH).encode())], language)
    assert [entry[3] for entry in file["entries"]] == ["en", "tr"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("faq.md", "language: de\n\n## Do you have parking?\n\nYes, behind the building.\n"),
        ("faq.md", "## Do you have parking?\nlanguage: de\n\nYes, behind the building.\n"),
        ("faq.csv", "question,answer,language\nDo you have parking?,Yes behind the building,de\n"),
        ("faq.jsonl", '{"question": "Do you have parking?", "answer": "Yes, behind the building.", "language": "de"}\n'),
        ("page.html", '<html lang="de"><h2>Do you have parking?</h2><p>Yes, behind the building.</p></html>'),
        ("faq.md", "## 3.14?\n\n2.71\n"),
    ],
)
def test_a_language_that_is_named_or_cannot_be_told_stays(name: str, text: str) -> None:
    (file,) = read_files([(name, text.encode())], "de")
    assert {entry[3] for entry in file["entries"]} == {"de"}
