"""Child process that reads knowledge files. Bytes on standard input, entries or faults as JSON on standard output.

Parsers of foreign files run here, with limits of memory and processor time, and without the service's rights, secrets and descriptors.
The parent writes one line of JSON (`language`, `user`, `group`, `files` with `name`, `kind`, `size` and, for those of a website,
`charset`; `site` for these), then the files' bytes one after the other, and gets a line of JSON for each file as soon as it is read. A
file that takes too long ends the process by SIGPROF.
"""

import codecs
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain import knowledge_files
from chatsvc.domain.knowledge_files import decoding
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, Parsed

if TYPE_CHECKING:
    from chatsvc.file_reader.site import SiteFiles

MEGABYTE = 1024 * 1024
SECONDS_PER_MEGABYTE = 6.0  # of processor time, thrice what a fast machine needs at most; smaller files have as much
_PACKED = 5  # times as much text is in a file that is compressed
_MEMORY, _MEMORY_PER_BYTE = 384 * MEGABYTE, 24  # of address space


def _text(name: str, data: bytes, language: str) -> Parsed:
    reader = knowledge_files.reader_of(knowledge_files.kind_of(name, data), knowledge_files.READERS)
    return reader(decoding.decode_any(name, data), language, name)


def _pdf(name: str, data: bytes, language: str) -> Parsed:
    from chatsvc.file_reader import pdf

    return pdf.read(name, data, language)


def _word(name: str, data: bytes, language: str) -> Parsed:
    from chatsvc.file_reader import word

    return word.read(name, data, language)


READERS: dict[str, Callable[[str, bytes, str], Parsed]] = {**dict.fromkeys(knowledge_files.READERS, _text), ".pdf": _pdf, ".docx": _word}
_LIBRARIES = {".pdf": "chatsvc.file_reader.pdf", ".docx": "chatsvc.file_reader.word"}  # modules that import one


def _load(kinds: Sequence[str]) -> None:
    """Import the libraries that these files need, before the limits are set."""
    for ending in set(kinds) & _LIBRARIES.keys():
        import_module(_LIBRARIES[ending]).warm_up()


def seconds(kind: str, size: int) -> float:
    """Return the processor time that reading a file of `size` bytes may take. `kind` is its ending, as `knowledge_files.kind_of` tells."""
    packed = kind in _LIBRARIES
    return SECONDS_PER_MEGABYTE * max(1.0, size / MEGABYTE) * (_PACKED if packed else 1)


def main() -> None:
    """Read all files of one request."""
    request = json.loads(sys.stdin.buffer.readline())
    _load([file["kind"] for file in request["files"]])
    codecs_needed: tuple[str, ...] = ("utf-8-sig", "utf-16", "utf-16-be", "utf-16-le", "cp1254", "latin-1", "cp437", "ascii")
    if request.get("site"):
        from chatsvc.file_reader import site, website

        codecs_needed += website.CODECS
        site.SiteFiles(request["site"]).read("page", b"<p>a", "http://a/", "")
    for codec in codecs_needed:
        codecs.lookup(codec)  # its module is imported now: the other user may not be allowed to read the program
    _drop_privileges(request["user"], request["group"])
    _limit(max((file["size"] for file in request["files"]), default=0))
    answer(request, sys.stdin.buffer, sys.stdout.buffer)


def answer(request: Any, source: IO[bytes], target: IO[bytes]) -> None:
    """Read a request's files from `source`, and write a line for each to `target`."""
    site_files = None
    if request.get("site"):
        from chatsvc.file_reader.site import SiteFiles

        site_files = SiteFiles(request["site"])
    for file in request["files"]:
        data = source.read(file["size"])
        # Processor time, not the clock: a busy machine must not make a good file fail.
        signal.setitimer(signal.ITIMER_PROF, seconds(file["kind"], len(data)))
        line = json.dumps(_read(file, data, request["language"], site_files)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write(line + b"\n")
        target.flush()


def _read(file: dict[str, Any], data: bytes, language: str, site_files: "SiteFiles | None") -> dict[str, Any]:
    name = file["name"]
    try:
        if site_files is not None:
            return site_files.read(file["kind"], data, name, file["charset"])
        parsed = knowledge_files.reader_of(file["kind"] or name, READERS)(name, data, language)
    except KnowledgeFileError as fault:
        return {"unit": fault.unit, "faults": [(one.line, one.code, one.facts) for one in fault.faults]}
    except MemoryError:
        return {"unit": "line", "faults": [(1, "too_big", {})]}
    except Exception as fault:  # noqa: BLE001  # a library fails at a broken file in any way it likes
        return {"unit": "line", "faults": [(1, "damaged", {"fault": type(fault).__name__})]}
    return {"entries": parsed.entries, "synonyms": parsed.synonyms, "assumed": parsed.assumed}


def _drop_privileges(user: int, group: int) -> None:
    """Become another user for good, where the parent is root."""
    with suppress(PermissionError):  # already an ordinary user, or a root without the right to become one
        if os.getresuid() != (user, user, user):
            if os.getresuid()[0] == 0:
                os.setgroups([])
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)


def _limit(size: int) -> None:
    """Set the limits of the process: address space, and no core dump, no new files."""
    memory = _MEMORY + _MEMORY_PER_BYTE * size
    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(what, (most, most))
