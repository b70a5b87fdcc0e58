"""Rotation of the master key: all sealed secrets are sealed again with the new one."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.services.services import Services
from chatsvc.store import facts, sealing
from chatsvc.store.master_key import MasterKey


class Rotation(NamedTuple):
    """A change of the master key: its time in milliseconds, the secrets sealed again, and those that the old key cannot open.

    `file` holds the new key; it is None if the configuration gives it.
    """

    rotated_at: int
    resealed: int
    unusable: int
    file: Path | None


async def rotate(services: Services, _: Caller, *, key: str | None = None) -> Rotation:
    """Replace the master key by `key` (64 hexadecimal digits), or by a random one."""
    held = services.secret
    if key is None and held.file is None:
        raise refusals.master_key_configured()
    if key is not None and not re.fullmatch("[0-9a-fA-F]{64}", key):
        raise refusals.master_key_invalid()
    if held.changing:
        raise refusals.master_key_changing()
    held.changing = True
    try:
        resealed, unusable = await _change(services, bytes.fromhex(key) if key else os.urandom(32))
    except OSError as fault:
        raise refusals.master_key_unwritable(fault=fault.strerror or str(fault)) from fault
    finally:
        held.changing = False
    return Rotation(services.clock(), resealed, unusable, held.file)


async def _change(services: Services, new: bytes) -> tuple[int, int]:
    held, db = services.secret, services.db
    # An interrupted attempt may have left its draft as the store's key.
    held.settle(await facts.check(db))
    await services.offload(lambda: held.expect(new))
    next_ = MasterKey(new)

    def change(purpose: str, row: str, old: bytes) -> bytes | None:
        try:
            secret = sealing.unseal(held, purpose, old, row)
        except sealing.Unsealable:
            return None
        return sealing.seal(next_, purpose, secret, row)

    try:
        return await sealing.reseal(db, held, next_.check, change)
    finally:
        # Also after a fault: only the store can tell which key is in force.
        check = await facts.check(db)
        await services.offload(lambda: held.settle(check))
