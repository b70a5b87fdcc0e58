"""Channels with their secrets, sealed with the master key as JSON and opened; notes of faults and last updates."""

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from chatsvc.domain.channels import ACTIVE, Channel
from chatsvc.store import channels as stored
from chatsvc.store import sealing
from chatsvc.store.database import Database
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sealing import row_name
from chatsvc.store.tables import CHANNEL_SECRETS

log = logging.getLogger(__name__)

VISITORS = "visitors"


class OpenChannel(NamedTuple):
    """A channel with its secrets by name and the account of its bot. It has no secrets if they cannot be decrypted."""

    channel: Channel
    secrets: Mapping[str, str]
    account_id: str


def new_web_secrets() -> dict[str, str]:
    """Make the secrets of a web channel: the key that signs the tokens of its visitors."""
    return {VISITORS: secrets.token_urlsafe(32)}


def seal(key: MasterKey, channel_id: str, secrets: str) -> bytes:
    return sealing.seal(key, CHANNEL_SECRETS, secrets, row_name("channels", channel_id))


def unseal(key: MasterKey, channel_id: str, sealed: bytes) -> str:
    """Open the secrets of a channel; raises Unsealable."""
    return sealing.unseal(key, CHANNEL_SECRETS, sealed, row_name("channels", channel_id))


def token_of(key: MasterKey, channel_id: str, sealed: bytes) -> str | None:
    """Return the token of a channel. Return None if its secrets cannot be opened or contain no token."""
    try:
        secrets_by_name: dict[str, str] = json.loads(unseal(key, channel_id, sealed))
    except sealing.Unsealable:
        return None
    return secrets_by_name.get("token")


def opened(key: MasterKey, sealed: stored.SealedChannel) -> OpenChannel:
    secrets: dict[str, str] = {}
    if sealed.secrets is not None:
        try:
            secrets = json.loads(unseal(key, sealed.channel.id, sealed.secrets))
        except sealing.Unsealable as fault:
            log.error("a channel cannot be used: %s", fault)
    return OpenChannel(sealed.channel, secrets, sealed.account_id)


class OpenChannels:
    """The channels of bots, opened, as the store has them. Each visitor's message takes one short read for them."""

    def __init__(self, db: Database, key: MasterKey, clock: Callable[[], int]) -> None:
        self._db, self._key, self._clock = db, key, clock
        # Called when a bot's channels have changed.
        self.observers: list[Callable[[str], None]] = []

    async def of_bot(self, bot_id: str) -> Mapping[str, OpenChannel]:
        """Return the channels of a bot by their kind; raises StoreUnavailable."""
        return {sealed.channel.channel: opened(self._key, sealed) for sealed in await stored.of_bot(self._db, bot_id)}

    def changed(self, bot_id: str) -> None:
        for observer in self.observers:
            observer(bot_id)

    async def note_fault(self, channel: Channel, fault: str | None) -> None:
        """Store the reason why a platform refuses a channel, or None if the platform accepts it again."""
        await stored.note_fault(self._db, channel.id, fault, self._clock())

    async def active(self, channel: str) -> list[OpenChannel]:
        """List the active channels of a kind, opened; those without secrets are left out."""
        channels = [opened(self._key, sealed) for sealed in await stored.of_kind(self._db, channel)]
        return [sealed for sealed in channels if sealed.channel.state == ACTIVE and sealed.secrets]

    async def is_set(self, channel: str, identity: str) -> bool:
        """Report whether a bot has a channel, paused or not, with this account."""
        return any(sealed.channel.identity == identity for sealed in await stored.of_kind(self._db, channel))
