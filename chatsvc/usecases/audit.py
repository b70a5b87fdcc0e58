"""Who has administered what and when, for the administrator to look at."""

from __future__ import annotations

from chatsvc.domain import times
from chatsvc.domain.errors import Refused
from chatsvc.domain.shapes import Json
from chatsvc.store import audit as stored
from chatsvc.usecases.services import Services


async def list_all(services: Services, *, limit: int = 100, since: str | None = None) -> list[Json]:
    """The newest acts since then, the newest first; an `outcome` of null is one under way, or that a crash cut off."""
    try:
        start = times.parse_utc(since) if since is not None else 0
    except (ValueError, OverflowError):
        raise Refused(f"{since!r} is no time; write 2026-11-20 or 2026-11-20T08:00 (UTC)") from None
    return [
        {"at": times.with_millis(act.at), "uid": act.uid, "operation": act.operation, "ids": dict(act.ids), "outcome": act.outcome}
        for act in await stored.newest(services.db, limit, start)
    ]
