"""Faults of knowledge files: codes with facts, and their sentences in both languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatsvc.domain import terminal
from chatsvc.domain.wording import Sentence, worded

SENTENCES: dict[str, Sentence] = {
    # Any format.
    "not_text": Sentence(
        en="a character that is no text ({character}); save the file as UTF-8",
        tr="metin olmayan bir karakter var ({character}); dosyayı UTF-8 olarak kaydedin",
    ),
    "language_unknown": Sentence(
        en="{value!r} is no language; write a tag such as tr, en or en-GB",
        tr="“{value}” bir dil değil; tr, en ya da en-GB gibi bir kod yazın",
    ),
    "question_missing": Sentence(en="the question is missing", tr="soru eksik"),
    "question_too_long": Sentence(
        en="this question has {length} characters; at most {most} are possible", tr="bu soru {length} karakter; en çok {most} olabilir"
    ),
    "question_twice": Sentence(
        en="this question was asked on {unit} {first} already; keep one of the two",
        tr="bu soru daha önce de var ({unit} {first}); ikisinden birini bırakın",
    ),
    "answer_missing": Sentence(en="this question has no answer", tr="bu sorunun yanıtı yok"),
    "answer_too_long": Sentence(
        en="the answer to this question has {length} characters; at most {most} are possible",
        tr="bu sorunun yanıtı {length} karakter; en çok {most} olabilir",
    ),
    "phrasing_missing": Sentence(
        en="another phrasing is missing after alt:", tr="alt: sözcüğünden sonra sorunun başka bir söylenişi gelmeli"
    ),
    "phrasing_too_long": Sentence(
        en="this phrasing has {length} characters; at most {most} are possible", tr="bu söyleniş {length} karakter; en çok {most} olabilir"
    ),
    "source_too_long": Sentence(
        en="the source has {length} characters; at most {most} are possible", tr="kaynak adı {length} karakter; en çok {most} olabilir"
    ),
    "too_many_entries": Sentence(
        en="more than {most} entries in one file; spread them over several files",
        tr="bir dosyada en çok {most} kayıt olabilir; birkaç dosyaya bölün",
    ),
    "synonyms_too_few": Sentence(
        en="synonyms are two words or expressions at least, with commas between them: havlu, peştamal, towel",
        tr="eş anlamlılar en az iki sözcük ya da deyimdir, araları virgülle ayrılır: havlu, peştamal, towel",
    ),
    "synonym_with_comma": Sentence(
        en="a comma stands between synonyms, never in one", tr="virgül eş anlamlıların arasına konur, içinde olamaz"
    ),
    "synonyms_too_many": Sentence(
        en="at most {most} synonyms belong together, each of at most {longest} characters",
        tr="bir grupta en çok {most} eş anlamlı olabilir, her biri en çok {longest} karakter",
    ),
    "too_many_groups": Sentence(
        en="more than {most} groups of synonyms in one file", tr="bir dosyada en çok {most} eş anlamlı grubu olabilir"
    ),
    "nothing": Sentence(en="no text in this file", tr="bu dosyada metin yok"),
    # The file as a whole.
    "file_too_large": Sentence(
        en="the file has more than {most} MB, which are read at most: split it", tr="dosya {most} MB sınırını aşıyor: bölün"
    ),
    "other_format": Sentence(
        en="this is {format}; save its text as .txt, .html, .csv or .md",
        tr="bu {format}; metnini .txt, .html, .csv ya da .md olarak kaydedin",
    ),
    "other_encoding": Sentence(
        en="the file is not UTF-8 but {encoding}; save it as UTF-8", tr="dosya UTF-8 değil ({encoding}); UTF-8 olarak kaydedin"
    ),
    "ending_unknown": Sentence(
        en="{ending!r} files cannot be read as knowledge; write it in one of: {known}",
        tr="{ending} dosyaları okunamıyor; şunlardan biriyle kaydedin: {known}",
    ),
    "ending_missing": Sentence(
        en="files without an ending cannot be read as knowledge; write it in one of: {known}",
        tr="uzantısı olmayan dosyalar okunamıyor; şunlardan biriyle kaydedin: {known}",
    ),
    "too_slow": Sentence(en="reading this file takes too long: split it", tr="bu dosyayı okumak çok uzun sürüyor: bölün"),
    "too_big": Sentence(en="reading this file takes too much memory: split it", tr="bu dosyayı okumak çok fazla bellek istiyor: bölün"),
    "reader_ended": Sentence(
        en="this file cannot be read: the process that reads it has ended", tr="bu dosya okunamıyor: okuyan işlem yarıda kesildi"
    ),
    "not_read": Sentence(en="not read because of the file before", tr="önceki dosya yüzünden okunmadı"),
    "damaged": Sentence(en="this file is damaged and cannot be read ({fault})", tr="bu dosya bozuk, okunamıyor ({fault})"),
    "encrypted": Sentence(en="the file is encrypted; save it without a password", tr="dosya şifreli; parolasız kaydedin"),
    # Markdown.
    "no_question": Sentence(
        en="no question in this file: a question is a line that begins with ##", tr="bu dosyada soru yok: soru, ## ile başlayan satırdır"
    ),
    "no_text_markdown": Sentence(
        en="no text in this file; questions and answers begin with ## and the question, and their answer stands below it",
        tr="bu dosyada metin yok; sorular ## ile başlayan satırlara, yanıtları da altlarına yazılır",
    ),
    "comment_open": Sentence(en="this comment is never closed (-->)", tr="bu açıklama kapatılmamış (-->)"),
    "code_open": Sentence(
        en="this code block is never closed (a line with {marker})", tr="bu kod bloğu kapatılmamış ({marker} satırı eksik)"
    ),
    "stray_text": Sentence(
        en="text that belongs to no question; a question is a line that begins with ##",
        tr="hiçbir soruya ait olmayan metin; soru, ## ile başlayan satırdır",
    ),
    "stray_alt": Sentence(
        en="an alt: line belongs under a question (## ...), and there is none above it",
        tr="alt: satırı bir sorunun (## ...) altında olmalı, üstünde soru yok",
    ),
    "late_alt": Sentence(
        en="an alt: line after the answer has begun; alt: lines come right below the question",
        tr="alt: satırı yanıt başladıktan sonra geliyor; alt: satırları sorunun hemen altında olmalı",
    ),
    "synonyms_in_entry": Sentence(
        en="synonyms: stands outside of the questions: before the first one, or below a # title",
        tr="synonyms: satırı soruların dışında olmalı: ilk sorudan önce ya da bir # başlığının altında",
    ),
    # JSONL.
    "no_entry": Sentence(en="no entry in this file", tr="bu dosyada kayıt yok"),
    "no_object": Sentence(en="every line is one JSON object: {{...}}", tr="her satır bir JSON nesnesidir: {{...}}"),
    "no_json": Sentence(
        en="this is no JSON: {fault} at character {place}; every line is one object: {{...}}",
        tr="bu JSON değil: {place}. karakterde {fault}; her satır bir nesnedir: {{...}}",
    ),
    "json_too_deep": Sentence(en="this is no JSON that can be read: nested too deeply", tr="bu JSON okunamıyor: çok fazla iç içe"),
    "unreadable": Sentence(en="this cannot be read: {fault}", tr="bu okunamıyor: {fault}"),
    "fields_unknown": Sentence(en="unknown field {fields}; known are {known}", tr="bilinmeyen alan: {fields}; bilinenler: {known}"),
    "field_no_text": Sentence(en="{field} must be a text in quotes", tr="{field} tırnak içinde bir metin olmalı"),
    "field_no_list": Sentence(en='{field} must be a list of texts: ["...", "..."]', tr='{field} bir metin listesi olmalı: ["...", "..."]'),
    # CSV.
    "no_row": Sentence(en="no row below the header", tr="başlığın altında satır yok"),
    "cells": Sentence(
        en="{cells} cells where the header has {columns}; cells with commas or line breaks stand in quotes",
        tr="{cells} hücre var, başlıkta {columns}; virgül ya da satır sonu içeren hücreler tırnak içine alınır",
    ),
    "no_price": Sentence(en="{name!r} has no price", tr="“{name}” için fiyat yok"),
    "columns_missing": Sentence(
        en="the first line must name the columns question, alt, answer, language; not there: {columns}",
        tr="ilk satırda question, alt, answer, language sütunlarının adları olmalı; eksik: {columns}",
    ),
    "columns_unknown": Sentence(en="unknown column {columns}; known are {known}", tr="bilinmeyen sütun: {columns}; bilinenler: {known}"),
    "columns_twice": Sentence(en="the column {columns} is there twice", tr="{columns} sütunu iki kez var"),
    "quote_open": Sentence(
        en="this quote is never closed; a quote inside of a cell is written twice",
        tr="bu tırnak kapatılmamış; hücre içindeki tırnak iki kez yazılır",
    ),
    "behind_quote": Sentence(
        en="{rest!r} behind a closing quote; a quote inside of a cell is written twice",
        tr="kapanan tırnaktan sonra “{rest}” var; hücre içindeki tırnak iki kez yazılır",
    ),
    # Web pages.
    "page_too_long": Sentence(
        en="the page has {length} characters; at most {most} are read: split it", tr="sayfa {length} karakter; en çok {most} okunur: bölün"
    ),
    "no_text_page": Sentence(en="no text in this page", tr="bu sayfada metin yok"),
    "page_comment_open": Sentence(en="this comment is never closed", tr="bu açıklama kapatılmamış"),
    "element_open": Sentence(en="this <{name}> is never closed", tr="bu <{name}> kapatılmamış"),
    "tag_open": Sentence(en="this tag ({tag}...) is never closed", tr="bu etiket ({tag}...) kapatılmamış"),
    # PDF and Word.
    "no_pdf": Sentence(
        en="this is no PDF file that can be read; save it anew, or save its text as .txt",
        tr="bu PDF dosyası okunamıyor; yeniden kaydedin ya da metnini .txt olarak kaydedin",
    ),
    "too_many_pages": Sentence(en="at most {most} pages are read: split the file", tr="en çok {most} sayfa okunur: dosyayı bölün"),
    "scanned": Sentence(
        en="no text in this file, only pictures: it was scanned; recognise its text first (OCR), or write it down",
        tr="bu dosyada metin yok, yalnızca resim var: taranmış; önce metnini tanıtın (OCR) ya da yazın",
    ),
    "page_unreadable": Sentence(
        en="this page cannot be read ({fault}); save the file anew", tr="bu sayfa okunamıyor ({fault}); dosyayı yeniden kaydedin"
    ),
    "declares_entities": Sentence(
        en="the file declares entities, which no Word document does", tr="dosya varlık (entity) tanımlıyor; Word belgelerinde bu olmaz"
    ),
    "word_unreadable": Sentence(
        en="this is no Word file that can be read ({fault}); save it anew, or as .txt",
        tr="bu Word dosyası okunamıyor ({fault}); yeniden ya da .txt olarak kaydedin",
    ),
    "unpacks_too_far": Sentence(
        en="the file unpacks to {bytes} bytes, more than a document has; save its text as .txt",
        tr="dosya açıldığında {bytes} bayt oluyor, bu bir belge için çok fazla; metnini .txt olarak kaydedin",
    ),
    "no_word_document": Sentence(en="this is no Word document; save it as .docx", tr="bu bir Word belgesi değil; .docx olarak kaydedin"),
    "no_word_file": Sentence(en="this is no Word file (.docx)", tr="bu bir Word dosyası (.docx) değil"),
    "old_word_file": Sentence(
        en="this is an encrypted or old Word file; save it as .docx without a password",
        tr="bu şifreli ya da eski bir Word dosyası; parolasız .docx olarak kaydedin",
    ),
}
# Values of facts that are words themselves.
WORDS: dict[str, Sentence] = {
    "line": Sentence(en="line", tr="satır"),
    "page": Sentence(en="page", tr="sayfa"),
    "piece": Sentence(en="piece", tr="parça"),
    "paragraph": Sentence(en="paragraph", tr="paragraf"),
    "a Word, Excel or zip file": Sentence(en="a Word, Excel or zip file", tr="bir Word, Excel ya da zip dosyası"),
    "a PDF file": Sentence(en="a PDF file", tr="bir PDF dosyası"),
    "an old Word or Excel file": Sentence(en="an old Word or Excel file", tr="eski bir Word ya da Excel dosyası"),
    "no text": Sentence(en="no text", tr="metin değil"),
    "Windows-1254 (Turkish)": Sentence(en="Windows-1254 (Turkish)", tr="Windows-1254 (Türkçe)"),
    "an older encoding such as Windows-1252": Sentence(
        en="an older encoding such as Windows-1252", tr="Windows-1252 gibi eski bir kodlama"
    ),
    "a field is there twice": Sentence(en="a field is there twice", tr="bir alan iki kez var"),
}
_PLACES = frozenset({"first", "place"})  # numbers that count a place: written without separators


@dataclass(frozen=True, slots=True)
class FileFault:
    """Fault for the author of a file; `line` counts from 1. `facts` are the values in its sentence."""

    line: int
    code: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The sentence in English."""
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Word the fault in "en" or "tr"."""
        values = {
            name: WORDS[value].of(language) if value in WORDS else value for name, value in self.facts.items() if isinstance(value, str)
        }
        return worded(SENTENCES, self.code, {**self.facts, **values}, language, places=_PLACES)


class KnowledgeFileError(ValueError):
    """A file with faults, in its order. `unit` is what their numbers count: line, page or paragraph."""

    def __init__(self, source: str, faults: Sequence[FileFault], unit: str = "line") -> None:
        super().__init__("\n".join(f"{terminal.one_line(source)}, {unit} {fault.line}: {fault.text}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)
        self.unit = unit
