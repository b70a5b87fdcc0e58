"""Confirms the token of a channel by one call to Telegram or WhatsApp.

It calls `getMe` of Telegram, or reads the phone number at WhatsApp's Graph interface. Nothing is sent to visitors here.

The token of a Telegram bot stands in the address, so no text of a fault repeats one.
"""

import json
from http import HTTPStatus
from typing import Any

from aiohttp import ClientError, ClientResponse

from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.session import open_session
from chatsvc.outbound.tls import client_context

TIMEOUT_S = 10.0
MOST_BYTES = 65_536
# Statuses with which a platform says that it knows the caller too well, or has a fault of its own: they say nothing of the token.
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class PlatformRefused(Exception):
    """The platform refuses the token; the text says how, without the token."""


async def check_telegram(egress: Egress, api_url: str, token: str) -> str | None:
    """Confirm a token by `getMe`. Return why Telegram could not confirm it, None where it did. Raises PlatformRefused."""
    return await _check(egress, "telegram", f"{api_url.rstrip('/')}/bot{token}/getMe", {})


async def check_whatsapp(egress: Egress, graph_url: str, phone_number_id: str, token: str) -> str | None:
    """Confirm a token by reading the phone number; see check_telegram."""
    url = f"{graph_url.rstrip('/')}/{phone_number_id}?fields=display_phone_number,verified_name"
    return await _check(egress, "whatsapp", url, {"Authorization": f"Bearer {token}"})


async def _check(egress: Egress, purpose: str, url: str, headers: dict[str, str]) -> str | None:
    try:
        # aiohttp wraps the refusal of a socket in an error of its own.
        egress.check(purpose)
        async with (
            open_session(egress, purpose, tls=client_context(), timeout_s=TIMEOUT_S, headers=headers) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            return await _judge(response)
    except EgressRefused:
        return "egress: none does not permit the connection"
    except (ClientError, OSError, TimeoutError, ValueError) as fault:
        return f"it did not answer ({type(fault).__name__})"


async def _judge(response: ClientResponse) -> str | None:
    status, answer = response.status, await _object(response)
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT:
        raise PlatformRefused(f"status {status}{_reason(answer)}")
    if status != HTTPStatus.OK:
        return f"it answered with status {status}"
    if not answer or answer.get("ok") is False:
        return "it answered in an unknown form"
    return None


async def _object(response: ClientResponse) -> dict[str, Any]:
    try:
        answer = json.loads(await response.content.read(MOST_BYTES))
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _reason(answer: dict[str, Any]) -> str:
    """Return the platform's own words, which are short and name no secret. "" for another form."""
    error = answer.get("error")
    told = answer.get("description") or (error.get("message") if isinstance(error, dict) else None)
    return f": {told[:200]}" if isinstance(told, str) and told.isprintable() else ""
