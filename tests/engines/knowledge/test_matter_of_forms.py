"""Forms whose matter stays known. Questions in between are about it, and names and wishes beside it are taken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

STUDIO = {
    "Cilt bakımı": "Klasik cilt bakımı 1.800 TL, 75 dk sürüyor. Hamilelere yapmıyoruz.",
    "Toplu alım ofis": "10 adetten sonra yüzde 8 indirim. Toplu siparişler 6 haftada teslim.",
    "Masa": "Çalışma masası 8.900 TL. 2 haftada gelir.",
    "Hediye çeki": "500 TL'den başlar, 1 yıl geçerli. Nakite çevrilmez.",
    "Ön görüşme": "İlk görüşme ücretsiz, 20 dakika.",
    "Adres": "Lale sok. 5, Bornova İzmir.",
    "Depo": "Lastikleriniz kilitli depoda durur, sezonluk 1.200 TL.",
}
WORKSHOP = {
    "Brake pads": "Front pads from £140, rear £120. Takes about an hour.",
    "Quotes": "Written quotes are free and valid for 14 days.",
    "Office catering": "From $18 a head, at least 12 people. We come to your office.",
    "Teachers": "Ana teaches Spanish.",
}


@dataclass
class Caller:
    """A visitor with a conversation of their own."""

    tongue: str
    dialogue: str | None = None
    history: list[HistoryMessage] = field(default_factory=list)

    def say(self, message: str) -> str:
        facts, country, zone = (WORKSHOP, "GB", "Europe/London") if self.tongue == "en" else (STUDIO, "TR", "Europe/Istanbul")
        index = KnowledgeIndex([Entry(name, name, (), answer, self.tongue) for name, answer in facts.items()], self.tongue)
        bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=self.tongue, country=country, timezone=zone)
        bot = bot._replace(opening_hours="mon-sat 08:00-22:00")
        turn = Turn(bot, "api", message, self.history, None, index, "", 30.0, START, self.dialogue, True)
        reply = asyncio.run(KnowledgeEngine().reply(turn))
        self.history = [*self.history, HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply.text


@pytest.mark.parametrize(
    ("tongue", "messages", "holds"),
    [
        ("tr", ("cilt bakımı randevusu almak istiyorum yarin", "kaç dakika sürüyodu"), "75 dk"),
        ("tr", ("ön görüşme randevusu istiyorum yarın 10da", "bedava di mi bu"), "ücretsiz"),
    ],
)
def test_a_question_for_a_fact_is_about_what_the_form_was_opened_for(tongue: str, messages: tuple[str, ...], holds: str) -> None:
    caller = Caller(tongue)
    said = [caller.say(message) for message in messages]
    assert holds in said[-1]
    assert holds not in said[0]


@pytest.mark.parametrize(
    ("messages", "holds"),
    [
        (("hediye çeki var mı", "süresi var mı bunun"), "1 yıl geçerli"),
        (("lastik saklama ne kadar", "nerde duruyo onlar"), "kilitli depoda"),
    ],
)
def test_a_message_that_points_stays_with_the_entry_spoken_of(messages: tuple[str, ...], holds: str) -> None:
    caller = Caller("tr")
    said = [caller.say(message) for message in messages]
    assert holds in said[-1]
    assert "Bornova" not in said[-1]


@pytest.mark.parametrize(
    ("tongue", "message", "asks"),
    [
        ("en", "send us a quote for 9 people please. Mark Hill", "phone number or an e-mail"),
        ("en", "send us a quote for 9 people please. Oak Tables", "your name"),
    ],
)
def test_a_full_name_beside_a_wish_is_not_asked_for_again(tongue: str, message: str, asks: str) -> None:
    assert asks in Caller(tongue).say(message)


@pytest.mark.parametrize("name", ["Selim Kara daire 4", "Selim Kara oda 6, 0533 555 01 42", "Selim Kara plaka 34 ABC 12"])
def test_a_room_or_a_number_plate_is_no_part_of_a_name(name: str) -> None:
    caller = Caller("tr")
    caller.say("yarın 10a cilt bakımı randevusu istiyorum")
    caller.say(name)
    assert '"name":["Selim Kara","said"]' in (caller.dialogue or "")


def test_a_form_given_up_is_taken_up_with_all_its_data_in_one_message() -> None:
    caller = Caller("en")
    for message in ("book me friday 2pm", "forget it, nvm the appointment"):
        caller.say(message)
    said = caller.say("actually lets do it, friday at 2, Sam Whitaker, sam.w@inbox.example")
    assert all(value in said for value in ("14:00", "Sam Whitaker", "sam.w@inbox.example"))


@pytest.mark.parametrize(
    ("tongue", "before", "message", "holds"),
    [
        ("en", (), "put me thru to Ana", "May I have your name?"),
        ("tr", (), "yılbaşı günü açık mısınız cuma", "1 Ocak 2027 Cuma"),
    ],
)
def test_wishes_and_closing_remarks_in_other_words_are_heard(tongue: str, before: tuple[str, ...], message: str, holds: str) -> None:
    caller = Caller(tongue)
    for earlier in before:
        caller.say(earlier)
    assert holds in caller.say(message)
