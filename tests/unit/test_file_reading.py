"""Knowledge files are read in a process with limits and without the parent's secrets."""

import io
import json
import os
import re
import resource
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from chatsvc.cli.refusals import sentence
from chatsvc.domain.refusals import Refused
from chatsvc.file_reader import child
from chatsvc.services.knowledge import file_reading
from chatsvc.services.knowledge.file_reading import FileReader, read_files

FAQ = b"## When are you open?\nalt: opening hours\nlanguage: en\n\nFrom 9 to 6.\n"
MEGABYTE = 1024 * 1024
PATIENCE_S = 30

PROGRAM = """
import os, resource, sys, time
from chatsvc.domain.knowledge_files import parsed
from chatsvc.file_reader import child
{body}
child.main()
"""


def hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    """Have files be read by a program that does something else first."""
    program = tmp_path / "reader.py"
    program.write_text(PROGRAM.format(body=body))
    monkeypatch.setattr(file_reading, "program", lambda _: [sys.executable, "-P", str(program)])


def faults(name: str, data: bytes) -> str:
    """The faults reported of a file. Empty for a good one."""
    try:
        read_files([(name, data)], "en")
    except Refused as refused:
        return sentence(refused)
    return ""


def test_entries_come_back_as_plain_data_and_faults_of_all_files_together() -> None:
    (faq,) = read_files([("faq.md", FAQ)], "tr")
    assert faq == {
        "name": "faq.md",
        "entries": [["When are you open?", ["opening hours"], "From 9 to 6.", "en", "faq.md", 1]],
        "synonyms": [],
    }
    with pytest.raises(Refused) as refused:
        read_files([("a.md", b"## q\n"), ("faq.md", FAQ), ("b.csv", b"\xff"), ("c.xyz", b"")], "tr")
    assert [line.split(": ")[0] for line in sentence(refused.value).splitlines()] == ["a.md, line 1", "b.csv, line 1", "c.xyz, line 1"]


def test_what_takes_too_long_is_stopped_and_the_other_files_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hold(
        monkeypatch,
        tmp_path,
        """
child.SECONDS_PER_MEGABYTE = 0.2
decode = parsed.decode
def slow(name, data):
    while name == "slow.md":
        pass
    return decode(name, data)
parsed.decode = slow
""",
    )
    with pytest.raises(Refused) as refused:
        read_files([("faq.md", FAQ), ("slow.md", FAQ), ("bad.md", b"## q\n")], "en")
    first, second = sentence(refused.value).splitlines()
    assert first == "slow.md, line 1: reading this file takes too long: split it"
    assert second.startswith("bad.md, line 1: no text")


SLEEPS = "time.sleep(60)"
DECODES = "def decode(name, data):\n    {}\nparsed.decode = decode"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (DECODES.format("bytearray(4 << 30)"), "too much memory"),
        (DECODES.format("os._exit(3)"), "has ended"),
        (DECODES.format("raise OSError"), r"damaged and cannot be read \(OSError\)"),
        (SLEEPS, "takes too long"),
    ],
)
def test_whatever_becomes_of_the_process_is_a_fault_of_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, says: str
) -> None:
    if body == SLEEPS:
        monkeypatch.setattr(file_reading, "_START_S", 0.5)
        monkeypatch.setattr(file_reading, "_SLOWDOWN", 0)
    hold(monkeypatch, tmp_path, body)
    assert re.search(f"faq.md, line 1: .*{says}", faults("faq.md", FAQ))


def test_lines_beyond_those_of_the_files_are_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hold(monkeypatch, tmp_path, "import atexit; atexit.register(print, '{}')")
    assert [file["name"] for file in read_files([("faq.md", FAQ)], "en")] == ["faq.md"]


