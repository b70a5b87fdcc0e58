"""Client of Valkey or Redis: commands, Lua scripts and subscriptions, each with deadlines.

Errors of the library become CoordinationUnavailable. A command is sent once, since a repeated one could count twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

# A call that takes longer is refused: the peer may have been cut off.
ANSWER_S = 2.0
QUIET_S = 5.0


class CoordinationUnavailable(Exception):
    """Valkey cannot be used at the moment."""


class ValkeyTarget(NamedTuple):
    """Address of a server. `url` holds no password; `prefix` begins all keys of the installation."""

    url: str
    prefix: str
    password: str | None = None
    ca_file: Path | None = None

    @property
    def name(self) -> str:
        """Text for messages, without secrets."""
        parts = urlsplit(self.url)
        return f"Valkey at {parts.hostname}:{parts.port or 6379}"


class Valkey:
    """Commands to one server, each sent once: a call that was repeated could count twice."""

    def __init__(self, place: ValkeyTarget) -> None:
        self.place = place
        tls: dict[str, Any] = {"ssl_ca_certs": str(place.ca_file)} if place.ca_file else {}
        self._client = Redis.from_url(
            place.url,
            password=place.password,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            socket_keepalive=True,
            retry=Retry(NoBackoff(), 0),
            **tls,
        )

    @classmethod
    async def open(cls, place: ValkeyTarget) -> Self:
        """Connect and check that the server answers; raises CoordinationUnavailable."""
        made = cls(place)
        try:
            await made.execute("PING")
        except CoordinationUnavailable:
            await made.close()
            raise
        return made

    def key(self, name: str) -> str:
        """Make a key of this installation."""
        return f"{self.place.prefix}:{name}"

    async def execute(self, *command: str | int) -> object:
        """Run one command; raises CoordinationUnavailable."""
        try:
            return await self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except (RedisError, OSError) as fault:
            raise self._unavailable(fault) from None

    @asynccontextmanager
    async def subscribed(self, channel: str) -> AsyncIterator[AsyncIterator[str]]:
        """Subscribe to a channel, and iterate over its messages. Both raise CoordinationUnavailable."""
        subscription = self._client.pubsub()
        try:
            try:
                await subscription.subscribe(channel)
                # The server's confirmation: from here on no message is missed.
                await subscription.get_message(timeout=ANSWER_S)
            except (RedisError, OSError) as fault:
                raise self._unavailable(fault) from None
            yield self._messages(subscription)
        finally:
            await subscription.aclose()  # type: ignore[no-untyped-call]

    async def _messages(self, subscription: PubSub) -> AsyncIterator[str]:
        is_asked = False
        while True:
            try:
                message = await subscription.get_message(ignore_subscribe_messages=True, timeout=QUIET_S)
                if message is None and is_asked:
                    raise TimeoutError("no answer")
                # A quiet server is asked whether it still is there.
                is_asked = message is None
                if is_asked:
                    await subscription.ping()
            except (RedisError, OSError) as fault:
                raise self._unavailable(fault) from None
            if message is not None and message["type"] == "message":
                yield message["data"].decode()

    def script(self, text: str) -> ValkeyScript:
        """Prepare a Lua script, which the server runs as one step."""
        return ValkeyScript(self, text)

    def _unavailable(self, fault: Exception) -> CoordinationUnavailable:
        return CoordinationUnavailable(f"{self.place.name}: {type(fault).__name__}: {fault}")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class ValkeyScript:
    """A Lua script of a server."""

    def __init__(self, valkey: Valkey, text: str) -> None:
        self._valkey = valkey
        self._script = valkey._client.register_script(text)

    async def run(self, keys: Sequence[str], values: Sequence[str | int]) -> list[int]:
        """Run it; return the numbers that it returns. Raises CoordinationUnavailable."""
        try:
            answer: list[int] = await self._script(keys=list(keys), args=list(values))
        except (RedisError, OSError) as fault:
            raise self._valkey._unavailable(fault) from None
        return answer
