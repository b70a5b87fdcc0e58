"""Whether the service can do its work."""

from __future__ import annotations

from chatsvc.domain.shapes import Json
from chatsvc.store import facts
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services


async def state(services: Services, *, stopping: bool) -> str:
    """`ready`; or why it is not: `stopping`, `store_unavailable`."""
    if stopping:
        return "stopping"
    if services.db.fault:
        return "store_unavailable"
    try:
        await facts.answers(services.db)
    except StoreUnavailable:
        return "store_unavailable"
    return "ready"


async def egress(services: Services) -> Json:
    """Show the outbound connections opened and refused since the start, by purpose, and the fault for which nothing is written."""
    counts = {"opened": dict(services.egress.opened), "refused": dict(services.egress.refused)}
    return {"allowed": services.egress.allowed, **counts, "store_fault": services.db.fault}