def test_the_process_has_nothing_of_its_parents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CHATSVC_MASTER_KEY", "secret")
    path = tmp_path / "told"
    path.touch(0o666)
    path.chmod(0o666)
    tmp_path.chmod(0o755)
    hold(
        monkeypatch,
        tmp_path,
        f"""
import json
told = open({str(path)!r}, "w")
def decode(name, data):
    fds = [os.readlink(f"/proc/self/fd/{{fd}}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{{fd}}")]
    limits = [resource.getrlimit(limit) for limit in (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)]
    raise RuntimeError(sys.stderr.write("") or json.dumps([dict(os.environ), fds, limits, os.getresuid(), os.getgroups()]))
def read(file, data, site_files):
    try:
        decode(file, data)
    except RuntimeError as fault:
        return {{"unit": "line", "faults": [{{"line": 1, "code": "damaged", "facts": {{"fault": str(fault)}}}}]}}
child._read = read
""",
    )
    inherited = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        with pytest.raises(Refused) as refused:
            read_files([("faq.md", FAQ)], "en")
    finally:
        os.close(inherited)
    environment, descriptors, limits, users, groups = json.loads(refused.value.facts["faults"][0]["facts"]["fault"])  # type: ignore[index]  # plain data
    assert environment.keys() <= {"LC_ALL", "LC_CTYPE", "PYTHONPATH"}
    assert [descriptor for descriptor in descriptors if not descriptor.startswith(("pipe:", "/dev/null", str(path), "/proc/"))] == []
    assert limits[0][0] < 1 << 30
    assert limits[1:] == [[0, 0], [0, 0]]
    assert (0 not in users, groups == []) == (True, True) if os.geteuid() == 0 else users == [os.geteuid()] * 3


def test_closing_it_from_elsewhere_ends_reading_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hold(monkeypatch, tmp_path, SLEEPS)
    with FileReader() as reader:
        timer = threading.Timer(0.3, reader.close)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Refused, match="closed"):
            reader.read([("faq.md", FAQ, "en")])
        assert time.monotonic() - began < PATIENCE_S
        timer.join()


def test_an_interrupted_reader_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hold(monkeypatch, tmp_path, SLEEPS)
    reader = FileReader()
    with suppress(KeyboardInterrupt), reader:
        raise KeyboardInterrupt
    assert reader._process.returncode is not None


@pytest.mark.parametrize("others", [[], [("other.md", FAQ, "en")]])
def test_the_fault_of_a_file_is_told_where_the_process_cannot_be_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, others: list[tuple[str, bytes, str]]
) -> None:
    hold(monkeypatch, tmp_path, DECODES.format("os._exit(3)"))
    reader = FileReader()
    monkeypatch.setattr(file_reading, "program", lambda _: ["/nowhere/python"])
    with reader, pytest.raises(Refused) as refused:
        reader.read([("faq.md", FAQ, "en"), *others])
    lines = [line.partition(":")[0] for line in sentence(refused.value).splitlines()]
    assert lines == [f"{name}, line 1" for name, *_ in (("faq.md", FAQ, "en"), *others)]
    with pytest.raises(Refused, match=r"reader_unavailable .*No such file or directory"):
        FileReader()


def test_the_binary_starts_itself_without_unpacking_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "/somewhere")
    assert file_reading.program("read-files") == [sys.executable, "read-files"]
    assert file_reading.environment()["_PYI_ARCHIVE_FILE"] == "/somewhere"


def test_the_child_answers_a_line_a_file() -> None:
    sizes = {"faq.md": len(FAQ), "x.csv": 6}
    files = [{"name": name, "kind": Path(name).suffix, "size": size, "language": "en"} for name, size in sizes.items()]
    written = io.BytesIO()
    child.answer(files, None, io.BytesIO(FAQ + b"alt: x"), written)
    first, second = map(json.loads, written.getvalue().splitlines())
    assert first["entries"][0][0] == "When are you open?"
    assert second["faults"][0]["line"] == 1
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize(
    "text", ["## q\nalt: a\n" + "\n" * MEGABYTE, "## q\n" + "alt: a\n" * (MEGABYTE // 7), "## q" + " " * (MEGABYTE - 20) + "x?\n"]
)
def test_what_was_quadratic_is_read_in_its_time(text: str) -> None:
    assert faults("file.md", text.encode()[:MEGABYTE]) == "file.md, line 1: this question has no answer"
