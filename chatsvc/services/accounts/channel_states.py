"""Notes faults and last updates of channels, and lists the active channels of a kind."""

from chatsvc.domain.channels import ACTIVE, Channel
from chatsvc.services.accounts.channel_secrets import OpenChannel, opened
from chatsvc.services.services import Services
from chatsvc.store import channels as stored


async def note_fault(services: Services, channel: Channel, fault: str | None) -> None:
    """Keep why a platform refuses a channel, None where it does not any more."""
    await stored.note_fault(services.db, channel.id, fault, services.clock())


async def note_seen(services: Services, channel: Channel) -> None:
    """Keep the time of an update of a channel."""
    await stored.note_seen(services.db, channel.id, services.clock())


async def active(services: Services, channel: str) -> list[OpenChannel]:
    """List the active channels of a kind, opened; those without secrets are left out."""
    found = [opened(services.secret, one) for one in await stored.of_kind(services.db, channel)]
    return [one for one in found if one.channel.state == ACTIVE and one.secrets]


async def is_set(services: Services, channel: str, identity: str) -> bool:
    """Report whether a bot has a channel, paused or not, with this account."""
    return any(one.channel.identity == identity for one in await stored.of_kind(services.db, channel))
