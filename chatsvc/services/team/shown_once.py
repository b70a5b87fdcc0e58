"""Seals a secret that a page shows once into a cookie, which any process opens, once: the session's row has its digest until then."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from chatsvc.domain import operators
from chatsvc.services.services import Services
from chatsvc.store import sealing, sessions

PURPOSE = "shown once"
VALID_MS = 600_000


async def seal(services: Services, session_id: str, content: Mapping[str, Any]) -> str:
    """Encrypt content that a session shows next, within ten minutes. Returns a value that a cookie can hold."""
    token, until = operators.new_token(), services.clock() + VALID_MS
    text = json.dumps({"token": token, "until": until, "content": dict(content)})
    await sessions.update(services.db, session_id, {"to_show": operators.digest(token)})
    sealed = sealing.seal(services.secret(PURPOSE), text, _row(session_id))
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


async def take(services: Services, session_id: str, text: str) -> dict[str, Any] | None:
    """Decrypt content and use it up. None where it is another session's, shown already, expired or changed."""
    try:
        sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        sealed_content = json.loads(sealing.unseal_with_any(services.secret.every(PURPOSE), sealed, _row(session_id)))
    except (binascii.Error, ValueError, sealing.Unsealable):
        return None
    if services.clock() >= sealed_content["until"] or not await sessions.take_to_show(
        services.db, session_id, operators.digest(sealed_content["token"])
    ):
        return None
    content: dict[str, Any] = sealed_content["content"]
    return content


def _row(session_id: str) -> str:
    return f"{PURPOSE} {session_id}"
