"""Knowledge from tables, JSONL, documents and pages. Written files are read back, hostile ones refused in time."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatsvc.domain import knowledge_files
from chatsvc.domain.knowledge_files import parsed
from chatsvc.domain.knowledge_files.documents import LONGEST, parse_text
from chatsvc.domain.knowledge_files.markdown import parse_markdown
from chatsvc.domain.knowledge_files.parsed import MAX_BYTES, KnowledgeFileError, Parsed, ParsedEntry, decode, decode_any, one_line
from chatsvc.domain.knowledge_files.rows import parse_csv, parse_jsonl
from chatsvc.domain.models import Entry, Synonyms
from chatsvc.file_reader import html, page_tree
from tests.knowledge_files import read
from tests.tables import rows


def brief(content: Parsed) -> list[tuple[str, str]]:
    return [(entry.question, entry.answer) for entry in content.entries]


def attempt(name: str, text: str) -> Parsed | KnowledgeFileError:
    try:
        return read(name, text, "tr")
    except KnowledgeFileError as error:
        return error


def faults(name: str, text: str) -> list[str]:
    """The faults of a file, each with its line."""
    result = attempt(name, text)
    assert isinstance(result, KnowledgeFileError)
    return [f"{fault.line}: {fault.sentence()}" for fault in result.faults]


def test_a_table_has_an_entry_a_row() -> None:
    text = 'question,alt,answer,language\r\nOpen?,"opening hours\nwhen, exactly",9 to 6,en\r\n"He said ""hi""",a|b| ,"two\r\nlines",\r\n'
    assert parse_csv(text, "tr", "a.csv").entries == [
        ParsedEntry("Open?", ("opening hours", "when, exactly"), "9 to 6", "en", "a.csv", 2),
        ParsedEntry('He said "hi"', ("a", "b"), "two\nlines", "tr", "a.csv", 4),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_come_in_any_order_and_case_with_any_separator(separator: str) -> None:
    text = (
        "\ufeff" + separator.join(["Answer", " QUESTION ", "id"]) + "\n" + separator.join(["1", "A?", "x"]) + "\n\n" + separator * 2 + "\n"
    )
    assert brief(parse_csv(text, "tr", "a.csv")) == [("A?", "1")]
    text = 'question,answer,source,synonyms\nA?,1,web site,"towel, havlu|bike, bicycle"\n,,,"x, y"\n'
    table = parse_csv(text, "tr", "a.csv")
    assert [entry.source for entry in table.entries] == ["web site"]
    groups = (("towel", "havlu"), "web site"), (("bike", "bicycle"), "web site"), (("x", "y"), "a.csv")
    assert table.synonyms == [Synonyms(*group) for group in groups]
    # A column of the owner's own stands behind the answer with its name.
    text = "soru;yanıt;Süre;id\nKesim kaç para?;500 TL;45 dk;7\nAçık mısınız?;Evet;;8\n"
    assert [entry.answer for entry in parse_csv(text, "tr", "fiyat.csv").entries] == ["500 TL\n\nSüre: 45 dk", "Evet"]


@pytest.mark.parametrize(("name", "text", "expected"), rows("unit/file_faults"))
def test_every_fault_of_a_file_is_told_with_its_line(name: str, text: str, expected: str) -> None:
    assert faults(name, text) == expected.split("\n")


def test_jsonl_has_an_entry_a_line() -> None:
    whole = '{"id": "x", "question": "A?", "alt": ["a"], "answer": "1", "language": "en", "source": "faq.md"}'
    text = whole + '\n\n{"question": "B?", "answer": "2"}'
    assert parse_jsonl(text, "tr", "a.jsonl").entries == [
        ParsedEntry("A?", ("a",), "1", "en", "faq.md", 1),
        ParsedEntry("B?", (), "2", "tr", "a.jsonl", 3),
    ]
    text = '{"question": "A?", "answer": "1", "synonyms": ["a", "b"]}\n{"synonyms": [["c", "d"], ["e", "f"]], "source": "s"}'
    groups = (("a", "b"), "a.jsonl"), (("c", "d"), "s"), (("e", "f"), "s")
    assert parse_jsonl(text, "tr", "a.jsonl").synonyms == [Synonyms(*group) for group in groups]


def test_every_fault_of_jsonl_is_told_with_its_line() -> None:
    lines = [
        '{"question": "A?", "answer": "1", "anser": "2"}',
        "[]",
        "[" * 100_000,
        '{"question": 1, "answer": "1"}',
        '{"question": "A?", "answer": "\\ud800"}',
        '{"question": "A?", "question": "B?", "answer": "1"}',
        "{'question': 1}",
        '{"question": "A?", "alt": "a", "answer": "1"}',
        '{"question": "A?"}',
        '{"question": ' + "9" * 5000 + "}",
        '{"synonyms": ["one, two", "three"]}',
    ]
    texts = faults("a.jsonl", "\n".join(lines))
    assert [text.split(" ")[0] for text in texts] == [f"{number}:" for number in range(1, 12)]
    assert texts[:9] == [
        "1: unknown field 'anser'; known are id, question, alt, answer, language, source, synonyms",
        "2: every line is one JSON object: {...}",
        "3: this is no JSON that can be read: nested too deeply",
        "4: question must be a text in quotes",
        "5: a character that is no text (U+D800); save the file as UTF-8",
        "6: this cannot be read: a field is there twice",
        "7: this is no JSON: expecting property name enclosed in double quotes at character 2; every line is one object: {...}",
        '8: alt must be a list of texts: ["...", "..."]',
        "9: this question has no answer",
    ]
    assert texts[10] == "11: a comma stands between synonyms, never in one"


GUIDE = Path(__file__).with_name("guide.md").read_text("utf-8")


def test_a_document_becomes_a_passage_a_section_under_its_headings() -> None:
    content = parse_markdown(GUIDE, "tr", "guide.md")
    assert brief(content) == [
        ("The guide", "Welcome."),
        ("Delivery", "We ship every day."),
        ("Delivery: Abroad", "It takes a week.\n\n```\n## no heading\n```"),
        ("Returns", "- within 30 days\n- unused"),
    ]
    assert {entry.language for entry in content.entries} == {"en"}
    assert [entry.line for entry in content.entries] == [6, 10, 14, 22]
    assert content.synonyms == [Synonyms(("bike", "bicycle"), "guide.md")]


def test_plain_text_is_cut_between_paragraphs_and_asked_by_its_first_sentences() -> None:
    paragraphs = [f"Paragraph {number} begins. {'It goes on and on. ' * 35}".strip() for number in range(8)]
    content = parse_text("\n\n".join(paragraphs), "en", "a.txt")
    assert "\n\n".join(entry.answer for entry in content.entries) == "\n\n".join(paragraphs)
    assert [entry.question for entry in content.entries] == [f"Paragraph {number} begins." for number in (0, 3, 6)]
    assert all(1_200 <= len(entry.answer) <= LONGEST for entry in content.entries)


def test_a_long_section_makes_passages_that_end_with_sentences() -> None:
    sentences = [f"Dr. Ali {number}. katta, no. {number} ile oturur ve çalışır." for number in range(400)]
    content = parse_markdown("## Ev\n\n" + " ".join(sentences), "tr", "a.md")
    assert " ".join(entry.answer for entry in content.entries) == " ".join(sentences)
    assert all(entry.answer.endswith("çalışır.") and 600 <= len(entry.answer) <= LONGEST + 300 for entry in content.entries)
    assert content.entries[0].question == "Ev"
    assert content.entries[1].question.startswith("Ev: Dr. Ali 4")
    # What has no sentences is cut between words, and what has no words anywhere.
    assert " ".join(entry.answer for entry in parse_text("word " * 1000, "en", "a.txt").entries) == ("word " * 1000).strip()
    assert "".join(entry.answer for entry in parse_text("x" * 5000, "en", "a.txt").entries) == "x" * 5000


PAGE = Path(__file__).with_name("page.html").read_text("utf-8")


def test_short_lines_above_a_paragraph_of_plain_text_are_headings() -> None:
    text = (
        "The Workshop\n\n1. Delivery\nOrders take six weeks.\n\nWarranty\n\nAll furniture has five years of it, the oil has not\n\n"
        "Do you plane boards?\nYes\n\nAddress:\n5 Mill Road\nBristol\n"
    )
    assert [(entry.question, entry.answer) for entry in parse_text(text, "en", "a.txt").entries] == [
        ("1. Delivery", "Orders take six weeks."),
        ("Warranty", "All furniture has five years of it, the oil has not"),
        ("Do you plane boards?", "Yes"),
        ("Address", "5 Mill Road\nBristol"),
    ]


@pytest.mark.parametrize("text", ["Apples\n\nPears\n\nPlums", "Ada Bell\nManager", "We are here.\n\nAnd there.", "Oak\n- ash\n- elm"])
def test_short_lines_without_prose_below_stay_text(text: str) -> None:
    assert [entry.answer for entry in parse_text(text, "en", "a.txt").entries] == [text]


def test_a_page_is_read_like_a_document_and_its_questions_become_entries() -> None:
    content = read("a.html", PAGE, "tr")
    assert brief(content) == [
        ("The shop", "Fish & chips\nevery day €5"),
        ("Prices", "Bike | Day\nCity | 20\n\n- one two\n- three"),
        ("Do you ship?", "Yes.\n\nEverywhere."),
        ("Prices", "More prices."),
        ("Returns?", "30 days"),
        ("Refunds?", "At once"),
        ("Prices", "a\n  b"),
    ]
    assert {entry.language for entry in content.entries} == {"en"}
    assert [entry.line for entry in content.entries] == [3, 4, 9, 11, 11, 11, 11]


KINDS = (".md", ".txt", ".csv", ".jsonl", ".html")
HOSTILE = ["<a ", "<!--", "<![CDATA[", '<a "', "<a b='", "</a ", "<details>", "<dl><dt>a", "<h1>", "<h2>a", "<p>", "&#x", "<pre>\n"]
LINES = ["# ", "# a\n", "## a?\n", "```\n", "<!--\n", "\n", "a ", "a. ", '"', '",', *"{[|\\", "alt: a\n", "synonyms: a,b\n", "a\n\n"]


@pytest.mark.parametrize("ending", KINDS)
def test_a_file_names_few_faults_however_long_it_is(ending: str) -> None:
    for piece in [*HOSTILE, *LINES]:
        text = ("question,answer\n" if ending == ".csv" else "") + piece * (10_000 // len(piece))
        result = attempt(f"a{ending}", text)
        assert isinstance(result, Parsed) or len(result.faults) <= 200


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("soru\nkaç ışık".encode("cp1254"), "line 2: the file is not UTF-8 but Windows-1254 (Turkish); save it as UTF-8"),
        ("caf\u00e9".encode("cp1252"), "line 1: the file is not UTF-8 but an older encoding such as Windows-1252; save it as UTF-8"),
        ("soru".encode("utf-16"), "line 1: the file is not UTF-8 but UTF-16; save it as UTF-8"),
        (b"PK\x03\x04\xff", "line 1: this is a Word, Excel or zip file; save its text as .txt, .html, .csv or .md"),
        (b"\xff" * (MAX_BYTES + 1), "line 1: the file has more than 32 MB, which are read at most: split it"),
    ],
)
def test_what_is_not_utf_8_is_told_what_it_is(data: bytes, says: str) -> None:
    with pytest.raises(KnowledgeFileError) as error:
        decode("a.md", data)
    assert str(error.value) == f"a.md, {says}"


