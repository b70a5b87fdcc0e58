"""Work divided among processes: the same results in the same order as of one."""

from __future__ import annotations

import subprocess
import sys
import threading

from chatsvc.usecases import parallel

PROGRAM = """
import os
from chatsvc.usecases import parallel

shared = {n: n * n for n in range(200)}
found = list(parallel.results(lambda item: (shared[item], os.getpid()), range(200), alone=int(__import__("sys").argv[1])))
assert [value for value, _ in found] == [n * n for n in range(200)]
print(os.getpid() in {process for _, process in found}, len(os.sched_getaffinity(0)))
"""


def run(alone: int) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(alone)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_many_items_are_divided_among_copies_of_the_process() -> None:
    by_itself, processors = run(10)
    assert by_itself == str(processors == "1")


def test_few_items_are_not_worth_a_second_process() -> None:
    assert run(200)[0] == "True"


def test_a_process_with_threads_does_the_work_by_itself() -> None:
    ready = threading.Event()
    thread = threading.Thread(target=ready.wait)
    thread.start()
    try:
        caller = threading.get_ident()
        assert list(parallel.results(lambda item: (item, threading.get_ident()), range(3), alone=1)) == [(n, caller) for n in range(3)]
    finally:
        ready.set()
        thread.join()


def test_items_are_worked_on_when_they_are_asked_for() -> None:
    seen: list[int] = []

    def work(item: int) -> int:
        seen.append(item)
        return item

    results = parallel.results(work, range(3), alone=3)
    assert next(results) == 0
    assert seen == [0]
