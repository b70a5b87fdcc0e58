"""Everyday talk with a workshop and a groomer: follow-ups over all entries, remarks beside a form, a yes with a question behind it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

GROOMER = {
    "Grooming prices": "Full groom: small dogs £38, medium £48, large £62.",
    "What is included in a full groom?": "Bath, blow dry, clip and a bandana.",
    "How long does a groom take?": "Small dogs about 1.5 hours, large 3 hours.",
    "Puppies": "Puppy intro groom £25, from 12 weeks and after second vaccination.",
    "Vaccinations": "All day care dogs need up to date vaccinations. Bring the card.",
    "Staff": "Becky does most of the grooming. Tom does big dogs. Aisha runs day care.",
    "Cancellation": "Free up to 48 hours before. Less than 48 hours: 50% of the price.",
    "Opening hours": "Day | Open\nMonday - Friday | 7:30 - 18:30\nSaturday | 9:00 - 16:00\n\nWe're closed on 25 December.",
    "About us": "A family-run salon since 2014. You find us at 48 Otley Road, next to the bakery.",
    "Age": "14 and 15 year olds may help on Saturdays. You have to be 16 to work here.",
}
STUDIO = {
    "Kim hangi gün çalışıyor?": "Elif Arslan pazartesi, çarşamba, cuma. Zeynep Koç salı ve perşembe. Eğitmenler her gün.",
    "Ekip kimlerden oluşuyor?": "Elif Arslan (omurga), Zeynep Koç (hamilelik).",
    "Erkekler gelebilir mi?": "Evet, bütün derslerimiz karma.",
    "Hamileyken pilates yapabilir miyim?": (
        "14. haftadan sonra doktor onayıyla. Hamile pilatesi grubu tek ders 550 TL. Doğumdan sonra 6 hafta beklenmeli."
    ),
    "Grup dersi saatleri?": "Mat pilates: pazartesi 18:30, çarşamba 19:30. Hamile pilatesi: perşembe 11:00.",
    "Otopark var mı?": "Binanın otoparkı yok.",
}


@dataclass
class Visitor:
    """Somebody who writes to one of the two."""

    knowledge: dict[str, str]
    language: str
    hours: str | None = None
    dialogue: str | None = None
    history: list[HistoryMessage] = field(default_factory=list)

    def says(self, *messages: str) -> Reply:
        entries = [Entry(str(at), question, (), answer, self.language) for at, (question, answer) in enumerate(self.knowledge.items())]
        zone, country = ("Europe/Istanbul", "TR") if self.language == "tr" else ("Europe/London", "GB")
        bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=self.language, country=country, timezone=zone)
        bot = bot._replace(opening_hours=self.hours)
        reply = Reply("")
        for message in messages:
            turn = Turn(
                bot, "api", message, self.history, None, KnowledgeIndex(entries, self.language), "", 30.0, START, self.dialogue, True
            )
            try:
                reply = asyncio.run(KnowledgeEngine().reply(turn))
            except EngineError as error:
                reply = Reply(error.fallback or "")
            self.history = [*self.history, HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
            self.dialogue = reply.dialogue or self.dialogue
        return reply


def groomer() -> Visitor:
    return Visitor(GROOMER, "en")


def studio() -> Visitor:
    return Visitor(STUDIO, "tr")


@pytest.mark.parametrize(
    ("messages", "holds"),
    [
        (("how much is a full groom", "how long does that take"), "about 1.5 hours"),
        (("do you take puppies", "what about jabs"), "up to date vaccinations"),
        (("do you take puppies", "how do i cancel"), "48 hours"),
        (("when are you open",), "18:30"),
        (("what time do you close on saturdays",), "16:00"),
        (("wheres it at",), "48 Otley Road"),
        (("hes 15",), "14 and 15"),
    ],
)
def test_a_question_is_answered_by_the_entry_that_has_it(messages: tuple[str, ...], holds: str) -> None:
    assert holds in groomer().says(*messages).text


@pytest.mark.parametrize(
    ("messages", "holds"),
    [
        (("zeynep hanım hangi günler orda",), "Zeynep Koç salı ve perşembe"),
        (("elif hanım salı var mı",), "Elif Arslan pazartesi"),
        (("hamileyken pilates yapabilir miyim", "hangi gün"), "perşembe 11:00"),
        (("hamileyken pilates olur mu",), "14. haftadan sonra"),
        (("erkekler geliyor mu",), "bütün derslerimiz karma"),
        (("hamileyken pilates olur mu", "hamile değilim ben erkeğim, gelebilir miyim"), "bütün derslerimiz karma"),
    ],
)
def test_a_question_is_answered_by_the_entry_that_has_it_in_turkish(messages: tuple[str, ...], holds: str) -> None:
    assert holds in studio().says(*messages).text


def test_a_remark_beside_a_form_is_noted() -> None:
    visitor = studio()
    assert "Tamam." in visitor.says("yarın için randevu istiyorum", "elif hanımla olsun lütfen").text
    assert "elif hanımla olsun lütfen" in visitor.says("11:00", "Ali Kaya 0532 123 45 67").text
    assert "bireysel dersti" in visitor.says("bireysel dersti").text


def test_a_yes_is_taken_though_a_question_follows() -> None:
    visitor = groomer()
    visitor.says("i want to book a groom on friday 27 november at 10", "Hannah Briggs, 07700 900311")
    reply = visitor.says("yes. how do i cancel?")
    assert reply.captured is not None
    assert "48 hours" in reply.text


def test_a_wish_is_about_the_thing_whose_price_was_asked() -> None:
    visitor = groomer()
    reply = visitor.says("how much is a full groom for a spaniel", "can i book friday 27 november at 10", "Hannah Briggs, 07700 900311")
    assert "full groom for a spaniel" in reply.text


def test_an_appointment_stays_one_where_the_visitor_asks_to_be_collected() -> None:
    visitor = groomer()
    reply = visitor.says(
        "i want to book a groom on friday 27 november at 10", "i meant headingley, can ye collect me there", "Jo Fox 07700 900311"
    )
    assert "27 November" in reply.text


def test_somebody_to_be_booked_with_is_not_the_visitor() -> None:
    reply = groomer().says("i want to book a groom", "friday at 10 with Becky", "Hannah Briggs")
    assert "Becky" not in reply.text.partition("Name")[2]


def test_an_hour_named_again_is_noted_for_the_team_though_it_is_outside_of_the_opening_hours() -> None:
    visitor = Visitor(STUDIO, "tr", hours="mon-sat 09:00-18:00")
    assert "çalışma saatlerimizin dışında" in visitor.says("27 kasım 19:30 için randevu istiyorum").text
    assert "çalışma saatlerimizin dışında" in visitor.says("20:00").text
    assert "ekibimiz uygun olup olmadığını" in visitor.says("20:00 olsun").text
    reply = visitor.says("Ali Kaya 0532 123 45 67", "evet")
    assert reply.captured is not None
    assert f"{reply.captured.time:%H:%M}" == "20:00"
