"""Parent of the child process that reads knowledge files (`chatsvc.file_reader`) within a deadline.

`program` and `environment` serve to start other child processes too.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from chatsvc import background
from chatsvc.domain import refusals
from chatsvc.domain.knowledge_files import kind_of
from chatsvc.domain.knowledge_files.parsed import ReadFile
from chatsvc.domain.refusals import Refused
from chatsvc.file_reader.child import seconds

ARGUMENT = "read-files"  # makes the program a reader (chatsvc/__main__.py)
NOBODY = 65534
_START_S = 30.0  # for the program's start; on a busy machine the single-file binary takes seconds
_SLOWDOWN = 5  # wall time for a second of processor time


class GivenFile(NamedTuple):
    """A file to read. Its `kind` is the extension of its name, or for a file of a website "robots", "sitemap", "page" or "stored".

    A "stored" file is the packed content of a page. The `name` of a website's file is its address. `language` is used for entries if
    neither the file nor the entry's text shows a language.
    """

    name: str
    data: bytes
    kind: str
    charset: str = ""
    language: str = ""


class FileReader:
    """The child process that reads files, as a context manager that kills the process at the end.

    The constructor starts the process. A root process must construct it before it acts as another user, who may not be allowed to
    execute the program.
    """

    def __init__(self) -> None:
        self._closed = False
        self._process = self._start()

    def read(self, files: Sequence[tuple[str, bytes, str]]) -> list[ReadFile]:
        """Read files, each with its default language. Return `name`, `entries` and `synonyms` of each.

        Raises Refused with every fault of every file.
        """
        given = [GivenFile(name, data, kind_of(name, data), language=language) for name, data, language in files]
        results = [(file.name, result) for file, result in zip(given, self.results(given), strict=True)]
        faults = [{"file": name, "unit": result["unit"], **fault} for name, result in results for fault in result.get("faults", ())]
        if faults:
            raise refusals.files_invalid(faults=faults)
        return [{"name": name, "entries": result["entries"], "synonyms": result["synonyms"]} for name, result in results]

    def close(self) -> None:
        """Kill the process. A `read` that is running in another thread then raises `reader_closed`."""
        self._closed = True
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        self._process.communicate()

    def results(self, files: Sequence[GivenFile], site: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Read files; `site` describes the website if they belong to one. Return the content, or the `faults`, of each file."""
        results: list[dict[str, Any]] = []
        while len(results) < len(files):
            lines, why = self._ask(files[len(results) :], site)
            if self._closed:
                raise refusals.reader_closed()
            results += [_with_languages(json.loads(line)) for line in lines[: len(files) - len(results)]]
            if len(results) < len(files):
                results.append(_fault(why))
            if len(results) < len(files):
                try:
                    self._process = self._start()
                except Refused:
                    # Root has become a user who may not execute the program: the file that ended the process is what to report.
                    results += [_fault("not_read")] * (len(files) - len(results))
        return results

    def _ask(self, files: Sequence[GivenFile], site: Mapping[str, Any] | None) -> tuple[list[bytes], str]:
        """Send files to the process. Return its output, one line for each file, and the fault code of the first file without a line."""
        named = [{**file._asdict(), "data": None, "size": len(file.data)} for file in files]
        user, group = (os.geteuid(), os.getegid()) if os.geteuid() else (NOBODY, NOBODY)
        head = json.dumps({"site": site, "user": user, "group": group, "files": named}).encode()
        patience, why = _START_S + _SLOWDOWN * sum(seconds(file.kind, len(file.data)) for file in files), "reader_ended"
        try:
            answer, _ = self._process.communicate(b"".join([head, b"\n", *(file.data for file in files)]), timeout=patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            answer, _ = self._process.communicate()
            why = "too_slow"
        if self._process.returncode == -signal.SIGPROF:
            why = "too_slow"
        return answer.split(b"\n")[:-1], why  # the last line may have been cut

    @staticmethod
    def _start() -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603  # this program itself
                program(ARGUMENT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), cwd="/"
            )
        except OSError as fault:
            raise refusals.reader_unavailable(fault=fault.strerror) from None


def program(argument: str) -> list[str]:
    """Return the command line that starts this program as a child process. `argument` selects its work (chatsvc/__main__.py)."""
    if getattr(sys, "frozen", False):
        return [sys.executable, argument]
    return [sys.executable, "-P", "-m", "chatsvc", argument]


def environment() -> dict[str, str]:
    """Return the environment variables that a child process needs. The others are left out, since they may contain secrets."""
    # These tell the single-file binary that it is unpacked already.
    needed = {name: value for name, value in os.environ.items() if name.startswith("_PYI_") or name == "LD_LIBRARY_PATH"}
    return {**needed, "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(path for path in sys.path if Path(path).is_absolute())}


def _fault(code: str) -> dict[str, Any]:
    return {"unit": "line", "faults": [{"line": 1, "code": code, "facts": {}}]}


def _with_languages(result: dict[str, Any]) -> dict[str, Any]:
    """Detect the language of each entry for which the file declares none. A file for a Turkish bot may be in English."""
    if result.get("assumed"):
        from chatsvc.language.language_detection import guess

        for entry in (result["entries"][index] for index in result["assumed"]):
            question, _, answer, language, *_ = entry
            entry[3] = guess(f"{question} {answer}") or language
    return result


def read_files(files: Sequence[tuple[str, bytes]], language: str) -> list[ReadFile]:
    """Read files in a new child process, which ends afterwards. Raises Refused with every fault of every file."""
    with FileReader() as reader:
        background.on_abandonment(reader.close)
        return reader.read([(name, data, language) for name, data in files])
