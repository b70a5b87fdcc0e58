"""Past weeks of the demo's business: conversations, requests, unanswered questions, failed webhooks, a visitor who waits, an operator."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from chatsvc.domain.channels import ANY_LINK
from chatsvc.domain.times import DAY_MS, now_ms

if TYPE_CHECKING:
    from chatsvc.app import App

EMAIL = "demo@example.com"
SECOND_BOT = "Keçiyolu Turları"
NOWHERE = "https://127.0.0.1:65535/chatsvc"  # a port where nobody listens: its deliveries fail at once

# Days ago, visitor, messages. Both languages; some questions have no answer in the knowledge, some visitors leave their address.
CONVERSATIONS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (19, "ayse", ("Bisiklet kiralama ücreti ne kadar?", "Depozito alıyor musunuz?")),
    (17, "tom", ("What are your opening hours?", "Is there parking?")),
    (16, "mehmet", ("Köpeğim için sepetiniz var mı?",)),
    (14, "elif", ("Rehberli turlarınız var mı?", "Bana ulaşır mısınız? Adım Elif Demir, telefonum 0532 123 45 67", "Evet")),
    (12, "anna", ("Do you rent tandems?", "Can I cancel my booking?")),
    (11, "can", ("Bisikletimi tamir ediyor musunuz?", "Fren ayarı ne kadar sürer?")),
    (9, "zeynep", ("Köpek sepeti kiralıyor musunuz?",)),
    (7, "paul", ("How much does it cost to rent a bike?", "Do you deliver bikes to my hotel?", "Which routes do you recommend?")),
    (6, "burak", ("Otelime bisiklet getirir misiniz?", "Teşekkürler")),
    (5, "marie", ("Please call me back about a group tour. I am Marie Keller, marie@example.com", "Yes")),
    (4, "seda", ("Kask ücretsiz mi?", "Dükkânınız nerede?")),
    (3, "john", ("Do you have a dog basket?",)),
    (2, "irem", ("Hangi rotaları önerirsiniz?", "Nasıl ödeme yapabilirim?")),
    (1, "olga", ("Do you have bikes for children?", "What happens if the bike is stolen or damaged?")),
    (0, "hakan", ("Yarın saat 14:00 için randevu almak istiyorum, adım Hakan Şen, hakan@example.com", "Evet")),
    (0, "felix", ("I would like an appointment on Friday at 11:00. I am Felix Weber, felix@example.com", "Yes")),
    (0, "derya", ("Çocuklar için bisikletiniz var mı?", "Açılış ve kapanış saatleriniz nedir?")),
)
TOUR_REQUEST = ("Tur hakkında bilgi almak istiyorum, beni arayın. Adım Cem Aksoy, e-postam cem@example.com", "Evet")

# A visitor of the second bot, which has no opening hours and so lets visitors wait at any time.
WAITING = ("Turlarınızda yemek var mı?", "Bir yetkiliyle görüşmek istiyorum")
WAIT_MINUTES = 240

Send = Callable[[str, str, str], Awaitable[object]]


class DemoClock:
    """The wall clock, set back by some days while the past is made."""

    def __init__(self) -> None:
        self.days_ago = 0

    def __call__(self) -> int:
        return now_ms() - self.days_ago * DAY_MS


async def make_past(app: App, clock: DemoClock, account: str, bot: str, send: Send) -> None:
    """Let visitors talk to the bot on past days; `send` takes bot, visitor and message.

    A second bot has a webhook that fails.
    """
    # Questions without an answer are part of the sample, and no reason for warnings.
    log = logging.getLogger("chatsvc")
    level = log.level
    log.setLevel(logging.ERROR)
    for days, visitor, messages in CONVERSATIONS:
        clock.days_ago = days
        for message in messages:
            await send(bot, visitor, message)
    log.setLevel(level)
    clock.days_ago = 0
    second = (await perform(app, "bot.create", name=SECOND_BOT, account=account)).id
    await teach(app, second, "tr")
    await perform(app, "webhook.set", bot=second, url=NOWHERE, events=["request.created"])
    for message in TOUR_REQUEST:
        await send(second, "cem", message)
    for one in (bot, second):
        await perform(app, "channel.set", bot=one, channel="web", sites=[ANY_LINK])
        await perform(app, "bot.set", bot=one, hand_off=True, hand_off_wait=WAIT_MINUTES)
    await _let_wait(app, second)


async def teach(app: App, bot: str, language: str) -> int:
    """Add the sample business to the knowledge of a bot; returns the number of entries."""
    from chatsvc import samples
    from chatsvc.services.knowledge import file_reading

    texts = [(name, text.encode()) for name, text in samples.knowledge().items()]
    files = await app.services.offload(lambda: file_reading.read_files(texts, language))
    return sum(file.entries for file in (await perform(app, "knowledge.add", bot=bot, files=files)).files)


async def _let_wait(app: App, bot: str) -> None:
    from chatsvc.services.messages import web_visits

    visits, widget = web_visits.WebVisits(app.services), await web_visits.find(app.services, bot)
    if widget is None:
        raise AssertionError("the bot's widget was set up above")
    for message in WAITING:
        await visits.send(widget, widget.user_of_first("waiting"), message, message, web_visits.LINK)


async def add_operator(app: App) -> str:
    """Add an administrator; returns the set-up link."""
    made = await perform(app, "operator.add", email=EMAIL, admin=True, name="Demo")
    return made.link or ""


async def perform(app: App, operation: str, **arguments: object) -> Any:
    """Perform an operation as the local user, so that the audit log has it."""
    from chatsvc.privileges import caller_of
    from chatsvc.services.administration import perform

    return await perform(app.services, caller_of(os.getuid()), operation, arguments)
