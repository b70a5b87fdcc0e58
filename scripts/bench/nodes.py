"""Benchmark of the cost of PostgreSQL, for one process instead of SQLite, and for three processes that share the work.

With one process, POST /messages reaches at least 0.5 of the rate with SQLite, GET /conversations and GET /chatbots at least 0.8. With three
processes, a message uses at most 1.2 times the processor time of one process, without PostgreSQL's own. This is measured twice: the
processes share the callers of one, or each has as many. (With fewer callers batches are smaller, also for one process.) PostgreSQL runs on
all cores with its default settings, including fsync. Its store is a copy made by `chatsvc store copy`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from harness import CONNECTIONS, CORES, LOAD_CORE, Bar, Load, Report, ServerProcess, Wrong, interleave, main, ratio, the_same
from instance import Instance, instances, visitors
from messages import gets, start

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.postgres import PASSWORD, USER, Postgres

ROUNDS, SECONDS = 7, 0.6


def move(instance: Instance, server: Postgres) -> None:
    """Copy the store of an installation to PostgreSQL, and change its configuration to use it."""
    folder = instance.config.parent
    url = f"postgresql://{USER}@127.0.0.1:{server.port}/{server.new_database()}"
    (folder / "password").write_text(PASSWORD, "ascii")
    command = [sys.executable, "-m", "chatsvc", "-c", str(instance.config), "store", "copy", "--to", url]
    done = subprocess.run([*command, "--password-file", str(folder / "password")], capture_output=True, check=False)  # noqa: S603  # its own
    if done.returncode:
        raise Wrong(done.stderr.decode())
    key = (folder / "data" / "master.key").read_text("ascii").strip()
    with instance.config.open("a", encoding="utf-8") as config:
        config.write(f"master_key: {key}\nstore: {{url: '{url}', password_file: password}}\n")


class Several(ServerProcess):
    """Several server processes, to which new connections are distributed in turn."""

    def __init__(self, *processes: ServerProcess) -> None:
        self._processes = processes
        self._ports = cycle(process.port for process in processes)

    @property
    def port(self) -> int:  # type: ignore[override]  # it is only read
        return next(self._ports)

    def cpu_s(self) -> float:
        return sum(process.cpu_s() for process in self._processes)


def beside(instance: Instance, name: str) -> Instance:
    """Make an installation that uses the same store as another one, with its own data folder."""
    folder = instance.config.parent / name
    folder.mkdir()
    for file in ("config.yaml", "password"):
        shutil.copy(instance.config.parent / file, folder)
    return replace(instance, config=folder / "config.yaml")


async def bench() -> Report:
    report = Report()
    with ExitStack() as stack:
        os.sched_setaffinity(0, CORES)
        server = stack.enter_context(Postgres(listens=True, is_durable=True))
        os.sched_setaffinity(0, {LOAD_CORE})
        here, there = stack.enter_context(instances(2))
        move(there, server)
        services = [start(stack, "product", instance) for instance in (here, there)]
        kinds = {"POST /messages": 0.5, "GET /conversations?limit=20": 0.8, "GET /chatbots": 0.8}
        for name, bar in kinds.items():
            path = name.removeprefix("GET ")
            requests = [visitors(each) if name.startswith("POST") else the_same(*gets(each, path)) for each in (here, there)]
            loads = [Load(f"{name}, {store}", *pair) for store, *pair in zip(("SQLite", "PostgreSQL"), services, requests, strict=True)]
            await interleave(loads, ROUNDS, SECONDS)
            report.bars.append(ratio(f"{name}: PostgreSQL / SQLite", loads[1], loads[0], bar))
            report.loads += loads
        several = Several(services[1], *(start(stack, "product", beside(there, name)) for name in ("second", "third")))
        loads = [
            Load("POST /messages, one", services[1], visitors(there)),
            Load("POST /messages, three", several, visitors(there)),
            Load("POST /messages, three with as many callers each", several, visitors(there), connections=3 * CONNECTIONS),
        ]
        await interleave(loads, ROUNDS, SECONDS)
        report.loads += loads
        for what, load in zip(("three processes / one", "three with as many callers each / one"), loads[1:], strict=True):
            costs = [three.cpu_us / single.cpu_us for single, three in zip(loads[0].rounds, load.rounds, strict=True)]
            report.bars.append(Bar(f"processor time a message: {what}", statistics.median(costs), 1.2, least=False))
        report.notes.append(f"Memory: SQLite {services[0].rss_mb():.0f} MB, PostgreSQL {services[1].rss_mb():.0f} MB.")
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
