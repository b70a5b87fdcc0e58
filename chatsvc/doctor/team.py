"""Check of the team's group at Telegram: the token is taken, and the bot is in the group. No message is sent."""

import asyncio
from collections.abc import Iterator

from chatsvc.config import Config
from chatsvc.doctor import report
from chatsvc.doctor.report import Finding
from chatsvc.domain.channels import TOKEN_ELSEWHERE
from chatsvc.outbound.egress import Egress
from chatsvc.store.examination import Examined

_FAULTS = {TOKEN_ELSEWHERE: report.notices_token_elsewhere}
LIMIT_S = 5.0  # for each call


def group(config: Config, egress: Egress | None = None) -> Iterator[Finding]:
    """Ask Telegram about the bot and the group. `egress` is the ledger that counts the connection."""
    settings = config.notices.telegram
    if settings is None:
        return
    if settings.token is None:
        yield report.team_without_token()
        return
    yield asyncio.run(_asked(config.channels.telegram_api_url, settings.token.reveal(), settings.chat_id, egress or Egress()))


def noted(config: Config, examined: Examined | None) -> Iterator[Finding]:
    """Name what the running service has noted. Asking for messages here would take them from it."""
    if config.notices.telegram is not None and examined is not None and examined.team_fault in _FAULTS:
        yield _FAULTS[examined.team_fault]()


async def _asked(api_url: str, token: str, chat: int, egress: Egress) -> Finding:
    # Imported here: most installations have no such group.
    from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
    from chatsvc.outbound.telegram import TelegramClient

    client = TelegramClient(egress, api_url, token)
    try:
        try:
            await client.call("getMe", {}, LIMIT_S)
        except SendingRefused as refusal:
            return report.team_token_refused(answer=str(refusal))
        try:
            await client.call("getChat", {"chat_id": chat}, LIMIT_S)
        except SendingRefused as refusal:
            return report.team_chat_refused(chat=chat, answer=str(refusal))
    except (NotConnected, RetryLater, SendingUncertain) as fault:
        return report.team_unreachable(reason=str(fault))
    finally:
        await client.close()
    return report.team_good()
