"""PDF and Word files, built byte by byte, read in the reading process."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence

import pypdf
import pytest

from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError
from chatsvc.domain.refusals import Refused
from chatsvc.file_reader import child, pdf, word
from chatsvc.services.knowledge.file_reading import read_files

NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
 Target="word/document.xml"/></Relationships>"""


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(rows: Sequence[Sequence[str]]) -> str:
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def docx(body: str, declares: str = "", parts: Mapping[str, bytes] | None = None) -> bytes:
    xml = f'<?xml version="1.0" encoding="UTF-8"?>{declares}<w:document xmlns:w="{NAMESPACE}"><w:body>{body}</w:body></w:document>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", TYPES)
        file.writestr("_rels/.rels", RELATIONS)
        file.writestr("word/document.xml", xml)
        for name, data in (parts or {}).items():
            file.writestr(f"word/{name}", data)
    return packed.getvalue()


def pdf_of(*pages: Sequence[str]) -> bytes:
    """A PDF file whose pages have these lines."""
    streams = []
    for lines in pages:
        text = "".join(f"({line}) Tj T* " for line in lines)
        streams.append(zlib.compress(f"BT /F1 12 Tf 14 TL 50 800 Td {text}ET".encode("latin-1")))
    return assembled(streams)


def assembled(streams: Sequence[bytes]) -> bytes:
    """A PDF file whose pages have these deflated content streams."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(streams)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(streams)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for index, stream in enumerate(streams):
        page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 850]/Contents {5 + 2 * index} 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
        objects += [page.encode(), b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(stream), stream)]
    file, table = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, content in enumerate(objects, start=1):
        table += b"%010d 00000 n \n" % len(file)
        file += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    size = len(objects) + 1
    return b"%bxref\n0 %d\n%btrailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (file, size, table, size, len(file))


BODY = (
    paragraph("Our shop", "Heading1")
    + paragraph("Delivery", "Heading2")
    + paragraph("We deliver within two days. Larger orders take a week.")
    + paragraph("Prices", "Heading2")
    + table([["Haircut", "450 TL"], ["Wash", "50 TL"]])
    + paragraph("Questions", "Heading2")
    + paragraph("Q: Do you sell vouchers?")
    + paragraph("A: Yes, at the desk.")
)


def test_a_word_file_is_read_with_headings_tables_and_labelled_questions() -> None:
    (file,) = read_files([("shop.docx", docx(BODY))], "en")
    answers = {question: answer for question, _, answer, *_ in file["entries"]}
    assert answers["Delivery"] == "We deliver within two days. Larger orders take a week."
    assert any("Haircut" in answer and "450 TL" in answer for answer in answers.values())
    assert answers["Do you sell vouchers?"] == "Yes, at the desk."


BOMB = b"<x>" + b" " * (word.MOST_UNPACKED + 1)
ENTITIES = '<!DOCTYPE w:document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'

ELSEWHERE = b"""<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r"
Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="other.bin"/></Relationships>"""


def test_struck_out_and_hidden_text_of_a_word_file_is_not_told() -> None:
    runs = (
        ("<w:strike/>", "600 TL"),
        ("", "520 TL for a day"),
        ("<w:vanish/>", " and our own note"),
        ("<w:dstrike/>", " 700 TL"),
        ('<w:rStyle w:val="Gone"/>', " and what was said before"),
        ('<w:vanish w:val="0"/>', " of work"),
    )
    body = "".join(f'<w:r><w:rPr>{style}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>' for style, text in runs)
    gone = "<w:rPr><w:strike/></w:rPr>"
    style = (
        f'<w:styles xmlns:w="{NAMESPACE}"><w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/>{gone}</w:style></w:styles>'
    )
    file = docx(paragraph("Rent", "Heading1") + f"<w:p>{body}</w:p>", parts={"styles.xml": style.encode()})
    parsed = word.read("a.docx", file, "en")
    assert [entry.answer for entry in parsed.entries] == ["520 TL for a day of work"]


def renamed() -> bytes:
    """A zip that is no Word file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("x", b"")
    return packed.getvalue()


PAGES = (
    ["Delivery", "", "We deliver within two days to all places that a lorry can reach, and to", "the islands within a week."],
    ["Price list", "Haircut ........ 450 TL", "Wash ........ 50 TL", "", "Q: Do you sell vouchers?", "A: Yes, at the desk."],
)


