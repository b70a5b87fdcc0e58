"""Requests and answers of commands in the store, sealed with the master key."""

from __future__ import annotations

import base64
import json
from typing import Any

from chatsvc.domain.actors import Caller, local_user
from chatsvc.store.master_key import MasterKey
from chatsvc.webhooks.sealing import Unsealable, seal, unseal

_PURPOSE = "remote commands"


class SealedCommand:
    """One command. `key` opens and seals all that belongs to it."""

    def __init__(self, command: str, key: bytes) -> None:
        self.id = command
        self._key = key

    @classmethod
    def new(cls, command: str, secret: MasterKey) -> SealedCommand:
        """Begin a command under the key in force."""
        return cls(command, secret(_PURPOSE))

    @classmethod
    def opened(cls, command: str, secret: MasterKey, request: bytes) -> tuple[SealedCommand, Caller, bytes]:
        """Open a request; raises Unsealable. The asking process may have the key from before a rotation."""
        fault = Unsealable(f"the command {command} cannot be opened")
        for key in secret.every(_PURPOSE):
            made = cls(command, key)
            try:
                content = json.loads(unseal(key, request, made._row("request")))
            except Unsealable as raised:
                fault = raised
            else:
                return made, local_user(content["uid"], content["name"]), content["raw"].encode()
        raise fault

    def _row(self, part: str) -> str:
        return f"remote_commands/{self.id}/{part}"

    def request(self, caller: Caller, machine: str, raw: bytes) -> bytes:
        """Seal a request. The audit log shows the user with the machine."""
        content = {"uid": int(caller.actor.id), "name": f"{caller.actor.name or caller.actor.id}@{machine}", "raw": raw.decode()}
        return seal(self._key, json.dumps(content), self._row("request"))

    def seal_answer(self, answer: dict[str, Any]) -> bytes:
        """Seal an answer."""
        return seal(self._key, json.dumps(answer), self._row("answer"))

    def answer(self, sealed: bytes) -> dict[str, Any]:
        """Open an answer; raises Unsealable."""
        opened: dict[str, Any] = json.loads(unseal(self._key, sealed, self._row("answer")))
        return opened

    def seal_part(self, number: int, content: bytes) -> bytes:
        """Seal a part of a file."""
        return seal(self._key, base64.b64encode(content).decode(), self._row(f"part {number}"))

    def part(self, number: int, sealed: bytes) -> bytes:
        """Open a part of a file; raises Unsealable."""
        return base64.b64decode(unseal(self._key, sealed, self._row(f"part {number}")))
