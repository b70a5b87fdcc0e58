"""Queries of bots' channels: write, list and remove them, with sealed secrets, state and faults."""

import json
from collections.abc import Callable, Mapping

from chatsvc.domain.channels import Channel
from chatsvc.store import facts
from chatsvc.store.database import Connection, assign, reads, writes

_WRITTEN = "id, bot_id, channel, state, settings, identity, created_at, updated_at"
_COLUMNS = f"{_WRITTEN}, fault, fault_at, seen_at, verified_at, refused_site, refused_at"
# A site is refused that asked for the widget without being one of its sites.
CHANGEABLE = frozenset({"state", "updated_at", "seen_at", "verified_at", "refused_site", "refused_at"})
_OF_CHANNEL = ", ".join(f"h.{name}" for name in _COLUMNS.split(", "))
_SEALED = f"SELECT {_OF_CHANNEL}, h.secrets, b.account_id FROM channels h JOIN bots b ON b.id = h.bot_id"

# Seals the secrets of the channel with this id for the store with this check value: asked within the unit, since the master key may
# just be changing.
Seal = Callable[[bytes, str], bytes]


# A channel with its sealed secrets and the account of its bot.
SealedChannel = tuple[Channel, bytes | None, str]


class IdentityTaken(Exception):
    """Another bot has the same account at the platform."""


def _channel(row: tuple[object, ...]) -> Channel:
    channel = Channel(*row)  # type: ignore[arg-type]  # the columns are the fields
    return channel._replace(settings=json.loads(str(row[4])))


@reads
def of_bot(connection: Connection, bot_id: str) -> list[SealedChannel]:
    rows = connection.execute(f"{_SEALED} WHERE h.bot_id = ? ORDER BY h.created_at, h.channel", (bot_id,))
    return [(_channel(row[:-2]), *row[-2:]) for row in rows]


def _check_identity(connection: Connection, channel: Channel) -> None:
    find = "SELECT 1 FROM channels WHERE channel = ? AND identity = ? AND bot_id <> ?"
    if connection.execute(find, (channel.channel, channel.identity, channel.bot_id)).fetchone():
        raise IdentityTaken


check_identity = reads(_check_identity)


@writes
def put(connection: Connection, channel: Channel, seal: Seal) -> Channel:
    """Write a bot's channel; raises IdentityTaken. An existing channel keeps its id and creation time."""
    _check_identity(connection, channel)
    existing = connection.execute("SELECT id FROM channels WHERE bot_id = ? AND channel = ?", (channel.bot_id, channel.channel)).fetchone()
    written = channel._replace(id=existing[0]) if existing else channel
    row = connection.execute(
        f"""
        INSERT INTO channels ({_WRITTEN}, secrets) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (bot_id, channel) DO UPDATE SET state = excluded.state, settings = excluded.settings, fault = NULL,
            fault_at = NULL, refused_site = NULL, refused_at = NULL, identity = excluded.identity, updated_at = excluded.updated_at,
            secrets = excluded.secrets
        RETURNING {_COLUMNS}
        """,
        (*written[:4], json.dumps(written.settings), *written[5:8], seal(facts.check_in(connection), written.id)),
    ).fetchone()
    return _channel(row)


@writes
def update(connection: Connection, channel_id: str, changes: Mapping[str, object]) -> bool:
    """Write the columns named in `changes`; return False if the channel was removed meanwhile."""
    assignments = assign(changes, CHANGEABLE)
    return connection.execute(f"UPDATE channels SET {assignments} WHERE id = ?", (*changes.values(), channel_id)).rowcount == 1


@writes
def note_fault(connection: Connection, channel_id: str, fault: str | None, now: int) -> None:
    """Store why the platform refuses a channel, or None if it accepts the channel again. If the fault is unchanged, its time is kept."""
    connection.execute(
        "UPDATE channels SET fault = ?1, fault_at = CASE WHEN ?1 IS NOT NULL THEN ?2 END WHERE id = ?3 AND fault IS NOT ?1",
        (fault, now, channel_id),
    )


@reads
def of_kind(connection: Connection, channel: str) -> list[SealedChannel]:
    """List the channels of a kind in all accounts."""
    of_accounts = "JOIN accounts a ON a.id = b.account_id AND a.deleted_at IS NULL"
    rows = connection.execute(f"{_SEALED} {of_accounts} WHERE h.channel = ? ORDER BY h.created_at, h.id", (channel,))
    return [(_channel(row[:-2]), *row[-2:]) for row in rows]


@reads
def settings_of(connection: Connection, account_id: str, channel: str) -> dict[str, dict[str, object]]:
    """Return the settings of an account's channels of a kind, by the ids of their bots."""
    rows = connection.execute(
        "SELECT h.bot_id, h.settings FROM bots b JOIN channels h ON h.bot_id = b.id WHERE b.account_id = ? AND h.channel = ?",
        (account_id, channel),
    )
    return {bot_id: json.loads(settings) for bot_id, settings in rows}


@writes
def remove(connection: Connection, channel: Channel) -> bool:
    """Delete a channel with its secrets; return False if it was removed meanwhile."""
    return connection.execute("DELETE FROM channels WHERE id = ?", (channel.id,)).rowcount == 1
