"""Addresses by which visitors are known on a messaging platform: a phone number, or the id that a business sees instead of it."""

import re
from typing import NamedTuple

PHONE, SCOPED = ADDRESS_KINDS = ("phone", "scoped")
_PHONE = re.compile(r"\d{4,20}", re.ASCII)
_SCOPED = re.compile(r"[A-Z]{2}\.[A-Za-z0-9._-]{1,160}")


class PlatformAddress(NamedTuple):
    """Address of a visitor, of the kind PHONE or SCOPED."""

    kind: str
    value: str


class AddressMove(NamedTuple):
    """A change of a visitor's number, or of the id that stands for it."""

    before: tuple[PlatformAddress, ...]
    after: tuple[PlatformAddress, ...]


def is_address(kind: str, value: str) -> bool:
    return bool((_PHONE if kind == PHONE else _SCOPED).fullmatch(value))
