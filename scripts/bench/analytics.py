"""Cost of GET /analytics over 1,000,000 usage records. Later bar: 10 ms of processor time a call, all threads.

And what others notice of it: the p99 of GET /chatbots (64 callers) while one caller asks for nothing but analytics, against the p99
without; later bar 1.5 times.
"""

from __future__ import annotations

import asyncio
import statistics
from contextlib import ExitStack

from harness import Bar, Load, Report, interleave, main, progress, the_same
from instance import instances
from reads import gets, serve

RECORDS = 1_000_000
ROUNDS, SECONDS = 9, 1.0


async def bench() -> Report:
    """See the module's docstring."""
    with instances(1) as (instance,), ExitStack() as stack:
        instance.usage(RECORDS)
        server = serve(stack, instance)
        analytics = the_same(*gets(instance, "/analytics?days=30"))
        chatbots = the_same(*gets(instance, "/chatbots"))
        calls = Load("GET /analytics", server, analytics, connections=1)
        await interleave([calls], ROUNDS, SECONDS)

        alone, beside = Load("GET /chatbots", server, chatbots), Load("GET /chatbots beside it", server, chatbots)
        disturbing = Load("GET /analytics beside it", server, analytics, connections=1)
        for load in (alone, beside, disturbing):
            await load.connect()
        for number in range(ROUNDS):
            progress(f"GET /chatbots with and without analytics: round {number + 1} of {ROUNDS}")
            alone.rounds.append(await alone.run(SECONDS))
            both = await asyncio.gather(beside.run(SECONDS), disturbing.run(SECONDS))
            beside.rounds.append(both[0])
            disturbing.rounds.append(both[1])
    ms = statistics.median(one.cpu_us for one in calls.rounds) / 1000
    return Report(
        bars=[
            Bar(f"GET /analytics over {RECORDS:,} records, CPU ms a call", ms, None, 10, least=False),
            Bar(
                "p99 of GET /chatbots beside analytics / alone", beside.quantile_ms(0.99) / alone.quantile_ms(0.99), None, 1.5, least=False
            ),
        ],
        loads=[calls, alone, beside, disturbing],
    )


if __name__ == "__main__":
    main(__doc__ or "", bench)
