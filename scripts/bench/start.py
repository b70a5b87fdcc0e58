"""Processor time of a command: the whole process of `chatsvc key create` against an empty click program, with and without a running server.

Bars: at most three times the processor time without a server and twice with one, by the median of the pairs.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Bar, Report, ServerProcess, main, progress
from instance import Instance, instances

ROUNDS = 40
EMPTY = """\
import click


@click.command()
def main() -> None:
    pass


if __name__ == "__main__":
    main()
"""


def command() -> list[str]:
    """The installed `chatsvc`, or the package run as a module where it is not installed."""
    installed = shutil.which("chatsvc", path=str(Path(sys.executable).parent))
    return [installed] if installed else [sys.executable, "-m", "chatsvc"]


def cpu_ms(arguments: list[str], cwd: Path) -> float:
    """Return the processor time of one process: other load on the machine distorts it less than wall time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # its own commands
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


async def bench() -> Report:
    """See the module's docstring."""
    with instances(2) as made, tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, "ascii")
        serving, resting = made
        with ServerProcess.serving(serving):
            times = measured([[sys.executable, str(empty)], create(resting), create(serving)], Path(folder))
    report = Report()
    for name, which, bar in (("no server", 1, 3.0), ("a running server", 2, 2.0)):
        ratio = statistics.median(a / b for a, b in zip(times[which], times[0], strict=True))
        report.bars.append(Bar(f"chatsvc key create, {name} / an empty click program (median)", ratio, bar, least=False))
        report.bars.append(
            Bar(f"chatsvc key create, {name} / an empty click program (fastest)", min(times[which]) / min(times[0]), bar, least=False)
        )
    for name, series in zip(("empty click program", "key create, no server", "key create, a running server"), times, strict=True):
        report.notes.append(f"{name}: median {statistics.median(series):.1f} ms, fastest {min(series):.1f} ms")
    return report


def create(instance: Instance) -> list[str]:
    """The command for one instance."""
    return [*command(), "-c", str(instance.config), "key", "create"]


def measured(commands: list[list[str]], cwd: Path) -> list[list[float]]:
    """Return each command's processor time in milliseconds, interleaved. The first round warms caches."""
    times: list[list[float]] = [[] for _ in commands]
    os.environ.pop("CHATSVC_CONFIG", None)
    # Byte code as an installed package has it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(cwd)
    for number in range(ROUNDS + 2):
        if number % 10 == 0:
            progress(f"key create: round {number} of {ROUNDS}")
        for series, arguments in zip(times, commands, strict=True):
            series.append(cpu_ms(arguments, cwd))
    return [series[2:] for series in times]


if __name__ == "__main__":
    main(__doc__ or "", bench)