@pytest.mark.parametrize("codec", ["cp1254", "iso-8859-9", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_what_windows_writes_is_read(codec: str) -> None:
    text = "soru;yanıt\nAçık mısınız, ğüşiöç?;Evet, İstanbul’da\n".replace("’", "" if codec == "iso-8859-9" else "’")
    assert decode_any("a.csv", text.encode(codec)) == text


@pytest.mark.parametrize(
    "data",
    [
        "Часы работы: с девяти".encode("cp1251"),
        b"\x81\x8d caf\xe9",
        b"<meta charset=koi8-r>\xe1",
        b"a\0\0\0\xff",
        b"PK\x03\x04\xff",
        b"## Question\n\n\0\xff\xfe\n",
    ],
)
def test_what_is_in_another_alphabet_is_not_guessed(data: bytes) -> None:
    with pytest.raises(KnowledgeFileError):
        decode_any("a.txt", data)


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\nquestion;answer\nOpen?;Yes, daily\n",
        'SEP=,\nSoru,Yanıt\nOpen?,"Yes, daily"\n',
        "Questions\tAnswers\nOpen?\tYes, daily\n",
        "Sorular;Cevaplar\nOpen?;Yes, daily\n",
        "Open?;Yes, daily\n",
    ],
)
def test_tables_of_questions_are_known_however_they_were_saved(text: str) -> None:
    (entry,) = read("a.csv", text, "en").entries
    assert (entry.question, entry.answer) == ("Open?", "Yes, daily")


