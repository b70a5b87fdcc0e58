"""Readiness of the service, and a report of its outbound connections and the store's fault."""

from typing import NamedTuple

from chatsvc.domain.actors import Caller
from chatsvc.outbound.egress import Egress
from chatsvc.services.services import Services
from chatsvc.store import facts
from chatsvc.store.database import StoreUnavailable


async def state(services: Services, *, stopping: bool) -> str:
    """Return `ready`, or the reason against it: `stopping`, `store_unavailable`."""
    if stopping:
        return "stopping"
    if services.db.fault:
        return "store_unavailable"
    try:
        await facts.answers(services.db)
    except StoreUnavailable:
        return "store_unavailable"
    return "ready"


class EgressReport(NamedTuple):
    """Outbound connections since the start, and the fault for which the store writes nothing."""

    egress: Egress
    store_fault: str | None


async def egress(services: Services, caller: Caller) -> EgressReport:
    """Show the outbound connections opened and refused since the start, by purpose."""
    del caller
    return EgressReport(services.egress, services.db.fault)
