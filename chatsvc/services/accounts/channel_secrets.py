"""Channels with their secrets, which are JSON encrypted with the master key. Also stores why a platform refuses a channel."""

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from chatsvc.domain.channels import Channel
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


def seal(key: MasterKey, channel_id: str, secrets: Mapping[str, str]) -> bytes:
    """Encrypt the secrets of a channel."""
    return sealing.seal(key, CHANNEL_SECRETS, json.dumps(secrets), row_name("channels", channel_id))


def token_of(key: MasterKey, channel_id: str, sealed: bytes) -> str | None:
    """Return the platform's token of a channel, or None if its secrets cannot be decrypted or contain no token."""
    try:
        return _unsealed(key, channel_id, sealed).get("token")
    except sealing.Unsealable:
        return None


def _unsealed(key: MasterKey, channel_id: str, sealed: bytes) -> dict[str, str]:
    secrets: dict[str, str] = json.loads(sealing.unseal(key, CHANNEL_SECRETS, sealed, row_name("channels", channel_id)))
    return secrets


def opened(key: MasterKey, channel: Channel, sealed: bytes | None, account_id: str) -> OpenChannel:
    secrets: dict[str, str] = {}
    if sealed is not None:
        try:
            secrets = _unsealed(key, channel.id, sealed)
        except sealing.Unsealable as fault:
            log.error("a channel cannot be used: %s", fault)
    return OpenChannel(channel, secrets, account_id)


class OpenChannels:
    """The channels of bots with decrypted secrets, read from the store. Each visitor's message needs one short read."""

    def __init__(self, db: Database, key: MasterKey, clock: Callable[[], int]) -> None:
        self._db, self._key, self._clock = db, key, clock
        # Called when a bot's channels have changed.
        self.observers: list[Callable[[str], None]] = []

    async def of_bot(self, bot_id: str) -> Mapping[str, OpenChannel]:
        """Return the channels of a bot by their kind; raises StoreUnavailable."""
        return {row[0].channel: opened(self._key, *row) for row in await stored.of_bot(self._db, bot_id)}

    async def of_kind(self, channel: str) -> list[OpenChannel]:
        """List the channels of a kind, such as "web", in all accounts."""
        return [opened(self._key, *row) for row in await stored.of_kind(self._db, channel)]

    def changed(self, bot_id: str) -> None:
        for observer in self.observers:
            observer(bot_id)

    async def note_fault(self, channel: Channel, fault: str | None) -> None:
        """Store the reason why a platform refuses a channel, or None if the platform accepts it again."""
        await stored.note_fault(self._db, channel.id, fault, self._clock())