AWKWARD = ["#", "##", "# ", "\\", "\n", "\n\n", " ", "alt: ", "- alt:", "language: en", "synonyms: a, b", "<!--", "-->", "```", "~~~"]
AWKWARD += ["~~a~~", "<del>b</del>", "====", "\n----\n", *"\",;|\t?\u0131\u2028\x0c\ra{'", "=1", "\ufeff"]
TEXT = st.lists(st.sampled_from(AWKWARD), min_size=1).map("".join) | st.text(st.characters(codec="utf-8"), min_size=1)
ENTRY = st.tuples(TEXT, st.lists(TEXT, max_size=3), TEXT, st.sampled_from(["tr", "en-GB"]), st.sampled_from(["faq.md", 'b, "c"']))


@example([("#\\#", [], "a", "en-GB", "faq.md")], [])
@given(st.lists(ENTRY, max_size=4), st.lists(st.tuples(TEXT, TEXT), max_size=2))
def test_what_is_exported_is_read_back_as_it_was(raw: list[tuple[str, list[str], str, str, str]], groups: list[tuple[str, str]]) -> None:
    gathered = parsed.Gathering("all")
    for number, (question, alt, answer, language, source) in enumerate(raw):
        gathering = parsed.Gathering("one")
        gathering.text(1, question + answer + "".join(alt))
        gathering.entry(1, f"{question}", [(1, other) for other in alt if other.strip()], answer, language)
        if not gathering.faults:
            gathered.entry(
                number, f"{question}", [(1, other) for other in alt if other.strip()], answer, language, source=source, once=False
            )
    for pair in groups:
        group = parsed.Gathering("one")
        group.text(1, "".join(pair))
        group.synonyms(1, pair)
        if not group.faults:
            gathered.synonyms(1, pair, "faq.md")
    entries = list({(entry.source, entry.language, entry.question.casefold()): entry for entry in gathered.entries}.values())
    known = [Entry("id", entry.question, entry.alt, entry.answer, entry.language, entry.source) for entry in entries]
    synonyms = [Synonyms(*row) for row in gathered._synonyms]
    if not known and not synonyms:
        return
    for form, ending in (("jsonl", ".jsonl"), ("csv", ".csv")):
        back = read(f"all{ending}", "".join(knowledge_files.WRITERS[form](known, synonyms)), "de")
        assert [Entry("id", *entry[:5]) for entry in back.entries] == known
        assert [Synonyms(*row) for row in back.synonyms] == synonyms
    once = list({(entry.language, entry.question.casefold()): entry for entry in known}.values())
    if once:
        back = read("all.md", "".join(knowledge_files.WRITERS["markdown"](once, synonyms)), "de")
        assert [Entry("id", *entry[:4]) for entry in back.entries] == [entry._replace(source=None) for entry in once]
        assert [row.words for row in back.synonyms] == list(dict.fromkeys(row.words for row in synonyms))


