"""The built binary beside the source: size, start of a command, start of `serve`. Needs scripts/build.

Bars: the file 32 MB, the folder 60 MB; `key create` from the folder at most twice the source's time; the first answer over HTTP within a
second, from the single file within one and a half. By the median.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from harness import Bar, Report, main, progress

DIST = Path(__file__).resolve().parents[2] / "dist"
ROUNDS = 20
WAIT_S = 20.0
MB = 1_000_000
WAYS = {
    "source": [sys.executable, "-m", "chatsvc"],
    "folder": [str(DIST / "chatsvc-tree" / "chatsvc")],
    "single file": [str(DIST / "chatsvc")],
}
FIRST_S = {"source": 1.0, "folder": 1.0, "single file": 1.5}


async def bench() -> Report:
    """See the module's docstring."""
    with tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder:
        commands: dict[str, list[float]] = {way: [] for way in WAYS}
        answers: dict[str, list[float]] = {way: [] for way in WAYS}
        config = _config(Path(folder))
        for number in range(ROUNDS + 1):
            progress(f"round {number} of {ROUNDS}")
            for way, program in WAYS.items():
                commands[way].append(_command_s([*program, "-c", str(config), "key", "create"]))
                answers[way].append(_first_answer_s([*program, "-c", str(config), "serve"], _port(config)))
    # The first round warms the file cache and the byte code.
    fast = {way: statistics.median(series[1:]) for way, series in commands.items()}
    ratio = statistics.median(a / b for a, b in zip(commands["folder"][1:], commands["source"][1:], strict=True))
    sizes = _sizes()
    report = Report(
        bars=[
            Bar("the single file, MB", sizes["single file"], 32, 32, least=False),
            Bar("the folder, MB", sizes["folder"], 60, 60, least=False),
            Bar("chatsvc key create, folder / source (median)", ratio, 2.0, 2.0, least=False),
            *(
                Bar(f"serve, {way}: first answer, s (median)", statistics.median(answers[way][1:]), bar, bar, least=False)
                for way, bar in FIRST_S.items()
            ),
        ]
    )
    report.notes += [f"key create, {way}: median {seconds * 1000:.0f} ms" for way, seconds in fast.items()]
    return report


def _sizes() -> dict[str, float]:
    """In MB."""
    tree = sum(file.lstat().st_size for file in (DIST / "chatsvc-tree").rglob("*") if not file.is_dir())
    return {"single file": (DIST / "chatsvc").stat().st_size / MB, "folder": tree / MB}


def _config(folder: Path) -> Path:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    config = folder / "config.yaml"
    config.write_text(f"server: {{listen: '127.0.0.1:{port}'}}\n", "ascii")
    subprocess.run([*WAYS["source"], "-c", config, "init"], check=True, capture_output=True)  # noqa: S603  # its own command
    return config


def _port(config: Path) -> int:
    return int(config.read_text("ascii").rpartition(":")[2].partition("'")[0])


def _command_s(command: list[str]) -> float:
    """One whole process, from its start to its end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # its own command
    return time.perf_counter() - start


def _first_answer_s(command: list[str], port: int) -> float:
    """From the start of the process to its first answer over HTTP."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # noqa: S603  # its own command
    try:
        while time.perf_counter() - start < WAIT_S:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)) as connection:
                try:
                    connection.request("GET", "/readyz")
                    if connection.getresponse().status == 200:
                        return time.perf_counter() - start
                except ConnectionError:
                    time.sleep(0.005)
        raise TimeoutError(f"{command[0]} did not answer")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


if __name__ == "__main__":
    main(__doc__ or "", bench)
