"""Confirms a channel's token by one call, which sends nothing to visitors. The token may stand in the address, so no fault repeats one."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from chatsvc.domain.platforms import TokenQuestion
from chatsvc.domain.shapes import as_object, parsed
from chatsvc.outbound.client import FAULTS, Answer, cause_of, exchange, open_session
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.posting import words_of
from chatsvc.outbound.tls import client_context

TIMEOUT_S = 10.0
MOST_BYTES = 65_536
# Statuses with which a platform says that it knows the caller too well, or has a fault of its own: they say nothing of the token.
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class PlatformRefused(Exception):
    """The platform refuses the token; the text says how, without the token."""


async def check(egress: Egress, platform: str, url: str, question: TokenQuestion) -> str | None:
    """Confirm a token at the server `url` of a platform.

    Return why the platform could not confirm it, None where it did. Raises PlatformRefused.
    """
    try:
        egress.check(platform)
        async with open_session(egress, platform, client_context()) as session:
            address = url.rstrip("/") + question.path
            answer = await exchange(session, "GET", address, question.headers, most_bytes=MOST_BYTES, timeout_s=TIMEOUT_S)
        return _judge(answer)
    except EgressRefused:
        return "egress: none does not permit the connection"
    except FAULTS as fault:
        return f"it did not answer ({type(cause_of(fault)).__name__})"


def _judge(response: Answer) -> str | None:
    status, answer = response.status, parsed(response.body) or {}
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT:
        raise PlatformRefused(f"status {status}{_reason(answer)}")
    if status != HTTPStatus.OK:
        return f"it answered with status {status}"
    if not answer or answer.get("ok") is False:
        return "it answered in an unknown form"
    return None


def _reason(answer: Mapping[str, Any]) -> str:
    told = words_of(answer.get("description") or as_object(answer.get("error")).get("message"))
    return f": {told}" if told else ""