@example(".html", "<h1><h1><a ")
@given(
    st.sampled_from(KINDS),
    st.lists(st.sampled_from([*HOSTILE, *LINES, *AWKWARD, ">", "question,answer\n", '{"question":'])).map("".join),
)
def test_any_file_of_any_format_gives_entries_or_faults(ending: str, text: str) -> None:
    result = attempt(f"a{ending}", text)
    if isinstance(result, Parsed):
        assert result.entries or result.synonyms
        assert all(entry.question.strip() and entry.answer.strip() for entry in result.entries)
    else:
        lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        most = max(lines, text.count("<")) if ending == ".html" else lines  # paragraphs are counted there
        assert result.faults
        assert all(1 <= fault.line <= most for fault in result.faults)


@pytest.mark.parametrize(
    "page",
    ["<p>y " + "<b>a " * 5_000, "<p>" + "<b>x<i>" * 5_000, "<p><i>" + "<b>x</b>" * 5_000],
    ids=["nested", "alternately nested", "beside each other"],
)
def test_many_inline_elements_are_read_with_little_work(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    characters = 0

    def counted(text: str) -> str:
        nonlocal characters
        characters += len(text)
        return one_line(text)

    monkeypatch.setattr(page_tree, "one_line", counted)
    html.read_text("page.html", f"<h2>Open?</h2><p>From 9.</p>{page}", "en")
    assert 0 < characters < 200 * len(page)
    monkeypatch.setattr(html, "MAX_CHARACTERS", 10)
    assert faults("a.html", "<p>12345678") == ["1: the page has 11 characters; at most 10 are read: split it"]
