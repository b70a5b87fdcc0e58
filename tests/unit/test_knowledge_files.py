"""Questions and answers in Markdown: what is taken, and every fault told at once with its line."""

import string

import pytest

from chatsvc import samples
from chatsvc.domain.knowledge_files import parsed
from chatsvc.domain.knowledge_files.markdown import parse_markdown
from chatsvc.domain.knowledge_files.parsed import MAX_ANSWER, MAX_PHRASING, FileFault, KnowledgeFileError, ParsedEntry
from chatsvc.domain.models import Synonyms
from chatsvc.translations import section
from tests.knowledge_files import parse_file, read
from tests.tables import json_rows


def parse(text: str, language: str = "tr") -> list[ParsedEntry]:
    return parse_markdown(text, language, "faq.md").entries


def faults(text: str) -> list[tuple[int, str]]:
    with pytest.raises(KnowledgeFileError) as error:
        parse(text)
    assert error.value.source == "faq.md"
    return [(fault.line, fault.sentence()) for fault in error.value.faults]


def test_a_question_its_phrasings_and_its_answer_are_an_entry() -> None:
    text = "## When are you open?\nalt: opening hours\nAlt:  are you   open today \nlanguage: en\n\nMonday to Friday.\n\nNot on Sunday.\n"
    assert parse(text) == [
        ParsedEntry("When are you open?", ("opening hours", "are you open today"), "Monday to Friday.\n\nNot on Sunday.", "en", "faq.md", 1)
    ]


@pytest.mark.parametrize(("text", "expected"), json_rows("unit/questions_read"))
def test_what_stands_in_a_file_of_questions_is_read(text: str, expected: list[list[object]]) -> None:
    assert [[entry.question, list(entry.alt), entry.answer, entry.language] for entry in parse(text)] == expected


def test_all_faults_are_told_at_once_in_the_files_order() -> None:
    text = "Welcome!\nand more\nalt: x\nlanguage: english\n## \n\n1\n## B\nalt:\n## C\n\n3\n\nalt: late\n## C\n\n4\n```\n"
    assert (5, "this comment is never closed (-->)") in faults("## A\n\n1\n\n<!-- oh\n## B\n\n2")
    assert faults(text) == [
        (1, "text that belongs to no question; a question is a line that begins with ##"),
        (3, "an alt: line belongs under a question (## ...), and there is none above it"),
        (4, "'english' is no language; write a tag such as tr, en or en-GB"),
        (5, "the question is missing"),
        (8, "this question has no answer"),
        (9, "another phrasing is missing after alt:"),
        (14, "an alt: line after the answer has begun; alt: lines come right below the question"),
        (15, "this question was asked on line 10 already; keep one of the two"),
        (18, "this code block is never closed (a line with ```)"),
    ]


def test_the_message_names_the_file_and_the_lines() -> None:
    error = KnowledgeFileError("faq.md", [FileFault(1, "answer_missing"), FileFault(7, "question_twice", {"unit": "line", "first": 1234})])
    assert str(error) == (
        "faq.md, line 1: this question has no answer\nfaq.md, line 7: this question was asked on line 1234 already; keep one of the two"
    )
    assert error.faults[1].sentence("tr") == "bu soru daha önce de var (satır 1234); ikisinden birini bırakın"
    # Numbers are written as the language has them.
    fault = FileFault(1, "answer_too_long", {"length": 12345, "most": 8000})
    assert fault.sentence() == "the answer to this question has 12,345 characters; at most 8,000 are possible"
    assert fault.sentence("tr") == "bu sorunun yanıtı 12.345 karakter; en çok 8.000 olabilir"


@pytest.mark.parametrize("code", sorted(section("file_faults")))
def test_a_fault_names_the_same_facts_in_both_languages(code: str) -> None:
    def names(template: str) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(template)} - {None}

    english, turkish = (str(section("file_faults")[code][language]) for language in ("en", "tr"))
    assert names(english) == names(turkish)
    assert english != turkish


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a title\n", "<!-- nothing -->"])
def test_a_file_without_a_question_is_a_fault(text: str) -> None:
    assert faults(text) == [
        (1, "no text in this file; questions and answers begin with ## and the question, and their answer stands below it")
    ]


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(f"## {'q' * MAX_PHRASING}\nalt: {'a' * MAX_PHRASING}\n\n{'x' * MAX_ANSWER}")
    assert faults(f"## {'q' * 501}\nalt: {'a' * 501}\n\n{'x' * 8001}") == [
        (1, "this question has 501 characters; at most 500 are possible"),
        (1, "the answer to this question has 8,001 characters; at most 8,000 are possible"),
        (2, "this phrasing has 501 characters; at most 500 are possible"),
    ]
    for char, code in (("\x00", "U+0000"), ("\udcff", "U+DCFF"), ("\x1b", "U+001B")):
        assert faults(f"## A\n\n1{char}") == [(3, f"a character that is no text ({code}); save the file as UTF-8")]
    monkeypatch.setattr(parsed, "MAX_ENTRIES", 3)
    text = "".join(f"## {number}?\n\nx\n" for number in range(6))
    assert parse(text[: text.index("## 3")])
    assert faults(text) == [(10, "more than 3 entries in one file; spread them over several files")]


