"""Framing of the control socket: JSON objects, each preceded by its length in eight bytes.

A file in an answer follows it as so many raw bytes; its length stands in the answer.
"""

import json
import struct
from typing import Any

LENGTH = struct.Struct("!Q")
MOST = 1 << 30  # bytes of one message
FILE = "file_bytes"  # the key of an answer's file length


def pack(message: dict[str, Any]) -> bytes:
    """One message with its length in front."""
    body = json.dumps(message, ensure_ascii=False).encode()
    return LENGTH.pack(len(body)) + body


def length_in(head: bytes) -> int:
    """Return the length of the next message; raises ValueError above the limit."""
    (length,) = LENGTH.unpack(head)
    if length > MOST:
        raise ValueError("the message is too long")
    return int(length)
