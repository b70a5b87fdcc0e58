"""Child process that reads knowledge files from standard input, and writes entries or faults as JSON to standard output.

Parsers of untrusted files run here, with limits of memory and processor time, and without the service's rights, secrets and file
descriptors. The parent writes one line of JSON (`user`, `group`, `files` with `name`, `kind`, `size`, `charset` and `language`; also
`site` for files of a website), then the bytes of all files. It gets a line of JSON for each file as soon as the file has been read. If
a file takes too long, the signal SIGPROF kills the process.
"""

import codecs
import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain.knowledge_files import READERS, kind_of, parsed
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, Parsed, single_fault

if TYPE_CHECKING:
    from chatsvc.file_reader.website import SiteFiles

_LIBRARIES = {".html": "html", ".htm": "html", ".pdf": "pdf", ".docx": "word"}  # the modules that read a kind of file by a library
MEGABYTE = 1024 * 1024
SECONDS_PER_MEGABYTE = 6.0  # of processor time, thrice what a fast machine needs at most; smaller files have as much
_PACKED = 5  # times as much text is in a file that is compressed
_MEMORY, _MEMORY_PER_BYTE = 384 * MEGABYTE, 24  # of address space


def parse(name: str, data: bytes, language: str, kind: str | None = None) -> Parsed:
    """Read a knowledge file. `kind` is its file name ending, or None to detect it from content and name. Raises KnowledgeFileError."""
    kind = kind_of(name, data) if kind is None else kind
    if (library := _library(kind)) is not None:
        return library.read(name, data, language)  # type: ignore[no-any-return]
    if kind in READERS:
        return READERS[kind](parsed.decode_any(name, data), language, name)
    facts: dict[str, Any] = {"ending": kind} if kind else {}
    raise single_fault(name, "ending_unknown" if kind else "ending_missing", known=[*READERS, *_LIBRARIES], **facts)


def _library(kind: str) -> Any:
    """Import and return the module that reads this kind of file with a library. Return None for other kinds."""
    return import_module(f"chatsvc.file_reader.{_LIBRARIES[kind]}") if kind in _LIBRARIES else None


def seconds(kind: str, size: int) -> float:
    """Return the processor time in seconds that reading a file of `size` bytes may take. `kind` is its ending, as `kind_of` returns it."""
    return SECONDS_PER_MEGABYTE * max(1.0, size / MEGABYTE) * (_PACKED if kind in {".pdf", ".docx"} else 1)


def main() -> None:
    """Drop privileges, limit memory, and read all files of one request. This is the entry point of the child process."""
    request = json.loads(sys.stdin.buffer.readline())
    for library in filter(None, map(_library, {file["kind"] for file in request["files"]})):
        # Its modules are imported now: later the process may not be allowed to read the program's files.
        library.read("sample", library.SAMPLE, "en")
    codecs_needed: tuple[str, ...] = ("utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "cp1254", "latin-1", "cp437", "ascii")
    site_files = None
    if request["site"]:
        from chatsvc.file_reader import website

        codecs_needed += website.CODECS
        site_files = website.SiteFiles(request["site"])
        site_files.read("page", b"<p>a", "http://a/", "")
    for codec in codecs_needed:
        codecs.lookup(codec)  # its module is imported now
    user, group = request["user"], request["group"]
    with suppress(PermissionError):  # already an ordinary user, or a root without the right to become one
        if os.getresuid() != (user, user, user):
            if os.getresuid()[0] == 0:
                os.setgroups([])
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
    memory = _MEMORY + _MEMORY_PER_BYTE * max((file["size"] for file in request["files"]), default=0)
    for resource_limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(resource_limit, (most, most))
    answer(request["files"], site_files, sys.stdin.buffer, sys.stdout.buffer)


def answer(files: Sequence[dict[str, Any]], site_files: "SiteFiles | None", source: IO[bytes], target: IO[bytes]) -> None:
    """Read the knowledge files in the stream `source`, and write a line of JSON for each file to `target`."""
    for file in files:
        data = source.read(file["size"])
        # Processor time, not the clock: a busy machine must not make a good file fail.
        signal.setitimer(signal.ITIMER_PROF, seconds(file["kind"], len(data)))
        line = json.dumps(_read(file, data, site_files)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write(line + b"\n")
        target.flush()


def _read(file: dict[str, Any], data: bytes, site_files: "SiteFiles | None") -> dict[str, Any]:
    try:
        if site_files is not None:
            return site_files.read(file["kind"], data, file["name"], file["charset"])
        return parse(file["name"], data, file["language"], file["kind"])._asdict()
    except KnowledgeFileError as fault:
        error = fault
    except MemoryError:
        error = single_fault(file["name"], "too_big")
    except Exception as fault:  # noqa: BLE001  # a library fails at a broken file in any way it likes
        error = single_fault(file["name"], "damaged", fault=type(fault).__name__)
    return {"unit": error.unit, "faults": [asdict(fault) for fault in error.faults]}