def test_the_ending_tells_the_format_and_another_one_is_refused() -> None:
    assert parse_file("A.MD", "## A\n\n1", "en")[0].source == "A.MD"
    with pytest.raises(
        KnowledgeFileError, match=r"faq\.xlsx, line 1: '\.xlsx' files cannot be read as knowledge; write it in one of: \.md"
    ):
        parse_file("faq.xlsx", "", "en")
    with pytest.raises(KnowledgeFileError, match="files without an ending"):
        parse_file("notes.d/faq", "", "en")


def test_synonyms_stand_outside_of_the_questions() -> None:
    text = "synonyms: havlu, peştamal ,towel\nsynonyms: a, b\n\n## A?\n\n1\n\n# Prices\nSynonyms: c,  d e\n"
    groups = [("havlu", "peştamal", "towel"), ("a", "b"), ("c", "d e")]
    assert parse_markdown(text, "tr", "faq.md").synonyms == [Synonyms(words, "faq.md") for words in groups]
    assert parse_markdown("synonyms: a, b", "tr", "faq.md").entries == []
    assert faults("synonyms: a,\n\n## A?\nsynonyms: a, b\n\n1") == [
        (1, "synonyms are two words or expressions at least, with commas between them: havlu, peştamal, towel"),
        (4, "synonyms: stands outside of the questions: before the first one, or below a # title"),
    ]


@pytest.mark.parametrize(("text", "entries"), json_rows("unit/questions_or_document"))
def test_a_file_that_asks_is_questions_and_answers_and_any_other_a_document(text: str, entries: int) -> None:
    assert len(parse(text)) == entries


def test_the_sample_business_is_told_in_both_languages() -> None:
    files = {name: parse_file(name, text, "de") for name, text in samples.knowledge().items()}
    assert [{entry.language for entry in entries} for entries in files.values()] == [{"tr"}, {"en"}]
    turkish, english = files.values()
    assert len(turkish) == len(english) >= 15
    assert all(len(entry.alt) >= 5 for entry in [*turkish, *english])


STRUCK = {
    "a.md": "# Hourly rent\n\nIt costs ~~600 TL~~ 520 TL for a day of eight hours.\n",
    "b.md": "# Hourly rent\n\nIt costs <del>600 <b>TL</b></del> <s>at 600</s> 520 TL for a day of eight hours.\n",
    "c.md": "## What does ~~1 h for 600~~ an hour cost?\n\n<strike>600</strike> 520 TL\n",
    "a.html": "<h1>Hourly rent</h1><p>It costs <del>600 TL</del> <ins>520 TL</ins> for a day of eight hours.</p><p>Ask <s>us</s><p>again.",
    "b.html": "<p>It costs <span style='text-decoration: line-through'>600 <span>TL</span> 600</span> 520 TL.<p class='a hidden'>Again.",
    "c.html": "<p hidden>Was 600.<p>It costs <font hidden>600</font> 520 TL.</p><div hidden=''>600<div>600</div>600</div><p>Ask again</p>",
}


@pytest.mark.parametrize(("name", "text"), STRUCK.items())
def test_struck_out_text_is_not_told(name: str, text: str) -> None:
    answers = " ".join(entry.answer for entry in read(name, text, "en").entries)
    assert "520 TL" in answers
    assert "600" not in answers
    assert name.endswith(".md") or "gain" in answers


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\ntitle: Our shop\ntags:\n- a\n---\nPrices\n======\n\nA wash is 20 TL for each car.\n"),
        ("a.md", "+++\ntitle = 'Our shop'\n+++\n\nPrices\n------\n\nA wash is 20 TL for each car.\n"),
        ("a.md", "---\ntitle: Our shop\nlanguage: en\n---\n## Prices\nalt: what does it cost\n\nA wash is 20 TL for each car.\n"),
        ("a.txt", "Prices\n======\nA wash is 20 TL for each car.\n"),
        ("a.txt", "Prices\n------\n\nA wash is 20 TL for each car.\n"),
    ],
)
def test_front_matter_is_no_entry_and_underlined_headings_are_headings(name: str, text: str) -> None:
    (entry,) = read(name, text, "tr").entries
    assert (entry.question, entry.answer) == ("Prices", "A wash is 20 TL for each car.")
    # Other lines of dashes underline nothing.
    for other in ("| a | b |\n| --- | --- |\n| ======== | 1 |", "One.\n---\nTwo.", "```\nPrices\n======\n```", "- item\n======"):
        (entry,) = read("a.md", f"# Prices\n\n{other}\n", "en").entries
        assert (entry.question, entry.answer) == ("Prices", other)


@pytest.mark.parametrize("ending", ["md", "txt"])
def test_a_table_that_was_pasted_keeps_the_names_of_its_columns(ending: str) -> None:
    rows = "Service\tPrice\tMinutes\nCut\t£52\t30\nDye, all\t\t90\n"
    table = "| Service | Price | Minutes |\n| Cut | £52 | 30 |\n| Dye, all |  | 90 |"
    (entry,) = read(f"a.{ending}", f"{rows}\n\tindented by a tab\n", "en").entries
    assert (entry.question, entry.answer) == ("Service, Price, Minutes", f"{table}\n\n\tindented by a tab")


@pytest.mark.parametrize("heading", ["Dr. Elif Kaya", "Peugeot 208 kiralama"])
def test_nothing_is_cut_out_of_a_heading(heading: str) -> None:
    first, second = "Bu bölümde size yardımcı olacak bütün bilgileri bulabilirsiniz.", "Burada da başka bilgiler yer alıyor."
    text = f"{heading}\n\n{first}\n\nBaşka konu\n\n{second}\n"
    assert heading in [entry.question for entry in read("a.txt", text, "tr").entries]
