"""Contents of WhatsApp messages: formatted texts, and choices as buttons or a list."""

from collections.abc import Sequence

from chatsvc.domain import rich_text
from chatsvc.domain.outgoing import without_choices
from chatsvc.platforms.whatsapp.callbacks import CHOICE

# Limits of questions with choices: up to 3 short ones as buttons, others as a list.
MOST_BUTTONS, MOST_ROWS = 3, 10
BUTTON_TITLE, ROW_TITLE, ROW_DESCRIPTION = 20, 24, 72
ROW_ID = 200
MOST_QUESTION = 1024
# The button that opens a list of choices.
_LABELS = {"tr": "Seçenekler", "en": "Choose"}


def content(text: str, choices: Sequence[str]) -> dict[str, object]:
    """Return type and content of a message. Choices become buttons, or a list if there are many or they are long.

    If a list cannot contain all choices, the message is plain text, because a list would hide the others.
    """
    offered = [choice for choice in dict.fromkeys(choices) if choice]
    fit = len(offered) <= MOST_ROWS and all(len(CHOICE + choice) <= ROW_ID for choice in offered)
    if not offered or not fit or len(text) > MOST_QUESTION:
        return {"type": "text", "text": {"preview_url": False, "body": formatted(text)}}
    if all(len(choice) <= ROW_DESCRIPTION for choice in offered):
        text = without_choices(text, choices)
    short = len(offered) <= MOST_BUTTONS and all(len(choice) <= BUTTON_TITLE for choice in offered)
    action: dict[str, object] = {
        "buttons": [{"type": "reply", "reply": {"id": CHOICE + choice, "title": choice}} for choice in offered],
    }
    if not short:
        action = _list(offered, text)
    return {
        "type": "interactive",
        "interactive": {"type": "button" if short else "list", "body": {"text": formatted(text)}, "action": action},
    }


def formatted(text: str) -> str:
    """Return a text with WhatsApp's marks. A mark next to a letter is left out, because WhatsApp would show it as it is."""
    spans = rich_text.spans(text)
    shown = ""
    for span, following in zip(spans, [*spans[1:], None], strict=True):
        words = span.text
        is_alone = words.strip() == words != "" and not shown[-1:].isalnum() and not (following and following.text[:1].isalnum())
        for mark, is_so in (("`", span.code), ("_", span.italic), ("*", span.bold)):
            if is_so and is_alone and mark not in span.text and "\n" not in words:
                words = f"{mark}{words}{mark}"
        shown += words + rich_text.address_behind(span)
    return shown if shown.strip() else text


def _list(choices: Sequence[str], text: str) -> dict[str, object]:
    """Return a list of choices below a text. If the shortened titles of its rows are not unique, they are numbered."""
    from chatsvc.language import language_detection

    titles = [_shortened(choice, ROW_TITLE) for choice in choices]
    if len(set(titles)) < len(titles):
        titles = [_shortened(f"{number}. {choice}", ROW_TITLE) for number, choice in enumerate(choices, start=1)]
    rows = [{"id": CHOICE + choice, "title": title} for choice, title in zip(choices, titles, strict=True)]
    for row, choice in zip(rows, choices, strict=True):
        if not row["title"].endswith(choice):  # what a title cannot hold stands in the description as a whole
            row["description"] = _shortened(choice, ROW_DESCRIPTION)
    return {"button": _LABELS.get(language_detection.guess(text) or "", _LABELS["en"]), "sections": [{"rows": rows}]}


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
