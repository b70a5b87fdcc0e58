"""Where every administrative operation passes, with a service or without: done, and recorded."""

from __future__ import annotations

import logging
import re
from typing import Any

from chatsvc.control.operations import EXPORTING, LOOKING, PARTS, Call, find
from chatsvc.domain.errors import Refused
from chatsvc.store import audit
from chatsvc.store.audit import Act
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Arguments that name a record. Of others, even a name could be a visitor's.
_NAMING = ("account", "bot", "key", "entry", "attempt", "request", "appointment", "conversation")


async def perform(services: Services, call: Call, uid: int) -> Any:
    """Run an operation for a local user; raises what it raises. An act that cannot be recorded is not done.

    Not in one transaction with the act: some take several, and some send. Recorded before, none is missing after a crash.
    """
    operation = find(call.operation)
    if call.operation in LOOKING | PARTS:
        return await operation(services, **call.arguments)
    act = Act(services.clock(), uid, call.operation, _ids(call.arguments))
    if call.operation in EXPORTING:
        given = await operation(services, **call.arguments)
        if given:
            await audit.record(services.db, act._replace(outcome="done"))
        return given
    number = await audit.record(services.db, act)
    ids, outcome = act.ids, "failed"
    try:
        result = await operation(services, **call.arguments)
        ids, outcome = {**act.ids, **_made(result)}, "done"
    except Refused:
        outcome = "refused"
        raise
    finally:
        await _settle(services, number, ids, outcome)
    return result


async def _settle(services: Services, number: int, ids: Any, outcome: str) -> None:
    try:
        await audit.settle(services.db, number, ids, outcome)
    except StoreUnavailable as fault:
        # The act is done, or is not: that is what its caller has to hear.
        log.error("the outcome of an administrative act is not recorded (%s): %s", outcome, fault)


def _ids(values: dict[str, Any]) -> dict[str, str]:
    """What names a record and looks like one: in the place of an id somebody may have typed a key."""
    return {name: value for name in _NAMING if isinstance(value := values.get(name), str) and _UUID.fullmatch(value)}


def _made(result: Any) -> dict[str, str]:
    """The ids in what an operation gives: its own, and those of the records within."""
    if not isinstance(result, dict):
        return {}
    inner = {name: made["id"] for name in _NAMING if isinstance(made := result.get(name), dict) and "id" in made}
    return _ids(result) | _ids(inner) | ({"id": result["id"]} if "id" in result else {})
