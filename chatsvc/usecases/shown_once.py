"""Secrets that a page shows once. Sealed for the browser's cookie, so that any process can show them and none keeps them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from chatsvc.usecases.services import Services
from chatsvc.webhooks import sealing

PURPOSE = "shown once"
VALID_MS = 600_000


def seal(services: Services, session_id: str, content: Mapping[str, Any]) -> str:
    """Encrypt content for one session, for ten minutes. Returns a value that a cookie can hold."""
    until = services.clock() + VALID_MS
    sealed = sealing.seal(services.secret(PURPOSE), json.dumps({"until": until, "content": dict(content)}), _row(session_id))
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def unseal(services: Services, session_id: str, text: str) -> dict[str, Any] | None:
    """Decrypt content; None where it is another session's, expired or changed."""
    try:
        sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = json.loads(sealing.unseal_with_any(services.secret.every(PURPOSE), sealed, _row(session_id)))
    except (binascii.Error, ValueError, sealing.Unsealable):
        return None
    content: dict[str, Any] = found["content"]
    return content if services.clock() < found["until"] else None


def _row(session_id: str) -> str:
    return f"{PURPOSE} {session_id}"
