"""Records that few accounts have, so that every part of every page is shown: channels with faults, mails, a visitor who waits."""

from dataclasses import replace

from chatsvc.config.model import Notices, Smtp
from chatsvc.domain.mails import STATES
from chatsvc.store import exchanges
from tests.dashboard.site import Site
from tests.store.inspection import execute, insert
from tests.store.support import new_exchange

_SECRETS = {"token": "a-token", "app_secret": "a-secret", "verify_token": "a-word"}


async def fill(site: Site) -> None:
    """Add the records to `site.mine`, once."""
    services, bot = site.app.services, site.mine.bot
    if "filled" in site.mine.ids:
        return
    site.mine.ids["filled"] = ""
    smtp = Smtp("mail.example.com", 587, None, None, "Desk", "desk@example.com", "starttls", None)
    services.config = replace(services.config, notices=Notices(smtp))
    # Without connections the platforms cannot confirm the tokens.
    services.egress.allowed = False
    await site.do("channel.set", bot=bot, channel="web", sites=["https://shop.example.com", "any-link"])
    telegram = await site.do("channel.set", bot=bot, channel="telegram", token="123:a-token")
    await services.channels.note_fault(telegram.channel, "token_elsewhere")
    await site.do("channel.set", bot=bot, channel="whatsapp", phone_number_id="1055", monthly_limit=5000, **_SECRETS)
    services.egress.allowed = True
    exchange = new_exchange(bot, site.mine.account, "waiting-visitor", channel="web", at=site.clock.now, text="A person, please")
    await exchanges.record(services.db, exchange)
    waits = "UPDATE conversations SET handling = 'waiting', handling_since = :1 WHERE user_id = 'waiting-visitor'"
    await execute(site.app, waits, site.clock.now)
    await execute(site.app, "UPDATE conversations SET visitor_email = 'gone@example.com' WHERE user_id = 'waiting-visitor'")
    await _mails(site)


async def _mails(site: Site) -> None:
    columns = "account_id, kind, recipient, causes, state, created_at, due_at, attempts, status_code, error, answer"
    now = site.clock.now
    rows = [
        (site.mine.account, "answer", f"to{number}@example.com", 1 + number, state, now, now + 1000, number, 451, "refused", "4.7.1 later")
        for number, state in enumerate(STATES)
    ]
    await insert(site.app, "mails", columns, rows)
