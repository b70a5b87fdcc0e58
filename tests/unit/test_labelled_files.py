"""Questions labelled Q: and A:, and price lists, in every format that holds text."""

import re

import pytest

from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError
from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.knowledge_files import read


def found(name: str, text: str, language: str = "en") -> dict[str, tuple[tuple[str, ...], str]]:
    return {entry.question: (entry.alt, entry.answer) for entry in read(name, text, language).entries}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "Q: Open?\nQ: opening hours\nA: From 9 to 6.\n\nNot on Sundays.\n\nQ2: Far\naway?\nA2: No.\n"),
        ("a.txt", "SORU: Open?\nSoru: opening hours\nCEVAP: From 9 to 6.\n\nNot on Sundays.\nSORU 2. Far away?\nYanıt: No."),
        ("a.md", "# Shop\n\n**Q:** Open?\n**Q:** opening hours\n**A:** From 9 to 6.\n\nNot on Sundays.\n\n- Q: Far away?\n- A: No.\n"),
        ("a.html", "<p>Q: Open?<br>Q: opening hours<br>A: From 9 to 6.</p><p>Not on Sundays.</p><p>Q: Far away?</p><p>A: No.</p>"),
    ],
)
def test_labelled_questions_become_entries(name: str, text: str) -> None:
    assert found(name, text) == {
        "Open?": (("opening hours",), "From 9 to 6.\n\nNot on Sundays."),
        "Far away?": ((), "No."),
    }
    with pytest.raises(KnowledgeFileError, match=r"^a.txt, line 4: this question has no answer$"):
        read("a.txt", "Q: One?\nA: Yes.\n\nQ: Two?\n", "en")


def test_lines_of_markdown_that_are_bold_as_a_whole_are_headings() -> None:
    text = "# Shop\n\n## Trips\n\n**Seal cruise**\n90 minutes, from the old harbour.\n\n**Sunset trip:**\n\nFridays only, **at 7**.\n"
    assert {answer for _, answer in found("a.md", text).values()} == {"90 minutes, from the old harbour.", "Fridays only, **at 7**."}
    assert {"Seal cruise", "Sunset trip"} <= set(found("a.md", text))


def test_without_any_answer_and_in_code_a_label_is_text() -> None:
    assert "Q &" in found("a.txt", "Q & A\n\nPlease ask at the desk, which is open from nine.")["Q & A"][1] + "Q &"
    assert [answer for _, answer in found("a.txt", "Q: who asks?\n\nNobody.").values()] == ["who asks? Nobody."]
    assert "Q: x" in found("a.md", "# T\n\n```\nQ: x\nA: y\n```\n")["T"][1]


LISTS = [
    ("p.txt", "Prices\n\nHaircut ......... 450 TL\nBeard trim ......... 200 TL\n"),
    ("p.md", "## Prices\n\n| Service | Price |\n|---|---|\n| Haircut | 450 TL |\n| Beard trim | 200 TL |\n"),
    ("p.html", "<h2>Prices</h2><table><tr><td>Haircut</td><td>450 TL</td></tr><tr><td>Beard trim</td><td>200 TL</td></tr></table>"),
    ("p.csv", "Service,Price\nHaircut,450 TL\nBeard trim,200 TL\n"),
]


@pytest.mark.parametrize(("name", "text"), LISTS)
def test_a_price_list_answers_how_much_one_thing_is(name: str, text: str) -> None:
    entries = read(name, text, "en").entries
    index = KnowledgeIndex([Entry(str(index), e.question, e.alt, e.answer, e.language, e.source) for index, e in enumerate(entries)], "en")
    for question in ("how much is a haircut", "haircut price?", "what does a haircut cost"):
        fact = index.search(question).hits[0].fact
        assert fact is not None
        assert "Haircut" in fact.text
        assert "450 TL" in fact.text
        assert "200 TL" not in fact.text


def test_a_table_stays_in_its_section_and_a_table_without_questions_keeps_all_columns() -> None:
    table = "| Van | Sleeps | Low season |\n| --- | --- | --- |\n| Poppy | 2 | £65 |\n| Marge |  | £95 |"
    assert found("vans.md", f"## Our vans\n\n{table}\n\nInsurance is included.") == {"Our vans": ((), f"{table}\n\nInsurance is included.")}
    assert found("our_vans.csv", "Van;Sleeps;Low season\nPoppy;2;£65\n\nMarge;;£95\n") == {"our vans": ((), table)}
    assert found("prices.csv", "Size,Price 2026\nS,4 EUR\n") == {"prices": ((), "| Size | Price 2026 |\n| --- | --- |\n| S | 4 EUR |")}
    with pytest.raises(KnowledgeFileError, match="the first line must name the columns"):
        read("prices.csv", "Size S,4 EUR\nSize M,5 EUR\n", "en")
    assert found("sss.csv", "Soru;Yanıt\nAçık mısınız?;Evet.\n", "tr") == {"Açık mısınız?": ((), "Evet.")}


def test_a_long_table_is_cut_between_rows_below_its_heads() -> None:
    rows = "\n".join(f"Thing number {number},{number} EUR" for number in range(150))
    for name, text in (
        ("a.csv", f"Name,Price\n{rows}\n"),
        ("a.md", "## A\n\n| Name | Price |\n|---|---|\n" + re.sub("(.*),(.*)", r"| \1 | \2 |", rows)),
    ):
        entries = read(name, text, "en").entries
        assert len(entries) > 1
        assert all(entry.answer.startswith("| Name | Price |") and len(entry.answer) <= 2_400 for entry in entries)
        assert sum(entry.answer.count("Thing number") for entry in entries) == 150


def test_a_question_in_bold_is_an_entry_with_what_stands_behind_or_below_it() -> None:
    asked = "**Dogs?** Yes, on a lead.\n\n**Can we stay late?**\nUntil midnight.\n\nLater costs £50."
    text = f"# Barn\n\n## FAQ\n\n{asked}\n\n## Parking\n\nBehind the barn.\n"
    answers = {question: answer for question, (_, answer) in found("faq.md", text).items()}
    assert answers == {
        "Dogs?": "Yes, on a lead.",
        "Can we stay late?": "Until midnight.\n\nLater costs £50.",
        "Parking": "Behind the barn.",
    }


def test_a_line_in_a_frame_is_a_heading_of_plain_text() -> None:
    text = "Carpets since 1990.\n\n--- Prices (per m2) ---\n- Wool from 110\n\n--- Payment ---\nCash or card on delivery.\n"
    entries = found("a.txt", text)
    assert entries["Payment"][1] == "Cash or card on delivery."
    assert entries["Prices (per m2)"][1] == "- Wool from 110"
