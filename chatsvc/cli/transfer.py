"""Transfer file of an account: header, one record a line, checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from chatsvc import __version__
from chatsvc.domain.errors import CommandError
from chatsvc.domain.transfer import FORMAT, VERSION

if TYPE_CHECKING:
    from chatsvc.cli.files import InputFile

MOST_LINE = 64 * 1024 * 1024  # bytes
BATCH = 1_000_000  # bytes, or a little more


class TransferWriter:
    """Writes a transfer file; it is whole only after `end`."""

    def __init__(self, file: IO[bytes], account: str) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.lines = 0
        self.write({"format": FORMAT, "version": VERSION, "program": __version__, "account": account})

    def write(self, value: object) -> None:
        line = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)
        self.lines += 1

    def end(self) -> None:
        self.write({"end": self.lines, "sha256": self._digest.hexdigest()})


def check(path: InputFile) -> str:
    """Check a file and return the account's id. Raises CommandError for a damaged file or a newer version."""
    digest, lines, last = hashlib.sha256(), 0, b""
    header: Any = None
    for line in _lines(path):
        if last:
            digest.update(last)
            lines += 1
        else:
            header = _header(path, line)
        last = line
    if not last:
        raise CommandError(f"{path} is empty")
    if _value(last) != {"end": lines, "sha256": digest.hexdigest()}:
        raise CommandError(f"{path} is damaged or was not written to its end: its last line does not fit what is before it")
    return str(header["account"])


def _header(path: InputFile, line: bytes) -> Any:
    header = _value(line)
    if not isinstance(header, dict) or header.get("format") != FORMAT or type(header.get("version")) is not int:
        raise CommandError(f"{path} is no file of `chatsvc account export`")
    if header["version"] > VERSION:
        raise CommandError(f"{path} is of version {header['version']}, this chatsvc knows {VERSION}: install a newer one")
    return header


def _lines(path: InputFile) -> Iterator[bytes]:
    with path.open() as file:
        while line := file.readline(MOST_LINE):
            yield line


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def records(path: InputFile) -> Iterator[list[tuple[int, Any]]]:
    """Yield the records of a checked file with their line numbers, in batches. The first batch is the account's own record."""
    batch: list[tuple[int, Any]] = []
    size = number = 0
    for number, line in enumerate(_lines(path)):
        value = _value(line)
        if number == 0 or (isinstance(value, dict) and "end" in value):
            continue
        if not isinstance(value, list) or len(value) != 2 or (number == 1) is not (value[0] == "account"):
            raise CommandError(f"{path} has a line that is no record, line {number + 1}")
        batch.append((number + 1, value))
        size += len(line)
        if number == 1 or size > BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
    elif number < 2:
        raise CommandError(f"{path} has no account in it")
