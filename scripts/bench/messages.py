"""How fast messages are answered and durably written: POST /messages with an engine that answers at once, 64 callers in flight.

At least 5 times (later 6) one commit of aiosqlite a request behind the same gates; no slower than that for a single caller; later 0.5
of the same handler writing nothing, and 15 times one commit a request where an fsync takes 2 ms. A visitor sends four messages, then the
next one comes. For the slow fsync a few lines of C are compiled; that part is left out where there is no compiler.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from harness import CONNECTIONS, Load, Report, Requests, ServerProcess, interleave, main, ratio, request
from instance import Instance, instances

SERVERS = str(Path(__file__).parent / "servers.py")
ROUNDS, SECONDS = 9, 1.0
MESSAGES_A_VISITOR = 4
SLOW_FSYNC = """
#include <time.h>
static int wait_2_ms(void) { struct timespec t = {0, 2000000}; return nanosleep(&t, 0); }
int fsync(int fd) { (void) fd; return wait_2_ms(); }
int fdatasync(int fd) { (void) fd; return wait_2_ms(); }
"""
_runs = iter(range(1000))


def visitors(instance: Instance) -> Requests:
    """Each connection is one visitor after another; all requests have the same length."""
    run = next(_runs)

    def requests(connection: int) -> Iterator[bytes]:
        number = 0
        while True:
            visitor = f"{run:03d}-{connection:05d}-{number // MESSAGES_A_VISITOR:08d}"
            body = {"chatbot_id": instance.bots[0], "message": "Are you open on Saturday afternoons?", "user_id": visitor}
            yield request("POST", "/api/v2/messages", instance.keys[connection % len(instance.keys)], json.dumps(body).encode())
            number += 1

    return requests


def start(stack: ExitStack, kind: str, instance: Instance, env: dict[str, str] | None = None) -> ServerProcess:
    """One of servers.py."""
    return stack.enter_context(ServerProcess(SERVERS, kind, str(instance.config), env=env))


def slow_fsync(folder: Path) -> dict[str, str] | None:
    """An environment in which an fsync takes 2 ms; None where it cannot be made."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or os.uname().sysname != "Linux":
        return None
    source, library = folder / "slow_fsync.c", folder / "slow_fsync.so"
    source.write_text(SLOW_FSYNC, "ascii")
    done = subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=False)  # noqa: S603  # its own source
    return {"LD_PRELOAD": str(library)} if done.returncode == 0 else None


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    with instances(5) as made:
        with ExitStack() as stack:
            servers = [start(stack, kind, one) for kind, one in zip(("product", "one-commit", "nothing"), made, strict=False)]

            def load(name: str, which: int, connections: int = CONNECTIONS) -> Load:
                return Load(name, servers[which], visitors(made[which]), connections)

            product, single, nothing = load("POST /messages", 0), load("one commit a request", 1), load("writing nothing", 2)
            await interleave([product, single, nothing], ROUNDS, SECONDS)
            alone, single_alone = load("POST /messages, one caller", 0, 1), load("one commit a request, one caller", 1, 1)
            await interleave([alone, single_alone], ROUNDS, SECONDS)
        report.bars.append(ratio("POST /messages / one commit a request", product, single, 5, 6))
        report.bars.append(ratio("POST /messages / one commit a request, one caller", alone, single_alone, 1, 1))
        report.bars.append(ratio("POST /messages / the same writing nothing", product, nothing, None, 0.5))
        report.loads += [product, single, nothing, alone, single_alone]

        env = slow_fsync(made[3].config.parent)
        if env is None:
            report.notes.append("Left out: an fsync of 2 ms needs Linux and a C compiler (cc).")
            return report
        with ExitStack() as stack:
            slow = Load("POST /messages, fsync 2 ms", start(stack, "product", made[3], env), visitors(made[3]))
            slow_single = Load("one commit a request, fsync 2 ms", start(stack, "one-commit", made[4], env), visitors(made[4]))
            await interleave([slow, slow_single], ROUNDS, SECONDS)
        report.bars.append(ratio("POST /messages / one commit a request, fsync 2 ms", slow, slow_single, None, 15))
        report.loads += [slow, slow_single]
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
