"""How long callers wait, from a quiet hour to more than one core can carry: POST /messages, durably written, and GET /chatbots.

Requests come at random moments, in the mean so many a second and the same ones at each run, whether earlier ones are answered or not (an
open load), over 1,000 connections that are kept. Latency counts from when a request was due, so that all waiting is seen, also that for
a connection. The capacity, of which the rates are shares, is what 64 callers get who ask over and over. The engine answers at once: what
a model takes comes on top. Past the capacity nobody is refused, and at least 0.9 of it is answered; how long callers wait there depends
on how long it lasts (1.5 s). What was sent late is the part of the load itself in the latency: much on a busy machine.

`--picture` prints nothing but the picture.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import statistics
import sys
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field

from harness import CONNECTIONS, Bar, Connection, Load, Report, Requests, Round, ServerProcess, main, progress, quantile_ms, table, the_same
from instance import Instance, instances
from messages import start, visitors
from reads import gets

SHARES = (0.05, 0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1)
ROUNDS, SECONDS, CAPACITY_S = 3, 1.5, 2.0
QUANTILES = (0.5, 0.99, 0.999)
MARKS = {"o": 0.5, "x": 0.99}
LEGEND = "half of the callers wait no longer than o, 99 of 100 no longer than x"
TICKS = [digit * 10**zeros for zeros in range(7) for digit in (1, 2, 5)]
PICTURE_ALONE = False
MARGIN, WIDTH, HEIGHT = 8, 32, 12
"""Of the picture, in characters: the scale of time, one kind of request, and the most rows that have a mark."""


@dataclass
class Rate:
    """A share of the capacity, and how callers fared at it."""

    share: float
    rounds: list[Round] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """Seconds from when each request was due to when the load got round to it: the load's own part of the latency."""

    @property
    def offered_per_s(self) -> float:
        """Requests a second that were due, mean."""
        return len(self.late) / len(self.rounds) / SECONDS

    @property
    def answered_per_s(self) -> float:
        """Requests a second until the last answer, median."""
        return statistics.median(one.per_s for one in self.rounds)

    def ms(self, share: float) -> float:
        """A quantile of the latency, milliseconds."""
        return quantile_ms([latency for one in self.rounds for latency in one.latencies], share)


class Offered(Load):
    """Requests sent on schedule over idle connections, queued where none is idle."""

    def __init__(self, name: str, server: ServerProcess, requests: Requests) -> None:
        super().__init__(name, server, requests, connections=1000)
        self.rates = [Rate(share) for share in SHARES]
        self.capacity = 0.0
        self._idle: deque[Connection] = deque()
        self._queue: deque[float] = deque()

    async def all_rates(self) -> None:
        """Find the capacity, then offer shares of it."""
        await self.connect()
        self.capacity = (await self.run(CAPACITY_S, self.opened[:CONNECTIONS])).per_s
        self._idle = deque(self.opened)
        for number in range(ROUNDS):
            progress(f"{self.name}, {self.capacity:.0f}/s at most: round {number + 1} of {ROUNDS}")
            for rate in self.rates:
                rate.rounds.append(await self.measure(self._offer(rate, random.Random(number))))

    async def _offer(self, rate: Rate, chance: random.Random) -> None:
        per_s = rate.share * self.capacity
        now = time.perf_counter()
        due, end = now + chance.expovariate(per_s), now + SECONDS
        while due < end:
            while due < min(now, end):
                rate.late.append(now - due)
                if self._idle:
                    self._idle.popleft().go(due)
                else:
                    self._queue.append(due)
                due += chance.expovariate(per_s)
            # Not until it is due: the timers of the loop come up to a millisecond late, which is longer than most answers take.
            await asyncio.sleep(0)
            now = time.perf_counter()

    def free(self, connection: Connection, now: float) -> None:
        """The connection is for the request that has been due for the longest time."""
        if now < self.until:
            super().free(connection, now)
        elif self._queue:
            connection.go(self._queue.popleft())
        else:
            self._idle.append(connection)


