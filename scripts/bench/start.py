"""Benchmark of the start of a command: the processor time of `chatsvc key create`, compared with an empty click program.

By the median of the pairs, it uses at most three times the processor time without a running server, and twice with one.
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
from instance import instances

ROUNDS = 40
EMPTY = "import click\n\nclick.command()(lambda: None)()\n"


def cpu_ms(arguments: list[str], cwd: Path) -> float:
    """Return the processor time of one process in ms. Other load on the machine affects it less than the elapsed time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # its own commands
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


async def bench() -> Report:
    chatsvc = shutil.which("chatsvc", path=str(Path(sys.executable).parent)) or "chatsvc"
    os.environ.pop("CHATSVC_CONFIG", None)
    # Byte code as an installed package has it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with instances(2) as installed, tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        (Path(folder) / "empty.py").write_text(EMPTY, "ascii")
        serving, resting = ([chatsvc, "-c", str(instance.config), "key", "create"] for instance in installed)
        commands = {"empty click program": [sys.executable, "empty.py"], "no server": resting, "a running server": serving}
        times: dict[str, list[float]] = {name: [] for name in commands}
        with ServerProcess.serving(installed[0]):
            for number in range(ROUNDS + 2):
                if number % 10 == 0:
                    progress(f"key create: round {number} of {ROUNDS}")
                for name, arguments in commands.items():
                    times[name].append(cpu_ms(arguments, Path(folder)))
    report = Report()
    series = {name: measured[2:] for name, measured in times.items()}  # the first rounds warm caches
    empty = series["empty click program"]
    for name, bar in (("no server", 3.0), ("a running server", 2.0)):
        what, ratio = f"chatsvc key create, {name} / an empty click program", [a / b for a, b in zip(series[name], empty, strict=True)]
        report.bars.append(Bar(f"{what} (median)", statistics.median(ratio), bar, least=False))
        report.bars.append(Bar(f"{what} (fastest)", min(series[name]) / min(empty), bar, least=False))
    report.notes += [f"{name}: median {statistics.median(ms):.1f} ms, fastest {min(ms):.1f} ms" for name, ms in series.items()]
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
