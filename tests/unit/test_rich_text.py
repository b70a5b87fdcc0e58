"""Marks of Markdown in messages: what is read, what stays as it is, and how each platform writes them."""

from typing import Any

import pytest

from chatsvc.dashboard.responses import environment
from chatsvc.domain import rich_text
from chatsvc.domain.rich_text import Span, without_choices
from chatsvc.platforms.telegram import client as telegram
from chatsvc.platforms.whatsapp import sender as whatsapp
from tests.tables import json_rows


def link(words: str, address: str | None = None, **style: bool) -> Span:
    return Span(words, link=address or words, **style)


@pytest.mark.parametrize(("text", "spans"), json_rows("unit/rich_text"))
def test_complete_marks_are_read_and_a_link_shows_the_host_to_which_it_leads(text: str, spans: list[dict[str, Any]] | None) -> None:
    assert rich_text.spans(text) == ([Span(text)] if spans is None else [Span(**span) for span in spans])


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
