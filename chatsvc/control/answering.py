"""Answer to a command: the result of its operation, or the refusal."""

import json
import logging
from typing import Any

from chatsvc.control.rendering import RENDERERS
from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.refusals import Refused
from chatsvc.services.administration import perform
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)


async def answer(services: Services, caller: Caller, raw: bytes) -> dict[str, Any]:
    """Perform the operation of a request. Whatever goes wrong is part of the answer."""
    try:
        request = json.loads(raw)
        operation = request["operation"]
        if operation not in RENDERERS:
            # Operations on an operator's own session are the dashboard's.
            raise refusals.operation_unknown(operation=operation)
        result = await perform(services, caller, operation, request["arguments"])
        return {"result": RENDERERS[operation](result)}
    except Refused as refusal:
        return refused(refusal)
    except StoreUnavailable as fault:
        log.error("the store cannot answer: %s", fault)
        return refused(refusals.store_unavailable(fault=str(fault)))
    except Exception:
        log.exception("unexpected fault in an administrative operation")
        return refused(refusals.unexpected_fault())


def refused(refusal: Refused) -> dict[str, Any]:
    return {"refused": {"code": refusal.code, "facts": refusal.facts}}
