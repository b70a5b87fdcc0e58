"""Marks of Markdown in messages: what is read, what stays as it is, and how each platform writes them."""

import pytest

from chatsvc.dashboard.templating import environment
from chatsvc.domain import rich_text
from chatsvc.domain.outgoing import without_choices
from chatsvc.domain.rich_text import Span
from chatsvc.platforms.telegram import client as telegram
from chatsvc.platforms.whatsapp import content as whatsapp


def link(words: str, address: str | None = None, **style: bool) -> Span:
    return Span(words, link=address or words, **style)


BOTH = Span("x", bold=True, italic=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Monday** to *Friday*, __now__ _open_", [
            Span("Monday", bold=True), Span(" to "), Span("Friday", italic=True), Span(", "), Span("now", bold=True), Span(" "),
            Span("open", italic=True)]),
        ("**Pazartesi**den ***x***", [Span("Pazartesi", bold=True), Span("den "), BOTH]),
        ("**two\nlines**", [Span("two\nlines", bold=True)]),
        ("**no\n\nparagraphs**", [Span("**no\n\nparagraphs**")]),
        ("2*3*4 = 24, a * b * c, snake_case_name, 2**10 and 3**2, ____, ***** and **open", None),
        (r"\*as it is\*", [Span("*as it is*")]),
        ("`a*b*c` `open", [Span("a*b*c", code=True), Span(" `open")]),
        ("```\nx = *1*\ny\n```\n*z*", [Span("x = *1*\ny", code=True), Span("\n"), Span("z", italic=True)]),
        ("```\nnever closed", None),
        ("## Prices ##\n- one *b*\n  * two", [Span("Prices", bold=True), Span("\n• one "), Span("b", italic=True), Span("\n  • two")]),
        ("#1 of all - 5 %", None),
        ("[our *page*](https://a.example/x_(y)_z \"Title\")!", [
            link("our ", "https://a.example/x_(y)_z"), link("page", "https://a.example/x_(y)_z", italic=True), Span("!")]),
        ("**[call](tel:+441234)**", [link("call", "tel:+441234", bold=True)]),
        ("<mailto:a@b.example> ![map](https://a.example/m.png)", [
            link("a@b.example", "mailto:a@b.example"), Span(" "), link("map", "https://a.example/m.png")]),
        ("see https://a.example/a_b_c. (https://b.example/x)", [
            Span("see "), link("https://a.example/a_b_c"), Span(". ("), link("https://b.example/x"), Span(")")]),
        ("[x](javascript:alert(1)) [y](/prices) [z](data:text/html,x) <b onclick=x>", None),
        ("", []),
        ("[bank.example](https://evil.example/x)", [link("bank.example (evil.example)", "https://evil.example/x")]),
        ("[see https://bank.example/x](https://EVIL.example)", [link("see https://bank.example/x (EVIL.example)", "https://EVIL.example")]),
        ("[a@bank.example](mailto:a@evil.example)", [link("a@bank.example (evil.example)", "mailto:a@evil.example")]),
        ("[www.a.example](https://a.example)", [link("www.a.example", "https://a.example")]),
        ("[a.example](https://shop.a.example/)", [link("a.example", "https://shop.a.example/")]),
        ("[menu](https://bank.example@evil.example/)", None),
        ("https://bank.example@evil.example/", None),
        ("[x](https://a.example/\u202egnp.exe)", [Span("[x]("), link("https://a.example/"), Span("\u202egnp.exe)")]),
        ("https://a.example/\u202egnp.exe", [link("https://a.example/"), Span("\u202egnp.exe")]),
    ],
)  # fmt: skip
def test_complete_marks_are_read_and_a_link_shows_the_host_to_which_it_leads(text: str, expected: list[Span] | None) -> None:
    assert rich_text.spans(text) == ([Span(text)] if expected is None else expected)


def test_in_a_visitors_words_addresses_alone_are_links() -> None:
    assert rich_text.links("**a** https://a.example/*b*") == [Span("**a** "), link("https://a.example/"), Span("*b*")]


@pytest.mark.parametrize(
    "piece", ["*", "[", "[a](", "[a](https://x(", '[a](https://x "', "`", "**a ", "_a", "<https://", "```\n", "*a **b _c "]
)
def test_a_hostile_text_is_read_in_as_many_steps_as_it_is_long(piece: str) -> None:
    # A quadratic reader would take minutes here.
    assert rich_text.plain(piece * (300_000 // len(piece)))


TEXT = "**Monday** 😀 [page](https://a.example), *a*b `c`\n- [mail](mailto:a@b.example) [https://a.example](https://a.example)"


def test_each_place_writes_the_marks_in_its_own_way() -> None:
    plain = "Monday 😀 page (https://a.example), *a*b c\n• mail (a@b.example) https://a.example"
    assert rich_text.plain(TEXT) == plain
    sent = telegram.formatted(TEXT)
    assert sent["text"] == plain.replace(" (https://a.example)", "")
    # Counted in UTF-16 code units: the face is two.
    assert sent["entities"] == [
        {"type": "bold", "offset": 0, "length": 6},
        {"type": "text_link", "offset": 10, "length": 4, "url": "https://a.example"},
        {"type": "code", "offset": 21, "length": 1},
    ]
    assert whatsapp.formatted(TEXT) == plain.replace("Monday", "*Monday*").replace(" c\n", " `c`\n")
    page = str(environment().from_string("{{ text|rich }}").render(text=f"<script> {TEXT} **`x`**"))
    assert page == (
        '&lt;script&gt; <strong>Monday</strong> 😀 <a href="https://a.example" rel="noreferrer noopener nofollow">page</a>, *a*b'
        ' <code>c</code>\n• <a href="mailto:a@b.example" rel="noreferrer noopener nofollow">mail</a>'
        ' <a href="https://a.example" rel="noreferrer noopener nofollow">https://a.example</a> <strong><code>x</code></strong>'
    )
    # Marks that a platform would show are left out, and no message becomes empty.
    assert whatsapp.formatted("**Pazartesi**den **a*b** **c**") == "Pazartesiden a*b *c*"
    for formatted in (whatsapp.formatted("\\ "), telegram.formatted("\\ ")["text"], telegram.formatted("```\n```")["text"]):
        assert formatted in ("\\ ", "```\n```")


@pytest.mark.parametrize(
    ("text", "choices", "expected"),
    [
        ("Which one?\n- A\n- B", ["A", "B"], "Which one?"),
        ("Which room? (Sea / Garden)", ["Sea", "Garden"], "Which room?"),
        ("Is everything correct? (yes / no)", ["Yes", "No"], "Is everything correct?"),
        ("- A\n- B", ["A", "B"], "- A\n- B"),
        ("Did you mean:\n- A\n- B\n\nYour name?", ["A", "B"], "Did you mean:\n- A\n- B\n\nYour name?"),
    ],
)
def test_choices_that_are_buttons_are_not_listed_too(text: str, choices: list[str], expected: str) -> None:
    assert without_choices(text, choices) == expected