@dataclass
class Waits(Report):
    """How long callers wait: a table, and a picture."""

    kinds: list[Offered] = field(default_factory=list)

    def show(self, as_json: bool) -> None:
        """See Report.show."""
        if PICTURE_ALONE:
            print(picture(self.kinds))
            return
        if not as_json:
            waits = [f"p{100 * share:g} ms" for share in QUANTILES]
            rows = [["request", "of capacity", "offered/s", "answered/s", *waits, "sent late, p99 ms"]]
            for kind in self.kinds:
                for rate in kind.rates:
                    figures = (f"{figure:.{0 if figure >= 100 else 2}f}" for figure in _figures(rate))
                    rows.append([kind.name, f"{rate.share:.0%}", *figures])
            table(rows)
            print(f"\n{picture(self.kinds)}\n")
        super().show(as_json)

    def value(self) -> dict[str, object]:
        """See Report.value."""
        names = ("name", "capacity", "share", "offered_per_s", "per_s", *(f"p{100 * share:g}_ms" for share in QUANTILES), "late_ms")
        rates = [
            (kind.name, round(kind.capacity), rate.share, *(round(figure, 3) for figure in _figures(rate)))
            for kind in self.kinds
            for rate in kind.rates
        ]
        return {**super().value(), "rates": [dict(zip(names, rate, strict=True)) for rate in rates]}


def _figures(rate: Rate) -> list[float]:
    return [rate.offered_per_s, rate.answered_per_s, *(rate.ms(share) for share in QUANTILES), quantile_ms(rate.late, 0.99)]


def picture(kinds: list[Offered]) -> str:
    """The kinds side by side on one time scale, each with its own rates."""
    waits = [math.log10(rate.ms(share)) for kind in kinds for rate in kind.rates for share in MARKS.values()]
    for step in range(6, 0, -1):  # rows a decade: as many as there is room for
        low, high = math.floor(min(waits) * step), math.ceil(max(waits) * step)
        if high - low < HEIGHT:
            break
    across = WIDTH - 4
    axis = high - low + 2
    canvas = [[" "] * (MARGIN + WIDTH * len(kinds)) for _ in range(axis + 2)]

    def put(row: int, column: int, text: str) -> None:
        canvas[row][column : column + len(text)] = text

    for row in range(low, high + 1):
        decade, between = divmod(row, step)
        put(axis - 1 - row + low, 0, ("│" if between else f"{_ms(10.0**decade)} ┤").rjust(MARGIN))
        for number in range(len(kinds)):
            put(axis - 1 - row + low, MARGIN + number * WIDTH, "" if between else "   ·" * (across // 4))
    put(axis + 1, 0, "per s".rjust(MARGIN - 1))
    for number, kind in enumerate(kinds):
        left, most = MARGIN + number * WIDTH, max(rate.offered_per_s for rate in kind.rates)
        put(0, left, f"{kind.name}: {kind.capacity:,.0f}/s at most")
        put(axis, left - 1, "└" + "─" * across)
        tick = next(size for size in TICKS if most / size < 4)
        for per_s in range(0, int(most) + 1, tick):
            column = left + round(per_s / most * across)
            put(axis, column, "┴")
            put(axis + 1, column - len(f"{per_s:,}") // 2, f"{per_s:,}")
        for rate in kind.rates:
            for mark, share in MARKS.items():
                row = round(math.log10(rate.ms(share)) * step)
                put(axis - 1 - row + low, left + round(rate.offered_per_s / most * across), mark)
    return "\n".join(["".join(row).rstrip() for row in canvas] + [LEGEND])


def _ms(value: float) -> str:
    return f"{value:g} ms" if value < 1000 else f"{value / 1000:g} s"


async def bench() -> Report:
    """See the module's docstring."""
    report = Waits()
    for name, requests in (("POST /messages", visitors), ("GET /chatbots", lists)):
        with instances(1) as (made,), ExitStack() as stack:
            kind = Offered(name, start(stack, "product", made), requests(made))
            await kind.all_rates()
        past = kind.rates[-1]
        report.kinds.append(kind)
        report.bars.append(Bar(f"{name}: answered at {past.share:g} of the capacity / capacity", past.answered_per_s / kind.capacity, 0.9))
    return report


def lists(instance: Instance) -> Requests:
    """Each connection asks for the bots with one of the keys."""
    return the_same(*gets(instance, "/chatbots"))


def picture_alone() -> None:
    """Take `--picture`, which the harness does not know."""
    global PICTURE_ALONE  # noqa: PLW0603  # read by Waits
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--picture", action="store_true")
    known, sys.argv[1:] = parser.parse_known_args()
    PICTURE_ALONE = known.picture


if __name__ == "__main__":
    picture_alone()
    main(__doc__ or "", bench)
