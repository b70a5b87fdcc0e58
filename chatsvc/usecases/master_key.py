"""The master key, for the administrator: another one takes its place, and all that was sealed is sealed with it."""

from __future__ import annotations

import os

from chatsvc.domain import times
from chatsvc.domain.errors import Refused
from chatsvc.domain.shapes import Json
from chatsvc.store import facts, webhooks
from chatsvc.store.master_key import MasterKey
from chatsvc.usecases.services import Services
from chatsvc.webhooks import sealing
from chatsvc.webhooks.courier import row


async def rotate(services: Services, *, key: str | None = None) -> Json:
    """Put a new master key in force, at once and whole: `key` (64 hexadecimal digits), or one that is made here.

    Raises Refused where none is given and the configuration gives the present one: only its keeper can put another in its place.
    `unusable` counts signing keys that the present key could not open; they stay as they are.
    """
    held = services.secret
    if key is None and held.file is None:
        raise Refused(
            "the configuration gives the master key (master_key): put a new one into a file (openssl rand -hex 32) and name it with"
            " --new-key-file"
        )
    if held.changing:
        raise Refused("the master key is being changed already")
    held.changing = True
    try:
        resealed, unusable = await _change(services, bytes.fromhex(key) if key else os.urandom(32))
    except OSError as fault:
        raise Refused(f"the new master key cannot be written: {fault.strerror or fault}") from fault
    finally:
        held.changing = False
    return {
        "rotated_at": times.without_fraction(services.clock()),
        "resealed": resealed,
        "unusable": unusable,
        "master_key": str(held.file) if held.file else None,
    }


async def _change(services: Services, new: bytes) -> tuple[int, int]:
    held, db = services.secret, services.db
    # Whatever an earlier attempt left undecided: its draft may be the store's key.
    held.settle(await facts.check(db))
    await services.offload(lambda: held.expect(new))
    next_ = MasterKey(new)

    def change(bot_id: str, sealed: bytes) -> bytes | None:
        try:
            signing_key = sealing.unseal_with_any(held.every(sealing.PURPOSE), sealed, row(bot_id))
        except sealing.Unsealable:
            return None
        return sealing.seal(next_(sealing.PURPOSE), signing_key, row(bot_id))

    try:
        return await webhooks.reseal(db, next_.check, change)
    finally:
        # After a fault, too, only the store can tell which key is in force.
        check = await facts.check(db)
        await services.offload(lambda: held.settle(check))
