"""Trailer of a backup file: description, digest and authentication tag behind the database.

    <database> {"format": 2, ...}\\n <SHA-256>\\n <HMAC-SHA-256>\\n <length of the trailer>\\n

Digest and tag cover every byte before them. The digest detects damage and needs no key. The tag, whose key is derived from the master
key, also detects changes made on purpose.
"""

import hashlib
import hmac
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 2
_CHUNK = 1 << 20  # bytes
_MOST = 1 << 16  # bytes of a trailer
_END = re.compile(rb"\A(\{.*\}\n)([0-9a-f]{64})\n([0-9a-f]{64})\n([0-9]{8})\n", re.ASCII)
_SIZE = 64 + 1 + 64 + 1 + 8 + 1  # bytes of all but the description


class Trailer(NamedTuple):
    """A trailer: `size` is the size of the database before it, in bytes."""

    size: int
    about: dict[str, Any]
    digest: bytes
    tag: bytes


def append(file: Path, about: dict[str, Any], key: bytes) -> None:
    """Append the trailer to a database and flush it to the disk; raises OSError."""
    hashed, tagged = hashlib.sha256(), hmac.new(key, digestmod=hashlib.sha256)
    with file.open("rb+") as stream:
        while chunk := stream.read(_CHUNK):
            hashed.update(chunk)
            tagged.update(chunk)
        line = json.dumps({"format": FORMAT, **about}).encode() + b"\n"
        hashed.update(line)
        digest = hashed.hexdigest().encode() + b"\n"
        length = b"%08d\n" % (len(line) + _SIZE)
        # The length is at the end and comes first here: all that a reader takes from the trailer is authenticated.
        tagged.update(line + digest + length)
        stream.write(line + digest + tagged.hexdigest().encode() + b"\n" + length)
        stream.flush()
        os.fsync(stream.fileno())


def read(file: Path) -> Trailer | None:
    """Read the trailer; return None if the file does not end in one of this format. Raises OSError."""
    whole = file.stat().st_size
    with file.open("rb") as stream:
        stream.seek(max(0, whole - _MOST))
        end = stream.read()
    if not re.fullmatch(rb"[0-9]{8}\n", end[-9:]):
        return None
    length = int(end[-9:])
    match = _END.fullmatch(end[-length:]) if length <= len(end) else None
    if match is None:
        return None
    try:
        about = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        return None
    return Trailer(whole - length, about, match[2], match[3])


def is_whole(file: Path, trailer: Trailer, key: bytes | None) -> tuple[bool, bool]:
    """Return whether the digest is correct, and whether the tag is correct for `key` (False without a key). Raises OSError."""
    hashed, tagged = hashlib.sha256(), hmac.new(key or b"", digestmod=hashlib.sha256)
    with file.open("rb") as stream:
        left = file.stat().st_size - _SIZE
        while left and (chunk := stream.read(min(left, _CHUNK))):
            hashed.update(chunk)
            tagged.update(chunk)
            left -= len(chunk)
        digest, _, length = (stream.read(size) for size in (65, 65, 9))
    tagged.update(digest + length)
    fits = hmac.compare_digest(hashed.hexdigest().encode(), trailer.digest)
    return fits, key is not None and hmac.compare_digest(tagged.hexdigest().encode(), trailer.tag)