def test_a_pdf_file_is_read_with_paragraphs_prices_and_labelled_questions() -> None:
    (file,) = read_files([("shop.pdf", pdf_of(*PAGES))], "en")
    answers = {question: (answer, page) for question, _, answer, _, _, page in file["entries"]}
    assert any("Haircut" in answer and "450 TL" in answer for answer, page in answers.values() if page == 2)
    assert answers["Do you sell vouchers?"] == ("Yes, at the desk.", 2)
    assert any("reach, and to the islands within a week." in answer for answer, page in answers.values() if page == 1)


def encrypted() -> bytes:
    writer, packed = pypdf.PdfWriter(io.BytesIO(pdf_of(["a"]))), io.BytesIO()
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(packed)
    return packed.getvalue()


WIDE = "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE a []><a/>".encode("utf-16")
LINKED = {"_rels/document.xml.rels": ELSEWHERE, "other.bin": f"{ENTITIES}<a>&b;</a>".encode()}
UNANSWERED = paragraph("Q: One?") + paragraph("A: Yes.") + "<w:p/>" + paragraph("Q: Two?")
UNFIT = {
    "bomb": ("docx", docx(BODY, parts={"big": BOMB}), "paragraph 1: .*unpacks to"),
    "entities": ("docx", docx(paragraph("&b;"), ENTITIES), "paragraph 1: .*declares entities"),
    "UTF-16": ("docx", docx(BODY, parts={"styles.xml": WIDE}), "paragraph 1: .*declares entities"),
    "another part": ("docx", docx(BODY, parts=LINKED), "paragraph 1: .*declares entities"),
    "cut": ("docx", docx(BODY)[:-40], r"paragraph 1: this is no Word file \(.docx\)"),
    "broken": ("docx", docx("<broken"), "paragraph 1: this is no Word file that can be read"),
    "empty": ("docx", docx(""), "paragraph 1: no text in this"),
    "no document": ("docx", renamed(), "paragraph 1: this is no Word document"),
    "no zip": ("docx", b"PK", "paragraph 1: this is no Word file"),
    "encrypted": ("docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "paragraph 1: this is an encrypted or old Word file"),
    "fault": ("docx", docx(UNANSWERED), "paragraph 4: this question has no answer$"),
    "encrypted PDF": ("pdf", encrypted(), "page 1: the file is encrypted"),
    "scanned": ("pdf", pdf_of([], []), "page 1: no text in this file, only pictures"),
    "PDF bomb": ("pdf", assembled([zlib.compress(b"BT ET"), zlib.compress(b" " * (20 << 20))]), "page 2: this page cannot be read"),
    "no PDF": ("pdf", b"%PDF-1.4\nnothing", "page 1: this is no PDF file"),
    "empty PDF": ("pdf", b"", "page 1: this is no PDF file"),
    "cut PDF": ("pdf", pdf_of(["a"])[:200], "page 1: this is no PDF file"),
    "fault in a PDF": ("pdf", pdf_of(["Q: One?", "A: Yes."], ["Q: Two?"]), "page 2: this question has no answer$"),
}


@pytest.mark.parametrize(("ending", "data", "says"), UNFIT.values(), ids=UNFIT)
def test_a_file_that_cannot_be_taken_is_refused_with_the_position_of_its_fault(ending: str, data: bytes, says: str) -> None:
    with pytest.raises(KnowledgeFileError, match=rf"^a\.{ending}, {says}"):
        child.parse(f"a.{ending}", data, "en", f".{ending}")


def test_a_pdf_file_has_a_limit_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MOST_PAGES", 1)
    with pytest.raises(KnowledgeFileError, match="page 2: at most 1 pages are read"):
        pdf.read("a.pdf", pdf_of(["a"], ["b"]), "en")


def test_a_file_is_told_by_its_content() -> None:
    page = b"\n<!DOCTYPE HTML><h2>Parking?</h2><p>Behind the house."
    files = [("menu", pdf_of(["Soup is 5 EUR."])), ("hours.txt", docx(paragraph("Open from 9."))), ("page.md", page)]
    answers = [entry[2] for file in read_files(files, "en") for entry in file["entries"]]
    assert answers == ["Soup is 5 EUR.", "Open from 9.", "Behind the house."]
    with pytest.raises(Refused) as caught:
        read_files([("notes", b"text"), ("scan.pdf", b"text")], "en")
    assert [fault["code"] for fault in caught.value.facts["faults"]] == ["ending_missing", "no_pdf"]  # type: ignore[attr-defined]
