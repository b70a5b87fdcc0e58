"""Texts: cells of CSV files, as spreadsheets read them with whatever separator, and language tags, as the interface takes them."""

import csv
import io
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain import escaping
from chatsvc.domain.escaping import row, with_formulas, without_formulas
from chatsvc.domain.folding import is_tag, primary
from chatsvc.domain.knowledge_files import WRITERS
from chatsvc.domain.models import Entry
from tests.knowledge_files import read
from tests.speed import within

TEXTS = st.text(alphabet="a;,='+\t\r\n\"| -@＝", max_size=30)


def cells(line: str, separator: str) -> list[str]:
    """The cells of a file as a tolerant spreadsheet with this separator may see them: quotes count at a cell's start, or not at all."""
    seen = [cell for row in csv.reader(io.StringIO(line, newline=""), delimiter=separator) for cell in row]
    return seen + re.split(rf"[{separator}\r\n]", line) + re.split(rf'"*[{separator}\r\n]"*', line)


@given(TEXTS)
def test_no_cell_begins_like_a_formula_whatever_separates_the_cells(text: str) -> None:
    written = row("id", text, "end")
    for separator in (",", ";", "\t"):
        seen = cells(written, separator)
        if separator == ",":
            seen = seen[:3]  # what is not split at its quotes is no CSV
        assert [cell for cell in seen if cell.startswith(("=", "+", "-", "@", "＝"))] == []
    assert with_formulas(without_formulas(text)) == text


@pytest.mark.parametrize("text", ["3-4 days", "a@b.example", "1+1=2", "well - yes", "a, =b", "it's; fine"])
def test_a_text_that_is_no_formula_stays_and_so_do_numbers(text: str) -> None:
    assert without_formulas(text) == text
    assert row(-5, 0, None, "", "-5", "a") == "-5,0,,,'-5,a\r\n"


def test_knowledge_written_as_csv_runs_nothing_and_comes_back() -> None:
    entry = Entry("id", "=1+1", ("-x", 'a;=HYPERLINK("x")'), "- one\n- two;=3\n'=kept", "en", "+faq.md")
    text = "".join(WRITERS["csv"]([entry], []))
    assert [cell for cell in cells(text, ";") if cell.startswith(("=", "+", "-", "@"))] == []
    (back,) = read("x.csv", text, "en").entries
    assert (back.question, back.alt, back.answer, back.source) == (entry.question, entry.alt, entry.answer, entry.source)


def test_nothing_else_writes_csv() -> None:
    package = Path(escaping.__file__).parents[1]
    files = {str(file.relative_to(package)): file.read_text("utf-8") for file in package.rglob("*.py")}
    assert [name for name, text in files.items() if "csv.writer" in text or "DictWriter" in text] == []
    assert [name for name, text in files.items() if "without_formulas" in text] == ["domain/escaping.py"]


@pytest.mark.parametrize(
    "tag",
    [
        "tr", "en", "en-GB", "EN-gb", "zh-Hant-TW", "sr-Latn", "es-419", "de-CH-1901", "sl-rozaj-biske", "hy-Latn-IT-arevela", "fil",
        "zh-cmn-Hans-CN", "de-1996-u-co-phonebk", "en-a-bbb-x-a-ccc", "ar-u-nu-latn", "en-x-own", "tlhingan",
        "en-x" + "-abcdefgh" * 13 + "-abcdef",
    ],
)  # fmt: skip
def test_a_well_formed_tag_is_taken(tag: str) -> None:
    assert is_tag(tag)
    assert primary(tag) == tag.lower().split("-")[0]


@pytest.mark.parametrize(
    "text",
    [
        "", "t", "turkish language", "tr_TR", "tr-", "-tr", "tr--TR", "en-GB ", " en", "en\n", "en-GB\n", "١٢", "tü", "en-ı", "123", "en-é",
        "en-a", "en-x", "a-DE", "de-419-DE-FR", "abcdefghi", "en-toolongsubtag", "en,de", "*", "en;q=1", "\0\0", "e" * 200,
        "en-x" + "-abcdefgh" * 13 + "-abcdefg",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    assert not is_tag(text)


@given(st.text())
def test_what_is_taken_is_ascii_without_white_space(text: str) -> None:
    if is_tag(text):
        assert text.isascii()
        assert not any(character.isspace() for character in text)


def test_no_text_keeps_the_check_busy() -> None:
    for text in ("a-" * 64, "en-" + "a-" * 62, "en" + "-abc" * 31, "en" + "-1abc" * 25 + "!", "en-x" + "-a" * 62 + "!", "a" * 1_000_000):
        assert within(0.05, partial(is_tag, text))
