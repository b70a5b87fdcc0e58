"""Remarks that close a conversation, with no form open, get a short polite sentence."""

from __future__ import annotations

import pytest

from tests.engines.knowledge.test_form_turns import Guest, turk

CLOSING_EN = [
    "I'll get back to you",
    "no that's everything thanks",
    "that's all I needed to know",
    "fair enough, will have a think",
    "ok I will ask elsewhere",
    "right, I'll sleep on it",
    "we'll come back to you",
    "ok I'll shop around",
    "no more questions, cheers",
    "nothing else thank you",
]
CLOSING_TR = [
    "başka sorum yok sağ olun",
    "tamam öğrenmek istediğim buydu",
    "anladım, haberleşiriz",
    "biraz düşünmem lazım",
    "ben size tekrar yazarım",
    "tamam başka yere sorarım",
    "yok bu kadar teşekkürler",
    "başka bir şey yok teşekkürler",
]


@pytest.mark.parametrize("remark", CLOSING_EN)
def test_a_closing_remark_is_acknowledged_in_english(remark: str) -> None:
    visitor = Guest()
    visitor.say("where can I park?")
    assert visitor.say(remark).text in ("All right. I'm here if there is anything else.", "Goodbye, and have a nice day!")


@pytest.mark.parametrize("remark", CLOSING_TR)
def test_a_closing_remark_is_acknowledged_in_turkish(remark: str) -> None:
    visitor = turk()
    visitor.say("otopark var mı?")
    assert visitor.say(remark).text in ("Tamam. Başka bir konuda yardımcı olabilirsem buradayım.", "Görüşmek üzere, iyi günler!")


@pytest.mark.parametrize(
    ("visitor", "message", "answer"),
    [(Guest(), "that's everything, do you take cards", "Amex"), (turk(), "başka sorum yok, otopark var mı", "Vale var")],
)
def test_a_question_beside_a_closing_remark_is_answered(visitor: Guest, message: str, answer: str) -> None:
    assert answer in visitor.say(message).text
